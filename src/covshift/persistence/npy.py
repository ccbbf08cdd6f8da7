"""Arrays as ``.npy`` members, which NumPy reads; here no header is evaluated."""

from __future__ import annotations

import io
import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DTYPES = {f"<{kind}{size}" for kind in "fiu" for size in (2, 4, 8)} | {"|i1", "|u1", "|b1"}
_START = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '([<>|=]?[A-Za-z][0-9]*)', 'fortran_order': (True|False), "
    rb"'shape': \(((?:[0-9]{1,18}, ?)*(?:[0-9]{1,18})?)\), \} *\n"
)


def npy_bytes(values: NDArray[Any]) -> bytes:
    """Return an array in its own order, on which the last bit of a product can depend."""
    order = "F" if values.flags.f_contiguous and not values.flags.c_contiguous else "C"
    values = np.asarray(values, dtype=values.dtype.newbyteorder("<"), order=order)  # type: ignore[call-overload]
    stream = io.BytesIO()
    np.lib.format.write_array(stream, values, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def array_of(data: bytes) -> NDArray[Any]:
    """Return the array of a member whose header fits the bytes that follow it, or a ValueError."""
    begin = len(_START) + 2
    length = int.from_bytes(data[len(_START) : begin], "little")
    found = _HEADER.fullmatch(data, begin, begin + length)
    if not data.startswith(_START) or len(data) < begin + length or not found:
        raise ValueError("is not an array")
    if found[1].decode() not in _DTYPES:
        raise ValueError("has an unexpected type")
    dtype = np.dtype(found[1].decode())
    shape = tuple(int(part) for part in found[3].split(b",") if part.strip())
    if math.prod(shape) * dtype.itemsize != len(data) - begin - length:
        raise ValueError("has another size than it says")
    if dtype == np.bool_ and max(data[begin + length :], default=0) > 1:
        raise ValueError("has truth values that are neither true nor false")
    values = np.frombuffer(data, dtype, offset=begin + length).copy()  # its own, and writable
    return values.reshape(shape, order="F" if found[2] == b"True" else "C")

"""Arrays of NumPy as those of Arrow and back, by their buffers.

pyarrow's own conversions import pandas where it is installed, which takes longer than to read a
small file.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import import_extra
from ..numerics.array import Real


@cache
def library(module: str = "") -> Any:
    """Return pyarrow, or a module of it."""
    name = f"pyarrow.{module}" if module else "pyarrow"
    return import_extra(name, extra="cli", needed_by="Reading files")


def plain(array: Any, dtype: Any, gap: Any) -> NDArray[Any]:
    """Return an array of a fixed width as NumPy's, with ``gap`` for what is missing: (rows,)."""
    if hasattr(array, "chunks"):
        parts = [plain(chunk, dtype, gap) for chunk in array.chunks]
        return np.concatenate(parts) if parts else np.empty(0, dtype)
    valid, data = array.buffers()
    rows = slice(array.offset, array.offset + len(array))
    if data is None:
        return np.full(len(array), gap, dtype)
    values: NDArray[Any] = np.frombuffer(data, dtype)[rows]
    if array.null_count:
        bits = np.frombuffer(valid, np.uint8)
        there = np.unpackbits(bits, count=rows.stop, bitorder="little")[rows]
        values = np.where(there, values, np.array(gap, dtype))
    return values


def numbers(values: Real) -> Any:
    """Return numbers as an array with gaps where they are NaN."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    return _of_buffer(library().float64(), values, np.isnan(values))


def truths(values: Real) -> Any:
    """Return zeros and ones as an array of truths with gaps where they are NaN."""
    bits = np.packbits(values == 1, bitorder="little")
    return _of_buffer(library().bool_(), bits, np.isnan(values))


def moments(microseconds: NDArray[np.int64], gaps: NDArray[np.bool_]) -> Any:
    """Return moments since 1970-01-01 as an array with gaps."""
    return _of_buffer(library().timestamp("us"), microseconds, gaps)


def texts(words: Sequence[str | None]) -> Any:
    """Return text as an array; None is a gap."""
    arrow = library()
    coded = [b"" if word is None else word.encode() for word in words]
    offsets = np.zeros(len(coded) + 1, dtype=np.int64)
    np.cumsum([*map(len, coded)], out=offsets[1:])
    gaps = np.fromiter((word is None for word in words), np.bool_, len(coded))
    data = arrow.py_buffer(b"".join(coded))
    rest = [_bits(gaps), arrow.py_buffer(offsets), data]
    array = arrow.Array.from_buffers(arrow.large_string(), len(coded), rest)
    return array.cast(arrow.string())


def coded(places: NDArray[np.int32], words: Sequence[str], *, ordered: bool = False) -> Any:
    """Return text by places in a list of words, -1 for gaps."""
    arrow = library()
    places = np.ascontiguousarray(places, dtype=np.int32)
    indices = _of_buffer(arrow.int32(), places, places < 0)
    return arrow.DictionaryArray.from_arrays(indices, texts(words), ordered=ordered)


def _of_buffer(dtype: Any, data: NDArray[Any], gaps: NDArray[np.bool_]) -> Any:
    arrow = library()
    buffers = [_bits(gaps), arrow.py_buffer(data)]
    return arrow.Array.from_buffers(dtype, len(gaps), buffers)


def _bits(gaps: NDArray[np.bool_]) -> Any:
    return library().py_buffer(np.packbits(~gaps, bitorder="little")) if gaps.any() else None

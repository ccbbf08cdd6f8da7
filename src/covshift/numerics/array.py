"""Array namespaces: NumPy, and whatever follows the array API standard.

Numerical code asks its inputs for a namespace, so that the same lines run on NumPy, on torch (CPU
or GPU) and on any other conforming library. NumPy and SciPy fast paths sit behind `is_numpy`.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputTypeError, import_extra

Array: TypeAlias = Any
"""An array of NumPy or of another library that follows the array API standard."""


def namespace(array: Array) -> ModuleType:
    """Return the array API namespace of ``array``."""
    if isinstance(array, np.ndarray):
        return np
    if is_torch(array):
        return import_extra("array_api_compat.torch", extra="torch", needed_by="Torch input")
    if hasattr(array, "__array_namespace__"):
        found: ModuleType = array.__array_namespace__()
        return found
    raise InputTypeError(f"{type(array).__name__} is not an array of a known library.")


def is_array(candidate: object) -> bool:
    """Tell whether ``candidate`` can be computed with as it is, without conversion to NumPy."""
    return (
        isinstance(candidate, np.ndarray)
        or hasattr(candidate, "__array_namespace__")
        or is_torch(candidate)
    )


def is_torch(array: object) -> bool:
    """Tell whether ``array`` is a PyTorch tensor, without importing PyTorch."""
    return type(array).__module__.partition(".")[0] == "torch"


def is_numpy(array: Array) -> bool:
    """Tell whether ``array`` may take a NumPy and SciPy fast path."""
    return isinstance(array, np.ndarray)


def device(array: Array) -> Any:
    """Return where ``array`` lives, in the form its namespace accepts."""
    return array.device


def to_numpy(array: Array) -> np.ndarray[Any, Any]:
    """Copy ``array`` to host memory as a NumPy array."""
    if hasattr(array, "detach"):  # torch: off the graph and off the GPU first
        array = array.detach().cpu()
    return np.asarray(array)


def like(values: np.ndarray[Any, Any], reference: Array) -> Array:
    """Move NumPy ``values`` to the namespace, device and dtype of ``reference``."""
    xp = namespace(reference)
    return xp.asarray(values, dtype=reference.dtype, device=device(reference))


def searchsorted(thresholds: Array, x: Array, side: str = "left") -> Array:
    """Place every ``x`` among sorted ``thresholds``."""
    if hasattr(x, "contiguous"):  # torch warns about strided input, and would copy it anyway
        x = x.contiguous()
    return namespace(x).searchsorted(thresholds, x, side=side)


def row_count(rows: Any) -> int:
    """Count the rows of an array of any library, a sparse one, a frame or a list."""
    shape = getattr(rows, "shape", None)
    if shape is None and not hasattr(rows, "__len__"):
        shape = np.asarray(rows).shape
    if shape is not None and len(shape) == 0:
        raise TypeError("a single value has no rows")
    return len(rows) if shape is None else int(shape[0])


def take_rows(rows: Any, some: Any) -> Any:
    """Keep some rows, by number or by flags, of an array of any library, a frame or a list."""
    if not is_array(rows):
        places = np.asarray(some)
        if places.dtype == bool:
            places = np.flatnonzero(places)
        if hasattr(rows, "iloc"):
            return rows.iloc[places]
        import narwhals.stable.v2 as nw

        frame = nw.from_native(rows, eager_only=True, allow_series=True, pass_through=True)
        if frame is not rows:
            return frame[places].to_native()
        return rows[places, ...] if hasattr(rows, "shape") else [rows[place] for place in places]
    if not is_array(some):
        some = np.asarray(some)
    if is_numpy(rows):
        return rows[some]  # in the order that its cells have in memory
    if is_numpy(some) and some.dtype == bool:
        some = np.flatnonzero(some)
    xp = namespace(rows)
    return xp.take(rows, xp.asarray(some, device=device(rows)), axis=0)


# Names of the arrays that signatures speak of.


Real = NDArray[np.float64]
"""Numbers."""

Floats = NDArray[np.floating[Any]]
"""Numbers of single or double precision."""

Rows = NDArray[np.intp]
"""Row numbers."""

Whole = NDArray[np.int64]
"""Counts, ranks, fold numbers."""

Codes = NDArray[np.unsignedinteger[Any]]
"""Bins of rows, in as few bytes as they need."""

Flags = NDArray[np.bool_]
"""True or False of every row."""

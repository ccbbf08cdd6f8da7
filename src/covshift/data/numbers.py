"""What counts as a number: dates, text, masked entries and long identifiers do not.

Libraries differ in what they turn into floats silently; here each such column is named instead.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import date, time, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError

_NUMBERS = re.compile(
    r"u?int\d|float|double|halffloat|bool|decimal|complex|sparse\[(u?int|float|bool)"
)
_DATE_KINDS = re.compile(r"date|time|duration|period")
_LONG = re.compile(r"u?int(64|128)")
_EXACT = 2**53  # beyond, not every integer is a float64


def check_numbers(X: Any, name: str, names: list[str] | None) -> list[Any]:
    """Refuse what is not a number, column by column; return the precisions to choose from."""
    if names is not None:
        return _check_frame(X, name, names)
    refuse_masked(X, name)
    if isinstance(X, np.ndarray | list | tuple):
        _check_values(X, name)
    return [np.float64, np.float32]


def _check_frame(X: Any, name: str, names: list[str]) -> list[Any]:
    refuse_repeated(names, name)
    dtypes = _frame_dtypes(X)
    strange = [(c, d) for c, d in zip(names, dtypes, strict=False) if not _NUMBERS.match(d)]
    _refuse(name, "date or time columns", [c for c, d in strange if _DATE_KINDS.match(d)])
    _refuse(name, "text or category columns", [c for c, _ in strange])
    labels = getattr(X, "column_names", X.columns)
    wide = [k for k, dtype in enumerate(dtypes) if _LONG.match(dtype)]
    inexact = [names[k] for k in wide if len(_inexact_columns(np.asarray(X[labels[k]])[:, None]))]
    _refuse(name, "whole numbers that float64 cannot hold", inexact)
    return [np.float32] if set(dtypes) == {"float32"} else [np.float64, np.float32]


def refuse_masked(X: Any, name: str) -> None:
    """Refuse a masked array with masked entries, whose mask would be lost."""
    if isinstance(X, np.ma.MaskedArray):
        _refuse(name, "masked entries", np.flatnonzero(np.ma.getmaskarray(X).any(axis=0)))


def refuse_repeated(names: list[str], title: str) -> None:
    """Refuse several columns of the same name."""
    repeated = [column for column, times in Counter(names).items() if times > 1]
    if repeated:
        raise InputError(
            f"{title} has several columns named {', '.join(map(repr, repeated))}. Rename them."
        )


def category_columns(X: Any) -> list[str]:
    """Return the names of a frame's text and category columns; none for anything else."""
    return _columns_of_type(
        X, lambda dtype: not _NUMBERS.match(dtype) and not _DATE_KINDS.match(dtype)
    )


def date_columns(X: Any) -> list[str]:
    """Return the names of a frame's columns of dates and times; none for anything else."""
    return _columns_of_type(X, lambda dtype: _DATE_KINDS.match(dtype))


def decimal_columns(X: Any) -> list[str]:
    """Return the names of a frame's columns of decimals, with which models cannot count."""
    return _columns_of_type(X, lambda dtype: dtype.startswith("decimal"))


def _columns_of_type(X: Any, wanted: Callable[[str], Any]) -> list[str]:
    names = getattr(X, "column_names", None)  # pyarrow
    names = getattr(X, "columns", None) if names is None else names
    if names is None or callable(names):
        return []
    dtypes = _frame_dtypes(X)
    return [str(name) for name, dtype in zip(names, dtypes, strict=False) if wanted(dtype)]


def _frame_dtypes(X: Any) -> list[str]:
    schema = getattr(X, "schema", None)  # pyarrow
    return [str(dtype).lower() for dtype in getattr(X, "dtypes", getattr(schema, "types", []))]


def _check_values(X: Any, name: str) -> None:
    """Refuse dates, text and long integers in an array or in nested lists."""
    try:
        values = np.asarray(X)
    except ValueError:  # ragged, as check_array will say
        return
    if values.ndim != 2:
        return
    if values.dtype.kind in "Mm":
        _refuse(name, "date or time columns", range(values.shape[1]))
    if values.dtype.kind in "USTO":
        cells = np.asarray(X, dtype=object).T
        kinds = ("date or time columns", (date, time, timedelta, np.datetime64, np.timedelta64))
        for what, kind in (kinds, ("text or category columns", (str, bytes))):
            found = [
                k for k, column in enumerate(cells) if any(isinstance(v, kind) for v in column)
            ]
            _refuse(name, what, found)
    check_exact(values, name)


def check_exact(values: NDArray[Any], name: str) -> None:
    """Refuse integers (rows, columns) that change their value as float64."""
    _refuse(name, "whole numbers that float64 cannot hold", _inexact_columns(values))


_NUMBER_REMEDY = {
    "date or time columns": "Turn them into numbers first, for example days since a fixed date.",
    "text or category columns": "Encode them as numbers first, for example with "
    "sklearn.preprocessing.OneHotEncoder.",
    "masked entries": "Impute or drop them first, in the same way for X and X_target.",
    "whole numbers that float64 cannot hold": "Leave out identifiers, or subtract an offset first.",
}


def _refuse(name: str, what: str, columns: Iterable[Any]) -> None:
    found = [repr(column) if isinstance(column, str) else str(column) for column in columns]
    if found:
        where = ":" if what.endswith("columns") else " in column"
        raise InputError(f"{name} has {what}{where} {', '.join(found)}. {_NUMBER_REMEDY[what]}")


def _is_exact(value: int) -> bool:
    try:
        return int(float(value)) == value
    except OverflowError:
        return False


def _inexact_columns(values: NDArray[Any]) -> NDArray[np.intp]:
    """Return the columns of (rows, columns) in which an integer changes as a float64."""
    if values.dtype.kind == "O":
        long = [[isinstance(v, int) and not _is_exact(v) for v in row] for row in values]
        return np.flatnonzero(np.any(long, axis=0))
    if (
        values.dtype.kind not in "iu"
        or not values.size
        or -_EXACT <= values.min() <= values.max() <= _EXACT
    ):
        return np.flatnonzero([])
    size = np.abs(values).astype(np.uint64)
    odd = size // np.maximum(size & (~size + np.uint64(1)), np.uint64(1))  # without factors of two
    return np.flatnonzero((odd > _EXACT).any(axis=0))

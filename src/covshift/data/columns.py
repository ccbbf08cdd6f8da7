"""Columns of values: outcomes as numbers or categories, labels as text; missing ones are named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from .._array import is_array, to_numpy
from .._frames import column_label
from .._types import Flags, Rows
from .._validation import column_names
from ..exceptions import InputError, InputTypeError

_NAMED = 10  # rows that a message names
LARGEST = 1e100  # squares of larger numbers overflow


@dataclass(frozen=True)
class Outcome:
    """One outcome: numbers, or categories; where it is missing, the row is left out."""

    name: str
    y: NDArray[Any]  # (N,): float64, or text
    present: Flags  # (N,)

    @property
    def missing(self) -> int:
        """Number of rows without it."""
        return int((~self.present).sum())


def check_outcomes(
    y: Any,
    size: int,
    *,
    numbers: bool,
    title: str = "y",
    of: str = "X",
    remedy: str = "Use what='proportion' for the share of each category, or turn it into numbers.",
) -> list[Outcome]:
    """Return the outcomes in ``y``, one or several columns, as ``numbers`` or as categories.

    ``remedy`` is what to do about text where numbers are needed.
    """
    if y is None or isinstance(y, str):
        raise InputTypeError(f"{title}={y!r} holds no values. Pass one entry per row of {of}.")
    if issparse(y):
        raise InputTypeError(f"{title} is sparse. Pass a dense array: {title}.toarray().")
    names = column_names(y)
    if names is not None and len(set(names)) < len(names):
        raise InputError(f"{title} has several columns of the same name. Rename them.")
    if names is None:
        columns = _columns(y, title)
        series = getattr(y, "name", None)
        one = series if isinstance(series, str) and series else title
        names = [one] if len(columns) == 1 else [f"{title}{k}" for k in range(len(columns))]
    else:
        columns = [_plain_column(y[column_label(y, name)]) for name in names]
    if not columns:
        raise InputError(f"{title} has no columns. Pass one number or label per training row.")
    found = []
    for name, column in zip(names, columns, strict=True):
        if len(column) != size:
            raise InputError(
                f"{title} has {len(column)} rows, but {of} has {size}. Pass one entry per row."
            )
        found.append(_numbers(name, column, remedy) if numbers else _categories(name, column))
    return found


def row_list(rows: Rows) -> str:
    """Name some row numbers, counted from zero.

    >>> row_list(np.array([3, 5, 8]))
    '3, 5, 8'
    """
    shown = ", ".join(map(str, rows[:_NAMED]))
    return shown + (f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else "")


def texts(values: Any, size: int, name: str, of: str, gap: str | None = None) -> NDArray[Any]:
    """Return one label per row, as text; a missing one is ``gap``, or refused."""
    if getattr(values, "ndim", 1) != 1:
        raise InputError(f"{name} has {values.ndim} dimensions. Pass one label per row of {of}.")
    cells = _plain_column(values)
    if len(cells) != size:
        raise InputError(f"{name} has {len(cells)} entries, but {of} has {size} rows.")
    lost = np.flatnonzero([_is_missing(cell) for cell in cells])
    if len(lost) and gap is None:
        raise InputError(
            f"{name} is missing in {len(lost)} rows of {of} (rows {row_list(lost)}). Give them a "
            "label of their own, or leave them out."
        )
    return np.array([gap if _is_missing(cell) else spelled(cell) for cell in cells], dtype=str)


def _columns(y: Any, title: str) -> list[Sequence[Any]]:
    values: NDArray[Any]
    if np.ma.isMaskedArray(y):
        values = y
    else:
        try:
            values = np.asarray(to_numpy(y) if is_array(y) else y)
        except ValueError as error:
            raise InputError(f"{title} has rows of different lengths.") from error
        if values.dtype == object or values.dtype.kind in "OUS":
            values = np.asarray(y, dtype=object)
    if values.ndim not in (1, 2):
        raise InputError(
            f"{title} has {values.ndim} dimensions. Pass one entry per row, or several columns."
        )
    if values.ndim == 1:
        return [_plain_column(y)]
    return [_plain_column(values[:, k]) for k in range(values.shape[1])]


def _plain_column(values: Any) -> list[Any]:
    if isinstance(values, str) or values is None:
        raise InputTypeError(f"{values!r} is not a column of values.")
    if hasattr(values, "to_pylist"):
        return list(values.to_pylist())
    if np.ma.isMaskedArray(values):
        return list(values.tolist())  # None where it is masked
    if is_array(values):
        values = to_numpy(values)
    if getattr(getattr(values, "dtype", None), "kind", "") == "M":
        values = np.asarray(values, dtype="datetime64[us]")  # of finer ones tolist makes numbers
    if hasattr(values, "tolist"):
        values = values.tolist()
    return list(values)


def _numbers(name: str, column: Sequence[Any], remedy: str) -> Outcome:
    """Read numbers and booleans; text is refused."""
    y, present = np.zeros(len(column)), np.ones(len(column), dtype=bool)
    for k, cell in enumerate(column):
        if _is_missing(cell):
            present[k] = False
            continue
        if isinstance(cell, complex):
            raise InputError(f"The outcome {name!r} holds complex numbers. Pass real ones.")
        if isinstance(cell, str | bytes):
            raise InputError(
                f"The outcome {name!r} holds text ({cell!r} in row {k}), which has no mean. "
                f"{remedy}"
            )
        try:
            y[k] = float(cell)
        except OverflowError:
            y[k] = np.inf
        except (TypeError, ValueError) as error:
            raise InputError(
                f"The outcome {name!r} holds {cell!r} in row {k}, which is no number."
            ) from error
    infinite = np.flatnonzero(present & ~(np.abs(y) <= LARGEST))
    if len(infinite):
        raise InputError(
            f"The outcome {name!r} is infinite or beyond {LARGEST:g} in {len(infinite)} rows "
            f"(rows {row_list(infinite)}). Repair or rescale it."
        )
    return Outcome(name, y, _any_left(name, present))


def _categories(name: str, column: Sequence[Any]) -> Outcome:
    present = np.array([not _is_missing(cell) for cell in column], dtype=bool)
    strange = next((cell for cell in column if isinstance(cell, complex | Set | Mapping)), None)
    if strange is not None:
        kind = "complex numbers" if isinstance(strange, complex) else f"{type(strange).__name__}s"
        raise InputError(f"The outcome {name!r} holds {kind}. Pass one label or number per row.")
    pairs = zip(column, present, strict=True)
    known: dict[tuple[type, Any], str] = {}  # 1 and True are equal, but not spelled alike
    y = np.array([_spelled_once(cell, known) if there else "" for cell, there in pairs])
    return Outcome(name, y, _any_left(name, present))


def _any_left(name: str, present: Flags) -> Flags:
    if not present.any():
        raise InputError(f"The outcome {name!r} is missing in every row.")
    return present


def _spelled_once(cell: Any, known: dict[tuple[type, Any], str]) -> str:
    try:
        return known[type(cell), cell]
    except KeyError:
        known[type(cell), cell] = found = spelled(cell)
        return found
    except TypeError:  # it has no hash
        return spelled(cell)


def spelled(cell: Any) -> str:
    """Write a label: numbers without needless digits, midnight as a date.

    >>> spelled(2.0), spelled(datetime(2024, 1, 31))
    ('2', '2024-01-31')
    """
    if isinstance(cell, datetime) and cell.time() == time() and cell.tzinfo is None:
        return str(cell.date())
    if isinstance(cell, bool | np.bool_):
        return str(bool(cell))
    if isinstance(cell, float) and abs(cell) < 1e15 and cell == int(cell):
        return str(int(cell))
    return str(cell)


def _is_missing(cell: Any) -> bool:
    if cell is None:
        return True
    try:
        return bool(cell != cell)
    except (TypeError, ValueError):  # pandas' NA says neither yes nor no
        return True

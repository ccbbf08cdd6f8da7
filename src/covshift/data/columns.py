"""Columns of values: outcomes as numbers or categories, labels as text; missing ones are named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, time
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..encoding.cells import is_table, title_of
from ..encoding.outcomes import spells_number
from ..encoding.roles import unread_outcome
from ..exceptions import InputError, InputTypeError
from ..numerics.array import Flags, Rows, is_array, to_numpy
from ..show.notes import Note
from ..show.words import meant
from .features import column_of, select
from .validation import column_names
from .values import is_gap, refuse_lazy

_MOST_KINDS = 50  # of text that is taken for categories: more are names or free text
_ARROW_DATES = ("date32", "date64")  # which NumPy does not take with gaps
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
    remedy: str = "Use {what} for the share of each category, or turn it into numbers.",
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
        columns = _columns(y, title, numbers)
        series = getattr(y, "name", None)
        one = series if isinstance(series, str) and series else title
        names = [one] if len(columns) == 1 else [f"{title}{k}" for k in range(len(columns))]
    else:
        columns = [_column(column_of(y, name), numbers) for name in names]
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


def with_outcome(y: Any) -> Flags | None:
    """Return which rows have an outcome, of several any (N,); None where all have, or y is odd."""
    names = column_names(y)
    if y is None or issparse(y) or len(set(names or ())) < len(names or ()):
        return None
    try:
        columns = [y] if names is None else [column_of(y, name) for name in names]
        parts = [part for y in columns for part in _columns(y, "y", True)]
    except InputError:  # which the check of outcomes refuses
        return None
    if not parts or len({len(part) for part in parts}) > 1:
        return None
    present = np.zeros(len(parts[0]), dtype=bool)
    for part in parts:
        if isinstance(part, np.ndarray):
            present |= ~np.isnan(part)
        else:
            present |= np.array([not is_gap(cell) for cell in part], dtype=bool)
    return None if present.all() or not present.any() else present


def outcomes_as_they_are(y: Any, size: int) -> tuple[list[Outcome], bool]:
    """Return outcomes as numbers, or as categories where they are text, and which of both.

    Zeros and ones as text are categories; so many kinds, or cells that spell other numbers, are
    more likely a column that was read wrongly.
    """
    try:
        return check_outcomes(y, size, numbers=True), False
    except InputError:
        if y is None:
            raise
        outcomes = check_outcomes(y, size, numbers=False)
        kinds = [set(outcome.y[outcome.present].tolist()) for outcome in outcomes]
        if any(not kind <= {"0", "1"} and any(map(spells_number, kind)) for kind in kinds):
            raise
    for outcome, kind in zip(outcomes, kinds, strict=True):
        if len(kind) > _MOST_KINDS:
            raise InputError(
                f"The outcome {outcome.name!r} has {len(kind)} different values that are not "
                "numbers: names or free text rather than categories. Name those that you want with "
                "{category}, or ask for all with {what}.",
                category="",
                what=repr("proportion"),
            )
    return outcomes, True


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
    lost = np.flatnonzero([is_gap(cell) for cell in cells])
    if len(lost) and gap is None:
        raise InputError(
            f"{name} is missing in {len(lost)} rows of {of} (rows {row_list(lost)}). Give them a "
            "label of their own, or leave them out."
        )
    return np.array([gap if is_gap(cell) else spelled(cell) for cell in cells], dtype=str)


def _columns(y: Any, title: str, numbers: bool) -> list[Any]:
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
        return [_column(y, numbers)]
    return [_column(values[:, k], numbers) for k in range(values.shape[1])]


def _column(values: Any, numbers: bool) -> Any:
    """Return an array of NumPy's numbers as it is where ``numbers`` are wanted, else a list."""
    dtype = getattr(values, "dtype", None)
    plain = isinstance(dtype, np.dtype) and dtype.kind in "fiub"
    if numbers and plain and not np.ma.isMaskedArray(values):
        return np.asarray(values)
    return _plain_column(values)


def _plain_column(values: Any) -> list[Any]:
    if isinstance(values, str) or values is None:
        raise InputTypeError(f"{values!r} is not a column of values.")
    refuse_lazy(values)
    if hasattr(values, "to_pylist"):
        return list(values.to_pylist())
    if np.ma.isMaskedArray(values):
        return list(values.tolist())  # None where it is masked
    if is_array(values):
        values = to_numpy(values)
    dtype = getattr(values, "dtype", None)
    if getattr(dtype, "kind", "") == "M" and not str(dtype).startswith(_ARROW_DATES):
        values = np.asarray(values, dtype="datetime64[us]")  # of finer ones tolist makes numbers
    if hasattr(values, "tolist"):
        values = values.tolist()
    return list(values)


def _numbers(name: str, column: Any, remedy: str) -> Outcome:
    """Read numbers and booleans; text is refused."""
    y, present = np.zeros(len(column)), np.ones(len(column), dtype=bool)
    if isinstance(column, np.ndarray):
        present = ~np.isnan(column)
        y[present] = column[present]
        column = ()
    for k, cell in enumerate(column):
        if is_gap(cell):
            present[k] = False
            continue
        if isinstance(cell, complex):
            raise InputError(f"The outcome {name!r} holds complex numbers. Pass real ones.")
        if isinstance(cell, str | bytes):
            raise InputError(
                f"The outcome {name!r} holds text ({cell!r} in row {k}), which has no mean. "
                f"{remedy}",
                what=repr("proportion"),
            )
        try:
            y[k] = float(cell)
        except OverflowError:
            y[k] = np.inf
        except (TypeError, ValueError) as error:
            raise InputError(
                f"The outcome {name!r} holds {cell!r} in row {k}, which is not a number."
            ) from error
    infinite = np.flatnonzero(present & ~(np.abs(y) <= LARGEST))
    if len(infinite):
        raise InputError(
            f"The outcome {name!r} is infinite or beyond {LARGEST:g} in {len(infinite)} rows "
            f"(rows {row_list(infinite)}). Repair or rescale it."
        )
    return Outcome(name, y, _any_left(name, present))


def _categories(name: str, column: Sequence[Any]) -> Outcome:
    present = np.array([not is_gap(cell) for cell in column], dtype=bool)
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


# Arguments that name columns of a frame, and values that come with an index of their own.


class NamedColumns:
    """Reads the columns of two frames that arguments name; these are not features any more.

    Values that are given as such pass, in the order of the frame's rows where both have an index.
    """

    def __init__(self, X: Any, target: Any) -> None:
        self.X, self.target = X, target
        self._roles: dict[str, str] = {}  # columns, and the arguments that name them

    def outcomes(self, y: Any) -> Any:
        """Return outcomes that are given, or as a frame of the columns that y names."""
        names = [y] if isinstance(y, str) else y
        if not isinstance(y, str) and not _are_columns(names, self.X):
            return in_order_of(y, self.X, "y", "X")
        for name in names:
            self._take(self.X, name, "y", "X")
        return select(self.X, list(names))

    def of_rows(self, values: Any, argument: str) -> Any:
        """Return one value per training row, or the column of X that is named."""
        return self._values(values, self.X, argument, "X")

    def of_target(self, values: Any, argument: str) -> Any:
        """Return one value per target row, or the column of X_target that is named."""
        return self._values(values, self.target, argument, "X_target")

    def several(self, values: Any, argument: str) -> Any:
        """Return columns (N, k) that are given, or those of X that names or patterns name."""
        listed = [values] if isinstance(values, str) else values
        if not (isinstance(listed, list | tuple) and all(isinstance(v, str) for v in listed)):
            return in_order_of(values, self.X, argument, "X")
        there = column_names(self.X) or []
        names: list[str] = []
        for name in listed:
            found = [name] if name in there else [n for n in there if fnmatchcase(n, name)]
            if not found:
                self._check(self.X, name, argument, "X")
            names += [n for n in found if n not in names]
        columns = [_plain_column(self._take(self.X, name, argument, "X")) for name in names]
        try:
            return np.array(columns, dtype=np.float64).T
        except (TypeError, ValueError) as error:
            raise InputError(f"{argument} name columns that hold no numbers.") from error

    def group(self, name: str) -> tuple[Any, Any]:
        """Return the groups of both samples; where X alone has the column, it is not a feature."""
        if name in (column_names(self.target) or ()):
            self._check(self.X, name, "by", "X", " " + PAIR)
            return column_of(self.X, name), column_of(self.target, name)
        return self._take(self.X, name, "by", "X", " " + PAIR), None

    def unread_outcomes(self) -> list[Note]:
        """Say which outcomes the target has as well."""
        there = column_names(self.target) or ()
        notes = []
        for name in (name for name, role in self._roles.items() if role == "y" and name in there):
            cells = _plain_column(column_of(self.target, name))
            known = len(cells) - sum(map(is_gap, cells))
            notes += unread_outcome(title_of(self.target, "X_target"), name, known, len(cells))
        return notes

    @property
    def features(self) -> tuple[Any, Any]:
        """Both samples without the columns that were named."""
        return self._without(self.X, "X"), self._without(self.target, "X_target")

    def as_fitted(self, model: Any) -> tuple[Any, Any]:
        """Both samples as a model takes them: the columns that it was fitted to, if it knows."""
        names = getattr(model, "feature_names_in_", None)
        known = set(column_names(self.X) or ()) & set(column_names(self.target) or ())
        if not self._roles or names is None or not set(map(str, names)) <= known:
            return self.features
        wanted = list(map(str, names))
        return select(self.X, wanted), select(self.target, wanted)

    def _values(self, values: Any, frame: Any, argument: str, title: str) -> Any:
        if isinstance(values, str):
            return self._take(frame, values, argument, title)
        return in_order_of(values, frame, argument, title)

    def _take(self, frame: Any, name: str, argument: str, title: str, more: str = "") -> Any:
        self._check(frame, name, argument, title, more)
        self._roles.setdefault(name, argument)
        return column_of(frame, name)

    def _check(self, frame: Any, name: str, argument: str, title: str, more: str = "") -> None:
        names = column_names(frame) or []
        if name not in names:
            listed = f" Its columns are: {', '.join(map(repr, names[:12]))}." if names else ""
            if not names and not more:
                more = " Its columns have no names: pass a data frame, or one value per row."
            raise InputError(
                f"{argument}={name!r} names a column, but {title} has no such column."
                f"{meant(name, names)}{listed}{more}"
            )
        if self._roles.get(name) == "y" and argument not in ("y", "y_target"):
            raise InputError(f"{name!r} cannot be the outcome and {argument} at once.")

    def _without(self, frame: Any, title: str) -> Any:
        names = column_names(frame) or []
        kept = [name for name in names if name not in self._roles]
        if len(kept) == len(names):
            return frame
        if not kept:
            raise InputError(
                f"{title} has no features: all its columns, {', '.join(map(repr, names))}, are "
                "named by other arguments."
            )
        return select(frame, kept)


PAIR = (
    "Pass the groups of the training rows as an array, or of both samples as a pair (groups, "
    "groups_of_the_target)."
)


def in_order_of(values: Any, frame: Any, argument: str, title: str) -> Any:
    """Put values in the order of the frame's rows, where both have an index of pandas."""
    own: Any = getattr(values, "index", None)
    index: Any = getattr(frame, "index", None)
    if not (hasattr(own, "equals") and hasattr(index, "equals")):
        return values
    if len(own) != len(index) or own.equals(index):  # another length is refused where it is read
        return values
    if own.is_unique and index.is_unique and not len(index.difference(own)):
        return values.reindex(index)
    raise InputError(
        f"{argument} has a different index from {title}, so that their rows cannot be paired. "
        f"Pass the name of a column of {title}; or, if both are in the same order, "
        f"{argument}.to_numpy()."
    )


def refuse_old_order(X: Any, y: Any) -> None:
    """Refuse ``estimate(y, X, X_target)``, the order before 1.0."""
    if (isinstance(X, str) or _dimensions(X) == 1) and _dimensions(y) == 2:
        raise InputError(
            "The features come first: use estimate(X, y, X_target), not estimate(y, X, X_target)."
        )


def _dimensions(values: Any) -> int | None:
    if is_table(values):
        return 2
    shape = getattr(values, "shape", None)
    if shape is not None:
        return len(shape)
    try:
        return int(np.ndim(values))
    except ValueError:  # rows of different lengths
        return None


def _are_columns(names: Any, X: Any) -> bool:
    """Whether a list names columns of X, and holds no values."""
    known = column_names(X)
    return (
        known is not None
        and isinstance(names, list | tuple)
        and bool(names)
        and all(isinstance(name, str) and name in known for name in names)
    )

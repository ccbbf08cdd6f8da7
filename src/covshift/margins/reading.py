"""A sample read with the eyes of margins: the columns that they know, as numbers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.features import cells_of, select
from ..data.validation import check_points, column_names, refuse_no_rows
from ..exceptions import InputError, MarginsWarning
from ..numerics.array import Real, to_numpy
from .cells import GAP, MISSING, OTHER, Brackets, Categories, Margin, level_of
from .features import Features, columns_of
from .margins import Margins

_NAMED = 5  # columns or levels that a message names


@dataclass(frozen=True)
class Reading:
    """Columns to read, by name; a category becomes the number of its level.

    With ``features`` the numbers are turned into these.
    """

    names: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]  # empty for a number
    features: Features | None = None
    gaps: tuple[str, ...] = ()  # numbers of which the margins have a cell for missing ones

    @property
    def width(self) -> int:
        """Number of columns that `encode` returns."""
        return len(self.names) if self.features is None else len(self.features)

    def encode(self, X: Any, title: str = "X") -> Real:
        """Return the numbers (N, width) of a sample."""
        names = column_names(X)
        parts = zip(self.names, self.levels, strict=True)
        columns = [_numbers(X, names, n, own, title, n in self.gaps) for n, own in parts]
        found = np.column_stack(columns)
        return found if self.features is None else columns_of(self.features, found)


def reading_of(
    margins: Margins,
    X: Any,
    used: Sequence[str],
    who: str,
    *,
    asked: bool = False,
    free: str = "The weights do nothing for them.",
) -> Reading:
    """Match margins and a sample by name: say which columns one of the two lacks.

    ``used`` are the columns that the weighter named ``who`` can use, or was ``asked`` to use, and
    ``free`` says what becomes of columns without a margin.
    """
    refuse_no_rows(X, "X")
    names = column_names(X)
    given = [str(k) for k in range(shape_of(X, "X")[1])] if names is None else names
    absent = [name for name in margins.columns if name not in given]
    if absent:
        how = "X has no column names: its columns are called 0, 1, 2, ..." if names is None else ""
        raise InputError(
            f"The margins have {_listed(absent)}, which X lacks. {how or 'X has ' + _listed(given)}"
            f"{'' if how else '.'} Leave them out with margins.select([...]), or rename them."
        )
    if not used:
        raise InputError(
            f"{who} can use none of the margins: they are means of {_listed(margins.columns)}. Use "
            "EntropyBalancing, or give brackets or categories."
        )
    unused = [name for name in margins.columns if name not in used]
    if unused and not asked:
        warnings.warn(
            f"{who} does not use the means of {_listed(unused)}: a mean is no distribution. "
            "EntropyBalancing does.",
            MarginsWarning,
            stacklevel=5,
        )
    without = [name for name in given if name not in margins.columns]
    if without and not asked:
        warnings.warn(
            f"X has columns without a margin: {_listed(without)}. {free}",
            MarginsWarning,
            stacklevel=5,
        )
    levels = tuple(levels_of(margins, name) for name in used)
    return Reading(tuple(used), levels, gaps=gaps_of(margins))


def refuse_outside(margins: Margins, reading: Reading, points: Real, *, strict: bool) -> None:
    """Name the columns in which rows (N, columns) lie in no bracket."""
    for k, name in enumerate(reading.names):
        margin = margins.margin(name)
        if margin is None or not isinstance(margin.cells, Brackets):
            continue
        outside = margin.cells.outside(points[:, k])
        if not outside.any():
            continue
        there = points[outside, k]
        text = (
            f"{int(outside.sum())} of {len(points)} rows of X lie in no bracket of {name!r}: they "
            f"have values from {there.min():.6g} to {there.max():.6g}, and the brackets are "
            f"{_listed(margin.cells.labels)}."
        )
        advice = " Drop these rows, or open the first or last bracket with None."
        if strict:
            raise InputError(text + advice)
        warnings.warn(text + advice, MarginsWarning, stacklevel=5)


def levels_of(margins: Margins, name: str) -> tuple[str, ...]:
    """Levels of a category; none for a number."""
    margin = margins.margin(name)
    return margin.cells.levels if margin and isinstance(margin.cells, Categories) else ()


def gaps_of(margins: Margins) -> tuple[str, ...]:
    """Columns of numbers of which missing values have a cell."""
    parts = ((name, margins.margin(name)) for name in margins.columns)
    return tuple(n for n, part in parts if part is not None and getattr(part.cells, "gap", False))


def named_levels(margins: Margins) -> dict[str, tuple[str, ...]]:
    """Levels of all categories, by column."""
    found = {name: levels_of(margins, name) for name in margins.columns}
    return {name: tuple(v for v in levels if v != OTHER) for name, levels in found.items()}


def cell_columns(margins: Margins) -> list[str]:
    """Columns whose cells have shares."""
    return [name for name in margins.columns if margins.margin(name) is not None]


def table_parts(margins: Margins) -> list[tuple[tuple[str, ...], Any]]:
    """All that has cells: (columns, margin or table), tables last."""
    single = [((name,), part) for name, part in margins.single.items() if isinstance(part, Margin)]
    return [*single, *((table.columns, table) for table in margins.tables)]


def _numbers(
    X: Any, names: list[str] | None, name: str, levels: tuple[str, ...], title: str, gap: bool
) -> Real:
    if names is None:
        shape = shape_of(X, title)
        if not name.isdecimal() or int(name) >= shape[1]:
            raise InputError(f"{title} has no column {name!r}, which the margins name.")
        column = check_points(X, title)[:, int(name)]
        values: Any = to_numpy(column).astype(np.float64)
        cells = [level_of(value) for value in values] if levels else []
    elif name not in names:
        raise InputError(f"{title} lacks the column {name!r}, which the margins name.")
    elif names.count(name) > 1:
        raise InputError(f"{title} has several columns named {name!r}. Rename them.")
    elif levels:
        missing = MISSING if MISSING in levels else None
        found = cells_of(X, name, title, as_text=False, gap=missing)
        cells = [level_of(cell) for cell in found]
    else:
        values = numbers_of(X, name, title, gap=gap)
        values = np.where(np.isnan(values), GAP, values) if gap else values
    if not levels:
        return np.asarray(values)
    known = Categories(levels)
    unknown = known.unknown(cells)
    if unknown:
        count = sum(cell in set(unknown) for cell in cells)
        raise InputError(
            f"{title}: the column {name!r} has {_listed(unknown)} ({count} of {len(cells)} rows), "
            f"and the margins have {_listed(levels)}. Spell them the same way, drop these rows, "
            "or give the margins a category '(other)'."
        )
    return known.codes(cells).astype(np.float64)


def numbers_of(X: Any, name: str, title: str, *, gap: bool) -> Real:
    """Return a column of a frame as numbers (N,), NaN where a ``gap`` is allowed."""
    column = select(X, [name])
    if gap:
        values = to_numpy(check_points(column, title, finite=False)).astype(np.float64)[:, 0]
        if np.isnan(values).any() and not np.isinf(values).any():
            return np.asarray(values)
    return np.asarray(to_numpy(check_points(column, title)).astype(np.float64)[:, 0])


def shape_of(X: Any, title: str) -> tuple[int, ...]:
    """Return the shape (rows, columns) of an array or of nested lists."""
    try:
        shape: tuple[int, ...] = np.shape(X)
    except ValueError as error:
        raise InputError(f"{title} has rows or cells of different lengths.") from error
    if len(shape) != 2:
        raise InputError(f"{title} has {len(shape)} dimensions. Pass a (rows, columns) array.")
    return shape


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(map(repr, names[:_NAMED])) + more

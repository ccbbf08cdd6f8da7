"""A sample read with the eyes of margins: the columns that they know, as numbers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.features import select
from ..data.numbers import refuse_repeated
from ..data.validation import check_points, column_names, refuse_no_rows
from ..encoding.cells import Cells, read_cells
from ..encoding.learning import refuse_infinite
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

    @classmethod
    def of(cls, margins: Margins, names: Sequence[str]) -> Reading:
        """Return how these columns are read."""
        known = {name: margins.margin(name) for name in names}
        gaps = tuple(n for n, part in known.items() if part and getattr(part.cells, "gap", False))
        return cls(tuple(names), tuple(levels_of(margins, name) for name in names), gaps=gaps)

    def encode(self, X: Any, title: str = "X") -> Real:
        """Return the numbers of a sample, a column for each name or feature."""
        cells = columns_of_rows(X, title, self.names)
        parts = zip(self.names, self.levels, strict=True)
        found = np.column_stack([self._numbers(cells[name], own, title) for name, own in parts])
        return found if self.features is None else columns_of(self.features, found)

    def _numbers(self, cells: Cells, levels: tuple[str, ...], title: str) -> Real:
        """Return the column of a category as numbers of its levels, of numbers as it is."""
        name, lost = cells.name, int(cells.gaps.sum())
        gap = MISSING in levels or name in self.gaps
        if lost and not gap:
            raise InputError(
                f"{title}: column {name!r} has {lost} missing values. Fill them, in the same way "
                f"as in the target, or give its margin a cell {MISSING!r}."
            )
        if not levels:
            return np.asarray(np.where(cells.gaps, GAP, checked_numbers(cells, title)))
        cells, known = cells.as_text(), Categories(levels)
        words = [level_of(word) for word in cells.words]
        unknown = known.unknown(words)
        codes: Real = known.codes([*words, MISSING])[cells.values].astype(np.float64)
        if unknown:
            count = int((codes < 0).sum())
            raise InputError(
                f"{title}: the column {name!r} has {_listed(unknown)} ({count} of {len(cells)} "
                f"rows), and the margins have {_listed(levels)}. Spell them the same way, drop "
                "these rows, or give the margins a category '(other)'."
            )
        return codes


def columns_of_rows(X: Any, title: str, wanted: Sequence[str] | None = None) -> dict[str, Cells]:
    """Return the columns by name, all or the ``wanted`` ones; those of an array are 0, 1, 2, ..."""
    names = column_names(X)
    if names is None:
        points = to_numpy(check_points(X, title)).astype(np.float64)
        every = {str(k): Cells(str(k), "number", points[:, k]) for k in range(points.shape[1])}
        absent = [name for name in wanted or () if name not in every]
        if absent:
            raise InputError(f"{title} has no column {absent[0]!r}, which the margins name.")
        return every
    for name in wanted or ():
        if name not in names:
            raise InputError(f"{title} lacks the column {name!r}, which the margins name.")
    names = [name for name in names if wanted is None or name in wanted]
    refuse_repeated(names, title)
    # One by one: 1 and 1.0 are different columns of pandas.
    return {name: read_cells(select(X, [name]), title)[name] for name in names}


def checked_numbers(cells: Cells, title: str) -> Real:
    """Return a column of numbers, days of dates, or zeros and ones; NaN where one is missing."""
    if cells.is_text:
        raise InputError(f"{title}: column {cells.name!r} holds text, and its margin has numbers.")
    refuse_infinite(cells, title)
    return np.asarray(cells.values)


def reading_of(
    margins: Margins,
    X: Any,
    used: Sequence[str],
    who: str,
    *,
    strict: bool = True,
    asked: bool = False,
    free: str = "The weights do nothing for them.",
) -> Reading:
    """Match margins and a sample by name: say which columns one of the two lacks.

    ``used`` are the columns that the weighter named ``who`` can use, or was ``asked`` to use, and
    ``free`` says what becomes of columns without a margin. Rows that lie in no bracket are refused,
    or warned of unless ``strict``.
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
    reading = Reading.of(margins, used)
    _refuse_outside(margins, reading, reading.encode(X), strict=strict)
    return reading


def _refuse_outside(margins: Margins, reading: Reading, points: Real, *, strict: bool) -> None:
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
        warnings.warn(text + advice, MarginsWarning, stacklevel=6)


def levels_of(margins: Margins, name: str) -> tuple[str, ...]:
    """Levels of a category; none for a number."""
    margin = margins.margin(name)
    return margin.cells.levels if margin and isinstance(margin.cells, Categories) else ()


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

"""A sample read with the eyes of margins: the columns that they know, as numbers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..data.features import cells_of, select
from ..data.validation import check_points, column_names, refuse_no_rows
from ..exceptions import InputError, MarginsWarning
from ..numerics.array import Real, Whole, to_numpy
from .cells import GAP, MISSING, OTHER, Brackets, Categories, Cells, Margin, Moments, level_of
from .margins import Margins

# Numbers that margins say something about: values, indicators of cells, powers.


VALUE, CELL, STANDARD, SQUARE = range(4)
"""Forms of a feature: the value itself, whether it lies in a cell (or two columns do), the value
less a mean over a standard deviation, and the square of that."""


@dataclass(frozen=True)
class Features:
    """Features of some columns, one after another."""

    form: Whole  # (p,)
    first: Whole  # (p,): a column
    second: Whole  # (p,): another one, or the same again
    low: Real  # (p, 2): smallest value of a cell in each of the two; a mean
    high: Real  # (p, 2): largest; a standard deviation

    @classmethod
    def of(cls, parts: list[Feature]) -> Features:
        """Put features one after another."""
        form, first, second, low, high = zip(*parts, strict=True)
        forms, columns, others = (np.array(part, np.int64) for part in (form, first, second))
        least, most = (np.array(part, np.float64).reshape(-1, 2) for part in (low, high))
        return cls(forms, columns, others, least, most)

    def __len__(self) -> int:
        return len(self.form)

    @property
    def width(self) -> int:
        """Number of columns that they are made of, at least."""
        return 1 + int(max(self.first.max(initial=-1), self.second.max(initial=-1)))

    def __call__(self, Z: Real) -> Real:
        """Return the features (N, p) of the columns Z (N, n)."""
        found = np.empty((len(Z), len(self)))
        for k, form in enumerate(self.form.tolist()):
            x, y = Z[:, self.first[k]], Z[:, self.second[k]]
            low, high = self.low[k], self.high[k]
            if form == CELL:
                inside = (x >= low[0]) & (x <= high[0]) & (y >= low[1]) & (y <= high[1])
                found[:, k] = inside
            elif form == VALUE:
                found[:, k] = x
            else:
                z = np.clip((x - low[0]) / high[0], -1e100, 1e100)
                found[:, k] = z if form == STANDARD else z**2
        return found


class Feature(NamedTuple):
    """One feature, as `Features` holds it."""

    form: int
    first: int
    second: int
    low: tuple[float, float]
    high: tuple[float, float]


class Line(NamedTuple):
    """The distribution of one feature in the population, and what its cells are called."""

    column: str
    values: Real  # (k,): the largest value of each cell
    share: Real  # (k,)
    labels: list[str]


def value(column: int) -> Feature:
    """The column itself."""
    return Feature(VALUE, column, column, (0.0, 0.0), (0.0, 0.0))


def cell(column: int, cells: Cells, k: int) -> Feature:
    """Whether the column is in its k-th cell."""
    low, high = _ends(cells, k)
    return Feature(CELL, column, column, (low, low), (high, high))


def pair(first: int, second: int, cells: tuple[Cells, Cells], k: int, m: int) -> Feature:
    """Whether two columns are in these cells."""
    (a, b), (c, d) = _ends(cells[0], k), _ends(cells[1], m)
    return Feature(CELL, first, second, (a, c), (b, d))


def cdf_features(margins: Margins, names: tuple[str, ...]) -> tuple[Features, list[Line]]:
    """What distribution functions are compared: of each number, and of each cell's indicator.

    A category of two levels is one indicator, of the rarer one, of more levels one each; a table
    has one for each of its cells.
    """
    parts: list[Feature] = []
    lines: list[Line] = []

    def add(feature: Feature, column: str, share: float, label: str) -> None:
        parts.append(feature)
        masses = np.array([1 - share, share])
        lines.append(Line(column, np.array([0.0, 1.0]), masses, [f"not {label}", label]))

    for k, name in enumerate(names):
        margin: Any = margins.margin(name)
        if isinstance(margin.cells, Brackets):
            parts.append(value(k))
            lines.append(Line(name, margin.cells.ends, margin.share, margin.cells.labels))
            continue
        shown = range(len(margin.cells))
        if len(margin.cells) == 2:
            # Where the target has ones alone, its points see no difference from zeros.
            shown = range(1, 2) if margin.share[1] <= 0.5 else range(1)
        for level in shown:
            label = margin.cells.labels[level]
            add(cell(k, margin.cells, level), name, float(margin.share[level]), label)
    for table in margins.tables:
        a, b = (names.index(name) for name in table.columns)
        shape = table.share.shape
        for (i, j), label in zip(np.ndindex(*shape), table.labels(), strict=True):
            feature = pair(a, b, table.cells, i, j)
            add(feature, table.title, float(table.share[i, j]), label)
    return Features.of(parts), lines


def moment_features(margins: Margins, names: tuple[str, ...]) -> tuple[Features, Real, list[str]]:
    """What means are known: of numbers, of their squares, of cells; and what they are called."""
    parts: list[Feature] = []
    means: list[float] = []
    labels: list[str] = []

    def add(feature: Feature, mean: float, label: str) -> None:
        parts.append(feature)
        means.append(mean)
        labels.append(label)

    for k, name in enumerate(names):
        known = margins.single.get(name)
        if isinstance(known, Moments):
            unit = known.sd or 1.0
            ends = (known.mean, known.mean), (unit, unit)
            add(Feature(STANDARD, k, k, *ends), 0.0, f"the mean of {name!r}")
            if known.sd is not None:
                label = f"the standard deviation of {name!r}"
                add(Feature(SQUARE, k, k, *ends), 1.0, label)
        elif isinstance(known, Margin):
            for c, (share, label) in enumerate(zip(known.share, known.cells.labels, strict=True)):
                add(cell(k, known.cells, c), float(share), f"{name!r} in {label}")
    for table in margins.tables:
        a, b = (names.index(name) for name in table.columns)
        places = np.ndindex(*table.share.shape)
        for (i, j), label in zip(places, table.labels(), strict=True):
            feature = pair(a, b, table.cells, i, j)
            add(feature, float(table.share[i, j]), f"{table.title} in {label}")
    return Features.of(parts), np.array(means), labels


def _ends(cells: Cells, k: int) -> tuple[float, float]:
    if isinstance(cells, Brackets):
        return float(cells.starts[k]), float(cells.ends[k])
    return float(k), float(k)


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
        return found if self.features is None else self.features(found)


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

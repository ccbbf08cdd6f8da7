"""Numbers that margins say something about: values, indicators of cells, powers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._fields import Kind, Reals, Wholes
from .._types import Real, Whole
from .cells import Brackets, Cells
from .kinds import Margin, Moments
from .margins import Margins

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

    _saved: ClassVar[dict[str, Kind]] = {
        "form": Wholes("p"),
        "first": Wholes("p"),
        "second": Wholes("p"),
        "low": Reals("p", 2),
        "high": Reals("p", 2),
    }

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

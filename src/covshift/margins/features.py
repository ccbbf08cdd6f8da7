"""Numbers that margins say something about: values, indicators of cells, powers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..numerics.array import Real
from .cells import Brackets, Cells, Margin, Moments
from .margins import Margins


@dataclass(frozen=True)
class Feature:
    """One number of a row: a column's value, or whether one or two columns lie in their cells."""

    columns: tuple[int, ...]
    ends: tuple[tuple[float, float], ...] = ()  # smallest and largest number in each cell
    moments: tuple[float, float] | None = None  # a mean and a spread, in which a value is told
    power: int = 1

    @classmethod
    def of_cells(cls, *sides: tuple[int, Cells, int]) -> Feature:
        """Whether each column, of these cells, is in the k-th of them."""
        return cls(tuple(side[0] for side in sides), tuple(_ends(*side[1:]) for side in sides))

    def __call__(self, Z: Real) -> Real:
        """Return the feature (N,) of the columns Z (N, n)."""
        if self.ends:
            inside = np.ones(len(Z))
            for column, (low, high) in zip(self.columns, self.ends, strict=True):
                inside *= (Z[:, column] >= low) & (Z[:, column] <= high)
            return inside
        x: Real = Z[:, self.columns[0]]
        if self.moments is None:
            return x
        mean, spread = self.moments
        return np.asarray(np.clip((x - mean) / spread, -1e100, 1e100) ** self.power)


Features = tuple[Feature, ...]


class Line(NamedTuple):
    """The distribution of one feature in the population, and what its cells are called."""

    column: str
    values: Real  # (k,): the largest value of each cell
    share: Real  # (k,)
    labels: list[str]


def columns_of(features: Features, Z: Real) -> Real:
    """Return the features (N, p) of the columns Z (N, n)."""
    return np.column_stack([feature(Z) for feature in features]).astype(np.float64)


def cdf_features(margins: Margins, names: tuple[str, ...]) -> tuple[Features, list[Line]]:
    """What distribution functions are compared: of each number, and of each cell's indicator.

    A category of two levels is one indicator, of the rarer one, of more levels one each; a table
    has one for each of its cells.
    """
    parts: list[Feature] = []
    lines: list[Line] = []
    for k, name in enumerate(names):
        margin: Any = margins.margin(name)
        if isinstance(margin.cells, Brackets):
            parts.append(Feature((k,)))
            lines.append(Line(name, margin.cells.ends, margin.share, margin.cells.labels))
            continue
        cells = [*_cells(k, margin)]
        if len(cells) == 2:
            # Where the target has ones alone, its points see no difference from zeros.
            cells = cells[1:] if margin.share[1] <= 0.5 else cells[:1]
        for feature, share, label in cells:
            parts.append(feature)
            lines.append(_indicator(name, share, label))
    for title, feature, share, label in _table_cells(margins, names):
        parts.append(feature)
        lines.append(_indicator(title, share, label))
    return tuple(parts), lines


def moment_features(margins: Margins, names: tuple[str, ...]) -> tuple[Features, Real, list[str]]:
    """What means are known: of numbers, of their squares, of cells; and what they are called."""
    known: list[tuple[Feature, float, str]] = []
    for k, name in enumerate(names):
        part = margins.single.get(name)
        if isinstance(part, Moments):
            moments = part.mean, part.sd or 1.0
            known.append((Feature((k,), moments=moments), 0.0, f"the mean of {name!r}"))
            if part.sd is not None:
                square = Feature((k,), moments=moments, power=2)
                known.append((square, 1.0, f"the standard deviation of {name!r}"))
        elif isinstance(part, Margin):
            known += [(feature, m, f"{name!r} in {label}") for feature, m, label in _cells(k, part)]
    known += [
        (feature, share, f"{title} in {label}")
        for title, feature, share, label in _table_cells(margins, names)
    ]
    features, means, labels = zip(*known, strict=True)
    return features, np.array(means), [*labels]


def _indicator(column: str, share: float, label: str) -> Line:
    masses = np.array([1 - share, share])
    return Line(column, np.array([0.0, 1.0]), masses, [f"not {label}", label])


def _cells(column: int, margin: Margin) -> Iterator[tuple[Feature, float, str]]:
    """Yield the indicator of each cell of a column, its share, and what it is called."""
    pairs = zip(margin.share, margin.cells.labels, strict=True)
    for k, (share, label) in enumerate(pairs):
        yield Feature.of_cells((column, margin.cells, k)), float(share), label


def _table_cells(
    margins: Margins, names: tuple[str, ...]
) -> Iterator[tuple[str, Feature, float, str]]:
    """Yield the same of all tables, each with the title of its table before it."""
    for table in margins.tables:
        a, b = (names.index(name) for name in table.columns)
        places = np.ndindex(*table.share.shape)
        for (i, j), label in zip(places, table.labels(), strict=True):
            feature = Feature.of_cells((a, table.cells[0], i), (b, table.cells[1], j))
            yield table.title, feature, float(table.share[i, j]), label


def _ends(cells: Cells, k: int) -> tuple[float, float]:
    if isinstance(cells, Brackets):
        return float(cells.starts[k]), float(cells.ends[k])
    return float(k), float(k)

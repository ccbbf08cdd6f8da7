"""The columns of a sample that margins know, read once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..data.row_weights import row_weights
from ..data.validation import column_names
from ..encoding.cells import Cells, CellTable
from ..numerics.array import Real, Rows, Whole
from .cells import GAP, Brackets
from .features import columns_of, moment_features
from .margins import Margins
from .reading import Reading, reading_of, shape_of


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Rows of the columns that margins know.

    A level that has no cell of its own is called "(other)" here.
    """

    margins: Margins
    reading: Reading
    points: Real  # (N, columns): numbers, and the numbers of levels
    free: tuple[str, ...] = ()  # columns of the sample without a margin

    @classmethod
    def inside_or_not(cls, margins: Margins, X: Any) -> KnownRows:
        """Read a sample, of which some rows may lie in no bracket."""
        reading = Reading.of(margins, margins.columns)
        return cls(margins, reading, reading.encode(X))

    @classmethod
    def of(cls, margins: Margins, X: Any, who: str) -> KnownRows:
        """Read a sample; what is missing or unknown in it is an error that names it."""
        reading = reading_of(margins, X, margins.columns, who, asked=True)
        points = reading.encode(X)
        names = column_names(X)
        given = [str(k) for k in range(shape_of(X, "X")[1])] if names is None else names
        return cls(margins, reading, points, tuple(n for n in given if n not in reading.names))

    def rows(self, rows: Rows) -> KnownRows:
        """Keep some of the rows."""
        return replace(self, points=self.points[rows])

    @cached_property
    def moments(self) -> tuple[Real, Real, list[str]]:
        """Features (N, p) whose means are published, these means (p,), and what they are called."""
        features, means, labels = moment_features(self.margins, self.reading.names)
        return columns_of(features, self.points), means, labels

    def cells(self, name: str) -> Whole:
        """Number of the cell that each row is in, of a column with cells: (N,)."""
        margin = self.margins.margin(name)
        assert margin is not None
        column = self.points[:, self.reading.names.index(name)]
        if isinstance(margin.cells, Brackets):
            return np.searchsorted(margin.cells.ends[:-1], column).astype(np.int64)
        return column.astype(np.int64)

    def __len__(self) -> int:
        return len(self.points)

    @cached_property
    def table(self) -> CellTable:
        """The rows as a data frame, which weighters read."""
        columns = zip(self.reading.names, self.reading.levels, self.points.T, strict=True)
        return CellTable({name: _cells(name, own, x) for name, own, x in columns})


def _cells(name: str, levels: tuple[str, ...], x: Real) -> Cells:
    if levels:
        return Cells(name, "category", x.astype(np.intp), levels)
    return Cells(name, "number", np.where(x == GAP, np.nan, x))


# How far a sample, with its weights, is from margins.


class Balance(NamedTuple):
    """One number that the margins hold, and what it is in the sample."""

    what: str
    target: float
    sample: float
    gap: float  # their difference; of a mean and a standard deviation, in units of the latter


def balance_of(known: KnownRows, weight: Any = None) -> list[Balance]:
    """Compare all shares, means and standard deviations with those of a weighted sample."""
    features, means, labels = moment_features(known.margins, known.reading.names)
    Z = columns_of(features, known.points)
    w = row_weights(len(Z), weight, name="weight").w
    found: Real = w @ Z / w.sum()
    rows = []
    for k, label in enumerate(labels):
        unit, target, sample = 1.0, float(means[k]), float(found[k])
        moments = features[k].moments
        if moments is not None:
            mean, unit = moments
            if features[k].power == 2:  # the mean stands before it
                spread = float(np.sqrt(max(sample - float(found[k - 1]) ** 2, 0.0)))
                target, sample = unit, unit * spread
            else:
                target, sample = mean, mean + unit * sample
        rows.append(Balance(label, target, sample, (sample - target) / unit))
    return rows

"""The columns of a sample that margins know, read once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..data.row_weights import row_weights
from ..data.validation import column_names
from ..numerics.array import Real, Rows, Whole
from .cells import Brackets
from .features import columns_of, moment_features
from .margins import Margins
from .reading import Reading, gaps_of, levels_of, reading_of, refuse_outside, shape_of


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Rows of the columns that margins know; a weighter reads them as a data frame.

    A level that has no cell of its own is called "(other)" here.
    """

    margins: Margins
    reading: Reading
    points: Real  # (N, columns): numbers, and the numbers of levels
    free: tuple[str, ...] = ()  # columns of the sample without a margin

    @classmethod
    def of(cls, margins: Margins, X: Any, who: str) -> KnownRows:
        """Read a sample; what is missing or unknown in it is an error that names it."""
        reading = reading_of(margins, X, margins.columns, who, asked=True)
        points = reading.encode(X)
        refuse_outside(margins, reading, points, strict=True)
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

    # What a data frame has

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.reading.names)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.points.shape[0], self.points.shape[1]

    @property
    def dtypes(self) -> list[str]:
        """What each column holds."""
        return ["object" if levels else "float64" for levels in self.reading.levels]

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, names: Any) -> Any:
        if isinstance(names, list):
            places = [self.reading.names.index(name) for name in names]
            levels = tuple(self.reading.levels[k] for k in places)
            reading = Reading(tuple(names), levels, gaps=self.reading.gaps)
            return replace(self, reading=reading, points=self.points[:, places])
        if isinstance(names, tuple):  # rows, as an array has them: known[rows, ...]
            return self.rows(names[0])
        place = self.reading.names.index(names)
        column, own = self.points[:, place], self.reading.levels[place]
        return np.array(own, dtype=object)[column.astype(np.int64)] if own else column

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.points.astype(dtype or np.float64)


# How far a sample, with its weights, is from margins.


class Balance(NamedTuple):
    """One number that the margins hold, and what it is in the sample."""

    what: str
    target: float
    sample: float
    gap: float  # their difference; of a mean and a standard deviation, in units of the latter


def balance_of(margins: Margins, X: Any, weight: Any = None) -> list[Balance]:
    """Compare all shares, means and standard deviations with those of a weighted sample."""
    names = tuple(margins.columns)
    features, means, labels = moment_features(margins, names)
    levels = tuple(levels_of(margins, name) for name in names)
    Z = Reading(names, levels, features, gaps_of(margins)).encode(X)
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

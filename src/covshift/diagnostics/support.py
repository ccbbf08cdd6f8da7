"""How much of the target lies where there are no training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from .._feature_columns import FeatureColumns
from .._support import Uncovered
from .._types import Flags, Real, Rows
from ..show.table import Record
from ..weights._points import Units, blocks, pooled_units

NEIGHBOR = 5  # whose distance is compared
LEVEL = 0.01  # share of the training rows that count as outside by their own standard


@dataclass(frozen=True)
class Support(Record):
    """Shares of the target outside the training sample.

    ``outside`` counts target rows whose distance to the fifth nearest training row is larger than
    that of 99 % of the training rows among themselves; ``expected`` is what one would see without
    a shift, 1 % of large samples and more of small ones. None where the training sample is too
    small. ``outside_range`` counts rows with at least one feature beyond the smallest or largest
    training value; ``expected_range`` again without a shift, for independent features.
    ``uncovered`` holds the parts of the target that single features show to have no training rows,
    as far as they are significant, the largest share first.
    """

    outside: float | None
    expected: float
    outside_range: float
    expected_range: float
    train_rows: int
    target_rows: int
    uncovered: tuple[Uncovered, ...] = ()


def outside_of_range(
    X: Real, T: Real, share: Real, features: Sequence[FeatureColumns]
) -> tuple[Real, float]:
    """Share of the target beyond the training range: per feature, and in any of them.

    Of a category these are rows of levels that no training row has.
    """
    low, high = X.min(axis=0), X.max(axis=0)
    anywhere = np.zeros(len(T), dtype=bool)
    found = np.empty(len(features))
    for j, feature in enumerate(features):
        beyond = np.zeros(len(T), dtype=bool)
        for k in feature.columns:
            beyond |= (T[:, k] < low[k]) | (T[:, k] > high[k])
        found[j] = min(1.0, float(share @ beyond))
        anywhere |= beyond
    return found, min(1.0, float(share @ anywhere))


def expected_outside_range(n_train: int, n_features: int) -> float:
    """Chance that a new row of the same continuous distribution lies beyond the range.

    A new value is the smallest or largest of N + 1 with chance 2 / (N + 1), in each of n
    independent features.

    >>> round(expected_outside_range(99, 20), 3)
    0.332
    """
    return float(1 - (1 - 2 / (n_train + 1)) ** n_features)


def expected_outside(n_train: int) -> float:
    """Chance that a new row of the same distribution is outside of the neighbourhood.

    Of N training rows u = floor((N - 1) / 100) are farther from the others than the distance that
    decides. A new row is farther where it is among the u + 1 farthest of N + 1 rows, all of which
    have the same chance: (u + 1) / (N + 1). It is a bound, and near: the training rows' distances
    leave the new row out, and so come out a little too large.

    >>> round(expected_outside(50), 4), round(expected_outside(5000), 4)
    (0.0196, 0.01)
    """
    farther = n_train - 1 - int(np.ceil((1 - LEVEL) * (n_train - 1) - 1e-9))
    return (farther + 1) / (n_train + 1)


def outside_of_neighborhood(
    X: Real, T: Real, share: Real, own: Real | None = None, groups: Rows | None = None
) -> float | None:
    """Share of the target farther from the training rows than 99 % of these from one another.

    Distances to the fifth nearest row (fewer rows: the farthest there is), in units of the pooled
    standard deviation of each feature, in which the training rows have the shares ``own``; two
    levels of a category (``groups``) are at distance one. Whether there are rows nearby does not
    depend on their weights. Cost O((N + M) N n) in time, blocks of 16 MiB in memory.
    """
    if len(X) < NEIGHBOR + 1:
        return None
    return min(1.0, float(share @ ~neighborhood(X, T, share, own, groups)))


def neighborhood(
    X: Real, T: Real, share: Real, own: Real | None = None, groups: Rows | None = None
) -> Flags:
    """Tell which target rows have training rows nearby, as `outside_of_neighborhood` counts: (M,).

    There must be more than five training rows.
    """
    nearby = Nearby.of(X, T, share, own, groups)
    return nearby.near(T)


@dataclass(frozen=True)
class Nearby:
    """Training rows, and how far a row may be from its fifth nearest of them."""

    units: Units
    X: Real  # in these units
    reach: float

    @classmethod
    def of(
        cls, X: Real, T: Real, share: Real, own: Real | None = None, groups: Rows | None = None
    ) -> Nearby:
        """Learn the units from both samples, and the reach from the training rows."""
        units = pooled_units(X, T, share, own=own, groups=groups)
        rows = units(X)
        apart = _to_neighbor(rows, rows, NEIGHBOR + 1)  # the nearest of all is the row itself
        return cls(units, rows, float(np.quantile(apart, 1 - LEVEL, method="higher")))

    def near(self, T: Real) -> Flags:
        """Tell which rows have training rows nearby: (M,)."""
        return np.asarray(_to_neighbor(self.units(T), self.X, NEIGHBOR) <= self.reach)

    def farthest_column(self, T: Real) -> Rows:
        """Number of the column in which each row is farthest from its nearest training row."""
        found = np.empty(len(T), dtype=np.intp)
        for block in blocks(len(T), len(self.X)):
            rows = self.units(T[block])
            nearest = self.X[np.argmin(cdist(rows, self.X), axis=1)]
            found[block] = np.argmax(np.abs(rows - nearest), axis=1)
        return found


def _to_neighbor(rows: Real, X: Real, k: int) -> Real:
    found = np.empty(len(rows))
    for block in blocks(len(rows), len(X)):
        found[block] = np.partition(cdist(rows[block], X), k - 1, axis=1)[:, k - 1]
    return found

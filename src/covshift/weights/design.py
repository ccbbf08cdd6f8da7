"""Design weights: how much each training row counts before any correction.

A sample drawn with unequal chances, as a survey, carries weights d: the training distribution is
sum_i d_i delta(x_i) / sum d. They say how much a row counts, not how often it was seen, so that
their scale says nothing, and a row of weight zero is not there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..data.row_weights import check_weight, without_scale
from ..numerics.array import Flags, Real

_NOTHING = 1e-9  # relative to the largest: a row that counts for so little is not there


class Design(NamedTuple):
    """Which training rows count, and how much."""

    kept: Flags  # (N,): rows of positive weight
    share: Real  # (n,): shares of the kept rows, positive, sum to one

    @property
    def equal(self) -> bool:
        """Whether all rows that are kept count alike."""
        return bool(self.share.min() == self.share.max())

    @property
    def size(self) -> float:
        """Kish's number of equally weighted rows that are as precise."""
        return kish(self.share)

    @property
    def most(self) -> float:
        """The largest factor that a row can have where the weighted mean of all is one."""
        return float(len(self.share)) if self.equal else float(1 / self.share.min())

    def mean(self, values: Real) -> float:
        """Mean of the values (n,) of the kept rows."""
        return float(values.mean() if self.equal else self.share @ values)

    def of_all(self) -> Real:
        """Shares of all rows, (N,)."""
        share = np.zeros(len(self.kept))
        share[self.kept] = self.share
        return share


def design_of(sample_weight: Any, N: int) -> Design:
    """Check the weights of N training rows; None: all rows count alike."""
    if sample_weight is None:
        return Design(np.ones(N, dtype=bool), equal_shares(N))
    weight = without_scale(check_weight(sample_weight, N, "sample_weight", of="X"))
    kept = weight > _NOTHING
    return Design(kept, shares_of(weight[kept]))


def shares_of(weight: Real) -> Real:
    """Shares of rows with these weights; exactly equal where the weights are."""
    if np.ptp(weight) <= 1e-14 * weight.max():
        return equal_shares(len(weight))
    return np.asarray(weight / weight.sum())


def equal_shares(count: int) -> Real:
    """Shares of ``count`` rows of equal weight."""
    return np.full(count, 1 / count)


def masses(share: Real) -> Real:
    """How many rows each row counts for, of mean one: N times its share."""
    return np.ones(len(share)) if share.min() == share.max() else len(share) * share


def kish(share: Real) -> float:
    """Kish's effective number of rows, (sum s)^2 / sum s^2; of equal shares their number.

    Zero where no row has a share.
    """
    if share.min() == share.max():
        return float(len(share)) if share[0] > 0 else 0.0
    return float(share.sum() ** 2 / (share @ share))

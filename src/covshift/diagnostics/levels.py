"""A category in two samples: how far apart the shares of its levels are, and by what chance.

With p and q the shares of the levels in training and target, the distance is the total variation

1/2 sum_l |p_l - q_l| ,

the largest difference of the shares of any set of levels; of two levels it is the
Kolmogorov-Smirnov distance. The test is Pearson's: with n_l rows of both samples in level l and N
+ M = n,

X^2 = sum_l (N p_l - n_l N / n)^2 / (n_l N / n) + (M q_l - n_l M / n)^2 / (n_l M / n) ,

whose distribution without a shift is that of all deals of the rows given n_1, n_2, ... Where
levels are common it is chi-square with L - 1 degrees of freedom. With rare levels that is wrong
either way (ten times too many alarms at 0.015 with 50 target rows and 30 geometric levels, and
none where the samples are equally small), so the exact mean and variance of X^2 over all deals
choose the scaled chi-square that the p-value is read from. Two levels are tested exactly, as in
`ks`.

Rows with weights count by Kish's numbers. Sources: Pearson (1900); Haldane (1940), *The mean and
variance of chi-squared, when used as a test of homogeneity, when expectations are small*; Dawson
(1954), *A simplified expression for the variance of the chi-square function on a contingency
table*.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc

from ..numerics.array import Real

OTHERS = "(others)"  # rows in none of the levels that have a column


class Levels(NamedTuple):
    """Shares (L,) of the levels of a category, in training and target."""

    names: tuple[str, ...]
    train: Real
    target: Real

    @property
    def distance(self) -> float:
        """Total variation distance, from 0 to 1."""
        return min(1.0, float(np.abs(self.target - self.train).sum() / 2))

    @property
    def most_shifted(self) -> int:
        """Number of the level whose share differs most."""
        return int(np.argmax(np.abs(self.target - self.train)))


def level_shares(names: tuple[str, ...], X: Real, T: Real, own: Real, share: Real) -> Levels:
    """Shares of the levels, from one column per level; rows in none of them come last, as one."""
    train, target = own @ X, share @ T
    rest = [float(w @ (rows.sum(axis=1) == 0)) for w, rows in ((own, X), (share, T))]
    if max(rest) > 0:
        names, train, target = (
            (*names, OTHERS),
            np.append(train, rest[0]),
            np.append(target, rest[1]),
        )
    return Levels(names, train, target)


def chi_square_p_value(train: Real, target: Real, N: float, M: float) -> float:
    """Probability of at least this X^2 without a shift; (L,) shares that ``N`` and ``M`` rows have.

    Cost O(L).

    >>> train, target = np.array([0.2, 0.3, 0.5]), np.array([0.3, 0.3, 0.4])
    >>> round(chi_square_p_value(train, target, 500, 500), 4)
    0.0004
    """
    a, b = N * train, M * target
    seen = a + b > 0
    a, b = a[seen], b[seen]
    both, n = a + b, N + M
    if len(both) < 2 or n <= 3:
        return 1.0
    parts = [(rows - both * size / n) ** 2 / (both * size / n) for rows, size in ((a, N), (b, M))]
    found = float(np.sum(parts))
    mean, variance = _moments(both, N, M)
    if not variance > 0:
        return 1.0
    freedom = 2 * mean**2 / variance
    return float(chdtrc(freedom, found * freedom / mean))


def _moments(both: Real, N: float, M: float) -> tuple[float, float]:
    """Mean and variance of X^2 over all deals of the rows, given those of each level (L,)."""
    n, L = N + M, len(both)
    mean = n / (n - 1) * (L - 1)
    # A level of less than a row, which only weights can make, counts as one: it varies no more.
    inverse = float((1 / np.maximum(both, 1.0)).sum())
    spread = [
        ((k - 1) * (n - k) / (n - 1), (n * total - k**2) / (n - 2))
        for k, total in ((2, 1 / N + 1 / M), (L, inverse))
    ]
    (free, uneven), (free_levels, uneven_levels) = spread
    variance = 2 * n / (n - 3) * (free - uneven) * (free_levels - uneven_levels)
    return mean, variance + n**2 / (n - 1) * uneven * uneven_levels

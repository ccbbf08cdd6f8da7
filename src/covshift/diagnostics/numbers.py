"""Two tests of one feature together: distribution functions, and location.

The Kolmogorov-Smirnov test sees every change of a distribution, and a change of its place less
often than a test of means does: 0.25 standard deviations in one of six features, with 300 rows in
each sample, a third less often. So a test of location stands beside it, van der Waerden's: rows
of both samples get normal scores by their ranks, equal values their mean score,

a_l = n / c_l (phi(z_{l-1}) - phi(z_l)) ,   Phi(z_l) = C_l / n ,

with c_l rows at the l-th value, C_l up to it, n of both samples together; and S = sum of the
scores of the target rows. Without a shift these are a random choice of M of the n rows, so that
mean, variance and third moment of S are known exactly,

0 ,   N M / (n (n - 1)) sum_l c_l a_l^2 ,
N M (N - M) / (n (n - 1) (n - 2)) sum_l c_l a_l^3 ,

and choose the scaled gamma distribution that the p-value is read from: the normal one has ten
times too many small p-values where rare values meet few target rows. Of normal features the test
is as powerful as the t-test in large samples, of others more so (Chernoff and Savage 1958). Of
two values the first test is one of shares already, and stays alone.

Kolmogorov's distribution is that of continuous values. Where many rows share a value it has too
large p-values, and Pearson's test of at most ten classes of neighbouring values, whose moments
given the ties are exact, takes its place: of two values it is a test of two proportions.

The p-value is the smaller of p / (1/3) by distribution functions and p / 0.8 by location. Shares
of one in total would be Bonferroni's. The two tests mostly alarm together, so that these have the
level of one: `benchmarks/diagnose.py` has the simulation.

Sources: van der Waerden (1952), *Order tests for the two-sample problem and their power*; Hájek,
Šidák and Sen (1999), *Theory of rank tests*, for ties.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammainc, gammaincc, ndtr, ndtri

from ..data.row_weights import kish
from ..numerics.array import Real, Rows
from .levels import chi_square_p_value

_OF_DISTANCE, _OF_LOCATION = 1 / 3, 0.8
_TIED = 0.02  # share of all rows in one value from which Kolmogorov's test is too weak
_CLASSES = 10  # of Pearson's, which then takes its place
_SYMMETRIC = 1e-3  # a skewness below which the gamma distribution is a normal one


class Values(NamedTuple):
    """Two samples of one feature, by its distinct values; rows count by Kish's numbers."""

    counts: Real  # (values,): rows of both samples
    gap: Real  # (values,): F - G up to and including each
    N: int
    M: int

    @classmethod
    def of(
        cls,
        x: Real,
        t: Real,
        share: Real,
        size: float,
        own: Real | None = None,
        order: Rows | None = None,
    ) -> Values:
        """Count equal values; arguments as of `number_p_value`. Cost O((N + M) log(N + M))."""
        N, M = len(x) if own is None else max(1, round(kish(own))), max(1, round(size))
        values = np.concatenate([x, t])
        order = np.argsort(values, kind="stable") if order is None else order
        values = values[order]
        last = np.append(np.flatnonzero(values[1:] > values[:-1]), len(values) - 1)
        counted = np.ones(len(x)) if own is None else N * own
        train = np.cumsum(np.concatenate([counted, np.zeros(len(t))])[order])[last]
        target = np.cumsum(np.concatenate([np.zeros(len(x)), share * size])[order])[last]
        counts = np.diff(train + target, prepend=0.0)
        gap = train / train[-1] - target / target[-1]
        return cls(counts[counts > 0], gap[counts > 0], N, M)

    @property
    def of_target(self) -> Real:
        """Target rows at each value: (values,)."""
        upto = np.cumsum(self.counts)
        return np.diff((upto / self.N - self.gap) / (1 / self.N + 1 / self.M), prepend=0.0)


def number_p_value(
    x: Real,
    t: Real,
    share: Real,
    size: float,
    own: Real | None = None,
    order: Rows | None = None,
) -> float:
    """Chance, without a shift, of what the tests of distance and of location find, together.

    ``share`` (M,) sums to one and ``size`` is the number of rows that it stands for: Kish's where
    they have weights. ``own`` (N,) are the shares of the training rows, equal without them, and
    count by Kish's number too: with weights the result is an approximation. ``order`` (N + M,)
    sorts the values of both, where it is known.

    >>> rng = np.random.default_rng(2)
    >>> x, t = rng.normal(size=300), rng.normal(0.25, 1, size=300)
    >>> share = np.full(300, 1 / 300)
    >>> distance_p_value(Values.of(x, t, share, 300.0)) > 0.01 > number_p_value(x, t, share, 300.0)
    True
    """
    values = Values.of(x, t, share, size, own, order)
    distance = distance_p_value(values)
    if len(values.counts) <= 2:
        return distance
    return min(1.0, distance / _OF_DISTANCE, location_p_value(values) / _OF_LOCATION)


def distance_p_value(values: Values) -> float:
    """Chance of at least this distance of the distribution functions: O(values)."""
    from scipy.stats import kstwo  # half a second to import

    counts, gap, N, M = values
    n = N + M
    if counts.max() <= max(2.0, _TIED * n):
        return float(kstwo.sf(np.abs(gap).max(), max(1, round(N * M / n))))
    middle = (np.cumsum(counts) - counts / 2) / counts.sum()
    place = np.minimum((_CLASSES * middle).astype(int), _CLASSES - 1)
    target = np.bincount(place, values.of_target)
    train = np.bincount(place, counts) - target
    return chi_square_p_value(train / N, target / M, N, M)


def location_p_value(values: Values) -> float:
    """Chance of at least this sum of normal scores, both sides: O(values)."""
    counts, _, N, M = values
    upto = np.cumsum(counts)
    n = float(upto[-1])  # N + M, but for the rounding of Kish's numbers
    density = np.append(np.exp(-(ndtri(upto[:-1] / n) ** 2) / 2) / np.sqrt(2 * np.pi), 0.0)
    scores = -np.diff(density, prepend=0.0) * n / counts
    second, third = float(counts @ scores**2), float(counts @ scores**3)
    variance = N * M / (n * (n - 1)) * second
    if n <= 2 or not variance > 0:
        return 1.0
    z = float(values.of_target @ scores) / np.sqrt(variance)
    skew = N * M * (N - M) / (n * (n - 1) * (n - 2)) * third / variance**1.5
    if abs(skew) < _SYMMETRIC:
        tail = float(ndtr(-abs(z)))
    else:
        shape = 4 / skew**2
        at = max(0.0, shape + z * np.sign(skew) * np.sqrt(shape))
        tail = float(min(gammainc(shape, at), gammaincc(shape, at)))
    return min(1.0, max(2 * tail, float(np.finfo(np.float64).eps)))

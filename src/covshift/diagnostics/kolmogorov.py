"""The Kolmogorov-Smirnov test of two samples of one feature, right with ties as well.

Kolmogorov's distribution is that of continuous values. Where values repeat, the distance is
looked at between them only, and comes out smaller: of two binary samples it is the difference of
two proportions, and a p-value from Kolmogorov's distribution is several times too large. So the
test here is conditional on which of the N + M values are equal. Let the values come in groups of
c_1, c_2, ... rows. Without a shift the M target rows are a random choice among all rows, and the
number a_l of them in the first l groups is a chain,

a_l = a_{l-1} + Binomial(c_l, M / (N + M)) ,    given that it ends at M.

The distance is at least d unless |a_l / M - (C_l - a_l) / N| < d after every group, C_l being the
rows in the first l of them; the chance of that is a product of band matrices, exact at any size.
For two values it is an exact test of Fisher's kind, by the difference of the two proportions.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import smirnov

from ..data.row_weights import kish
from ..numerics.array import Real, Rows, Whole

_GROUPS = 1000  # so many steps of the chain are taken at most
_HEAVY = 0.005  # share of both samples in one value from which a tie is too heavy to ignore
SURELY = 1e-8  # a p-value below which the exact one, which is smaller, is not needed
_FEW, _ONE_SIDED = 140, 2.2  # Simard and L'Ecuyer's limits of n, and of n d^2
_NEVER = 0.1  # of sqrt(n) d: so near to a distribution no sample comes
_DEVIATIONS = 9.0  # of a binomial number: beyond them lie 1e-18
SYMMETRIC = 1e-3  # a skewness below which the gamma distribution is a normal one


def ks_p_value(x: Real, t: Real, share: Real, size: float, own: Real | None = None) -> float:
    """Probability of at least this distance between samples of one distribution.

    ``share`` (M,) sums to one and ``size`` is the number of rows that it stands for: Kish's where
    they have weights. ``own`` (N,) are the shares of the training rows, equal without them, and
    count by Kish's number too. With weights the result is an approximation. With up to 1000
    distinct values the test is exact. With more it is Kolmogorov's asymptotic one, as in
    `scipy.stats.ks_2samp` with ``method="asymp"``; unless a value holds half a percent of all rows
    or more: then it is exact again, for the distance at 1000 of the values or fewer. Cost O((N + M)
    log(N + M)) to sort, and at most some 10^8 operations, mostly far fewer.

    >>> x, t = np.repeat([0.0, 1.0], [8, 2]), np.repeat([0.0, 1.0], [1, 4])
    >>> round(ks_p_value(x, t, np.full(5, 0.2), 5.0), 4)  # as Fisher's exact test
    0.0889
    """
    return _ks_p_value(_groups(x, t, share, size, own))


def _ks_p_value(groups: _Groups) -> float:
    counts, gap, N, M = groups
    if len(counts) == 1:
        return 1.0
    distance = float(np.abs(gap).max())
    if N + M > _GROUPS:
        pairs = max(1, round(N * M / (N + M)))
        surely = 2 * float(np.exp(-2 * pairs * distance**2))  # Massart (1990): never too small
        if surely < SURELY:
            return surely
        if len(counts) > _GROUPS and counts.max() < _HEAVY * (N + M):
            return kolmogorov(distance, pairs)
    ends = np.rint(np.cumsum(counts)).astype(np.int64)
    ends[-1] = N + M
    if len(ends) > _GROUPS:
        kept = _thinned(ends)
        ends, distance = ends[kept], float(np.abs(gap[kept]).max())
    return chance_of_distance(distance, ends, N, M)


def kolmogorov(distance: float, n: int) -> float:
    """Probability that n values are at least this far from their continuous distribution.

    As `scipy.stats.kstwo.sf`, which takes most of a second to import: where it is small, twice that
    of one side, since both are far rarer; else by the expansion of Pelz and Good, whose error is
    below 4e-6 (Simard and L'Ecuyer 2011, *Computing the two-sided Kolmogorov-Smirnov
    distribution*). Few values are left to SciPy.
    """
    if n <= _FEW:
        from scipy.stats import kstwo

        return float(kstwo.sf(distance, n))
    if n * distance**2 >= _ONE_SIDED:
        return 2 * float(smirnov(n, distance))
    return float(np.clip(1 - _pelz_good(np.sqrt(n) * distance, n), 0.0, 1.0))


def _pelz_good(z: float, n: int) -> float:
    """P(sqrt(n) distance < z) to the order n^(-3/2)."""
    if z < _NEVER:
        return 0.0
    k = np.arange(1, int(np.ceil(16 * z / np.pi)) + 1)
    u, v = (np.pi * (k - 0.5)) ** 2, (np.pi * k) ** 2
    terms = [
        np.ones(len(k)),
        u - z**2,
        6 * z**6 + 2 * z**4 + (2 * z**4 - 5 * z**2) * u + (1 - 2 * z**2) * u**2,
        -30 * z**6
        - 90 * z**8
        + (135 * z**4 - 96 * z**6) * u
        + (212 * z**4 - 60 * z**2) * u**2
        + (5 - 30 * z**2) * u**3,
    ]
    sums = np.array(terms) @ np.exp(-u / (2 * z**2)) / [z, 6 * z**4, 72 * z**7, 6480 * z**10]
    tail = v * np.exp(-v / (2 * z**2))
    sums[2] -= tail.sum() / (36 * z**3)
    sums[3] += (3 * z**2 - v) @ tail / (216 * z**6)
    return float(np.sqrt(2 * np.pi) * (sums / float(n) ** np.array([0, 0.5, 1, 1.5])).sum())


def chance_of_distance(distance: float, ends: Whole, N: int, M: int) -> float:
    """Probability of at least this distance, given the numbers of rows up to each group's end.

    ``ends`` (groups,) rises to N + M.
    """
    # |a (N + M) - C M| is a whole number, at least this for that distance.
    reach = math.ceil(distance * N * M - 0.25)
    return _chance_of_reach(reach, np.asarray(ends, dtype=np.int64).tobytes(), N, M)


@lru_cache(maxsize=1024)  # columns without ties have the same ends, and often the same distance
def _chance_of_reach(reach: int, ends: bytes, N: int, M: int) -> float:
    p = M / (N + M)
    known: dict[int, tuple[int, Real]] = {}
    first, chances = 0, np.ones(1)  # of a_l = first, first + 1, ...
    before = 0
    for C in np.frombuffer(ends, dtype=np.int64).tolist():
        rows, before = C - before, C
        if rows not in known:
            known[rows] = _binomial(rows, p)
        offset, step = known[rows]
        chances, first = np.convolve(chances, step), first + offset
        low = max(first, (C * M - reach) // (N + M) + 1)
        high = min(first + len(chances), -(-(C * M + reach) // (N + M)))
        if low >= high:
            return 1.0
        chances, first = chances[low - first : high - first], low
    low, ending = _binomial(N + M, p)
    within = chances[M - first] / ending[M - low]
    return float(np.clip(1 - within, np.finfo(np.float64).eps, 1.0))


def _binomial(rows: int, p: float) -> tuple[int, Real]:
    """The smallest number that matters, and the chances of it and those that follow."""
    half = _DEVIATIONS * np.sqrt(rows * p * (1 - p)) + 10
    low, high = max(0, int(rows * p - half)), min(rows, int(rows * p + half) + 1)
    k = np.arange(low, high)
    chances = np.cumprod(np.append(1.0, (rows - k) / (k + 1) * (p / (1 - p))))
    return low, chances / chances.sum()


class _Groups(NamedTuple):
    counts: Real  # (groups,): rows of both samples at each distinct value
    gap: Real  # (groups,): F - G up to it
    N: int
    M: int


def _groups(
    x: Real, t: Real, share: Real, size: float, own: Real | None, order: Rows | None = None
) -> _Groups:
    """Put equal values of both samples together; rows count by Kish's numbers."""
    N, M = len(x) if own is None else max(1, round(kish(own))), max(1, round(size))
    counted = np.ones(len(x)) if own is None else N * own
    values = np.concatenate([x, t])
    order = np.argsort(values, kind="stable") if order is None else order
    values = values[order]
    last = np.append(np.flatnonzero(values[1:] > values[:-1]), len(values) - 1)
    train = np.cumsum(np.concatenate([counted, np.zeros(len(t))])[order])[last]
    target = np.cumsum(np.concatenate([np.zeros(len(x)), share * size])[order])[last]
    whole = np.rint(target)
    if np.abs(target - whole).max() < 1e-6:
        target = whole
    gap = train / train[-1] - target / target[-1]
    return _Groups(np.diff(train + target, prepend=0.0), gap, N, M)


def _thinned(ends: Whole) -> NDArray[np.intp]:
    """Groups to look at: the heavy ones and what precedes them, and others evenly between."""
    step = 3 * ends[-1] // _GROUPS + 1
    heavy = np.diff(ends, prepend=0) >= step
    kept = heavy | np.append(heavy[1:], True) | (np.diff(ends // step, append=-1) != 0)
    return np.flatnonzero(kept)

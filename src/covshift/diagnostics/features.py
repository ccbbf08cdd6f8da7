"""One line of the diagnosis for each feature."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, gammainc, gammaincc, ndtr, ndtri, smirnov

from ..data import Samples
from ..data.features import FeatureColumns, Kind
from ..data.row_weights import kish
from ..numerics.array import Real, Rows, Whole
from ..numerics.quiet import quiet
from ..numerics.statistics import holm
from ..numerics.support import NO_OVERLAP, Uncovered
from ..show.table import Record
from ..show.words import percent
from ..weights import effective_sample_size
from .distances import distances, feature_differences, known_rows


@dataclass(frozen=True)
class FeatureShift(Record):
    """How one feature differs between the samples.

    ``smd`` is the standardised mean difference, target minus training, and ``smd_corrected`` the
    same with the training rows weighted by `Diagnosis.weights` (None where there are none);
    infinite where the feature is constant in each sample, at different values. ``ks`` is the
    Kolmogorov-Smirnov distance. ``p_value`` is that of two tests, of this distance and of location
    (`number_p_value`), given the ties and corrected by Holm's method for the number of features.
    ``energy`` is the energy distance in units of the pooled
    standard deviation. ``outside_range`` is the share of the target beyond the training values.

    ``kind`` is "number", "category", or "missing" for the share of rows without a value. Of a
    category ``smd`` is the largest over its levels, ``ks`` the total variation distance of the
    shares of the levels (equal to the Kolmogorov-Smirnov distance for two), ``p_value`` that of a
    chi-square test, ``energy`` the root mean square over the levels and ``outside_range`` the share
    of the target in levels without training rows. ``level`` is the one whose share differs most,
    ``level_train`` and ``level_target`` its shares in training and target; also of a mark of
    missing values. A number is compared where it is known.
    """

    name: str
    smd: float
    smd_corrected: float | None
    ks: float
    p_value: float
    energy: float
    outside_range: float
    constant: bool
    kind: Kind = "number"
    level: str | None = None
    level_train: float | None = None
    level_target: float | None = None

    @property
    def detail(self) -> str:
        """The level whose share differs most, in words; empty for a number.

        >>> FeatureShift("town", 1, 0, 0.2, 0, 1, 0, False, "category", "Bern", 0.1, 0.3).detail
        'Bern 10% → 30%'
        """
        if self.level is None or self.level_train is None or self.level_target is None:
            return ""
        return f"{self.level} {percent(self.level_train)} → {percent(self.level_target)}"


def feature_shifts(
    samples: Samples, weights: Real | None, outside_range: Real
) -> tuple[FeatureShift, ...]:
    """Compare every feature; ``weights`` (N,), final ones, give the corrected differences.

    ``outside_range`` (features,) are the shares of the target beyond the training values.
    """
    smd = feature_differences(samples)
    after = None if weights is None else feature_differences(samples, weights)
    found = [_compared(feature, samples) for feature in samples.features]
    p_values = holm(np.array([part.p_value for part in found]))
    return tuple(
        FeatureShift(
            feature.name,
            float(smd[k]),
            None if after is None else float(after[k]),
            found[k].distance,
            float(p_values[k]),
            found[k].energy,
            float(outside_range[k]),
            _is_constant(samples, feature),
            feature.kind,
            found[k].level,
            *found[k].shares,
        )
        for k, feature in enumerate(samples.features)
    )


class _Compared(NamedTuple):
    distance: float
    p_value: float
    energy: float
    level: str | None = None
    shares: tuple[float | None, float | None] = (None, None)


def _compared(feature: FeatureColumns, samples: Samples) -> _Compared:
    part = known_rows(feature, samples)
    if part is None:  # never known in one of the samples: its mark of gaps tells
        return _Compared(0.0, 1.0, 0.0)
    size, columns = kish(part.share), range(part.X.shape[1])
    pairs = [(part.X[:, k], part.T[:, k], part.share) for k in columns]
    orders = [np.argsort(np.concatenate([x, t]), kind="stable") for x, t, _ in pairs]
    apart = [distances(*pairs[k], own=part.own, order=orders[k]) for k in columns]
    energy = apart[0].energy
    if len(columns) > 1:
        energy = float(np.sqrt(np.mean([one.energy**2 for one in apart])))
    if feature.kind == "category" and len(columns) > 1:
        levels = level_shares(feature.levels, part.X, part.T, part.own, part.share)
        p_value = chi_square_p_value(levels.train, levels.target, kish(part.own), size)
        k = levels.most_shifted
        shares = float(levels.train[k]), float(levels.target[k])
        return _Compared(levels.distance, p_value, energy, levels.names[k], shares)
    own = part.own if samples.sample_weight is not None else None
    single = [number_p_value(*pairs[k], size, own, orders[k]) for k in columns]
    p_value = min(1.0, len(columns) * min(single))
    found = _Compared(max(one.ks for one in apart), p_value, energy)
    if feature.kind == "number":
        return found
    level = "missing" if feature.kind == "missing" else feature.levels[0]
    shares = float(part.own @ part.X[:, 0]), float(part.share @ part.T[:, 0])
    return found._replace(level=level, shares=shares)


def _is_constant(samples: Samples, feature: FeatureColumns) -> bool:
    columns = list(feature.columns)
    first = samples.X[0, columns]
    return bool((samples.X[:, columns] == first).all() and (samples.T[:, columns] == first).all())


# A category in two samples: how far apart the shares of its levels are, and by what chance.
#
# With p and q the shares of the levels in training and target, the distance is the total variation
#
#     1/2 sum_l |p_l - q_l| ,
#
# the largest difference of the shares of any set of levels; of two levels it is the
# Kolmogorov-Smirnov distance. The test is Pearson's: with n_l rows of both samples in level l and N
# + M = n,
#
#     X^2 = sum_l (N p_l - n_l N / n)^2 / (n_l N / n) + (M q_l - n_l M / n)^2 / (n_l M / n) ,
#
# whose distribution without a shift is that of all deals of the rows given n_1, n_2, ... Where
# levels are common it is chi-square with L - 1 degrees of freedom. With rare levels that is wrong
# either way (ten times too many alarms at 0.015 with 50 target rows and 30 geometric levels, and
# none where the samples are equally small), so the exact mean and variance of X^2 over all deals
# choose the scaled chi-square that the p-value is read from. Two levels are tested exactly, as in
# `ks`.
#
# Rows with weights count by Kish's numbers. Sources: Pearson (1900); Haldane (1940), *The mean and
# variance of chi-squared, when used as a test of homogeneity, when expectations are small*; Dawson
# (1954), *A simplified expression for the variance of the chi-square function on a contingency
# table*.


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


# Two tests of one feature together: distribution functions, and location.
#
# The Kolmogorov-Smirnov test sees every change of a distribution, and a change of its place less
# often than a test of means does: 0.25 standard deviations in one of six features, with 300 rows in
# each sample, a third less often. So a test of location stands beside it, van der Waerden's: rows
# of both samples get normal scores by their ranks, equal values their mean score,
#
#     a_l = n / c_l (phi(z_{l-1}) - phi(z_l)) ,   Phi(z_l) = C_l / n ,
#
# with c_l rows at the l-th value, C_l up to it, n of both samples together; and S = sum of the
# scores of the target rows. Without a shift these are a random choice of M of the n rows, so that
# mean, variance and third moment of S are known exactly,
#
#     0 ,   N M / (n (n - 1)) sum_l c_l a_l^2 ,
#     N M (N - M) / (n (n - 1) (n - 2)) sum_l c_l a_l^3 ,
#
# and choose the scaled gamma distribution that the p-value is read from: the normal one has ten
# times too many small p-values where rare values meet few target rows. Of normal features the test
# is as powerful as the t-test in large samples, of others more so (Chernoff and Savage 1958). Of
# two values the first test is an exact one of shares already, and stays alone.
#
# The p-value is the smaller of p / (1/3) by distribution functions and p / 0.8 by location. Shares
# of one in total would be Bonferroni's. The two tests mostly alarm together, so that these have the
# level of one: `benchmarks/diagnose.py` has the simulation.
#
# Sources: van der Waerden (1952), *Order tests for the two-sample problem and their power*; Hájek,
# Šidák and Sen (1999), *Theory of rank tests*, for ties.


_OF_DISTANCE, _OF_LOCATION = 1 / 3, 0.8


def number_p_value(
    x: Real,
    t: Real,
    share: Real,
    size: float,
    own: Real | None = None,
    order: Rows | None = None,
) -> float:
    """Chance, without a shift, of what the tests of distance and of location find, together.

    Arguments as of `ks_p_value`; ``order`` (N + M,) sorts the values of both.

    >>> rng = np.random.default_rng(2)
    >>> x, t = rng.normal(size=300), rng.normal(0.25, 1, size=300)
    >>> share = np.full(300, 1 / 300)
    >>> ks_p_value(x, t, share, 300.0) > 0.01 > number_p_value(x, t, share, 300.0)
    True
    """
    groups = _groups(x, t, share, size, own, order)
    distance = _ks_p_value(groups)
    if len(groups.counts) <= 2:
        return distance
    if distance < _SURELY:
        return distance / _OF_DISTANCE
    return min(1.0, distance / _OF_DISTANCE, location_p_value(*groups) / _OF_LOCATION)


def location_p_value(counts: Real, gap: Real, N: float, M: float) -> float:
    """Chance of at least this sum of normal scores, both sides.

    ``counts`` (groups,) are the rows of both samples at each value and ``gap`` is F - G up to it.
    Cost O(groups).
    """
    counts, gap = counts[counts > 0], gap[counts > 0]
    upto = np.cumsum(counts)
    n = float(upto[-1])  # N + M, but for the rounding of Kish's numbers
    of_target = np.diff((upto / N - gap) / (1 / N + 1 / M), prepend=0.0)
    density = np.append(np.exp(-(ndtri(upto[:-1] / n) ** 2) / 2) / np.sqrt(2 * np.pi), 0.0)
    scores = -np.diff(density, prepend=0.0) * n / counts
    second, third = float(counts @ scores**2), float(counts @ scores**3)
    variance = N * M / (n * (n - 1)) * second
    if n <= 2 or not variance > 0:
        return 1.0
    z = float(of_target @ scores) / np.sqrt(variance)
    skew = N * M * (N - M) / (n * (n - 1) * (n - 2)) * third / variance**1.5
    if abs(skew) < _SYMMETRIC:
        tail = float(ndtr(-abs(z)))
    else:
        shape = 4 / skew**2
        at = max(0.0, shape + z * np.sign(skew) * np.sqrt(shape))
        tail = float(min(gammainc(shape, at), gammaincc(shape, at)))
    return min(1.0, max(2 * tail, float(np.finfo(np.float64).eps)))


# The Kolmogorov-Smirnov test of two samples of one feature, right with ties as well.
#
# Kolmogorov's distribution is that of continuous values. Where values repeat, the distance is
# looked at between them only, and comes out smaller: of two binary samples it is the difference of
# two proportions, and a p-value from Kolmogorov's distribution is several times too large. So the
# test here is conditional on which of the N + M values are equal. Let the values come in groups of
# c_1, c_2, ... rows. Without a shift the M target rows are a random choice among all rows, and the
# number a_l of them in the first l groups is a chain,
#
#     a_l = a_{l-1} + Binomial(c_l, M / (N + M)) ,    given that it ends at M.
#
# The distance is at least d unless |a_l / M - (C_l - a_l) / N| < d after every group, C_l being the
# rows in the first l of them; the chance of that is a product of band matrices, exact at any size.
# For two values it is an exact test of Fisher's kind, by the difference of the two proportions.


_GROUPS = 1000  # so many steps of the chain are taken at most
_HEAVY = 0.005  # share of both samples in one value from which a tie is too heavy to ignore
_SURELY = 1e-8  # a p-value below which the exact one, which is smaller, is not needed
_FEW, _ONE_SIDED = 140, 2.2  # Simard and L'Ecuyer's limits of n, and of n d^2
_NEVER = 0.1  # of sqrt(n) d: so near to a distribution no sample comes
_DEVIATIONS = 9.0  # of a binomial number: beyond them lie 1e-18
_SYMMETRIC = 1e-3  # a skewness below which the gamma distribution is a normal one


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
        if surely < _SURELY:
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


# Whether prediction intervals will be useful on the target, before a model is fitted.
#
# In the split form (`covshift.conformal`) one half of the training rows calibrates. With W the sum
# of their weights and v that of a target row, the row's interval of coverage 1 - alpha is infinite
# where it alone weighs more than alpha of all,
#
#     (1 - alpha) v > alpha W ,
#
# and the calibration rows count as half of Kish's effective sample size. Cost: the weights of the
# target rows, by a weighter that is fitted already.


COVERAGE = 0.9
CALIBRATES = 0.5  # share of the training rows


@dataclass(frozen=True)
class IntervalOutlook(Record):
    """What intervals and sets from one half of the training rows can be, with the CDF weights.

    ``effective_size`` is Kish's number of calibration rows, ``infinite_share`` the share of the
    target whose interval of this ``coverage`` would be infinite (whose set would hold all classes).
    """

    effective_size: float
    infinite_share: float
    coverage: float = COVERAGE


def interval_outlook(
    cdf: Any, cut: Samples, whole: Samples, gaps: Sequence[Uncovered]
) -> IntervalOutlook | None:
    """Look ahead with weights ``cdf`` that were fitted to rows ``cut`` from the whole samples.

    Nothing is known of target rows in ``gaps`` of a tenth of the target: theirs are infinite. None
    where all training rows weigh zero.
    """
    own = np.ones(len(cut.X)) if cut.sample_weight is None else cut.sample_weight
    weights = np.asarray(cdf.weights_) * own
    total = float(weights.sum())
    if not total > 0:
        return None
    with quiet():
        of_target = np.asarray(cdf.predict_weights(cut.T)) * float(weights @ own / total)
    for gap in gaps:
        if gap.excess >= NO_OVERLAP:
            of_target = np.where(gap.holds(cut.T), np.inf, of_target)
    enlarged = len(whole.X) / len(cut.X)
    calibration = CALIBRATES * enlarged * total
    infinite = COVERAGE * of_target > (1 - COVERAGE) * calibration
    size = CALIBRATES * enlarged * effective_sample_size(weights)
    return IntervalOutlook(float(size), min(1.0, float(cut.share @ infinite)))

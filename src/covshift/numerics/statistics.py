"""Whether the best of several contenders is clearly better than the baseline: one rule for all.

All contenders are judged by their losses on the same rows, paired with the baseline's. With the
differences g_ij = loss_i(baseline) - loss_i(contender j) and the weights w_i of the rows, the gain
of contender j and its standard error are

    G_j = sum_i w_i g_ij / sum w ,    s_j^2 = sum_i psi_ij^2 ,
    psi_ij = (N / (N - 1))^(1/2) w_i (g_ij - G_j) / sum w .

If no contender were better, the best of k would still look good by luck; how good, depends on how
alike they are. The multiplier bootstrap answers it: multiply the centred psi by independent
standard normal xi_i and take the largest statistic, T* = max_j sum_i xi_i psi_ij / s_j. A gain is
clear where G_j / s_j exceeds the 1 - level quantile of T*. Given the rows, (sum_i xi_i psi_ij /
s_j)_j is exactly normal with the correlations of the psi, so it is drawn from these, O(k^2)
numbers, and no multiplier is needed. Contenders that are nearly one cost nearly nothing, where
Bonferroni's correction would charge for all of them; independent ones cost what they cost there.

Sources: Chernozhukov, Chetverikov and Kato (2013), *Gaussian approximations and multiplier
bootstrap for maxima of sums of high-dimensional random vectors*; Romano and Wolf (2005), *Stepwise
multiple testing as formalized data snooping*, for the studentised maximum: the chance that any
contender without a gain is called clear is at most ``level``, so the best of those that are clear
may be taken. The tail that the quantile leaves is read in Student's distribution, with one degree
of freedom less than Kish's effective number of rows: twenty rows do not recommend by luck.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

from .array import Real, Rows

CLEAR = 0.05
"""Level of a recommendation: to change the model where nothing is gained is an error."""

_DRAWS = 20_000  # the quantile is then right within 0.02 standard errors
_ROUNDING = 1e-12  # of the largest loss: differences below it are none


@dataclass(frozen=True)
class Gains:
    """Gains of k contenders over the baseline, and what tells luck from them."""

    values: Real  # (k,)
    errors: Real  # (k,), zero where every row gains the same
    correlation: Real  # (k, k) of their estimates; zero for those without an error
    size: float  # effective number of rows

    def needed(self, level: float = CLEAR) -> float:
        """Return how many standard errors a gain must exceed to be clear among all of them."""
        varying = np.flatnonzero((self.errors > 0) & np.isfinite(self.errors))
        one, all_apart = -ndtri(level), -ndtri(level / max(1, len(varying)))
        quantile = float(one)
        if len(varying) > 1:
            root = _root(self.correlation[np.ix_(varying, varying)])
            draws = np.random.default_rng(0).standard_normal((_DRAWS, len(varying)))
            drawn = np.quantile((draws @ root).max(axis=1), 1 - level)
            quantile = float(np.clip(drawn, one, all_apart))  # between these it must be
        freedom = max(1.0, self.size - 1)
        return float(-stdtrit(freedom, ndtr(-quantile)))

    def clear(self, level: float = CLEAR) -> NDArray[np.bool_]:
        """Tell which gains are clear: (k,)."""
        return (self.values > 0) & (self.values > self.needed(level) * self.errors)


def paired_gains(reference: Real, losses: Real, w: Real) -> Gains:
    """Compare losses (k, N) with those of the baseline (N,) on rows of weights w (N,)."""
    differences = reference[:, None] - np.asarray(losses).reshape(-1, len(reference)).T  # (N, k)
    differences[np.abs(differences) <= _ROUNDING * np.abs(reference).max(initial=0)] = 0.0
    values, psi = weighted_means(differences, w)
    unit = np.abs(psi).max(initial=0.0)  # so that squares do not overflow
    unit = unit if 0 < unit < np.inf else 1.0
    errors = unit * np.sqrt(((psi / unit) ** 2).sum(axis=0))
    constant = ~np.isfinite(errors) | (errors <= _ROUNDING * np.abs(differences).max(axis=0))
    units = np.where(constant, 1.0, errors)
    psi = np.where(constant, 0.0, psi / units)
    if len(reference) > 1:
        errors = np.where(constant, 0.0, errors)
    size = float(w.sum() ** 2 / (w @ w))
    return Gains(values, errors, psi.T @ psi, size)


def weighted_means(Y: Real, w: Real) -> tuple[Real, Real]:
    """Return the weighted means (k,) of the columns of Y (N, k), and the influence of each row.

    The influence (N, k) holds psi as above: its squares sum to the squared standard error. From a
    single row it is infinite.
    """
    N, total = len(Y), w.sum()
    unit = np.abs(Y).max(axis=0, initial=0)  # so that squares do not overflow
    unit = np.where(unit > 0, unit, 1.0)
    means = w @ (Y / unit) / total
    if N == 1:
        return means * unit, np.full(Y.shape, np.inf)
    psi = np.sqrt(N / (N - 1)) * (w / total)[:, None] * (Y / unit - means)
    return means * unit, psi * unit


@dataclass(frozen=True)
class WeightedMean:
    """A mean of weighted rows, and how sure it is where weights and target are known."""

    value: float
    standard_error: float
    interval: tuple[float, float]


def weighted_mean(y: Real, w: Real, *, confidence: float = 0.95) -> WeightedMean:
    """Return the mean m of y under known weights, with

        se^2 = N / (N - 1) sum w_i^2 (y_i - m)^2 / (sum w_i)^2 .

    The interval is Student's, with one degree of freedom less than the effective sample size.
    Source: the ratio estimator, for example Särndal, Swensson and Wretman (1992), *Model assisted
    survey sampling*, section 5.7. Cost O(N).
    """
    w = w / w.max()
    means, influence = weighted_means(y[:, None], w)
    value, unit = float(means[0]), float(np.abs(influence).max())
    error = unit
    if 0 < unit < np.inf:
        error = unit * float(np.sqrt(((influence / unit) ** 2).sum()))
    freedom = float(w.sum() ** 2 / (w @ w)) - 1
    if freedom < 1e-9:  # one row says nothing about the spread
        return WeightedMean(value, error, (-np.inf, np.inf))
    half = float(stdtrit(freedom, (1 + confidence) / 2)) * error if error else 0.0
    return WeightedMean(value, error, (value - half, value + half))


def weighted_risk(losses: Real, w: Real, *, confidence: float = 0.95) -> WeightedMean:
    """Return the mean m of losses under known weights, with an interval for skewed ones.

    An estimate that is too low has an error that is too small as well; so where no loss is
    negative, the interval goes up to m exp(t se / m), as that of the logarithm does, and down to
    m - t se, not below zero.
    """
    found = weighted_mean(losses, w, confidence=confidence)
    if losses.min() < 0 or found.value <= 0:
        return found
    low, high = found.interval
    with np.errstate(over="ignore"):
        high = found.value * float(np.exp((high - found.value) / found.value))
    return WeightedMean(found.value, found.standard_error, (max(0.0, low), high))


def _root(correlation: Real) -> Real:
    """Return L with L'L = correlation, which may be singular."""
    values, vectors = np.linalg.eigh(correlation)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))).T)


# Mean and spread of a weighted target sample, exact for constant columns.


def moments(T: NDArray[Any], share: Real) -> tuple[Real, Real]:
    """Return mean and standard deviation of each column of ``T`` under ``share``, both (n,)."""
    T = T[share > 0].astype(np.float64)
    share = share[share > 0]
    # In units of the largest value, so that squares do not overflow.
    unit = np.abs(T).max(axis=0)
    unit[unit == 0] = 1.0
    mean = share @ (T / unit)
    std = np.sqrt(share @ (T / unit - mean) ** 2)
    constant = T.min(axis=0) == T.max(axis=0)  # rounding must not give it a spread
    return np.where(constant, T[0], mean * unit), np.where(constant, 0.0, std * unit)


# Many tests at once: p-values corrected for their number.


def holm(p_values: Real) -> Real:
    """Return p-values corrected for their number by Holm's step-down method.

    Rejecting those below a level keeps the chance of any false alarm below it, whatever the
    dependence between the tests. Source: Holm (1979), *A simple sequentially rejective multiple
    test procedure*.

    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p_values, kind="stable")
    remaining = len(p_values) - np.arange(len(p_values))
    corrected = np.minimum(np.maximum.accumulate(p_values[order] * remaining), 1.0)
    found = np.empty_like(corrected)
    found[order] = corrected
    return found


# The least of several errors, where rounding must not choose among equal ones.
#
# Of two to five rows many penalties predict the same, and their errors differ in the last digits.


_EQUAL = 1e-9  # relative difference of errors that are alike
_TIE_ROUNDING = 1e-14  # part of the mean square of outcomes


def least(errors: Real, rounding: float) -> tuple[int, int]:
    """Row and column of the least of the errors (a, b); of equal ones first row, last column.

    Errors are equal where they differ by one part in 10^9, or by ``rounding``.

    >>> least(np.array([[2.0, 1.0, 1.0 + 1e-12], [3.0, 1.0, 4.0]]), 0.0)
    (0, 2)
    """
    limit = float(errors.min()) * (1 + _EQUAL) + rounding
    row = int(np.argmax(errors.min(axis=1) <= limit))
    return row, int(np.flatnonzero(errors[row] <= limit)[-1])


def rounding_of(Y: Real, w: Real) -> float:
    """Part of the mean square of outcomes Y (N, k), from their mean, that is rounding."""
    share = w / w.sum()
    return _TIE_ROUNDING * float(share @ ((Y - share @ Y) ** 2).sum(axis=1))


# Bins of equal weight, with equal values kept together.


def equal_weight_bins(values: Real, weight: Real, count: int) -> Rows:
    """Number of the bin (n,) of every value, from 0 on without gaps; at most ``count`` bins.

    A value is in bin floor(count F), F the share of the weight below it and half of its own. Equal
    values share the bin of the first of them. Cost O(n log n).

    >>> equal_weight_bins(np.array([5.0, 1.0, 1.0, 9.0]), np.ones(4), 2)
    array([1, 0, 0, 1])
    """
    order = np.argsort(values, kind="stable")
    ranked, w = values[order], weight[order]
    middle = (np.cumsum(w) - w / 2) / w.sum()
    first = np.searchsorted(ranked, ranked, side="left")
    group = np.minimum((middle[first] * count).astype(np.intp), count - 1)
    found = np.empty(len(values), dtype=np.intp)
    found[order] = np.unique(group, return_inverse=True)[1].reshape(-1)
    return found

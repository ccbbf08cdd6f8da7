"""From influence values to a number with its interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, stdtrit

from ..numerics.array import Real
from ..numerics.influence import Design, Influence

_FAR = 3.0  # times t se: further ends are the work of the scale


@dataclass(frozen=True)
class Number:
    """An estimate, its standard error and its interval."""

    value: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True)
class Errors:
    """What an interval needs besides the influence values."""

    design: Design
    freedom: float  # degrees of freedom of the training rows' part
    rows: float  # effective number of training rows
    target_rows: float  # and of target rows
    confidence: float

    def number(
        self,
        influence: Influence,
        *,
        proportion: bool = False,
        positive: bool = False,
    ) -> Number:
        """Return an estimate (one column) with its interval.

        value +- t se, t of Student's distribution with Satterthwaite's degrees of freedom of the
        two samples' parts. A proportion: the same on the logit scale, or the exact binomial
        interval of the effective sample size where all rows agree. What is ``positive``, such as a
        mean of squares: on the logarithmic scale. Where the value is small beside its error, these
        scales reach too far (.9992 +- .005 would have the interval .007 to 1): an end is at most
        three times t se away.
        """
        value = float(influence.value[0])
        if not np.isfinite(value):
            return Number(np.nan, np.nan, -np.inf, np.inf)
        error, t = self.error(influence)
        if positive and value > 0 and np.isfinite(t * error):
            factor = float(np.exp(min(t * error / value, 700.0)))
            high = min(value * factor, value + _FAR * t * error)
            return Number(value, error, value / factor, high)
        if positive:  # what the weighted residuals take away may be more than there is
            reach = t * error if np.isfinite(t) else np.inf
            return Number(max(0.0, value), error, 0.0, max(0.0, value) + reach)
        return interval_of(value, error, t, self, proportion=proportion)

    def error(self, influence: Influence) -> tuple[float, float]:
        """Standard error of one column, and the quantile of Student's distribution."""
        zero = np.zeros_like(influence.target)
        train = float(
            Influence(influence.value, influence.train, zero).standard_error(self.design)[0]
        )
        target = 0.0
        if influence.target.any():
            alone = Influence(influence.value, influence.target, np.zeros((0, 1)))
            target = float(alone.standard_error(Design.simple(len(influence.target)))[0])
        apart = float(np.abs(influence.apart).max())
        unit = max(train, target, apart)
        if not 0 < unit < np.inf:
            return unit, self.quantile(unit, 0.0)
        here, there = (train / unit) ** 2 + (apart / unit) ** 2, (target / unit) ** 2
        return float(unit * np.sqrt(here + there)), self.quantile(here, there)

    def quantile(self, train: float, target: float) -> float:
        """Quantile of Student's distribution for two independent parts of a variance."""
        freedom = self.freedom
        if freedom < 1e-9:  # one row says nothing about the spread
            return float("inf")
        if train + target > 0 and np.isfinite(train + target):
            unit = train + target
            parts = (train / unit) ** 2 / freedom
            parts += (target / unit) ** 2 / max(1.0, self.target_rows - 1)
            freedom = 1 / parts
        return float(stdtrit(freedom, (1 + self.confidence) / 2))


def interval_of(
    value: float, error: float, t: float, errors: Errors, *, proportion: bool
) -> Number:
    """Return value +- t error, for a proportion on the logit scale."""
    if proportion:
        value = min(1.0, max(0.0, value))
    if not np.isfinite(t) or not np.isfinite(error):
        return Number(value, error, *((0.0, 1.0) if proportion else (-np.inf, np.inf)))
    if proportion:
        return Number(value, error, *_share_interval(value, error, t, errors))
    return Number(value, error, value - t * error, value + t * error)


# A sum of absolute values of estimated gaps, such as a calibration error.
#
# With gaps g_b estimated with the errors sigma_b, noise adds to every absolute value: with m =
# |g_b| / sigma_b, and of normal noise,
#
#     E |g_b + noise| = sigma_b (m + e(m)) ,   e(m) = 2 (phi(m) - m Phi(-m)) ,
#
# from e(0) = 0.80 down to e(2) = 0.02. So the sum of the |g_b| is too large, and an interval that
# rests on the signs that were seen misses the truth: ten gaps of zero have a sum of 8 sigma. The
# value stays the usual one. The lower end of the interval is less by all that noise may have added,
# e at gaps that are smaller by one sigma_b than they seem; the upper end stays.
#
# Sources: the folded normal distribution (Leone, Nelson and Nottingham 1961); on the bias Bröcker
# (2012), *Estimating reliability and resolution of probability forecasts through decomposition of
# the empirical score*, and Kumar, Liang and Ma (2019), *Verified uncertainty calibration*. The
# interval is **ours**: `benchmarks/answers_intervals.py` measures its coverage.


_SMALLER = 1.0  # sigma, by which a gap may be smaller than it seems


def sum_of_gaps(gaps: Real, sizes: Real, error: float, t: float) -> Number:
    """Estimate the sum of |gaps| (k,), of errors ``sizes`` (k,); ``error`` is that of their sum.

    >>> found = sum_of_gaps(np.array([0.3, -0.01]), np.array([0.01, 0.02]), 0.022, 1.96)
    >>> [round(float(end), 3) for end in (found.value, found.low, found.high)]
    [0.31, 0.251, 0.353]
    """
    seen = np.abs(gaps)
    value, reach = min(1.0, float(seen.sum())), t * error
    known = (sizes > 0) & np.isfinite(sizes)
    if not np.isfinite(reach):
        return Number(value, error, 0.0, 1.0)
    m = np.maximum(0.0, seen[known] / sizes[known] - _SMALLER)
    added = 2 * (np.exp(-(m**2) / 2) / np.sqrt(2 * np.pi) - m * ndtr(-m))
    low = value - float(sizes[known] @ added) - reach
    return Number(value, error, max(0.0, low), min(1.0, value + reach))


def _share_interval(value: float, error: float, t: float, errors: Errors) -> tuple[float, float]:
    if error == 0 or value in (0.0, 1.0):
        return _exact_interval(value, error, t, errors)
    logit, half = np.log(value / (1 - value)), t * error / (value * (1 - value))
    with np.errstate(over="ignore"):
        low, high = 1 / (1 + np.exp(half - logit)), 1 / (1 + np.exp(-logit - half))
    far = _FAR * _reach(error, t, errors)
    if value < 0.5:
        return float(low), float(min(high, value + far))
    return float(max(low, value - far)), float(high)


def _exact_interval(value: float, error: float, t: float, errors: Errors) -> tuple[float, float]:
    """Interval of a share of zero or one: what n rows without an exception tell."""
    if value not in (0.0, 1.0):  # the same in every row of the target, such as a known group
        return value, value
    reach = _reach(error, t, errors)
    return (0.0, reach) if value == 0 else (1 - reach, 1.0)


def _reach(error: float, t: float, errors: Errors) -> float:
    """How far a share may be from zero where no row shows it, or as far as its error says."""
    n = max(1.0, errors.rows)
    return float(max(1 - ((1 - errors.confidence) / 2) ** (1 / n), min(1.0, t * error)))

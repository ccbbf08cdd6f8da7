"""Weighted means and risks where the weights are known, and the target with them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import stdtrit

from ..data.parameters import number
from ..data.row_weights import check_weight
from ..data.values import numbers_of_rows
from ..exceptions import InputError
from ..numerics.array import Real
from ..numerics.statistics import weighted_means
from ..show.table import Record
from ..weights import effective_sample_size


@dataclass(frozen=True)
class WeightedMean(Record):
    """A mean of weighted rows, and how sure it is where the weights and the target are known."""

    value: float
    standard_error: float
    interval: tuple[float, float]
    confidence: float
    effective_sample_size: float

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.value:.4g}, standard error {self.standard_error:.2g}, {self.confidence:.0%} "
            f"interval {low:.4g} to {high:.4g}; as precise as {self.effective_sample_size:.0f} "
            "equally weighted rows. The interval takes weights and target as known."
        )


def estimate_mean(y: Any, weights: Any, *, confidence: float = 0.95) -> WeightedMean:
    """Estimate a mean of ``y`` from rows whose weights are known.

    m = sum w_i y_i / sum w_i, and, the weights and the target taken as known exactly (design
    weights, a census),

        se^2 = N / (N - 1) sum w_i^2 (y_i - m)^2 / (sum w_i)^2 ,

    linearised. The interval is m +- t se, t the quantile of Student's distribution with one degree
    of freedom less than the effective sample size. Weights that were estimated from a sample of the
    target have errors of their own, and balance more than this formula knows: `covshift.estimate`
    counts both.

    Parameters
    ----------
    y : (N,) array
        Outcomes of the rows.
    weights : (N,) array
        Their weights, on any scale.
    confidence : float between 0 and 1
        Coverage of the interval.

    Returns
    -------
    WeightedMean
        With ``value``, ``standard_error``, ``interval``, ``confidence`` and
        ``effective_sample_size``. From a single row the error is infinite.

    Notes
    -----
    Source: the ratio estimator of survey sampling, for example Särndal, Swensson and Wretman
    (1992), *Model assisted survey sampling*, section 5.7. Cost O(N).

    Examples
    --------
    >>> from covshift import estimate_mean
    >>> found = estimate_mean([1.0, 2.0, 3.0, 4.0], [1, 1, 1, 3])
    >>> found.value, round(found.standard_error, 3)
    (3.0, 0.72)
    >>> found.effective_sample_size
    3.0
    """
    values, w = _check_rows(y, weights, "y")
    value, error = mean_and_error(values, w)
    size = effective_sample_size(w)
    return WeightedMean(value, error, _student(value, error, size, confidence), confidence, size)


def estimate_risk(loss_values: Any, weights: Any, *, confidence: float = 0.95) -> WeightedMean:
    """Estimate a model's target risk from its losses on weighted rows.

    The weighted mean m of the losses, with the standard error of `estimate_mean`. Losses are
    skewed, and an estimate that is too low has an error that is too small as well; so where no loss
    is negative, the interval goes up to m exp(t se / m), as that of the logarithm does, and down to
    m - t se, not below zero. From a few hundred rows of very skewed losses it still covers less
    often than it says. The rows must not have trained the model: use held-out rows, or out-of-fold
    predictions.

    Parameters
    ----------
    loss_values : (N,) array
        Loss of each row, for example ``(y - prediction) ** 2`` or ``y != prediction``.
    weights : (N,) array
        Weights of these rows, for example ``weighter.predict_weights(X_held_out)``.
    confidence : float between 0 and 1
        Coverage of the interval.

    Returns
    -------
    WeightedMean

    Examples
    --------
    >>> from covshift import estimate_risk
    >>> estimate_risk([0, 0, 1, 1], [2, 2, 1, 1]).value
    0.3333333333333333
    """
    losses, w = _check_rows(loss_values, weights, "loss_values")
    found = estimate_mean(losses, w, confidence=confidence)
    if losses.min() < 0 or found.value <= 0:
        return found
    low, high = found.interval
    with np.errstate(over="ignore"):
        high = found.value * float(np.exp((high - found.value) / found.value))
    return replace(found, interval=(max(0.0, low), high))


def mean_and_error(y: Real, w: Real) -> tuple[float, float]:
    """Return the weighted mean and its standard error, the weights and the target known."""
    means, influence = weighted_means(y[:, None], w)
    unit = float(np.abs(influence).max())
    if not 0 < unit < np.inf:
        return float(means[0]), unit
    return float(means[0]), unit * float(np.sqrt(((influence / unit) ** 2).sum()))


def _check_rows(values: Any, weights: Any, name: str) -> tuple[Real, Real]:
    """Values and weights of the rows, the largest weight one."""
    found = _check_values(values, name)
    w = check_weight(weights, len(found), "weights", of=name)
    return found, w / w.max()


def _check_values(values: Any, name: str) -> Real:
    numbers: Real = numbers_of_rows(values, name)
    numbers = numbers.ravel() if numbers.ndim == 2 and numbers.shape[1] == 1 else numbers
    if not len(numbers):
        raise InputError(f"{name} is empty.")
    if numbers.ndim != 1:
        raise InputError(f"{name} has the shape {numbers.shape}. Pass one number per row.")
    if not np.isfinite(numbers).all():
        raise InputError(f"{name} contains {int((~np.isfinite(numbers)).sum())} NaN or inf values.")
    return numbers


def _check_confidence(confidence: float) -> None:
    number(above=0, below=1).check(confidence, "confidence")


def _student(value: float, error: float, size: float, confidence: float) -> tuple[float, float]:
    _check_confidence(confidence)
    freedom = size - 1
    if freedom < 1e-9:  # one row says nothing about the spread
        return -np.inf, np.inf
    if error == 0:
        return value, value
    half = float(stdtrit(freedom, (1 + confidence) / 2)) * error
    return value - half, value + half

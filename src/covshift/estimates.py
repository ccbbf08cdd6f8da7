"""Means and risks on the target, estimated from weighted training rows, with their errors."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import clone
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d

from ._array import to_numpy
from ._progress import track
from ._validation import check_samples, check_weight, unwrap_target
from .exceptions import WeightWarning
from .weights import as_weighter, effective_sample_size

Real = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A number estimated from weighted rows, and how sure it is."""

    value: float
    standard_error: float
    interval: tuple[float, float]
    confidence: float
    effective_sample_size: float


def estimate_mean(y: Any, weights: Any, *, confidence: float = 0.95) -> Estimate:
    """Estimate the target's mean of ``y`` from weighted training rows.

    m = sum w_i y_i / sum w_i, with the linearised standard error

        se^2 = N / (N - 1) sum w_i^2 (y_i - m)^2 / (sum w_i)^2 ,

    and the interval m +- t se, t the quantile of Student's distribution with one degree of freedom
    less than the effective sample size. The weights are taken as known; `bootstrap_mean` accounts
    for their being estimated.

    Parameters
    ----------
    y : (N,) array
        Outcomes of the training rows.
    weights : (N,) array
        Their weights, on any scale: for example the ``weights_`` of a fitted weighter.
    confidence : float between 0 and 1
        Coverage of the interval.

    Returns
    -------
    Estimate
        With ``value``, ``standard_error``, ``interval``, ``confidence`` and
        ``effective_sample_size``. From a single row the error is infinite.

    Notes
    -----
    Source: the ratio estimator of survey sampling, for example Särndal, Swensson and Wretman
    (1992), *Model assisted survey sampling*, section 5.7. Cost O(N).

    Examples
    --------
    >>> from covshift import estimate_mean
    >>> estimate = estimate_mean([1.0, 2.0, 3.0, 4.0], [1, 1, 1, 3])
    >>> estimate.value, round(estimate.standard_error, 3)
    (3.0, 0.72)
    >>> estimate.effective_sample_size
    3.0
    """
    values = _check_values(y, "y")
    w = check_weight(weights, len(values), "weights", of="y")
    w = w / w.max()
    value, error = _mean_and_error(values, w)
    size = effective_sample_size(w)
    return Estimate(value, error, _student(value, error, size, confidence), confidence, size)


def estimate_risk(loss_values: Any, weights: Any, *, confidence: float = 0.95) -> Estimate:
    """Estimate a model's target risk from its losses on weighted rows.

    The weighted mean of the losses, as in `estimate_mean`. The rows must not have trained the
    model: use held-out rows, or out-of-fold predictions.

    Parameters
    ----------
    loss_values : (N,) array
        Loss of each row, for example ``(y - prediction) ** 2`` or ``y != prediction``.
    weights : (N,) array
        Weights of these rows, for example ``weighter.predict(X_held_out)``.
    confidence : float between 0 and 1
        Coverage of the interval.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> from covshift import estimate_risk
    >>> estimate_risk([0, 0, 1, 1], [2, 2, 1, 1]).value
    0.3333333333333333
    """
    return estimate_mean(_check_values(loss_values, "loss_values"), weights, confidence=confidence)


def bootstrap_mean(
    y: Any,
    X: Any,
    X_target: Any,
    weighter: Any,
    n_bootstrap: int = 200,
    random_state: Any = None,
    *,
    target_weight: Any = None,
    confidence: float = 0.95,
    verbose: bool = False,
) -> Estimate:
    """Estimate the target's mean of ``y`` with an error that counts the weights' own.

    Training rows and target rows are drawn again, each sample on its own; on each draw the weighter
    is fitted anew (with the choice of its widths and penalties) and the weighted mean taken.

    Parameters
    ----------
    y : (N,) array
        Outcomes of the training rows.
    X : (N, n) array or data frame
        Training rows.
    X_target : (M, n) array or data frame, or a one-tuple of it
        Target rows.
    weighter : weighter or name
        Cloned for every fit; for example ``"kliep"``.
    n_bootstrap : int
        Number of draws.
    random_state : int, RandomState or None
        Seed of the draws.
    target_weight : (M,) array, optional
        Weights of the target rows.
    confidence : float between 0 and 1
        Coverage of the interval.
    verbose : bool
        Show a progress bar, on a terminal.

    Returns
    -------
    Estimate
        The mean with the weights of the full samples, the standard deviation of the draws, and
        their percentile interval.

    Notes
    -----
    Source: Efron and Tibshirani (1993), *An introduction to the bootstrap*. Cost: n_bootstrap + 1
    fits of the weighter. Warnings about the weights are given for the full samples only.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift import bootstrap_mean
    >>> rng = np.random.default_rng(0)
    >>> X, T = rng.normal(size=(200, 1)), rng.normal(0.5, 1.0, size=(300, 1))
    >>> estimate = bootstrap_mean(X[:, 0], X, T, "gaussian", random_state=0)
    >>> low, high = estimate.interval
    >>> low < 0.5 < high
    True
    """
    values = _check_values(y, "y")
    samples = check_samples(X, X_target, target_weight)
    X, T = (to_numpy(part).astype(np.float64) for part in (samples.X, samples.T))
    check_consistent_length(X, values)
    _check_confidence(confidence)
    if n_bootstrap < 2:
        raise ValueError(f"n_bootstrap={n_bootstrap!r}: at least two draws are needed.")
    weighter = as_weighter(weighter)
    rng = check_random_state(random_state)
    given = unwrap_target(target_weight)
    weight = np.ones(len(T)) if given is None else to_numpy(given).astype(np.float64)
    w = clone(weighter).fit(X, values, X_target=(T,), target_weight=weight).weights_
    value, _ = _mean_and_error(values, w)
    means = np.empty(n_bootstrap)
    for draw in track(range(n_bootstrap), n_bootstrap, "bootstrap", verbose=verbose):
        rows = rng.randint(len(X), size=len(X))
        times = np.bincount(rng.randint(len(T), size=len(T)), minlength=len(T)) * weight
        drawn = times > 0
        if not drawn.any():  # only rows of weight zero
            drawn, times = weight > 0, weight
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeightWarning)
            fitted = clone(weighter).fit(
                X[rows], values[rows], X_target=(T[drawn],), target_weight=times[drawn]
            )
        means[draw], _ = _mean_and_error(values[rows], fitted.weights_)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Estimate(
        value,
        float(means.std(ddof=1)),
        (float(low), float(high)),
        confidence,
        effective_sample_size(w),
    )


def clear_gain(n_compared: int, size: float = np.inf, level: float = 0.05) -> float:
    """Return how many standard errors the best gain of several must have to be clear.

    A one-sided test at ``level``, corrected for the number of contenders (Bonferroni), since the
    best of many looks good by luck; Student's quantile for ``size`` effective rows.

    >>> round(clear_gain(1), 2), round(clear_gain(12), 2)
    (1.64, 2.64)
    """
    return float(stats.t.isf(level / max(1, n_compared), max(1.0, size - 1)))


def _check_values(values: Any, name: str) -> Real:
    numbers: Real = column_or_1d(values, dtype=np.float64, input_name=name)
    if not len(numbers):
        raise ValueError(f"{name} is empty.")
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} contains {int((~np.isfinite(numbers)).sum())} NaN or inf values.")
    return numbers


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence!r} is not between 0 and 1.")


def _mean_and_error(y: Real, w: Real) -> tuple[float, float]:
    N, total = len(y), float(w.sum())
    unit = float(np.abs(y).max()) or 1.0  # so that squares do not overflow
    mean = float(w @ (y / unit)) / total
    if N == 1:
        return mean * unit, np.inf
    residuals = w * (y / unit - mean)
    error = float(np.sqrt(N / (N - 1) * (residuals @ residuals))) / total
    return mean * unit, error * unit


def _student(value: float, error: float, size: float, confidence: float) -> tuple[float, float]:
    _check_confidence(confidence)
    freedom = size - 1
    if freedom < 1e-9:  # one row says nothing about the spread
        return -np.inf, np.inf
    if error == 0:
        return value, value
    half = float(stats.t.ppf((1 + confidence) / 2, freedom)) * error
    return value - half, value + half

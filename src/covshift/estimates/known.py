"""Means and risks on the target, estimated from weighted training rows, with their errors."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from sklearn.base import clone
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d

from .._additive import additive_fit
from .._array import to_numpy
from .._gains import weighted_means
from .._parameters import number, whole
from .._progress import track
from .._types import Real
from .._validation import check_samples, check_weight, unwrap_target
from ..exceptions import InputError, NoOverlapError, WeightWarning
from ..weights import as_weighter, effective_sample_size
from ..weights._rows import target_size

TARGET_KNOWN = "The interval takes the target's distribution as known (a census or margins)."
BOTH_COUNTED = "The interval counts the sampling error of the training rows and of the target rows."


@dataclass(frozen=True)
class Estimate:
    """A number estimated from weighted rows, how sure it is, and what its interval counts."""

    value: float
    standard_error: float
    interval: tuple[float, float]
    confidence: float
    effective_sample_size: float
    note: str = TARGET_KNOWN

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.value:.4g}, standard error {self.standard_error:.2g}, {self.confidence:.0%} "
            f"interval {low:.4g} to {high:.4g}; as precise as {self.effective_sample_size:.0f} "
            f"equally weighted rows. {self.note}"
        )


def estimate_mean(
    y: Any,
    weights: Any,
    *,
    X: Any = None,
    X_target: Any = None,
    target_weight: Any = None,
    confidence: float = 0.95,
) -> Estimate:
    """Estimate the target's mean of ``y`` from weighted training rows.

    m = sum w_i y_i / sum w_i. What its interval counts depends on what is given.

    With the weights alone, the target is taken as known exactly, as from a census or from published
    margins, and the error is that of the training rows, linearised:

        se^2 = N / (N - 1) sum w_i^2 (y_i - m)^2 / (sum w_i)^2 .

    If the target is itself a sample, and not far larger than the training sample, this is too
    small: pass ``X`` and ``X_target``. An additive regression h(x) then splits the outcome into
    what the weights carry over from the target rows and the rest, and

        se^2 = Var(h(t)) / M + N / (N - 1) sum w_i^2 (e_i - e)^2 / (sum w_i)^2 + b^2 ,

    with e_i = y_i - h(x_i), each row left out, e their weighted mean, and b the difference between
    the means of h over the target rows and over the weighted training rows: what the weights fail
    to match counts as an error. Both intervals are m +- t se, t the quantile of Student's
    distribution with one degree of freedom less than the effective sample size.

    Parameters
    ----------
    y : (N,) array
        Outcomes of the training rows.
    weights : (N,) array
        Their weights, on any scale: for example the ``weights_`` of a fitted weighter.
    X : (N, n) array or data frame, optional
        The training rows, of numbers, as the weighter saw them.
    X_target : (M, n) array or data frame, or a one-tuple of it, optional
        The target rows that the weights were made for.
    target_weight : (M,) array, optional
        Their weights; integer weights equal repeated rows.
    confidence : float between 0 and 1
        Coverage of the interval.

    Returns
    -------
    Estimate
        With ``value``, ``standard_error``, ``interval``, ``confidence``, ``effective_sample_size``
        and ``note``, which says what the interval counts. From a single row the error is infinite.

    Notes
    -----
    No interval counts a bias that h does not see, such as that of weights for single features where
    two features act together. `bootstrap_mean` fits the weights again instead.

    Source: the ratio estimator of survey sampling and its regression residuals, for example
    Särndal, Swensson and Wretman (1992), *Model assisted survey sampling*, sections 5.7 and 6.6.
    Cost O(N), with the samples O(N p^2) for p columns of h, at most eight per feature.

    Examples
    --------
    >>> from covshift import estimate_mean
    >>> estimate = estimate_mean([1.0, 2.0, 3.0, 4.0], [1, 1, 1, 3])
    >>> estimate.value, round(estimate.standard_error, 3)
    (3.0, 0.72)
    >>> estimate.effective_sample_size
    3.0
    >>> estimate.note
    "The interval takes the target's distribution as known (a census or margins)."
    """
    values = _check_values(y, "y")
    w = check_weight(weights, len(values), "weights", of="y")
    w = w / w.max()
    value, error = mean_and_error(values, w)
    size, note = effective_sample_size(w), TARGET_KNOWN
    if X is None and X_target is None:
        if target_weight is not None:
            raise InputError("target_weight weighs the rows of X_target: pass X and X_target too.")
    elif X is None or X_target is None:
        missing = "X" if X is None else "X_target"
        raise InputError(
            f"{missing} is missing: the target's own sampling error needs X, the training rows, "
            "and X_target, the target rows."
        )
    else:
        error, note = _errors(values, w, X, X_target, target_weight).total, BOTH_COUNTED
    return Estimate(value, error, _student(value, error, size, confidence), confidence, size, note)


def estimate_risk(
    loss_values: Any,
    weights: Any,
    *,
    X: Any = None,
    X_target: Any = None,
    target_weight: Any = None,
    confidence: float = 0.95,
) -> Estimate:
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
    X, X_target, target_weight : arrays, optional
        These rows and the target's, where its sampling error is to be counted.
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
    losses = _check_values(loss_values, "loss_values")
    found = estimate_mean(
        losses,
        weights,
        X=X,
        X_target=X_target,
        target_weight=target_weight,
        confidence=confidence,
    )
    if losses.min() < 0 or found.value <= 0:
        return found
    low, high = found.interval
    with np.errstate(over="ignore"):
        high = found.value * float(np.exp((high - found.value) / found.value))
    return replace(found, interval=(max(0.0, low), high))


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
    is fitted again (with the choice of its widths and penalties) and the weighted mean taken. The
    standard error is the root of their variance and of the squared difference that the weights
    leave between the means of an additive regression, as in `estimate_mean`: a bias that all draws
    share is not in their spread. The interval is the mean plus and minus t standard errors.

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
        The mean with the weights of the full samples, its standard error and interval. ``note``
        says how many draws were left out because they had no weights, such as those whose samples
        do not overlap; more than half of these are an error.

    Notes
    -----
    Draws repeat rows, which makes weights rougher and penalties stronger than in the samples
    themselves, so that the spread of the draws can fall short of the error in samples of a few
    hundred rows: `estimate_mean` with both samples given is as good there and costs a fraction.

    Source: Efron and Tibshirani (1993), *An introduction to the bootstrap*. Cost: n_bootstrap + 1
    fits of the weighter. Warnings about the weights are given for the full samples only.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift import bootstrap_mean
    >>> rng = np.random.default_rng(0)
    >>> X, T = rng.normal(size=(200, 1)), rng.normal(0.5, 1.0, size=(300, 1))
    >>> estimate = bootstrap_mean(X[:, 0], X, T, "gaussian-ratio", random_state=0)
    >>> low, high = estimate.interval
    >>> low < 0.5 < high
    True
    """
    values = _check_values(y, "y")
    samples = check_samples(X, X_target, target_weight)
    X, T = samples.on_host()
    check_consistent_length(X, values)
    _check_confidence(confidence)
    whole(2).check(n_bootstrap, "n_bootstrap")
    weighter = as_weighter(weighter)
    rng = check_random_state(random_state)
    given = unwrap_target(target_weight)
    weight = np.ones(len(T)) if given is None else to_numpy(given).astype(np.float64)
    w = clone(weighter).fit(X, values, X_target=(T,), target_weight=weight).weights_
    value, _ = mean_and_error(values, w)
    means, failure = [], ""
    for _ in track(range(n_bootstrap), n_bootstrap, "bootstrap", verbose=verbose):
        rows = rng.randint(len(X), size=len(X))
        times = np.bincount(rng.randint(len(T), size=len(T)), minlength=len(T)) * weight
        drawn = times > 0
        if not drawn.any():  # only rows of weight zero
            drawn, times = weight > 0, weight
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeightWarning)
            try:
                fitted = clone(weighter).fit(
                    X[rows], values[rows], X_target=(T[drawn],), target_weight=times[drawn]
                )
            except ValueError as reason:  # such as a draw whose samples do not overlap
                failure = str(reason).partition("\n")[0]
                continue
        means.append(mean_and_error(values[rows], fitted.weights_)[0])
    failed = n_bootstrap - len(means)
    if failed > n_bootstrap / 2 or len(means) < 2:
        raise NoOverlapError(
            f"In {failed} of {n_bootstrap} draws no weights were found, so that the others say "
            f"nothing about the error. The last reason: {failure}"
        )
    error = np.hypot(np.std(means, ddof=1), _errors(values, w, X, T, weight).unmatched)
    size = effective_sample_size(w)
    note = f"{BOTH_COUNTED} The weights were fitted again in each of {len(means)} draws."
    if failed:
        note += f" {failed} more draws had no weights and were left out ({failure})"
    interval = _student(value, float(error), size, confidence)
    return Estimate(value, float(error), interval, confidence, size, note)


def mean_and_error(y: Real, w: Real) -> tuple[float, float]:
    """Return the weighted mean and its standard error, the weights and the target known."""
    means, influence = weighted_means(y[:, None], w)
    unit = float(np.abs(influence).max())
    if not 0 < unit < np.inf:
        return float(means[0]), unit
    return float(means[0]), unit * float(np.sqrt(((influence / unit) ** 2).sum()))


class _Errors(NamedTuple):
    """What makes the weighted mean uncertain when the target is a sample as well."""

    training: float  # rows, beyond what h explains
    target: float  # rows, in what h explains
    unmatched: float  # difference of the means of h that the weights leave

    @property
    def total(self) -> float:
        return float(np.sqrt(self.training**2 + self.target**2 + self.unmatched**2))


def _errors(y: Real, w: Real, X: Any, X_target: Any, target_weight: Any) -> _Errors:
    samples = check_samples(X, X_target, target_weight)
    check_consistent_length(samples.X, y)
    if len(y) == 1:
        return _Errors(np.inf, 0.0, 0.0)
    points, T = samples.on_host()
    share = to_numpy(samples.share)
    unit = float(np.abs(y).max()) or 1.0  # so that squares do not overflow
    h = additive_fit(points, y / unit, w, T)
    _, training = mean_and_error(y / unit - h.left_out, w)
    mean = float(share @ h.target)
    size = max(2.0, target_size(unwrap_target(target_weight), share))
    target = float(np.sqrt(share @ (h.target - mean) ** 2 / (size - 1)))
    unmatched = abs(mean - float(w @ h.left_out / w.sum()))
    return _Errors(training * unit, target * unit, unmatched * unit)


def _check_values(values: Any, name: str) -> Real:
    numbers: Real = column_or_1d(values, dtype=np.float64, input_name=name)
    if not len(numbers):
        raise InputError(f"{name} is empty.")
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
    half = float(stats.t.ppf((1 + confidence) / 2, freedom)) * error
    return value - half, value + half

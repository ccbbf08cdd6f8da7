"""Synthetic problems of the paper, with the true p(y=1|x) of each.

``make_sigmoid_shift`` is shifted already. ``make_twonorm`` and ``make_ringnorm`` draw one sample
to be biased by ``covshift.datasets.biasing``; their labels agree with ``load_twonorm`` and
``load_ringnorm``. Cost: O(rows x features) in time and memory.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.utils import Bunch, check_random_state

from ..data.parameters import whole
from ..data.validation import check_points
from ..numerics.array import Real, Whole, to_numpy

__all__ = [
    "make_ringnorm",
    "make_sigmoid_shift",
    "make_twonorm",
    "ringnorm_probability",
    "sigmoid_probability",
    "twonorm_probability",
]


def make_sigmoid_shift(
    n_train: int = 200,
    n_target: int = 1000,
    *,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Draw the one-dimensional problem of Experiments 1 and 2.

    p(y=1|x) = 1 / (1 + exp(5 x)) everywhere. Training rows are uniform on [-1, 1]; target rows
    are uniform on [-1, 0] with probability 0.7 and on [0, 1] with probability 0.3.

    Source: Mazaheri, Jain and Bruck (2020), section 3.3.

    Parameters
    ----------
    n_train, n_target : int
        Numbers of rows; the defaults are those of Experiment 1.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    Bunch
        ``X`` (n_train, 1), ``y``, ``X_target`` (n_target, 1), ``y_target`` (to judge, not to
        fit); ``probability`` and ``probability_target``, the true p(y=1|x) of the rows;
        ``density_ratio``, the true target density over the training density on ``X`` (1.4 left
        of zero, 0.6 from zero on); ``probability_function``, which is ``sigmoid_probability``.

    Examples
    --------
    >>> from covshift.datasets import make_sigmoid_shift
    >>> shift = make_sigmoid_shift(random_state=0)
    >>> shift.X.shape, shift.X_target.shape
    ((200, 1), (1000, 1))
    >>> bool((shift.X_target < 0).mean() > (shift.X < 0).mean())
    True
    """
    whole(1).check(n_train, "n_train")
    whole(1).check(n_target, "n_target")
    rng = check_random_state(random_state)
    X = rng.uniform(-1.0, 1.0, size=(n_train, 1))
    left = rng.uniform(size=(n_target, 1)) < 0.7
    X_target = rng.uniform(size=(n_target, 1)) - left
    probability = sigmoid_probability(X)
    probability_target = sigmoid_probability(X_target)
    return Bunch(
        X=X,
        y=_draw_labels(probability, rng),
        X_target=X_target,
        y_target=_draw_labels(probability_target, rng),
        probability=probability,
        probability_target=probability_target,
        density_ratio=np.where(X[:, 0] < 0, 1.4, 0.6),
        probability_function=sigmoid_probability,
    )


def make_twonorm(
    n_samples: int = 300,
    n_features: int = 20,
    *,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[Real, Whole]:
    """Draw two normal classes of unit variance whose means are opposite.

    Label 0 has mean (a, ..., a), label 1 has mean (-a, ..., -a), both have unit covariance, and
    a = 2 / sqrt(n_features), so the best error is Phi(-2) = 2.3% in any dimension. The labels
    are equally likely.

    Source: Breiman (1996), *Bias, variance, and arcing classifiers*, with 20 features.

    Parameters
    ----------
    n_samples : int, default=300
        Number of rows.
    n_features : int, default=20
        Number of features.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        Labels 0 and 1.

    Examples
    --------
    >>> from covshift.datasets import make_twonorm
    >>> X, y = make_twonorm(1000, random_state=0)
    >>> bool(X[y == 0].mean() > 0 > X[y == 1].mean())
    True
    """
    y, noise = _balanced_labels_and_noise(n_samples, n_features, random_state)
    a = _mean_shift(n_features)
    return noise + np.where(y == 0, a, -a)[:, None], y


def make_ringnorm(
    n_samples: int = 300,
    n_features: int = 20,
    *,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[Real, Whole]:
    """Draw a narrow normal class that lies within a wide one.

    Label 0 is wide: mean zero, covariance 4 I. Label 1 is narrow: mean (a, ..., a), unit
    covariance, a = 2 / sqrt(n_features). The labels are equally likely; with 20 features the
    best error is 1.2%.

    Source: Breiman (1996), *Bias, variance, and arcing classifiers*, with 20 features. Some
    libraries take a = 1 / sqrt(n_features); the DELVE data that the paper uses do not.

    Parameters
    ----------
    n_samples : int, default=300
        Number of rows.
    n_features : int, default=20
        Number of features.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        Labels 0 and 1.

    Examples
    --------
    >>> from covshift.datasets import make_ringnorm
    >>> X, y = make_ringnorm(1000, random_state=0)
    >>> bool(X[y == 0].std() > X[y == 1].std())
    True
    """
    y, noise = _balanced_labels_and_noise(n_samples, n_features, random_state)
    wide = (y == 0)[:, None]
    return np.where(wide, 2.0 * noise, noise + _mean_shift(n_features)), y


def sigmoid_probability(X: ArrayLike) -> Real:
    """True p(y=1|x) = 1 / (1 + exp(5 x)) of ``make_sigmoid_shift``, for X of shape (rows, 1).

    Examples
    --------
    >>> from covshift.datasets import sigmoid_probability
    >>> sigmoid_probability([[0.0]])
    array([0.5])
    """
    return _probability(-5.0 * _rows(X)[:, 0])


def twonorm_probability(X: ArrayLike) -> Real:
    """True p(y=1|x) of ``make_twonorm``: the log odds are -2 a sum_k x_k.

    Examples
    --------
    >>> from covshift.datasets import twonorm_probability
    >>> twonorm_probability([[1.0, -1.0]])
    array([0.5])
    """
    rows = _rows(X)
    return _probability(-2.0 * _mean_shift(rows.shape[1]) * rows.sum(axis=1))


def ringnorm_probability(X: ArrayLike) -> Real:
    """True p(y=1|x) of ``make_ringnorm``: log odds |x|^2 / 8 - |x - a|^2 / 2 + n log 2.

    Examples
    --------
    >>> from covshift.datasets import ringnorm_probability
    >>> ringnorm_probability([[0.0] * 20]).round(3)
    array([1.])
    """
    rows = _rows(X)
    n = rows.shape[1]
    from_narrow = ((rows - _mean_shift(n)) ** 2).sum(axis=1)
    from_wide = (rows**2).sum(axis=1)
    return _probability(from_wide / 8 - from_narrow / 2 + n * np.log(2))


def _mean_shift(n_features: int) -> float:
    return float(2.0 / np.sqrt(n_features))


def _balanced_labels_and_noise(
    n_samples: int, n_features: int, random_state: int | np.random.RandomState | None
) -> tuple[Whole, Real]:
    whole(1).check(n_samples, "n_samples")
    whole(1).check(n_features, "n_features")
    rng = check_random_state(random_state)
    y = rng.randint(2, size=n_samples).astype(np.int64)
    return y, rng.normal(size=(n_samples, n_features))


def _draw_labels(probability: Real, rng: np.random.RandomState) -> Whole:
    return (rng.uniform(size=len(probability)) < probability).astype(np.int64)


def _rows(X: ArrayLike) -> Real:
    return to_numpy(check_points(X, "X")).astype(np.float64)


def _probability(log_odds: Real) -> Real:
    return np.asarray(expit(log_odds), dtype=np.float64)

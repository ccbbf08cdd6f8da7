"""One feature and a class whose probability is a sigmoid: the paper's first experiment."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.utils import Bunch, check_random_state

from ..data.parameters import whole
from ..data.validation import check_points
from ..numerics.array import Real, Whole, to_numpy

__all__ = ["make_sigmoid_shift", "sigmoid_probability"]


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


def sigmoid_probability(X: ArrayLike) -> Real:
    """True p(y=1|x) = 1 / (1 + exp(5 x)) of ``make_sigmoid_shift``, for X of shape (rows, 1).

    Examples
    --------
    >>> from covshift.datasets import sigmoid_probability
    >>> sigmoid_probability([[0.0]])
    array([0.5])
    """
    rows = to_numpy(check_points(X, "X")).astype(np.float64)
    return np.asarray(expit(-5.0 * rows[:, 0]), dtype=np.float64)


def _draw_labels(probability: Real, rng: np.random.RandomState) -> Whole:
    return (rng.uniform(size=len(probability)) < probability).astype(np.int64)

"""What every estimator must do with the weights of its rows (`covshift._row_weights`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from .._quiet import quiet
from .._types import Real
from .operators import _close, _holds

SCALES = (10.0, 1000.0, 1e-3)
"""Factors on all weights that must change nothing."""


def check_weights(estimator: Any, *, tolerance: float = 1e-6, random_state: int = 0) -> None:
    """Check that an estimator takes the weights of its rows as probability weights.

    ``fit(X, y, X_target=..., sample_weight=..., target_weight=...)``: the scale of
    ``sample_weight`` and of ``target_weight`` says nothing, equal ones are none, unequal ones
    change the fit, and a row of weight zero is not there.

    Parameters
    ----------
    estimator : classifier or regressor
        One with random parts needs a fixed ``random_state`` of its own, and none of them may depend
        on the number of rows.
    tolerance : float
        Largest difference between predictions that should be equal.
    random_state : int
        Seed of the samples.

    Raises
    ------
    AssertionError
        Naming the property that fails.

    Examples
    --------
    >>> from covshift import VSVR
    >>> from covshift.testing import check_weights
    >>> check_weights(VSVR("additive", kernel="rbf", width=1.0, reg=0.1))
    """
    rng = np.random.default_rng(random_state)
    X, T = rng.normal(size=(60, 2)), rng.normal(0.4, 1.0, size=(50, 2))
    y: NDArray[Any] = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=60)
    if is_classifier(estimator):
        y = (y > 0).astype(np.int64)
    d, v = rng.uniform(0.5, 3.0, size=60), rng.uniform(0.5, 3.0, size=50)
    kept, seen = rng.integers(0, 4, size=60) > 0, rng.integers(0, 4, size=50) > 0

    def f(X: Real = X, y: Any = y, T: Real = T, **weights: Any) -> Real:
        return _predicted(estimator, X, y, T, weights)

    plain, weighted = f(), f(sample_weight=d, target_weight=v)
    _holds(_apart(f(sample_weight=d), plain) > 10 * tolerance, "unequal weights change the fit")
    for scale in SCALES:
        text = f"weights times {scale:g} change nothing"
        _close(f(sample_weight=scale * d, target_weight=scale * v), weighted, tolerance, text)
        equal = {"sample_weight": np.full(60, scale), "target_weight": np.full(50, scale)}
        _close(f(**equal), plain, tolerance, "equal weights are none")
    dropped = f(sample_weight=np.where(kept, d, 0), target_weight=np.where(seen, v, 0))
    without = f(X[kept], y[kept], T[seen], sample_weight=d[kept], target_weight=v[seen])
    _close(dropped, without, tolerance, "a row of weight zero is not there")


def _predicted(estimator: Any, X: Real, y: Any, T: Real, weights: dict[str, Any]) -> Real:
    """Fit a clone and return what it says of fixed points."""
    at = np.random.default_rng(1).normal(size=(20, 2))
    with quiet():
        fitted = clone(estimator).fit(X, y, X_target=T, **weights)
        for name in ("decision_function", "predict_proba", "predict"):
            if hasattr(fitted, name):
                return np.asarray(getattr(fitted, name)(at), dtype=np.float64)
    raise AssertionError("Not so: a fitted estimator predicts.")


def _apart(one: Real, other: Real) -> float:
    return float(np.abs(one - other).max())

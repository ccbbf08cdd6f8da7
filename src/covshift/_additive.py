"""What single features say of an outcome: an additive regression.

h(x) = c + sum_j h_j(x_j), each h_j a broken line with bends at the quantiles of the feature, or one
value per category where it has few. Fitted by ridge regression on weighted rows, with the penalty
of least leave-one-out error, which has a closed form. Weights that match the distribution of every
feature match the mean of every such h.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from ._types import Real

_CATEGORIES = 8  # a feature of at most so many values has a value of h for each
_BENDS = (0.2, 0.4, 0.6, 0.8)  # quantiles
_PENALTIES = np.logspace(-4, 4, 17)  # in units of the mean eigenvalue
_LARGEST_LEVERAGE = 1 - 1e-8
_ROWS = 1 << 16  # predicted at a time


class _Feature(NamedTuple):
    """Basis of one feature: the ``values`` of its categories, or the bends of a broken line."""

    values: Real
    categories: bool
    center: float
    scale: float

    def columns(self, x: Real) -> Real:
        """Return the basis at x (rows,): (rows, columns)."""
        if self.categories:
            return np.asarray(x[:, None] == self.values, dtype=np.float64)
        z = (x - self.center) / self.scale
        return np.column_stack([z, np.maximum(z[:, None] - self.values, 0.0)])


class AdditiveRegression(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Ridge regression on broken lines and categories, one set per feature.

    Predictions stay within the range of the outcomes. O(N p + N p min(N, p)) for p columns, at most
    eight per feature.

    Attributes
    ----------
    left_out_ : (N,) array
        Prediction of each training row by the fit without it, in closed form.
    """

    def fit(self, X: Real, y: Real, sample_weight: Real | None = None) -> Self:
        """Fit to rows X (N, n), all numbers, with weights where they are given."""
        X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        w = np.ones(len(y)) if sample_weight is None else sample_weight
        share = w / w.sum()
        self.range_ = float(y.min()), float(y.max())
        self.features_ = [_feature(x) for x in X.T]
        self.mean_ = float(share @ y)
        B = self._basis(X)
        self.center_ = share @ B
        spread = np.sqrt(share @ (B - self.center_) ** 2)
        self.kept_ = spread > 1e-12 * np.abs(B).max(axis=0, initial=1e-300)
        self.spread_ = spread[self.kept_]
        B = self._standardised(B)
        if not self.kept_.any():
            self.coef_ = np.zeros(0)
            self.left_out_ = _leave_out(y, np.full(len(y), self.mean_), share)
            return self
        values, Q = _axes(np.sqrt(share)[:, None] * B)
        Z = B @ Q  # (N, r)
        squares = Z**2
        moment = Z.T @ (share * (y - self.mean_))
        least = np.inf
        for penalty in _PENALTIES * float(values.mean()):
            shrunk = 1 / (values + penalty)
            leverage = share * (1 + squares @ shrunk)
            predicted = _leave_out(y, self.mean_ + Z @ (shrunk * moment), leverage)
            error = float(share @ (y - predicted) ** 2)
            if error < least:
                least, self.left_out_, self.coef_ = error, predicted, Q @ (shrunk * moment)
        return self

    def predict(self, X: Any) -> Real:
        """Predict rows (M, n), some thousands at a time."""
        X = np.asarray(X, dtype=np.float64)
        found = np.empty(len(X))
        for start in range(0, len(X), _ROWS):
            rows = slice(start, start + _ROWS)
            found[rows] = self.mean_ + self._standardised(self._basis(X[rows])) @ self.coef_
        return np.clip(found, *self.range_)

    def _basis(self, X: Real) -> Real:
        return np.hstack(
            [feature.columns(x) for feature, x in zip(self.features_, X.T, strict=True)]
        )

    def _standardised(self, B: Real) -> Real:
        return np.asarray((B[:, self.kept_] - self.center_[self.kept_]) / self.spread_)


def _feature(x: Real) -> _Feature:
    values = np.unique(x)
    if len(values) <= _CATEGORIES:
        return _Feature(values, True, 0.0, 1.0)
    center, scale = float(x.mean()), float(x.std()) or 1.0
    bends = np.unique(np.quantile(x, _BENDS))
    return _Feature((bends - center) / scale, False, center, scale)


def _axes(A: Real) -> tuple[Real, Real]:
    """Return the squared singular values (r,) of A (N, p) and its right axes (p, r)."""
    if A.shape[0] < A.shape[1]:
        _, values, axes = np.linalg.svd(A, full_matrices=False)
        return values**2, axes.T
    values, axes = np.linalg.eigh(A.T @ A)
    return np.maximum(values, 0.0), axes


def _leave_out(y: Real, fitted: Real, leverage: Real) -> Real:
    """Turn fitted values of a linear smoother into those of each row left out."""
    return np.asarray(y - (y - fitted) / (1 - np.minimum(leverage, _LARGEST_LEVERAGE)))

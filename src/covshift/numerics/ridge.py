"""Ridge regression with the penalty of least leave-one-out error, and bases of columns for it.

The error of each row left out has a closed form, so the penalty costs no further fits: with the
leverage a_i of row i, the left-out residual is (y_i - f(x_i)) / (1 - a_i). O(N p min(N, p)).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin

from .array import Real

_CATEGORIES = 8  # a feature of at most so many values has a column for each
_BENDS = (0.2, 0.4, 0.6, 0.8)  # quantiles
_PENALTIES = np.logspace(-6, 4, 21)  # in units of the mean eigenvalue
_LARGEST_LEVERAGE = 1 - 1e-8


class LeaveOneOutRidge(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Ridge regression on standardised columns, on weighted rows where weights are given.

    Predictions stay within the range of the outcomes.

    Attributes
    ----------
    left_out_ : (N,) array
        Prediction of each training row by the fit without it.
    """

    def fit(self, X: Real, y: Real, sample_weight: Real | None = None) -> Self:
        """Fit to columns X (N, p), with weights where they are given."""
        B, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        w = np.ones(len(y)) if sample_weight is None else sample_weight
        share = w / w.sum()
        self.range_ = float(y.min()), float(y.max())
        self.mean_ = float(share @ y)
        self.center_ = share @ B
        spread = np.sqrt(share @ (B - self.center_) ** 2)
        self.kept_ = spread > 1e-12 * np.abs(B).max(axis=0, initial=1e-300)
        self.spread_ = spread[self.kept_]
        if not self.kept_.any():
            self._set(np.zeros(0))
            self.left_out_ = _leave_out(y, np.full(len(y), self.mean_), share)
            return self
        B = self._standardised(B)
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
                least, self.left_out_ = error, predicted
                self._set(Q @ (shrunk * moment))
        return self

    def predict(self, X: Any) -> Real:
        """Predict rows (M, p)."""
        return np.clip(self.intercept_ + np.asarray(X) @ self.coef_, *self.range_)

    def _set(self, standardised: Real) -> None:
        """Turn coefficients of standardised columns into those of the columns."""
        self.coef_ = np.zeros(len(self.kept_))
        self.coef_[self.kept_] = standardised / self.spread_
        self.intercept_ = self.mean_ - float(self.center_ @ self.coef_)

    def _standardised(self, B: Real) -> Real:
        return np.asarray((B[:, self.kept_] - self.center_[self.kept_]) / self.spread_)


class BrokenLines(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Columns whose sums are additive functions, c + sum_j h_j(x_j).

    Each h_j is a broken line with bends at the quantiles of the feature, or one value per category
    where it has at most eight. Weights that match the distribution of every feature match the mean
    of every such function.
    """

    def fit(self, X: Real, y: Any = None) -> Self:
        """Place the bends."""
        self.features_ = [_feature(x) for x in np.asarray(X, dtype=np.float64).T]
        return self

    def transform(self, X: Any) -> Real:
        """Return the columns at rows (M, n): at most eight per feature."""
        rows = np.asarray(X, dtype=np.float64)
        return np.hstack(
            [feature.columns(x) for feature, x in zip(self.features_, rows.T, strict=True)]
        )


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


def _feature(x: Real) -> _Feature:
    values = np.unique(x)
    if len(values) <= _CATEGORIES:
        return _Feature(values, True, 0.0, 1.0)
    unit = float(np.abs(x).max())  # squares must neither overflow nor vanish
    center, scale = float((x / unit).mean()) * unit, float((x / unit).std()) * unit or 1.0
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

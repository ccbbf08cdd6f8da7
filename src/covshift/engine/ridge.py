"""Ridge regression with the penalty of least leave-one-out error, and columns for it.

The error of each row left out has a closed form, so the penalty costs no further fits: with the
leverage a_i of row i, the left-out residual is (y_i - f(x_i)) / (1 - a_i). O(N p min(N, p)).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin
from sklearn.kernel_approximation import Nystroem

from ..numerics.array import Real
from ..numerics.crossfit import distance
from ..numerics.parallel import over_rows

_LANDMARKS, _MANY_ROWS = 200, 10_000  # half as many landmarks for so many rows
_NARROW = 0.3  # inverse squared width of the kernel, in units of the mean squared distance
_AT_ONCE = 2048  # rows whose columns fit into the processor's cache

_CATEGORIES = 8  # a feature of at most so many values has a column for each
_BENDS = (0.2, 0.4, 0.6, 0.8)  # quantiles
_PENALTIES = np.logspace(-6, 4, 21)  # in units of the mean eigenvalue
_LARGEST_LEVERAGE = 1 - 1e-8


class LeaveOneOutRidge(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Ridge regression on standardised columns, on weighted rows where weights are given.

    Columns of two values have half their range as the unit, the spread of values that are equally
    common: the effects of a category's levels are then drawn from one distribution, and that of a
    level with n of the rows is shrunken by n / (n + k), k by the error of rows left out. In units
    of their own spread rare levels would be shrunken as little as common ones.

    Parameters
    ----------
    cut : bool
        Whether predictions stay within the range of the outcomes.

    Attributes
    ----------
    left_out_ : (N,) array
        Prediction of each training row by the fit without it.
    penalty_ : float
        In units of the standardised columns' moments.
    moments_, axes_ : (r,) and (columns, r) arrays
        Of the standardised columns that vary.
    """

    def __init__(self, cut: bool = True) -> None:
        self.cut = cut

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
        self.spread_ = np.maximum(spread, _reach(B) / 2)[self.kept_]
        if not self.kept_.any():
            self._set(np.zeros(0))
            self.penalty_, self.moments_, self.axes_ = 0.0, np.zeros(0), np.zeros((0, 0))
            self.left_out_ = _leave_out(y, np.full(len(y), self.mean_), share)
            return self
        B = self.standardised(B)
        values, Q = self.moments_, self.axes_ = _axes(np.sqrt(share)[:, None] * B)
        Z = B @ Q  # (N, r)
        moment = Z.T @ (share * (y - self.mean_))
        shrunk = 1 / (values[:, None] + _PENALTIES * float(values.mean()))  # (r, penalties)
        coefs = shrunk * moment[:, None]
        leverage = share[:, None] * (1 + Z**2 @ shrunk)
        predicted = _leave_out(y[:, None], self.mean_ + Z @ coefs, leverage)
        best = int(np.argmin(share @ (y[:, None] - predicted) ** 2))
        self.left_out_ = predicted[:, best].copy()
        self.penalty_ = float(_PENALTIES[best] * values.mean())
        self._set(Q @ coefs[:, best])
        return self

    def predict(self, X: Any) -> Real:
        """Predict rows (M, p)."""
        found = self.intercept_ + np.asarray(X) @ self.coef_
        return np.clip(found, *self.range_) if self.cut else found

    def _set(self, standardised: Real) -> None:
        """Turn coefficients of standardised columns into those of the columns."""
        self.coef_ = np.zeros(len(self.kept_))
        self.coef_[self.kept_] = standardised / self.spread_
        self.intercept_ = self.mean_ - float(self.center_ @ self.coef_)

    def standardised(self, B: Real) -> Real:
        """Return the columns that vary, centred and in their units, at rows (M, p)."""
        return np.asarray((B[:, self.kept_] - self.center_[self.kept_]) / self.spread_)


def _reach(B: Real) -> Real:
    """Range of each column of two values; zero of others."""
    low, high = B.min(axis=0), B.max(axis=0)
    return np.where(((B == low) | (B == high)).all(axis=0), high - low, 0.0)


class KernelColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A Gaussian kernel at up to 200 landmarks, which sees what features do together.

    Columns of two values are in units of their range: rows of two levels of a category are then as
    far apart as two rows of a standardised number are on average, however rare the levels.
    """

    def fit(self, X: Real, y: Any = None) -> Self:
        """Choose the landmarks, from rows in an order of their own, and the width."""
        X = np.asarray(X, dtype=np.float64)
        reach = _reach(X)
        self.unit_ = np.where(reach > 0, reach, 1.0)
        rows = X[np.argsort(distance(X), kind="stable")] / self.unit_
        gamma = _NARROW / (2 * max(1.0, float(rows.var(axis=0).sum())))
        most = _LANDMARKS if len(rows) < _MANY_ROWS else _LANDMARKS // 2
        count = max(1, min(most, len(rows) // 2))
        self.kernel_ = Nystroem(gamma=gamma, n_components=count, random_state=0).fit(rows)
        return self

    def transform(self, X: Any) -> Real:
        """Return the columns at rows (M, n)."""
        return np.asarray(self.kernel_.transform(np.asarray(X, dtype=np.float64) / self.unit_))


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
        ends = np.cumsum([0, *(feature.width for feature in self.features_)])
        found = np.empty((len(rows), ends[-1]))

        def work(chunk: slice) -> None:
            for start in range(chunk.start, chunk.stop, _AT_ONCE):
                some = slice(start, min(start + _AT_ONCE, chunk.stop))
                for k, feature in enumerate(self.features_):
                    found[some, ends[k] : ends[k + 1]] = feature.columns(rows[some, k])

        over_rows(work, len(rows), at_least=_AT_ONCE)
        return found


class _Feature(NamedTuple):
    """Basis of one feature: the ``values`` of its categories, or the bends of a broken line."""

    values: Real
    categories: bool
    center: float
    scale: float

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.values) + (not self.categories)

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

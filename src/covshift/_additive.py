"""What single features say of an outcome: an additive regression, for the errors of means.

h(x) = c + sum_j h_j(x_j), each h_j a broken line with bends at the quantiles of the feature, or one
value per category where it has few. Fitted by ridge regression on weighted rows, with the penalty
of least leave-one-out error, which has a closed form. Weights that match the distribution of every
feature match the mean of every such h.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._types import Real

_CATEGORIES = 8  # a feature of at most so many values has a value of h for each
_BENDS = (0.2, 0.4, 0.6, 0.8)  # quantiles
_PENALTIES = np.logspace(-4, 4, 17)  # in units of the mean eigenvalue
_LARGEST_LEVERAGE = 1 - 1e-8


class AdditiveFit(NamedTuple):
    """The regression at the training rows, each left out, and at the target rows."""

    left_out: Real  # (N,)
    target: Real  # (M,)


def additive_fit(X: Real, y: Real, w: Real, T: Real) -> AdditiveFit:
    """Regress y (N,) on X (N, n) with weights w, and predict the target rows T (M, n).

    O((N + M) p + N p min(N, p)) for p columns, at most eight per feature.
    """
    B, B_T = (np.hstack(parts) for parts in zip(*_columns(X, T), strict=True))
    share = w / w.sum()
    center = share @ B
    spread = np.sqrt(share @ (B - center) ** 2)
    kept = spread > 1e-12 * np.abs(B).max(axis=0, initial=1e-300)
    mean = float(w @ y / w.sum())
    if not kept.any():
        return AdditiveFit(_leave_out(y, np.full(len(y), mean), share), np.full(len(T), mean))
    B, B_T = ((A[:, kept] - center[kept]) / spread[kept] for A in (B, B_T))
    values, Q = _axes(np.sqrt(share)[:, None] * B)
    Z = B @ Q  # (N, r)
    moment = Z.T @ (share * (y - mean))
    least, left_out, coef = np.inf, y, moment
    for penalty in _PENALTIES * float(values.mean()):
        shrunk = 1 / (values + penalty)
        leverage = share * (1 + Z**2 @ shrunk)
        predicted = _leave_out(y, mean + Z @ (shrunk * moment), leverage)
        error = float(share @ (y - predicted) ** 2)
        if error < least:
            least, left_out, coef = error, predicted, shrunk * moment
    target = mean + B_T @ (Q @ coef)
    return AdditiveFit(left_out, np.clip(target, y.min(), y.max()))


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


def _columns(X: Real, T: Real) -> list[tuple[Real, Real]]:
    """Return the basis of every feature at the training and at the target rows."""
    found = []
    for x, t in zip(X.T, T.T, strict=True):
        values = np.unique(x)
        if len(values) <= _CATEGORIES:
            found.append(((x[:, None] == values) * 1.0, (t[:, None] == values) * 1.0))
            continue
        bends = np.unique(np.quantile(x, _BENDS))
        center, scale = x.mean(), x.std() or 1.0
        knots = (bends - center) / scale
        at_x, at_t = (_broken_line((v - center) / scale, knots) for v in (x, t))
        found.append((at_x, at_t))
    return found


def _broken_line(x: Real, bends: Real) -> Real:
    return np.column_stack([x, np.maximum(x[:, None] - bends, 0.0)])

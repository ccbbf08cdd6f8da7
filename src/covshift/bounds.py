"""How far the empirical V-matrix can lie from the true one: Theorems 3.2 and 3.3.

Both theorems say that, M being the number of target rows,

    Pr( |V_true - V_hat| > h somewhere ) <= C exp(-2 M h^2),

with C = 2 for one feature (Theorem 3.2: Massart's inequality) and C = N (N + 1) for any number
of features (Theorem 3.3: Hoeffding's inequality for each of the N (N + 1) / 2 pairs of training
rows). Each is offered in three directions: the half width h at a confidence, the confidence of a
half width, and the target size that a half width needs. ``loss_error_1d`` and ``loss_error`` turn h
into a bound on the sampling error of the loss rho^2(V) = r' V r / N^2 with residuals
r_i = f(x_i) - y_i: how far the loss under M target rows can lie from the loss under their whole
distribution. It is not a bound on the difference between training and target loss.

The bounds ask that the target rows are independent draws of equal weight, that phi = 1, that V is
not normalised, and that the views do not depend on the target sample: a sliced V needs
``standardize=False``. They are bounds on V itself, so the residuals may come from a model that was
fitted with the same target rows. A half width of 1 or more is true but carries no information: V
lies in [0, 1].

Source: Mazaheri, Jain and Bruck (2020), section 3; the form of ``loss_error_1d`` is ours. Cost:
O(1), or O(n N log N) given residuals.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .data.features import column_shares, feature_groups
from .data.parameters import number, whole
from .data.validation import check_points, refuse_no_rows
from .data.values import numbers_of_rows
from .encoding import groups_of
from .encoding.samples import encode_samples
from .exceptions import InputError
from .numerics.array import Real, Rows, to_numpy

__all__ = [
    "confidence",
    "confidence_1d",
    "half_width",
    "half_width_1d",
    "loss_error",
    "loss_error_1d",
    "target_size",
    "target_size_1d",
]

_MOST = 2**62  # rows or views: floats hold their squares


def half_width_1d(n_target: int, confidence: float | None = None, *, n_views: int = 1) -> float:
    """Bound max |V_true - V_hat| for one feature, or for an average of one-dimensional views.

    Theorem 3.2 says that it is

        h = sqrt(log(2 / (1 - confidence)) / (2 M)) .

    It holds at all thresholds at once, so it depends neither on the number nor on the position of
    the training rows.

    Parameters
    ----------
    n_target : int
        Number of target rows, M.
    confidence : float, optional
        Probability that the bound holds. By default the paper's choice h = sqrt(log M / M),
        whose confidence is 1 - 2 / M^2 (1 - 2 n_views / M^2 for several views).
    n_views : int, default=1
        Number of one-dimensional views that V averages (ours): n for the additive V of n
        features, the number of directions for the sliced V. By the union bound, 2 becomes
        2 n_views. A symmetric V needs no more: a view and its mirror image share one
        distribution function.

    Notes
    -----
    The views must not depend on the target sample. Those of ``Sliced`` do, through the standard
    deviations, unless ``standardize=False``. Nor is there a promise for target weights, an array
    ``phi`` or ``normalize=True``.

    Examples
    --------
    >>> from covshift.bounds import half_width_1d
    >>> round(half_width_1d(1000), 3)
    0.083
    >>> round(half_width_1d(1000, 0.95), 3)
    0.043
    >>> round(half_width_1d(1000, 0.95, n_views=20), 3)
    0.058
    """
    M, C = _count("n_target", n_target), _constant_1d(n_views)
    if confidence is not None:
        return _width(C, M, confidence)
    if C >= M**2:
        raise InputError(
            f"The paper's half width promises nothing for n_target={M} and n_views={n_views}: "
            "1 - 2 n_views / M^2 is not positive. Pass a confidence, for example 0.95."
        )
    return math.sqrt(math.log(M) / M)


def confidence_1d(n_target: int, half_width: float, *, n_views: int = 1) -> float:
    """Probability that the bound of ``half_width_1d`` holds.

        1 - 2 n_views exp(-2 M h^2)

    It is a lower bound, and 0 where the theorem promises nothing. Parameters as in
    ``half_width_1d``; ``half_width`` is h.

    Examples
    --------
    >>> from covshift.bounds import confidence_1d
    >>> round(confidence_1d(1000, 0.05), 3)
    0.987
    """
    return _confidence(_constant_1d(n_views), _count("n_target", n_target), half_width)


def target_size_1d(half_width: float, confidence: float = 0.95, *, n_views: int = 1) -> int:
    """Smallest number of target rows whose ``half_width_1d`` is at most the given one.

        M = log(2 n_views / (1 - confidence)) / (2 h^2) ,

    rounded up. Parameters as in ``half_width_1d``; ``half_width`` is the h that is wanted.

    Examples
    --------
    >>> from covshift.bounds import target_size_1d
    >>> target_size_1d(0.05)
    738
    """
    return _size(_constant_1d(n_views), half_width, confidence)


def half_width(n_target: int, n_train: int, confidence: float = 0.95) -> float:
    """Bound max |V_true - V_hat| over all pairs of training rows, for any number of features.

    Theorem 3.3 says that it is

        h = sqrt(log(N (N + 1) / (1 - confidence)) / (2 M)) .

    The target need not have independent features, and the training rows must not be chosen by
    looking at the target.

    Parameters
    ----------
    n_target, n_train : int
        Numbers of target rows, M, and of training rows, N.
    confidence : float, default=0.95
        Probability that the bound holds.

    Examples
    --------
    >>> from covshift.bounds import half_width
    >>> round(half_width(1000, 200), 3)
    0.082
    """
    return _width(_constant(n_train), _count("n_target", n_target), confidence)


def confidence(n_target: int, n_train: int, half_width: float) -> float:
    """Probability that the bound of ``half_width`` holds.

        1 - N (N + 1) exp(-2 M h^2)

    It is a lower bound, and 0 where the theorem promises nothing. Parameters as in
    ``half_width``; ``half_width`` is h, the paper's delta.

    Examples
    --------
    >>> from covshift.bounds import confidence
    >>> round(confidence(1000, 200, 0.1), 4)
    0.9999
    """
    return _confidence(_constant(n_train), _count("n_target", n_target), half_width)


def target_size(half_width: float, n_train: int, confidence: float = 0.95) -> int:
    """Smallest number of target rows whose ``half_width`` is at most the given one.

        M = log(N (N + 1) / (1 - confidence)) / (2 h^2) ,

    rounded up. Parameters as in ``half_width``; ``half_width`` is the h that is wanted.

    Examples
    --------
    >>> from covshift.bounds import target_size
    >>> target_size(0.1, n_train=200)
    680
    """
    return _size(_constant(n_train), half_width, confidence)


def loss_error_1d(
    X: ArrayLike,
    residuals: ArrayLike,
    n_target: int,
    confidence: float | None = None,
    *,
    symmetric: bool = False,
) -> float:
    """Bound |rho^2(V_true) - rho^2(V_hat)| for one feature, or one-dimensional views.

    Let the rows be sorted in a view, c_i = (r_1 + ... + r_i) / N, c_0 = 0, and S(x) the target's
    probability of x or more. A pair of rows counts at the larger of its values, so that

        rho^2(V) = (1/N) sum_i S(x_i) r_i (c_i + c_{i-1}) = sum_i S(x_i) (c_i^2 - c_{i-1}^2) ,

    and no S is off by more than h (Massart), whatever the residuals:

        |rho^2(V_true) - rho^2(V_hat)| <= (h/N) sum_i |r_i| |c_i + c_{i-1}| .

    Equal values enter as one, with the sum of their residuals. The bound is at most that of
    Theorem 3.2, h (mean |r|)^2 (theory, eq. (6.5)), and far below it where residuals of both signs
    take turns. Of several views, which V averages, it is the mean; h is then that of all of them at
    once. The columns of a category share the weight of one view, as they do in V.

    Parameters
    ----------
    X : (N,) or (N, G) array, or data frame
        Training rows in each view: the features for the additive V, the projections for the sliced
        one. A frame may hold text, dates and gaps. Where the target has levels that X does not
        have, pass what ``TableEncoder().fit(X, X_target=X_target).transform(X)`` returns.
    residuals : (N,) array
        One r_i = f(x_i) - y_i per training row.
    n_target : int
        Number of target rows, M.
    confidence : float, optional
        Probability that the bound holds; default as in ``half_width_1d``.
    symmetric : bool
        Whether V averages every view with its mirror image.

    Examples
    --------
    >>> from covshift.bounds import loss_error_1d
    >>> x, residuals = [0.1, 0.4, 0.7, 0.9], [0.2, -0.5, 0.3, -0.2]
    >>> round(loss_error_1d(x, residuals, n_target=1000, confidence=0.95), 4)
    0.0006
    """
    r = _residuals(residuals)
    views, groups = _views(X)
    if len(views) != len(r):
        raise InputError(
            f"X has {len(views)} rows, but there are {len(r)} residuals. Pass one row per "
            "residual, and one column per view."
        )
    h = half_width_1d(n_target, confidence, n_views=views.shape[1])
    signs = (1, -1) if symmetric else (1,)
    groups = feature_groups(groups, views.shape[1])
    share = None if groups is None else np.repeat(column_shares(groups), len(signs))
    with np.errstate(over="ignore", invalid="ignore"):
        turns = [_turns(sign * view, r) for view in views.T for sign in signs]
        mean = float(np.average(turns, weights=share))
    return _finite(h * mean)


def loss_error(residuals: ArrayLike, n_target: int, confidence: float = 0.95) -> float:
    """Bound |rho^2(V_true) - rho^2(V_hat)| for any number of features.

    Theorem 3.3: the half width times max_ij |r_i r_j|, which is (max |r|)^2. ``residuals`` holds
    one r_i per training row; the rest is as in ``half_width``. The paper's proof bounds every
    entry of V at once, so (mean |r|)^2 would do as well, at the same confidence; this is the
    theorem as stated.

    Examples
    --------
    >>> from covshift.bounds import loss_error
    >>> round(loss_error([0.2, -0.5, 0.3, -0.2], n_target=1000), 4)
    0.0137
    """
    largest = float(np.abs(_residuals(residuals)).max())
    return _finite(half_width(n_target, np.size(residuals), confidence) * largest * largest)


def _constant_1d(n_views: int) -> int:
    return 2 * _count("n_views", n_views)


def _constant(n_train: int) -> int:
    N = _count("n_train", n_train)
    return N * (N + 1)


def _width(C: int, M: int, confidence: float) -> float:
    return math.sqrt(_exponent(C, confidence) / (2 * M))


def _confidence(C: int, M: int, half_width: float) -> float:
    h = _positive("half_width", half_width)
    return max(0.0, 1.0 - C * math.exp(-2 * M * h * h))


def _size(C: int, half_width: float, confidence: float) -> int:
    h = _positive("half_width", half_width)
    size = _exponent(C, confidence) / 2 / h / h
    if size > _MOST:
        raise InputError(f"half_width={half_width!r} needs {size:.3g} target rows: ask for less.")
    M = max(1, math.floor(size))
    # Rounding up through the width itself makes the two directions agree to the last digit.
    return M if _width(C, M, confidence) <= h else M + 1


def _exponent(C: int, confidence: float) -> float:
    """2 M h^2 such that C exp(-2 M h^2) = 1 - confidence."""
    number(above=0, below=1).check(confidence, "confidence")
    return math.log(C / (1 - confidence))


def _turns(view: Real, r: Real) -> float:
    """sum_i |c_i^2 - c_{i-1}^2| over the distinct values of a view."""
    order = np.argsort(view, kind="stable")
    sorted_view = view[order]
    last = np.append(sorted_view[1:] > sorted_view[:-1], True)
    c = np.cumsum(r[order])[last] / len(r)
    return float(np.abs(np.diff(c**2, prepend=0.0)).sum())


def _finite(bound: float) -> float:
    if not math.isfinite(bound):
        raise InputError("residuals are so large that the bound overflows. Scale them down.")
    return bound


def _count(name: str, value: Any) -> int:
    whole(1, _MOST).check(value, name)
    return int(value)


def _positive(name: str, value: float) -> float:
    number(above=0).check(value, name)
    return float(value)


def _views(X: Any) -> tuple[Real, Rows | None]:
    """Views (N, G), and the feature that each belongs to; one view may come as (N,)."""
    refuse_no_rows(X, "X")
    if len(_shape(X)) == 1:
        view = numbers_of_rows(X, "X", "one row per residual")
        return to_numpy(check_points(view[:, None], "X")), None
    X, _, encoder = encode_samples(X, None)
    groups = groups_of(X) if encoder is None else encoder.groups
    return to_numpy(check_points(X, "X")).astype(np.float64), groups


def _shape(X: Any) -> tuple[int, ...]:
    """Shape of an array, of a frame, or of nested lists, which may be ragged."""
    return X.shape if hasattr(X, "shape") else (len(X), *np.shape(X[0]))


def _residuals(residuals: ArrayLike) -> Real:
    r = numbers_of_rows(residuals, "residuals", "one f(x_i) - y_i per training row")
    if r.ndim != 1 or r.size == 0:
        raise InputError(f"residuals has shape {r.shape}; pass one f(x_i) - y_i per training row.")
    unusable = np.count_nonzero(~np.isfinite(r))
    if unusable:
        raise InputError(f"residuals holds {unusable} missing or infinite values of {r.size}.")
    return r

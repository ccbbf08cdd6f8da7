"""Corrections by name, and the dense V for those who want to see it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from ..exceptions import CoverageWarning, InputError, InputTypeError
from ..numerics.array import Array, namespace
from ..registry import AUTO, CorrectionEntry, Names
from ..show.words import meant
from ..weights import WEIGHTERS
from .base import Correction
from .elementary import Importance
from .empirical import EmpiricalCorrection

CORRECTIONS: Mapping[str, Callable[[], Correction]] = Names(CorrectionEntry)
"""The corrections that a name stands for."""

_LOW_COVERAGE = 0.9  # share of the rows in the loss below which users should know
_FAINT = 0.01  # mean diagonal of V, where V = I has one


def as_correction(correction: Any) -> Any:
    """Return the correction that a name stands for, or the object itself.

    The name of a weighter stands for importance weighting with it.

    >>> from covshift.corrections import as_correction
    >>> as_correction("kliep")
    Importance(weights='kliep')
    """
    if isinstance(correction, str):
        if correction in CORRECTIONS:
            return CORRECTIONS[correction]()
        if correction in WEIGHTERS:
            return Importance(correction)
        if correction == AUTO:
            raise InputError(
                "correction='auto' compares fitted models, so only estimators that say so take it, "
                "such as VSVC and VSVR."
            )
        names = [*CORRECTIONS, *WEIGHTERS]
        raise InputError(
            f"correction={correction!r} is unknown.{meant(correction, names)} Choose one of "
            f"{', '.join(map(repr, names))}, "
            "or pass an object of covshift.corrections."
        )
    if isinstance(correction, type) or not hasattr(correction, "operator"):
        raise InputTypeError(
            f"correction={correction!r} has no usable operator(X, X_target). Pass a name or an "
            "instance such as covshift.corrections.Additive()."
        )
    return correction


def v_matrix(
    X: Any,
    X_target: Any = None,
    correction: Any = "additive",
    *,
    target_weight: Any = None,
) -> Array:
    """Return V as a dense (N, N) array, for any correction.

    The loss of a function f with residuals r_i = f(x_i) - y_i is r'Vr / N^2 (paper, eq. 7).

    Parameters
    ----------
    X : (N, n) array or data frame
        Training points. A frame may hold text, dates and gaps; a category counts as one feature.
    X_target : (M, n) array or data frame, `covshift.Margins`, or a one-tuple, optional
        Target points. None: the target is the training sample. Margins are enough for "additive",
        "blended" and other V that see one column at a time.
    correction : str or correction
        "none", "uniform", "gaussian", "multiplicative" (Algorithm 1), "additive" (Algorithm 2),
        "pairwise", "sliced", "blended" (additive, symmetric, normalised and mixed with
        the identity), or an object of `covshift.corrections`.
    target_weight : (M,) array, optional
        Probability weights of the target points, on any scale.

    Returns
    -------
    (N, N) array
        In the library, on the device and in the precision of X.

    Warns
    -----
    CoverageWarning
        When more than a tenth of the training points has a zero column: no target point sees
        them, and they do not enter the loss.

    Notes
    -----
    Memory O(N^2), as the result; use ``correction.operator(X, X_target)`` for products with V
    without it.

    Examples
    --------
    >>> import covshift
    >>> covshift.v_matrix([[0.0], [1.0]], X_target=[[0.5], [1.0], [2.0], [3.0]])
    array([[1.  , 0.75],
           [0.75, 0.75]])
    """
    correction = as_correction(correction)
    given = {} if target_weight is None else {"target_weight": target_weight}
    V = correction.operator(X, X_target, **given).dense()
    warn_if_unseen(namespace(V).linalg.diagonal(V), correction=correction)
    return V


def warn_if_unseen(
    diagonal: Array, w: Array | None = None, *, correction: Any, stacklevel: int = 3
) -> float:
    """Return the share of training points that the target sees; warn when it, or V, is low."""
    xp = namespace(diagonal)
    w = xp.ones_like(diagonal) if w is None else w
    weight = float(xp.sum(w))
    coverage = float(xp.sum(xp.where(diagonal > 0, w, xp.zeros_like(w)))) / weight
    unseen = int(xp.sum(xp.astype(diagonal <= 0, xp.int64)))
    warn_if_faint(
        coverage,
        float(xp.sum(w * diagonal)) / weight,
        f"{unseen} of {diagonal.shape[0]} training points",
        correction,
        stacklevel=stacklevel + 1,
    )
    return coverage


def warn_if_faint(
    coverage: float, strength: float, unseen: str, correction: Any, *, stacklevel: int = 2
) -> None:
    """Warn when the target sees too few training points, or V is nearly zero on average."""
    words = correction if isinstance(correction, Correction) else EmpiricalCorrection
    if coverage < _LOW_COVERAGE:
        message = (
            f"{unseen} {words.unseen}: their columns of V are zero and they do not enter the "
            f"loss. {words.advice}"
        )
    elif strength < _FAINT:
        message = (
            "V is nearly zero: hardly any training point counts (mean diagonal "
            f"{strength:.2g}). {words.advice}"
        )
    else:
        return
    warnings.warn(message, CoverageWarning, stacklevel=stacklevel)

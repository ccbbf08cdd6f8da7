"""Corrections that weigh each training point by itself: V = I and V = diag(w)."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from .._array import Array, device, like, namespace
from .._validation import check_weight
from ..operators import Diagonal, VOperator
from .base import Correction


class Unweighted(Correction):
    """No correction: V = I, the ordinary squared loss.

    Examples
    --------
    >>> from covshift.corrections import Unweighted
    >>> Unweighted().operator([[0.0], [1.0]]).dense()
    array([[1., 0.],
           [0., 1.]])
    """

    def _build(self, X: Array, T: Array, share: Array) -> VOperator:
        xp = namespace(X)
        return Diagonal(xp.ones((X.shape[0],), dtype=X.dtype, device=device(X)))


class Importance(Correction):
    """Importance weighting: V = diag(w), w an estimate of the density ratio q(x) / p(x).

    Parameters
    ----------
    weights : (N,) array or weighter
        The weights, taken as they are; or an object with ``fit(X, X_target=...)`` and the fitted
        attribute ``weights_``, which is cloned and fitted for every operator.

    Notes
    -----
    Shimodaira's, Sugiyama's, Huang's and the other weighted losses are all of this form; they
    differ in how w is estimated. O(N) time and memory beyond the weights.

    Examples
    --------
    >>> from covshift.corrections import Importance
    >>> Importance([0.5, 1.5]).operator([[0.0], [1.0]]).diagonal()
    array([0.5, 1.5])
    """

    def __init__(self, weights: Any) -> None:
        self.weights = weights

    def _build(self, X: Array, T: Array, share: Array) -> VOperator:
        weights = self.weights
        if hasattr(weights, "fit"):
            weights = clone(weights).fit(X, X_target=T, target_weight=share).weights_
        w = check_weight(weights, int(X.shape[0]), "The importance weights", of="X")
        return Diagonal(like(w, X[:, 0]))

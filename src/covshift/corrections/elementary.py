"""Corrections given row by row: V = I, V = diag(w), and a V made elsewhere."""

from __future__ import annotations

from typing import Any

from ..data.row_weights import RowWeights
from ..data.validation import check_points
from ..exceptions import InputError
from ..numerics.array import Array, device, is_numpy, like, namespace, to_numpy
from ..operators import Dense, Diagonal, DiagonalTargetSums, TargetSums, VOperator
from .base import Correction, importance_weights, is_weighter


class _EveryPoint(Correction):
    """Base of the corrections under which no training point can go unseen."""

    nonnegative = True
    by_blocks = True

    def raw_diagonal(self, X: Array, T: Array, share: Array) -> Array:
        xp = namespace(X)
        return xp.ones((X.shape[0],), dtype=X.dtype, device=device(X))


class Unweighted(_EveryPoint):
    """No correction: V = I, the ordinary squared loss.

    Examples
    --------
    >>> from covshift.corrections import Unweighted
    >>> Unweighted().operator([[0.0], [1.0]]).dense()
    array([[1., 0.],
           [0., 1.]])
    """

    needs_points = False
    by_features = True
    uses_target = False

    def _build(self, X: Array, T: Array, share: Array) -> VOperator:
        xp = namespace(X)
        return Diagonal(xp.ones((X.shape[0],), dtype=X.dtype, device=device(X)))

    def target_sums(self, T: Array, share: Array, X: Array | None = None) -> TargetSums:
        return DiagonalTargetSums()


class Importance(_EveryPoint):
    """Importance weighting: V = diag(w), w an estimate of the density ratio q(x) / p(x).

    Parameters
    ----------
    weights : (N,) array, weighter or name
        The weights, taken as they are; or an object with
        ``fit(X, X_target=..., target_weight=...)`` and the fitted attribute ``weights_``, which is
        cloned and fitted for every operator; or the name of one, such as "kliep"
        (`covshift.weights.WEIGHTERS`). A ``fit`` without ``target_weight`` serves a target without
        weights, and one without ``sample_weight`` training rows without them.

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

    unseen = "have importance weight zero"
    advice = "Look at the weights and at how they were made."

    def __init__(self, weights: Any) -> None:
        self.weights = weights

    @property
    def uses_target(self) -> bool:  # type: ignore[override]
        return self.needs_points

    @property
    def needs_points(self) -> bool:  # type: ignore[override]
        return is_weighter(self.weights)

    def weighed(self, X: Array, T: Array, rows: RowWeights, target: RowWeights) -> Correction:
        if not is_weighter(self.weights):
            return self
        return Importance(self._fitted_weights(X, T, target.share, rows, target))

    def _build(self, X: Array, T: Array, share: Array) -> VOperator:
        return Diagonal(self._fitted_weights(X, T, share))

    def _fitted_weights(self, X: Array, T: Array, share: Array, *of_rows: RowWeights) -> Array:
        return importance_weights(self.weights, X, T, share, *of_rows, groups=self._groups)

    def target_sums(self, T: Array, share: Array, X: Array | None = None) -> TargetSums:
        if X is None:
            raise InputError("Importance weights need the whole training sample, not blocks of it.")
        return DiagonalTargetSums(self._build(X, T, share).diagonal())


class Precomputed(Correction):
    """A V made elsewhere: any symmetric positive semidefinite matrix, one row per training point.

    Parameters
    ----------
    V : (N, N) array
        Used as it is. With it, a kernel machine may take a precomputed kernel too.

    Examples
    --------
    >>> from covshift import v_matrix
    >>> from covshift.corrections import Precomputed
    >>> X, X_target = [[0.0], [1.0]], [[0.5], [2.0]]
    >>> Precomputed(v_matrix(X, X_target)).operator(X).diagonal()
    array([1. , 0.5])
    """

    needs_points = False
    uses_target = False
    unseen = "have no entry in the V that was given"
    advice = "Look at how it was made."

    def __init__(self, V: Any) -> None:
        self.V = V

    def _build(self, X: Array, T: Array, share: Array) -> VOperator:
        V = check_points(self.V, "V")
        if tuple(V.shape) != (X.shape[0], X.shape[0]):
            raise InputError(f"V has shape {tuple(V.shape)}, but X has {X.shape[0]} rows.")
        return Dense(V if is_numpy(X) and is_numpy(V) else like(to_numpy(V), X))

"""What a correction is: a recipe that makes V from a training and a target sample."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.base import BaseEstimator

from .._array import Array, device, namespace
from .._validation import check_samples
from ..exceptions import CoverageWarning
from ..operators import Diagonal, VOperator, WeightedSum


class Correction(BaseEstimator):  # type: ignore[misc]
    """Base of all corrections: parameters as scikit-learn keeps them, one method to write.

    A subclass implements ``_build(X, T, share)`` for checked input: X (N, n), T (M, n) in the same
    dtype, and the target's shares (M,), which sum to one. `covshift.testing.check_correction`
    tests the result.
    """

    def operator(self, X: Any, X_target: Any = None, *, target_weight: Any = None) -> VOperator:
        """Make V for the training sample ``X`` under the target ``X_target``.

        Parameters
        ----------
        X : (N, n) array or data frame
            Training points.
        X_target : (M, n) array or data frame, or a one-tuple of it, optional
            Target points. None: the target is the training sample.
        target_weight : (M,) array, optional
            Weights of the target points; integer weights equal repeated rows.

        Returns
        -------
        VOperator
            V of shape (N, N), by its products.
        """
        X, T, share = check_samples(X, X_target, target_weight)
        return self._build(X, T, share)

    def _build(self, X: Array, T: Array, share: Array) -> VOperator:
        raise NotImplementedError(f"{type(self).__name__} does not implement _build.")


class VMatrixCorrection(Correction):
    """Base of the corrections by a V-matrix: they share ``normalize`` and ``blend``.

    A subclass implements ``_v(X, T, share)``.
    """

    normalize: bool
    blend: float

    def _build(self, X: Array, T: Array, share: Array) -> VOperator:
        V = self._v(X, T, share)
        if self.normalize:
            V = _unit_mean_diagonal(V)
        return _blended(V, self.blend, X) if self.blend else V

    def _v(self, X: Array, T: Array, share: Array) -> VOperator:
        raise NotImplementedError(f"{type(self).__name__} does not implement _v.")


def _unit_mean_diagonal(V: VOperator) -> VOperator:
    diagonal = V.diagonal()
    mean = float(namespace(diagonal).mean(diagonal))
    if mean > 0:
        return WeightedSum([(1 / mean, V)])
    warnings.warn(
        "V is zero: no training point is seen from the target, so it cannot be normalised. "
        "Check that X and X_target overlap; in many dimensions use 'additive' or 'sliced'.",
        CoverageWarning,
        stacklevel=4,
    )
    return V


def _blended(V: VOperator, blend: float, X: Array) -> VOperator:
    if not 0 <= blend <= 1:
        raise ValueError(f"blend={blend!r} is not between 0 (V alone) and 1 (the identity alone).")
    xp = namespace(X)
    identity = Diagonal(xp.ones((X.shape[0],), dtype=X.dtype, device=device(X)))
    return WeightedSum([(1 - blend, V), (blend, identity)])

"""What a correction is: a recipe that makes V from a training and a target sample."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.base import BaseEstimator

from .._array import Array, like, namespace
from .._validation import check_samples, check_weight, unwrap_target
from ..exceptions import CoverageWarning
from ..operators import Diagonal, Lens, VOperator, WeightedSum


class Correction(BaseEstimator):  # type: ignore[misc]
    """Base of all corrections: parameters as scikit-learn keeps them, one method to write.

    A subclass implements ``_build(X, T, share)`` for checked input: X (N, n), T (M, n) in the same
    dtype, and the target's shares (M,), which sum to one. `covshift.testing.check_correction`
    tests the result.
    """

    def operator(
        self,
        X: Any,
        X_target: Any = None,
        *,
        target_weight: Any = None,
        sample_weight: Any = None,
    ) -> VOperator:
        """Make V for the training sample ``X`` under the target ``X_target``.

        Parameters
        ----------
        X : (N, n) array or data frame
            Training points.
        X_target : (M, n) array or data frame, or a one-tuple of it, optional
            Target points. None: the target is the training sample, with its weights.
        target_weight : (M,) array, optional
            Weights of the target points; integer weights equal repeated rows.
        sample_weight : (N,) array, optional
            Weights of the training points; integer weights equal repeated rows.

        Returns
        -------
        VOperator
            V of shape (N, N), by its products.
        """
        if unwrap_target(X_target) is None and target_weight is None:
            target_weight = sample_weight
        X, T, share = check_samples(X, X_target, target_weight)
        V = self._build(X, T, share)
        if sample_weight is None:
            return self._finish(V, None)
        w = check_weight(sample_weight, int(X.shape[0]), "sample_weight", of="X")
        return self._finish(V, like(w, X[:, 0]))

    needs_points = True
    """Whether V is made from the points; if not, a precomputed kernel may stand for them."""

    def raw_diagonal(self, X: Array, T: Array, share: Array) -> Array:
        """Return V(i, i) before normalising and blending: zero where the target sees nothing."""
        return self._build(X, T, share).diagonal()

    def lens(self, T: Array, share: Array, X: Array | None = None) -> Lens:
        """Return the target side of V, for sums over blocks of training rows.

        ``X`` is the whole training sample where it is in memory, None where rows arrive in blocks.
        """
        raise ValueError(
            f"{type(self).__name__} needs all pairs of training rows at once, so it cannot be "
            "summed over blocks of rows. Use solver='dual', or an empirical correction."
        )

    def _build(self, X: Array, T: Array, share: Array) -> VOperator:
        raise NotImplementedError(f"{type(self).__name__} does not implement _build.")

    def _finish(self, V: VOperator, w: Array | None) -> VOperator:
        return V if w is None else V.weighted(w)


class VMatrixCorrection(Correction):
    """Base of the corrections by a V-matrix: they share ``normalize`` and ``blend``."""

    normalize: bool
    blend: float

    def _finish(self, V: VOperator, w: Array | None) -> VOperator:
        if not 0 <= self.blend <= 1:
            raise ValueError(
                f"blend={self.blend!r} is not between 0 (V alone) and 1 (the identity alone)."
            )
        diagonal = V.diagonal() if self.normalize or self.blend else None
        scale = 1.0 if diagonal is None or not self.normalize else _unit_scale(diagonal, w)
        V = super()._finish(V, w)
        if self.blend and diagonal is not None:
            xp = namespace(diagonal)
            identity = super()._finish(Diagonal(xp.ones_like(diagonal)), w)
            return WeightedSum([((1 - self.blend) * scale, V), (self.blend, identity)])
        return V if scale == 1 else WeightedSum([(scale, V)])


def _unit_scale(diagonal: Array, w: Array | None) -> float:
    """Return the factor that gives V a mean diagonal of one, over the rows with their weights."""
    xp = namespace(diagonal)
    mean = float(xp.mean(diagonal) if w is None else xp.sum(w * diagonal) / xp.sum(w))
    if mean > 0:
        return 1 / mean
    warnings.warn(
        "V is zero: no training point is seen from the target, so it cannot be normalised. "
        "Check that X and X_target overlap; in many dimensions use 'additive' or 'sliced'.",
        CoverageWarning,
        stacklevel=4,
    )
    return 1.0

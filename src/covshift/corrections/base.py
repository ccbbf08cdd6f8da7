"""What a correction is: a recipe that makes V from a training and a target sample."""

from __future__ import annotations

import warnings
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import has_fit_parameter

from ..data import validation
from ..data.features import feature_groups
from ..data.parameters import Rules, check_parameters, flag, number, one_of
from ..data.row_weights import RowWeights, check_weight, row_weights, target_weights
from ..data.validation import weight_like
from ..encoding import groups_of
from ..encoding.samples import encode_samples
from ..exceptions import CoverageWarning, InputError, InputTypeError
from ..numerics.array import Array, Rows, namespace
from ..operators import Dense, FactorOperator, TargetSums, VOperator, identity_share, unit_scale
from ..weights import as_weighter


class Correction(BaseEstimator):  # type: ignore[misc]
    """Base of all corrections: parameters as scikit-learn keeps them, one method to write.

    A subclass implements ``_build(X, T, share)`` for checked input: X (N, n), T (M, n) in the same
    dtype, and the target's shares (M,), which sum to one. `covshift.testing.check_correction`
    tests the result. Rules for its parameters go into ``_rules``: `operator` applies them first.
    """

    _rules: ClassVar[Rules] = {}
    _groups: Any = None  # of the columns of X, where some of them are one feature

    def of_features(self, groups: Any) -> Self:
        """Return a copy that knows which columns are one feature, such as the levels of a category.

        V then averages over the columns of a feature first, and over features afterwards; a pair
        of features is looked at in all columns of both.

        Parameters
        ----------
        groups : (n,) array of integers, or None
            Number of the feature that every column of X belongs to. None: each is its own. With
            data frames `operator` finds them itself.

        Examples
        --------
        >>> from covshift.corrections import Additive
        >>> X = [[0.5, 1, 0, 0], [0.2, 0, 1, 0], [0.1, 0, 0, 1]]  # a number and three levels
        >>> Additive().of_features([0, 1, 1, 1]).operator(X).diagonal().round(3)
        array([0.556, 0.722, 0.889])
        """
        found = copy(self)
        found._groups = groups
        return found

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
            Training points. A frame may hold text, dates and gaps; the columns that a category
            becomes are one feature (`of_features`).
        X_target : (M, n) array or data frame, `covshift.Margins`, or a one-tuple, optional
            Target points. None: the target is the training sample, with its weights. Margins serve
            corrections that see one column at a time; see `covshift.corrections.at_cuts`.
        sample_weight, target_weight : (N,) and (M,) arrays, optional
            Probability weights of the points, on any scale: they are divided by their mean.

        Returns
        -------
        VOperator
            V of shape (N, N), by its products.
        """
        check_parameters(self)
        target_weight = validation.unwrap_target(target_weight)
        if validation.is_margins(validation.unwrap_target(X_target)):
            validation.refuse_target_weights(target_weight=target_weight)
            from .at_cuts import AtCuts

            cuts = AtCuts.of(validation.unwrap_target(X_target), X)
            weights = row_weights(len(cuts.Z), sample_weight)
            return cuts.operator(self, X, weights)
        X, X_target, encoder = encode_samples(
            X,
            X_target,
            sample_weight=sample_weight,
            target_weight=target_weight,
        )
        groups = groups_of(X) if encoder is None else encoder.groups
        known = self if groups is None or self._groups is not None else self.of_features(groups)
        if validation.unwrap_target(X_target) is None and target_weight is None:
            target_weight = sample_weight
        X, T, share = validation.check_samples(X, X_target, target_weight)
        rows = row_weights(int(X.shape[0]), sample_weight)
        target = target_weights(int(T.shape[0]), target_weight)
        found = known.weighed(X, T, rows, target)
        V = found._build(X, T, share)
        own = found._row_weights(X, T, share)
        if rows.uniform:
            return found._finish(V, own)
        given = validation.weight_like(rows.w, X, "sample_weight")
        return found._finish(V, given if own is None else given * own)

    def weighed(self, X: Array, T: Array, rows: RowWeights, target: RowWeights) -> Correction:
        """Return the correction with its weights of the training rows, if it fits any.

        A weighter inside sees the weights that the rows of both samples have. Of a correction
        without one it is the correction itself.
        """
        return self

    needs_points = True
    """Whether V is made from the points; if not, a precomputed kernel may stand for them."""

    nonnegative = False
    """Whether V never has a negative entry, so that diag(V1) majorises it (theory, eq. 5.4)."""

    by_features = False
    """Whether V sees the target through the distribution of each feature by itself alone."""

    uses_target = True
    """Whether V looks at the target at all."""

    by_blocks = False
    """Whether V can be summed over blocks of training rows (`target_sums`), or needs all pairs."""

    unseen = "are out of the target's reach"
    advice = "Check that training and target rows overlap."
    """How a warning speaks of training points with a zero column, and what to do about them."""

    def _feature_groups(self, n: int) -> Rows | None:
        """Return the groups of n columns; None where each is a feature by itself."""
        return feature_groups(self._groups, n)

    def raw_diagonal(self, X: Array, T: Array, share: Array) -> Array:
        """Return V(i, i) before normalising and blending: zero where the target sees nothing."""
        return self._build(X, T, share).diagonal()

    def target_sums(self, T: Array, share: Array, X: Array | None = None) -> TargetSums:
        """Return the target side of V, for sums over blocks of training rows.

        ``X`` is the whole training sample where it is in memory, None where rows arrive in blocks.
        """
        raise InputError(
            f"{type(self).__name__} needs all pairs of training rows at once, so it cannot be "
            "summed over blocks of rows. Use solver='dual', or a correction made from target rows, "
            "such as 'additive'."
        )

    def _build(self, X: Array, T: Array, share: Array) -> VOperator:
        raise NotImplementedError(f"{type(self).__name__} does not implement _build.")

    def _row_weights(self, X: Array, T: Array, share: Array) -> Array | None:
        """Weights that the correction itself gives the training rows: (N,), or None."""
        return None

    def _finish(self, V: VOperator, w: Array | None) -> VOperator:
        return V if w is None else V.weighted(w)


class VMatrixCorrection(Correction):
    """Base of the corrections by a V-matrix: they share ``normalize`` and ``blend``."""

    normalize: bool
    blend: float | str
    _rules: ClassVar[Rules] = {
        "normalize": flag(),
        "blend": number(least=0, most=1) | one_of("auto"),
    }

    def _finish(self, V: VOperator, w: Array | None) -> VOperator:
        diagonal = V.diagonal() if self.normalize or self.blend else None
        scale = 1.0 if diagonal is None or not self.normalize else self._unit_scale(diagonal, w)
        V = super()._finish(V, w)
        if self.blend and diagonal is not None:
            xp = namespace(diagonal)
            weight = float(diagonal.shape[0] if w is None else xp.sum(w, dtype=xp.float64))
            share = identity_share(self.blend, weight)
            own = share * (xp.ones_like(diagonal) if w is None else w)
            return _composed(V).scaled((1 - share) * scale).plus(own)
        return V if scale == 1 else _composed(V).scaled(scale)

    def _unit_scale(self, diagonal: Array, w: Array | None) -> float:
        """Return the factor that gives V a mean diagonal of one, over the weighted rows."""
        xp = namespace(diagonal)
        w = xp.ones_like(diagonal) if w is None else w
        largest = float(xp.finfo(diagonal.dtype).max)
        trace, weight = (float(xp.sum(v, dtype=xp.float64)) for v in (w * diagonal, w))
        scale = unit_scale(trace, weight, largest)
        if scale is None:
            warnings.warn(
                "V is zero: no training point is within the target's reach, so it cannot be "
                f"normalised. {self.advice}",
                CoverageWarning,
                stacklevel=4,
            )
        return scale or 1.0


def _composed(V: VOperator) -> FactorOperator:
    return V if isinstance(V, FactorOperator) else Dense(V.dense())


# Weights of the training rows from whatever stands for them: an array, a weighter or its name.


def importance_weights(
    weights: Any,
    X: Array,
    T: Array,
    share: Array,
    rows: RowWeights | None = None,
    target: RowWeights | None = None,
    *,
    groups: Any = None,
) -> Array:
    """Return the weights (N,) of the training rows X under the target T with its shares.

    A weighter gets the weights that the ``rows`` have, and those of the ``target`` in place of its
    shares, where they are known; and the ``groups`` of columns that are one feature.
    """
    weights = as_weighter(weights) if isinstance(weights, str) else weights
    if hasattr(weights, "fit"):
        if target is None:
            target = target_weights(int(T.shape[0]), share)
        given = target.options("target_weight")
        if rows is not None:
            given |= rows.options("sample_weight")
        weights = _fitted(of_features(clone(weights), groups), X, T, given).weights_
    w = check_weight(weights, int(X.shape[0]), "The importance weights", of="X")
    return weight_like(w, X, "The importance weights")


def of_features(method: Any, groups: Any) -> Any:
    """Tell a weighter or correction which columns are one feature, where it wants to know."""
    if groups is None or not hasattr(method, "of_features"):
        return method
    return method.of_features(groups)


def is_weighter(weights: Any) -> bool:
    """Whether weights are to be fitted, and not given."""
    return hasattr(weights, "fit") or isinstance(weights, str)


def _fitted(weighter: Any, X: Array, T: Array, given: dict[str, Any]) -> Any:
    if has_fit_parameter(weighter, "target_weight"):
        weight = given.get("target_weight", np.ones(int(T.shape[0])))
        given["target_weight"] = weight / weight.sum()
    for name in given:
        if not has_fit_parameter(weighter, name):
            which = "target has" if name.startswith("target") else "training rows have"
            raise InputTypeError(
                f"{type(weighter).__name__}.fit takes no {name}, but the {which} weights."
            )
    return weighter.fit(X, X_target=T, **given)

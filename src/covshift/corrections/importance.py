"""Weights of the training rows from whatever stands for them: an array, a weighter or its name."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ..data.row_weights import RowWeights, check_weight, target_weights
from ..data.validation import weight_like
from ..exceptions import InputTypeError
from ..numerics.array import Array
from ..weights import as_weighter


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

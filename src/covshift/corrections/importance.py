"""Weights of the training rows from whatever stands for them: an array, a weighter or its name."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from .._array import Array, namespace
from .._validation import check_weight, weight_like
from ..exceptions import InputTypeError
from ..weights import as_weighter


def importance_weights(weights: Any, X: Array, T: Array, share: Array) -> Array:
    """Return the weights (N,) of the training rows X under the target T with its shares."""
    weights = as_weighter(weights) if isinstance(weights, str) else weights
    if hasattr(weights, "fit"):
        weights = _fitted(clone(weights), X, T, share).weights_
    w = check_weight(weights, int(X.shape[0]), "The importance weights", of="X")
    return weight_like(w, X, "The importance weights")


def _fitted(weighter: Any, X: Array, T: Array, share: Array) -> Any:
    if has_fit_parameter(weighter, "target_weight"):
        return weighter.fit(X, X_target=T, target_weight=share)
    if bool(namespace(share).any(share != share[0])):
        raise InputTypeError(
            f"{type(weighter).__name__}.fit takes no target_weight, but the target has weights."
        )
    return weighter.fit(X, X_target=T)

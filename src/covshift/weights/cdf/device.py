"""CDF weights of PyTorch tensors, which stay on their device: additive views, among thresholds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from ...data.features import feature_groups
from ...data.parameters import check_parameters
from ...data.row_weights import target_weights
from ...data.validation import (
    check_columns,
    check_rows,
    check_samples,
    is_margins,
    unwrap_target,
)
from ...exceptions import InputError
from ...numerics.array import is_numpy, is_torch, like, to_numpy
from ...numerics.device.kernels import enough_memory
from ...numerics.hashing import row_hash
from ...numerics.support import beyond_extremes
from ..base import Weighter
from ..problem import column_sides
from .matching import Match
from .thresholds import Block, LocalParts, ThresholdMatching
from .views import name_of

DENSE_LINES = 300
"""Rows up to which an N x N kernel is faster than products, in lines."""


class OnDevice(Weighter):
    """What `CDFWeights` does where the rows lie."""

    views: Any
    reg: Any
    solver: str
    limits: Any
    _views: Any
    _made: Any
    _sides: Any
    _seen: Callable[..., Any]
    _target: Callable[..., Any]
    _match_rows: Callable[..., Match]

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        X_target: Any = None,
        target_weight: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        given: dict[str, Any] = {"X_target": X_target, "target_weight": target_weight}
        if not self._runs_on_device(X):
            return super().fit(X, y, **given, sample_weight=sample_weight)
        margins = X_target if is_margins(unwrap_target(X_target)) else None
        hosts = {"sample_weight": sample_weight, "margins": margins, "limits": self.limits}
        name = next((name for name, value in hosts.items() if value is not None), None)
        if name is not None:
            raise InputError(
                f"CDFWeights takes no {name} where the rows stay on a device. Pass NumPy arrays, "
                "or solver='dense', which copies the rows to the host."
            )
        return self._fit_on_device(X, **given)

    fit.__doc__ = Weighter.fit.__doc__

    @enough_memory("the weights of these rows", "Predict fewer rows at a time")
    def predict_weights(self, X: Any) -> Any:
        check_is_fitted(self, "weights_")
        made: Any = self._made
        if not is_torch(made.F):
            return super().predict_weights(X)
        points = check_rows(self, X, reset=False)
        thresholds = made.lines.lines[0].values
        rows = like(points, thresholds) if is_numpy(points) else points.to(thresholds.dtype)
        found: Any = (self._ratio(rows) * self._scale).clip(None, self._most)
        return to_numpy(found) if is_numpy(points) else found.to(points.dtype)

    predict_weights.__doc__ = Weighter.predict_weights.__doc__

    def _runs_on_device(self, X: Any) -> bool:
        """PyTorch tensors stay where they are, in additive views and solved among thresholds."""
        if not is_torch(X) or name_of(self._views) != "additive" or self._views.symmetric:
            return False
        large = X.ndim == 2 and int(X.shape[0]) > DENSE_LINES
        return self.reg != "cv" and (
            self.solver == "thresholds" or (self.solver == "auto" and large)
        )

    @enough_memory("the fit; nothing is fitted", "Use fewer rows, or float32")
    def _fit_on_device(self, X: Any, X_target: Any, target_weight: Any) -> Self:
        check_parameters(self)
        self.__dict__.pop("weights_", None)  # a fit that fails leaves no half of another one
        self.encoder_ = None
        check_columns(self, X, reset=True)
        X, T, share = check_samples(X, X_target, target_weight)
        size = target_weights(int(T.shape[0]), unwrap_target(target_weight)).size
        N, n = (int(length) for length in X.shape)
        groups = feature_groups(self._given_groups, n)
        low, high = X.amin(dim=0), X.amax(dim=0)
        self._sides = column_sides(high, T, share, groups)
        target: Any = self._target(self._seen(T), share, groups)
        block = Block(target.rows(self._seen(X)), remembers=True)
        gaps = beyond_extremes(low, high, N, T, share, size)
        matching = ThresholdMatching(LocalParts([block]), N, target)
        given = N, size, gaps, partial(row_hash, X)
        match = self._match_rows(matching, *given, names=self._given_names)
        raw: Any = match.ratio(block.R)
        self._scale, self._most, self._n_rows = float(N / raw.sum()), float(N), N
        self.weights_ = (raw * self._scale).to(X.dtype)
        self.effective_sample_size_ = float(raw.sum() ** 2 / (raw @ raw))
        self._warn_if_few_rows(N)
        return self

"""CDF weights of PyTorch tensors, which stay on their device: additive views, among thresholds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from ...data.parameters import check_parameters
from ...data.row_weights import target_weights
from ...data.validation import check_columns, check_rows, check_samples, unwrap_target
from ...exceptions import InputError
from ...numerics.array import is_numpy, is_torch, like, to_numpy
from ...numerics.device.arrays import enough_memory
from ...numerics.hashing import row_hash
from ...numerics.support import beyond_extremes
from ..base import Weighter, column_sides
from .matching import Match
from .thresholds import LocalParts, ThresholdMatching
from .views import name_of

DENSE_LINES = 300
"""Rows up to which an N x N kernel is faster than products, in lines."""


class OnDevice(Weighter):
    """What `CDFWeights` does where the rows lie."""

    views: Any
    reg: Any
    solver: str
    _views: Any
    _made: Any
    _sides: Any
    _seen: Callable[..., Any]
    _target: Callable[..., Any]
    _match_rows: Callable[..., Match]

    @enough_memory("the weights of these rows", "Predict fewer rows at a time")
    def predict_weights(self, X: Any) -> Any:
        check_is_fitted(self, "weights_")
        made: Any = self._made
        if not is_torch(made.F):
            return super().predict_weights(X)
        points = check_rows(self, X, reset=False)
        thresholds = made.lines[0].values
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

    def _refuse_on_device(self, **given: Any) -> None:
        """Say what to do about that which is done on the host alone."""
        name = next((name for name, value in given.items() if value is not None), None)
        if name is not None:
            raise InputError(
                f"CDFWeights takes no {name} where the rows stay on a device. Pass NumPy arrays, "
                "or solver='dense', which copies the rows to the host."
            )

    @enough_memory("the fit; nothing is fitted", "Use fewer rows, or float32")
    def _fit_on_device(self, X: Any, X_target: Any, target_weight: Any) -> Self:
        check_parameters(self)
        self.__dict__.pop("weights_", None)  # a fit that fails leaves no half of another one
        self.encoder_ = None
        check_columns(self, X, reset=True)
        X, T, share = check_samples(X, X_target, target_weight)
        low, high = X.amin(dim=0), X.amax(dim=0)
        self._layout = self._layout_of(int(X.shape[1]), self._given_groups)
        try:
            self._sides = column_sides(high, T, share, self._groups)
            target: Any = self._target(self._seen(T), share)
        finally:
            del self._layout
        N = int(X.shape[0])

        parts = LocalParts([target.rows(self._seen(X))])
        problem = ThresholdMatching(parts, N, target)
        size = target_weights(int(T.shape[0]), unwrap_target(target_weight)).size
        gaps = beyond_extremes(low, high, N, T, share, size)
        match = self._match_rows(problem, N, size, gaps, partial(row_hash, X))
        raw: Any = match.ratio(parts.plain()[0])
        self._scale, self._most, self._n_rows = float(N / raw.sum()), float(N), N
        self.weights_ = (raw * self._scale).to(X.dtype)
        self.effective_sample_size_ = float(raw.sum() ** 2 / (raw @ raw))
        self._warn_if_few_rows(N)
        return self

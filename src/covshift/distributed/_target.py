"""The target of a fit in blocks: one array, or reduced to quantiles while it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from .._array import is_array, to_numpy
from .._row_weights import target_weights
from .._types import Real
from .._validation import (
    check_points,
    check_same_columns,
    column_names,
    refuse_margins,
    unwrap_target,
)
from ..corrections import as_correction
from ..encoding.samples import numbers_only
from ..exceptions import InputError
from ..weights.cdf.weighter import CDFWeights
from .quantiles import Margins, check_bins, margins


@dataclass(frozen=True)
class FixedTarget:
    """Target rows T (M, n) and their shares (M,), in memory."""

    T: Real
    share: Real
    narrow: bool  # whether it came in single precision
    size: float  # rows that it stands for
    names: list[str] | None = None
    reduced: float | None = None  # bound on the error of reduced distribution functions

    def check_columns(self, header: Any) -> None:
        """Refuse a target whose columns are not those of X."""
        check_same_columns(header, self.T, column_names(header), self.names)


def read_target(
    X_target: Any,
    target_weight: Any,
    target_bins: int | None,
    estimator: Any,
    training: Callable[[], Iterable[Any]],
) -> FixedTarget:
    """Check the target, or reduce it; ``training`` yields (X, y[, w]), should it be the target."""
    X_target = unwrap_target(X_target)
    refuse_margins(
        X_target,
        "X_target",
        "a fit in blocks or on a cluster",
        f"call the method fit of {type(estimator).__name__} with rows in memory, which takes them",
    )
    if target_bins is None:
        return _in_memory(X_target, target_weight)
    bins = check_bins(target_bins)
    check_by_features(estimator)
    if X_target is None:
        return of_margins(margins(_training_blocks(training), bins))
    if is_frame(X_target):
        with numbers_only("A fit in blocks", X_target=X_target):
            T = X_target if is_array(X_target) else to_numpy(check_points(X_target, "X_target"))
        if T.shape[0] <= bins:
            return _in_memory(X_target, target_weight)
        return of_margins(margins([(T, target_weight)], bins))
    if target_weight is not None:
        raise InputError("Where X_target comes in blocks, so do its weights: (T, weight).")
    make = X_target if callable(X_target) else lambda: iter(X_target)
    return of_margins(margins(_target_blocks(make), bins))


def of_margins(found: Margins) -> FixedTarget:
    """Let quantile points stand for the target."""
    T = found.points()
    share = np.full(len(T), 1 / len(T))
    return FixedTarget(T, share, False, found.size, reduced=found.error + 0.5 / found.bins)


def check_by_features(estimator: Any) -> None:
    """Refuse to reduce the target where the features are looked at together."""
    if isinstance(estimator, CDFWeights):
        alone, what = estimator.views == "additive", f"views={estimator.views!r}"
    else:
        correction = clone(as_correction(estimator.correction), safe=False)
        alone, what = correction.by_features, repr(correction)
    if not alone:
        raise InputError(
            f"target_bins keeps the distribution of each feature by itself, and {what} looks at "
            "more. Use additive views ('additive', 'blended'), or a sample of the target."
        )


def is_frame(X: Any) -> bool:
    """Whether X is one set of rows, not an iterable of them."""
    return is_array(X) or column_names(X) is not None or _is_nested(X)


def _is_nested(X: Any) -> bool:
    return isinstance(X, list) and bool(X) and isinstance(X[0], list | tuple | float | int)


def _in_memory(X_target: Any, target_weight: Any) -> FixedTarget:
    if X_target is None:
        raise InputError(
            "X_target is missing. Pass target rows; or target_bins, to let the training rows be "
            "the target, reduced to quantiles."
        )
    if not is_frame(X_target):
        raise InputError(
            "X_target comes in blocks. Pass target_bins as well, to reduce it to quantiles while "
            "it is read, or one array."
        )
    names = column_names(X_target)
    with numbers_only("A fit in blocks", X_target=X_target):
        T = to_numpy(check_points(X_target, "X_target"))
    narrow = T.dtype == np.float32
    weights = target_weights(len(T), target_weight)
    return FixedTarget(T.astype(np.float64), weights.share, narrow, weights.size, names)


def _training_blocks(training: Callable[[], Iterable[Any]]) -> Iterator[tuple[Any, Any]]:
    for X, _, *weights in training():
        w = weights[0] if weights else None
        yield X, None if w is None else np.asarray(w, dtype=np.float64)


def _target_blocks(make: Callable[[], Iterable[Any]]) -> Iterator[tuple[Any, Any]]:
    for block in make():
        rows = block if isinstance(block, tuple) else (block,)
        yield rows[0], (rows[1] if len(rows) > 1 else None)

"""The target of a fit in blocks: one array, or reduced to quantiles while it is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.parameters import whole
from ..data.row_weights import target_weights
from ..data.validation import (
    check_points,
    check_same_columns,
    column_names,
    refuse_margins,
    unwrap_target,
)
from ..encoding.samples import numbers_only
from ..exceptions import InputError
from ..numerics.array import Real, is_array, to_numpy
from ..weights.cdf.views import name_of
from ..weights.cdf.weighter import CDFWeights
from .reduce import Blocks, Rows, in_pairs


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
    training: Rows,
    parts: Rows | None = None,
) -> FixedTarget:
    """Check the target, or reduce it: the rows in ``parts``, or the training rows without any."""
    X_target = unwrap_target(X_target)
    refuse_margins(
        X_target,
        "X_target",
        "a fit in blocks or on a cluster",
        f"call the method fit of {type(estimator).__name__} with rows in memory, which takes them",
    )
    if target_bins is None:
        return _in_memory(X_target, target_weight)
    whole(2).check(target_bins, "target_bins")
    bins = int(target_bins)
    check_by_features(estimator)
    if X_target is None:
        parts = training
    elif parts is None and is_frame(X_target):
        with numbers_only("A fit in blocks", X_target=X_target):
            T = X_target if is_array(X_target) else to_numpy(check_points(X_target, "X_target"))
        if T.shape[0] <= bins:
            return _in_memory(X_target, target_weight)
        parts = Blocks(lambda: [(T, None, target_weight)])
    elif parts is None:
        if target_weight is not None:
            raise InputError("Where X_target comes in blocks, so do its weights: (T, weight).")
        make = X_target if callable(X_target) else lambda: iter(X_target)
        parts = Blocks(lambda: map(_target_block, make()), of=" of X_target")
    return of_margins(margins(parts, bins))


def of_margins(found: FeaturePoints) -> FixedTarget:
    """Let quantile points stand for the target."""
    T = found.points()
    share = np.full(len(T), 1 / len(T))
    return FixedTarget(T, share, False, found.size, reduced=found.error + 0.5 / found.bins)


def check_by_features(estimator: Any) -> None:
    """Refuse to reduce the target where the features are looked at together."""
    if isinstance(estimator, CDFWeights):
        alone, what = name_of(estimator._views) == "additive", f"views={estimator.views!r}"
    else:
        correction = estimator._one_correction()
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


def _target_block(block: Any) -> tuple[Any, Any, Any]:
    """Read T, (T,) or (T, weight) as a block without outcomes."""
    T, *weight = block if isinstance(block, tuple) else (block,)
    return T, None, weight[0] if weight else None


# A target of any size, reduced to quantiles of each feature (``target_bins``).
#
# The additive V depends on the target through the distribution function of each feature alone, so
# ``bins`` points, whose k-th column holds the quantiles of feature k, can stand for all rows. They
# are no sample of the target: the features' dependence is not kept. Every distribution function
# moves by at most 1 / bins (theory, section 4.2).


_FINER = 16  # points kept, in units of bins: 16 levels of merging then cost half of the error
_ROWS = 1 << 18  # sorted at a time


@dataclass(frozen=True)
class FeaturePoints:
    """Distribution functions of each feature, as weighted points: a plain value that combines.

    Rows are counted exactly until a feature has more than 16 bins distinct values; from then on
    neighbours are merged. ``error`` bounds what merging has moved, as a share of the weight.
    """

    values: list[Real]  # of each feature: sorted, distinct
    weights: list[Real]  # of each value
    bins: int
    rows: int
    squares: float  # sum of squared row weights
    error: float = 0.0

    @classmethod
    def of(cls, T: Real, w: Real, bins: int) -> FeaturePoints:
        """Sort the rows T (M, n) of weights w (M,); O(n M log M)."""
        values, weights = [], []
        for t in T.T:
            distinct, place = np.unique(t, return_inverse=True)
            values.append(distinct)
            weights.append(_sums(place, w, len(distinct)))
        return cls(values, weights, bins, len(T), float(w @ w))._merged()

    @property
    def weight(self) -> float:
        return float(self.weights[0].sum())

    @property
    def size(self) -> float:
        """Kish's number of rows of equal weight that are as precise."""
        return self.weight**2 / self.squares

    def combine(self, other: FeaturePoints) -> FeaturePoints:
        """Add other rows."""
        values, weights = [], []
        for k in range(len(self.values)):
            both, place = np.unique(
                np.concatenate([self.values[k], other.values[k]]), return_inverse=True
            )
            w = np.concatenate([self.weights[k], other.weights[k]])
            values.append(both)
            weights.append(_sums(place, w, len(both)))
        total = self.weight + other.weight
        error = (self.error * self.weight + other.error * other.weight) / total
        return FeaturePoints(
            values,
            weights,
            self.bins,
            self.rows + other.rows,
            self.squares + other.squares,
            error,
        )._merged()

    def points(self) -> Real:
        """Quantiles at (j + 1/2) / bins of every feature: (bins, n), of equal weight.

        The distribution functions of these points differ from those of the rows by at most
        ``error`` + 1 / (2 bins).
        """
        levels = (np.arange(self.bins) + 0.5) / self.bins
        columns = []
        for values, weights in zip(self.values, self.weights, strict=True):
            below = np.cumsum(weights)
            place = np.searchsorted(below, levels * below[-1])
            columns.append(values[np.minimum(place, len(values) - 1)])
        return np.column_stack(columns)

    def _merged(self) -> FeaturePoints:
        size = _FINER * self.bins
        values, weights, error = [], [], 0.0
        for t, w in zip(self.values, self.weights, strict=True):
            if len(t) <= size:
                values.append(t)
                weights.append(w)
                continue
            total = float(w.sum())
            group = ((np.cumsum(w) - w / 2) * (size / total)).astype(np.intp)
            first = np.flatnonzero(np.diff(group, prepend=-1))
            last = np.append(first[1:], len(t)) - 1
            sums = np.add.reduceat(w, first)
            # A group stands at the middle of its weight; it moves by half of its weight at most,
            # or by the part before or behind a heavy point in it.
            before = np.cumsum(w) - w
            inside = np.searchsorted(before, before[first] + sums / 2, side="right") - 1
            chosen = np.clip(inside, first, last)
            below = before[chosen] - before[first]
            above = sums - below - w[chosen]
            error = max(error, float(np.maximum(below, above).max()) / total)
            values.append(t[chosen])
            weights.append(sums)
        if error == 0:
            return self
        return replace(self, values=values, weights=weights, error=self.error + error)


def _sums(place: NDArray[np.intp], w: Real, count: int) -> Real:
    return np.bincount(place.reshape(-1), w, count).astype(np.float64)


def margins(rows: Rows, bins: int) -> FeaturePoints:
    """Reduce parts of target rows and their weights, in memory O(n bins log parts)."""
    found: FeaturePoints | None = rows.total(_part_margins, bins, join=in_pairs)
    if found is None:
        raise InputError("X_target has no rows of positive weight.")
    return found


def _part_margins(T: Any, y: Any, weight: Any, bins: int) -> FeaturePoints | None:
    """Reduce one part of the target, some rows at a time."""
    if not len(T):
        return None
    points = to_numpy(check_points(T, "X_target")).astype(np.float64)
    w = np.ones(len(points)) if weight is None else np.asarray(weight, dtype=np.float64)
    if w.shape != (len(points),) or not np.isfinite(w).all() or (w < 0).any():
        raise InputError("The target's weights must be one finite, non-negative number per row.")
    points, w = points[w > 0], w[w > 0]
    cuts = (slice(start, start + _ROWS) for start in range(0, len(points), _ROWS))
    found: FeaturePoints | None = in_pairs(
        FeaturePoints.of(points[rows], w[rows], bins) for rows in cuts
    )
    return found

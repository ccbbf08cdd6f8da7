"""A target of any size, reduced to quantiles of each feature (``target_bins``).

The additive V depends on the target through the distribution function of each feature alone, so
``bins`` points, whose k-th column holds the quantiles of feature k, can stand for all rows. They
are no sample of the target: the features' dependence is not kept. Every distribution function moves
by at most 1 / bins (theory, section 4.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._array import to_numpy
from .._parameters import whole
from .._types import Real
from .._validation import check_points
from ..exceptions import InputError
from ._reduce import tree_reduce

_FINER = 16  # points kept, in units of bins: 16 levels of merging then cost half of the error
_ROWS = 1 << 18  # sorted at a time


@dataclass(frozen=True)
class Margins:
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
    def of(cls, T: Real, w: Real, bins: int) -> Margins:
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

    def combine(self, other: Margins) -> Margins:
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
        return Margins(
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

    def _merged(self) -> Margins:
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


def margins(blocks: Iterable[tuple[Any, Any]], bins: int) -> Margins:
    """Reduce blocks of target rows and their weights (or None), in memory O(n bins log blocks)."""
    return tree_reduce(_parts(blocks, bins), Margins.combine, what="X_target")


def _parts(blocks: Iterable[tuple[Any, Any]], bins: int) -> Iterator[Margins]:
    for T, weight in blocks:
        if T.shape[0]:
            yield from block_margins(T, weight, bins)


def block_margins(T: Any, weight: Any, bins: int) -> Iterator[Margins]:
    """Reduce one block of target rows, a part at a time."""
    points = to_numpy(check_points(T, "X_target")).astype(np.float64)
    w = np.ones(len(points)) if weight is None else np.asarray(weight, dtype=np.float64)
    if w.shape != (len(points),) or not np.isfinite(w).all() or (w < 0).any():
        raise InputError("The target's weights must be one finite, non-negative number per row.")
    points, w = points[w > 0], w[w > 0]
    for start in range(0, len(points), _ROWS):
        rows = slice(start, start + _ROWS)
        yield Margins.of(points[rows], w[rows], bins)


def check_bins(target_bins: Any) -> int:
    """Refuse what is no number of bins."""
    whole(2).check(target_bins, "target_bins")
    return int(target_bins)

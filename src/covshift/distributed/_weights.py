"""`CDFWeights` on a cluster: codes stay on the workers, the thresholds' small vectors travel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._array import to_numpy
from .._parameters import check_parameters
from .._support import beyond_extremes
from .._types import Real
from .._validation import check_columns, check_points
from ..exceptions import InputError
from ..operators.lines.vectors import LineRows, LineTarget
from ..weights.cdf.thresholds import ThresholdMatching, add
from ..weights.cdf.views import Target
from ..weights.cdf.weighter import CDFWeights
from ._cluster import Cluster, Rows, dask_module, named
from ._target import FixedTarget


def fit_weights(
    estimator: CDFWeights, cluster: Cluster, rows: Rows, target: FixedTarget
) -> CDFWeights:
    """Fit the weights of partitioned rows; ``weights_`` is a Dask array."""
    check_parameters(estimator)
    if estimator._penalty() == "cv":
        raise InputError("reg='cv' holds out rows in memory. Use 'discrepancy' or a number.")
    if estimator.limits is not None:
        raise InputError(
            "limits are for rows in memory, not on a cluster. Leave them out, or call "
            "CDFWeights(limits=...).fit."
        )
    if estimator.solver not in ("auto", "thresholds"):
        raise InputError(
            f"solver={estimator.solver!r} needs all rows in one place. Use 'auto' or 'thresholds'."
        )
    check_columns(estimator, rows.header, reset=True)
    target.check_columns(rows.header)
    read = partial(_points, target.narrow, estimator.n_features_in_)
    X = cluster.mapped(read, [X for X, _, _ in rows.parts])
    counts = np.asarray(cluster.joined(cluster.mapped(_count, X), _joined), dtype=np.intp)
    N = int(counts.sum())
    if N == 0:
        raise InputError("X has no rows in any partition.")

    lines = estimator._lines(estimator._target(target.T, target.share))
    some = [x for x, count in zip(X, counts, strict=True) if count]
    parts = ClusterParts(cluster, cluster.kept(cluster.mapped(_rows, some, lines)))
    problem = ThresholdMatching(parts, N, lines, max_iter=estimator.max_iter)
    low, high = np.asarray(cluster.joined(cluster.mapped(_extremes, X), _widest))
    gaps = beyond_extremes(low, high, N, target.T, target.share, target.size)
    match = estimator._match_rows(problem, N, target.size, gaps)
    weigh = partial(_weigh, match.ratio)
    sums = cluster.joined(cluster.mapped(_moments, cluster.mapped(weigh, X, lines)), _added)
    total, squares = np.asarray(sums)
    if not (np.isfinite(total) and total > 0):
        raise InputError(
            "CDFWeights found no usable weights: they are zero or not finite. Check that X and "
            "X_target overlap."
        )
    estimator._scale, estimator._most, estimator._n_rows = N / float(total), float(N), N
    estimator.effective_sample_size_ = float(total**2 / squares)
    estimator.weights_ = _weights(cluster, weigh, X, lines, counts, estimator._scale)
    estimator._warn_if_few_rows(N)
    return estimator


class ClusterParts:
    """Blocks of codes that the workers keep."""

    def __init__(self, cluster: Cluster, kept: list[Any]) -> None:
        self._cluster, self._kept = cluster, kept

    def total(self, function: Callable[..., object], *shared: object) -> object:
        task = partial(_without_number, function)
        return self._cluster.joined(self._cluster.mapped(task, self._kept, *shared), _added)

    def least(self, function: Callable[..., float], *shared: object) -> float:
        task = partial(_without_number, function)
        return float(self._cluster.joined(self._cluster.mapped(task, self._kept, *shared), min))

    def mapped(self, function: Callable[..., Any], *shared: object) -> ClusterParts:
        task = partial(_without_number, function)
        mapped = self._cluster.mapped(task, self._kept, *shared)
        return ClusterParts(self._cluster, self._cluster.kept(mapped))


def _weights(
    cluster: Cluster, weigh: Any, X: list[Any], lines: Target, counts: Any, scale: float
) -> Any:
    da = dask_module("dask.array")
    parts = [
        da.from_delayed(part, shape=(int(count),), dtype=np.float64)
        for part, count in zip(cluster.mapped(weigh, X, lines), counts, strict=True)
    ]
    return da.concatenate(parts) * scale


# What runs on the workers


def _points(narrow: bool, n_features: int, number: int, X: Any) -> Real:
    if len(X) == 0:
        return np.empty((0, n_features))
    with named(number):
        points = to_numpy(check_points(X, "X"))
    return (points.astype(np.float32) if narrow else points).astype(np.float64)


def _count(number: int, X: Real) -> list[int]:
    return [len(X)]


def _extremes(number: int, X: Real) -> Real:
    """Smallest and largest value of each column, (2, n); of no rows, none."""
    low, high = X.min(axis=0, initial=np.inf), X.max(axis=0, initial=-np.inf)
    return np.stack([low, high])


def _widest(parts: list[Real]) -> Real:
    lows, highs = zip(*parts, strict=True)
    return np.stack([np.min(lows, axis=0), np.max(highs, axis=0)])


def _rows(number: int, X: Real, lines: LineTarget) -> LineRows:
    return lines.rows(X)


def _weigh(ratio: Callable[[Any], Real], number: int, X: Real, lines: Target) -> Real:
    return ratio(lines.rows(X)) if len(X) else np.empty(0)


def _moments(number: int, w: Real) -> Real:
    return np.array([w.sum(), w @ w])


def _without_number(
    function: Callable[..., object], number: int, rows: LineRows, *shared: object
) -> object:
    return function(rows, *shared)


def _joined(parts: list[list[int]]) -> list[int]:
    return [count for part in parts for count in part]


def _added(parts: list[Any]) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = add(total, part)
    return total

"""Fits and predictions on Dask collections: a task per partition, a tree of sums, a small solve."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from ..data.parameters import check_parameters
from ..data.validation import check_columns, check_points, unwrap_target
from ..exceptions import InputError, InputTypeError
from ..machine.base import KernelMachine
from ..machine.blocks import BlockFit, Survey
from ..machine.primal import Partial, Primal, combine
from ..numerics.array import Real, to_numpy
from ..numerics.hashing import Keys, row_hash
from ..numerics.support import beyond_extremes
from ..operators.line_vectors import LineTarget
from ..weights.cdf.thresholds import Block, ThresholdMatching, add
from ..weights.cdf.views import TargetSide
from ..weights.cdf.weighter import CDFWeights
from ..weights.problem import column_sides
from .blocks import run_block_fit
from .cluster import Cluster, Partitions, dask_module, empty_frame, is_dask, named, partitions
from .target import (
    FeaturePoints,
    FixedTarget,
    block_margins,
    check_bins,
    check_by_features,
    of_margins,
    read_target,
)


def fit(
    estimator: Any,
    X: Any,
    y: Any = None,
    X_target: Any = None,
    client: Any = None,
    sample_weight: Any = None,
    *,
    target_weight: Any = None,
    target_bins: int | None = None,
) -> Any:
    """Fit `VSVC`, `VSVR` or `CDFWeights` to Dask arrays or data frames, where their partitions lie.

    The result is the ordinary fitted estimator, and does not depend on the partitions: for `VSVC`
    and `VSVR` that of ``fit`` with ``solver="primal"``, for `CDFWeights` with
    ``solver="thresholds"``, up to the rounding of sums.

    Parameters
    ----------
    estimator : VSVC, VSVR or CDFWeights
        Fitted in place. For `CDFWeights` the views must be additive or sliced, and ``reg="cv"``
        is refused.
    X : Dask array (N, n) or data frame
        Training rows; chunk sizes may be unknown, and partitions empty.
    y : Dask array or series
        Labels or outcomes, in the same partitions. `CDFWeights` takes None.
    X_target : array, data frame, or Dask collection (M, n), optional
        Target rows. A Dask collection is gathered, unless ``target_bins`` reduces it where it is.
        None, with ``target_bins``: the training rows.
    client : dask.distributed.Client, optional
        None: the current client, or Dask's local scheduler where there is none.
    sample_weight : Dask array or series (N,), optional
        Probability weights, on any scale. Repeat rows that occur several times.
        Weights of the training rows (not for `CDFWeights`).
    target_weight : (M,) array, optional
        Weights of the target rows, where these are in memory.
    target_bins : int, optional
        Reduce the target to so many quantiles of each feature (additive views alone). Its
        distribution functions move by about 1 / target_bins at most.

    Returns
    -------
    estimator
        Fitted. Of `CDFWeights`, ``weights_`` is a Dask array in the partitions of X that are not
        empty.

    Notes
    -----
    A task reads one partition, adds about 120 MB of kernel values per thread, and returns its sums:
    ``8 q (folds b + 2 q)`` bytes (see `fit_blocks`), of which a task of the tree adds four. Nothing
    else leaves the workers but landmarks (``n_components`` rows per partition) and a sample (5000
    rows per partition at most). The partitions are read twice: call ``X.persist()`` first where
    they are slow to make. For `CDFWeights` every step is one pass over codes kept by the workers,
    2 bytes per row and view.

    A lost worker's tasks run again elsewhere. Errors name the partition.
    """
    cluster = Cluster(client)
    if isinstance(estimator, CDFWeights):
        if sample_weight is not None:
            raise InputError(
                "CDFWeights takes no sample_weight of rows on a cluster, only of rows in memory. "
                "Leave it out, or call CDFWeights().fit."
            )
        rows = cluster.rows(X)
        target = _target(cluster, rows, X_target, target_weight, target_bins, estimator)
        return fit_weights(estimator, cluster, rows, target)
    if not isinstance(estimator, KernelMachine):
        raise InputTypeError(
            f"distributed.fit fits VSVC, VSVR and CDFWeights, not {type(estimator).__name__}. "
            "Other learners: weigh the rows with CDFWeights and pass weights_ to them."
        )
    if y is None:
        raise InputError(f"{type(estimator).__name__} requires y to be passed, but y is None.")
    rows = cluster.rows(X, y, sample_weight)
    target = _target(cluster, rows, X_target, target_weight, target_bins, estimator)
    target.check_columns(rows.header)
    fitting = BlockFit(estimator, rows.header, target.T, target.share, narrow=target.narrow)
    return run_block_fit(
        fitting,
        target,
        survey=lambda: _some(cluster.total(rows, partial(_survey, fitting), _join_surveys)),
        partial=lambda primal: cluster.total(
            rows, partial(_partial, fitting), _join_partials, primal
        ),
    )


def predict(estimator: Any, X: Any, method: str | None = None) -> Any:
    """Apply a fitted estimator to every partition; nothing is computed yet.

    Parameters
    ----------
    estimator : fitted estimator
        Of covshift or of scikit-learn.
    X : Dask array (rows, n) or data frame
    method : str, optional
        "predict", "predict_proba", "decision_function" or, of a weighter, "predict_weights".
        Default: "predict", or "predict_weights" of a weighter.

    Returns
    -------
    Dask array
        Of as many rows; its chunk sizes are unknown where those of X are.
    """
    da = dask_module("dask.array")
    if not is_dask(X):
        raise InputTypeError(f"X is a {type(X).__name__}, not a Dask array or data frame.")
    if method is None:
        method = "predict" if hasattr(estimator, "predict") else "predict_weights"
    light = _without_rows(estimator)
    n = X.shape[1]
    probe = np.zeros((1, n)) if isinstance(X, da.Array) else _probe(empty_frame(X))
    shown = np.asarray(getattr(light, method)(probe))
    apply = partial(_apply, method=method, shape=shown.shape[1:], dtype=shown.dtype)
    if isinstance(X, da.Array):
        X = X.rechunk({1: -1})
        out: dict[str, Any] = {"chunks": (X.chunks[0], *((k,) for k in shown.shape[1:]))}
        if shown.ndim == 1:
            out["drop_axis"] = 1
        return X.map_blocks(apply, light, dtype=shown.dtype, meta=shown[:0], **out)
    delayed = dask_module("dask").delayed
    model = delayed(light, pure=False, traverse=False)
    parts = [
        da.from_delayed(
            delayed(apply)(part, model), shape=(np.nan, *shown.shape[1:]), dtype=shown.dtype
        )
        for part in partitions(X)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def _apply(X: Any, model: Any, *, method: str, shape: tuple[int, ...], dtype: Any) -> Any:
    if len(X) == 0:
        return np.empty((0, *shape), dtype=dtype)
    return np.asarray(getattr(model, method)(X))


def _probe(meta: Any) -> Any:
    """One row of zeros with the columns of a data frame."""
    return type(meta)(np.zeros((1, meta.shape[1])), columns=meta.columns)


def _without_rows(estimator: Any) -> Any:
    """Return a copy that does not carry the training rows' weights along."""
    if not isinstance(estimator, CDFWeights):
        return estimator
    light = type(estimator)(**estimator.get_params(deep=False))
    light.__dict__.update({k: v for k, v in vars(estimator).items() if k != "weights_"})
    light.weights_ = np.ones(1)
    return light


# The steps of a fit, as they run on the workers


def _survey(fitting: BlockFit, number: int, X: Any, y: Any, w: Any) -> Survey | None:
    with named(number):
        block = fitting.read(X, y, w)
        return None if block is None else fitting.survey(block)


def _partial(
    fitting: BlockFit, number: int, X: Any, y: Any, w: Any, primal: Primal
) -> Partial | None:
    with named(number):
        block = fitting.read(X, y, w)
        return None if block is None else fitting.partial(primal, block)


def _margins(bins: int, number: int, T: Any, y: Any, w: Any) -> FeaturePoints | None:
    with named(number, "X_target"):
        parts = list(block_margins(T, w, bins)) if len(T) else []
        return reduce(FeaturePoints.combine, parts) if parts else None


def _join_surveys(parts: list[Survey | None]) -> Survey | None:
    found = [part for part in parts if part is not None]
    return reduce(Survey.combine, found) if found else None


def _join_partials(parts: list[Partial | None]) -> Partial:
    return reduce(combine, (part for part in parts if part is not None), {})


def _join_margins(parts: list[FeaturePoints | None]) -> FeaturePoints | None:
    found = [part for part in parts if part is not None]
    while len(found) > 1:
        pairs = [found[k : k + 2] for k in range(0, len(found), 2)]
        found = [reduce(FeaturePoints.combine, pair) for pair in pairs]
    return found[0] if found else None


def _some(survey: Survey | None) -> Survey:
    if survey is None:
        raise InputError("X has no rows of positive weight in any partition.")
    return survey


def _target(
    cluster: Cluster,
    rows: Any,
    X_target: Any,
    target_weight: Any,
    target_bins: int | None,
    estimator: Any,
) -> FixedTarget:
    """Bring the target to the client: gathered, or reduced by the workers."""
    X_target = unwrap_target(X_target)
    if target_bins is None or not (X_target is None or is_dask(X_target)):
        if is_dask(X_target):
            X_target, target_weight = cluster.gathered(X_target, target_weight)
        return read_target(X_target, target_weight, target_bins, estimator, lambda: ())
    bins = check_bins(target_bins)
    check_by_features(estimator)
    if X_target is not None:
        rows = cluster.rows(X_target, None, target_weight)
    found = cluster.total(rows, partial(_margins, bins), _join_margins)
    if found is None:
        raise InputError("X_target has no rows of positive weight.")
    return of_margins(found)


# `CDFWeights` on a cluster: codes stay on the workers, the thresholds' small vectors travel.


def fit_weights(
    estimator: CDFWeights, cluster: Cluster, rows: Partitions, target: FixedTarget
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

    low, high = np.asarray(cluster.joined(cluster.mapped(_extremes, X), _widest))
    gaps = beyond_extremes(low, high, N, target.T, target.share, target.size)
    keys = partial(cluster.joined, cluster.mapped(_keys, X), np.concatenate)
    estimator._sides = column_sides(high, target.T, target.share, None)
    if estimator._sides is not None:
        X = cluster.mapped(_seen, X, estimator._sides)
    lines = estimator._target(estimator._seen(target.T), target.share, None)
    if not isinstance(lines, LineTarget):
        raise InputError(
            f"views={estimator.views!r} are not views of one dimension, which alone are fitted on "
            "a cluster. Use 'additive' or 'sliced'."
        )
    some = [x for x, count in zip(X, counts, strict=True) if count]
    parts = ClusterParts(cluster, cluster.kept(cluster.mapped(_rows, some, lines)))
    problem = ThresholdMatching(parts, N, lines)
    names = getattr(estimator, "feature_names_in_", None)
    match = estimator._match_rows(problem, N, target.size, gaps, keys, names=names)
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
    cluster: Cluster, weigh: Any, X: list[Any], lines: TargetSide, counts: Any, scale: float
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


def _keys(number: int, X: Real) -> Keys:
    return row_hash(X)


def _seen(number: int, X: Real, sides: Real) -> Real:
    return sides * X


def _rows(number: int, X: Real, lines: LineTarget) -> Block:
    return Block(lines.rows(X))


def _weigh(ratio: Callable[[Any], Real], number: int, X: Real, lines: TargetSide) -> Real:
    return ratio(lines.rows(X)) if len(X) else np.empty(0)


def _moments(number: int, w: Real) -> Real:
    return np.array([w.sum(), w @ w])


def _without_number(
    function: Callable[..., object], number: int, block: Block, *shared: object
) -> object:
    return function(block, *shared)


def _joined(parts: list[list[int]]) -> list[int]:
    return [count for part in parts for count in part]


def _added(parts: list[Any]) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = add(total, part)
    return total

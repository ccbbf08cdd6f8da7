"""Fits and predictions on Dask collections: a task per partition, a tree of sums, a small solve."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from ..data.parameters import check_parameters
from ..data.validation import check_columns, check_points, unwrap_target
from ..exceptions import InputError, InputTypeError
from ..machine.base import KernelMachine
from ..numerics.array import Real, to_numpy
from ..numerics.hashing import row_hash
from ..numerics.support import beyond_extremes
from ..weights.cdf.matching import Match
from ..weights.cdf.thresholds import Block, ThresholdMatching
from ..weights.cdf.views import TargetSide
from ..weights.cdf.weighter import CDFWeights
from ..weights.problem import column_sides
from .blocks import run_block_fit
from .cluster import Cluster, Partitions, dask_module, empty_frame, is_dask, partitions
from .reduce import in_turn
from .target import FixedTarget, read_target


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
    return run_block_fit(estimator, rows, rows.header, target)


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


def _target(
    cluster: Cluster,
    rows: Any,
    X_target: Any,
    target_weight: Any,
    target_bins: int | None,
    estimator: Any,
) -> FixedTarget:
    """Bring the target to the client: gathered, or reduced by the workers."""
    T, parts = unwrap_target(X_target), None
    if is_dask(T) and target_bins is None:
        T = cluster.compute(T)
        target_weight = cluster.compute(target_weight) if is_dask(target_weight) else target_weight
    elif is_dask(T):
        parts, target_weight = cluster.rows(T, None, target_weight, of="X_target"), None
    return read_target(T, target_weight, target_bins, estimator, rows, parts)


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
    X = rows.mapped(_points, target.narrow, estimator.n_features_in_, keep=False)
    counts = np.asarray(X.total(_count), dtype=np.intp)
    N = int(counts.sum())
    if N == 0:
        raise InputError("X has no rows in any partition.")

    low, high = X.total(_extremes, join=partial(in_turn, add=np.maximum)) * [[-1.0], [1.0]]
    gaps = beyond_extremes(low, high, N, target.T, target.share, target.size)
    keys = partial(X.total, row_hash, join=_side_by_side)
    estimator._sides = column_sides(high, target.T, target.share, None)
    if estimator._sides is not None:
        X = X.mapped(_seen, estimator._sides, keep=False)
    lines = estimator._target(estimator._seen(target.T), target.share, None)
    if lines.lines is None:
        raise InputError(
            f"views={estimator.views!r} are not views of one dimension, which alone are fitted on "
            "a cluster. Use 'additive' or 'sliced'."
        )
    parts = X.some(counts).mapped(_rows, lines)
    problem = ThresholdMatching(parts, N, lines)
    names = getattr(estimator, "feature_names_in_", None)
    match = estimator._match_rows(problem, N, target.size, gaps, keys, names=names)
    weights = X.mapped(_weigh, match, lines, keep=False)
    total, squares = np.asarray(weights.total(_moments))
    if not (np.isfinite(total) and total > 0):
        raise InputError(
            "CDFWeights found no usable weights: they are zero or not finite. Check that X and "
            "X_target overlap."
        )
    estimator._scale, estimator._most, estimator._n_rows = N / float(total), float(N), N
    estimator.effective_sample_size_ = float(total**2 / squares)
    estimator.weights_ = _as_array(weights, counts) * estimator._scale
    estimator._warn_if_few_rows(N)
    return estimator


def _as_array(parts: Partitions, counts: Any) -> Any:
    """Numbers in parts of so many as a Dask array."""
    da = dask_module("dask.array")
    pairs = zip(parts.parts, counts, strict=True)
    made = [da.from_delayed(part, (int(count),), dtype=np.float64) for (part,), count in pairs]
    return da.concatenate(made)


# What runs on the workers


def _points(X: Any, y: Any, weight: Any, narrow: bool, n_features: int) -> Real:
    if len(X) == 0:
        return np.empty((0, n_features))
    points = to_numpy(check_points(X, "X"))
    return (points.astype(np.float32) if narrow else points).astype(np.float64)


def _count(X: Real) -> list[int]:
    return [len(X)]


def _extremes(X: Real) -> Real:
    """Smallest value of each column times -1, and largest, (2, n); of no rows, none."""
    low, high = X.min(axis=0, initial=np.inf), X.max(axis=0, initial=-np.inf)
    return np.stack([-low, high])


def _side_by_side(parts: Iterable[Any]) -> Any:
    return np.concatenate(list(parts))


def _seen(X: Real, sides: Real) -> Real:
    return sides * X


def _rows(X: Real, lines: TargetSide) -> Block:
    return Block(lines.rows(X))


def _weigh(X: Real, match: Match, lines: TargetSide) -> Real:
    return match.ratio(lines.rows(X)) if len(X) else np.empty(0)


def _moments(w: Real) -> Real:
    return np.array([w.sum(), w @ w])

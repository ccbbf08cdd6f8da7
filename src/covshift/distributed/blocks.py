"""Out of core: rows that arrive in blocks, on one machine, without any cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..data.parameters import whole
from ..data.validation import check_given, column_names, refuse_no_rows, unwrap_target
from ..data.values import plain_values
from ..exceptions import InputError, InputTypeError
from ..files.arrow import ArrowFiles
from ..machine.base import KernelMachine
from ..machine.blocks import BlockFit, Survey
from ..machine.primal import Partial, Primal
from ..numerics.array import is_array, row_count, take_rows
from .reduce import Blocks, Rows
from .target import FixedTarget, read_target


def fit_blocks(
    estimator: Any,
    blocks: Any,
    X_target: Any = None,
    *,
    target_weight: Any = None,
    target_bins: int | None = None,
) -> Any:
    """Fit `VSVC` or `VSVR` to rows that do not fit in memory, block by block.

    The result is that of ``estimator.fit`` with ``solver="primal"`` on all rows at once, up to the
    rounding of sums, however the rows are cut into blocks (theory, section 4.1).

    Parameters
    ----------
    estimator : VSVC or VSVR
        Fitted in place. ``solver="dual"`` and a precomputed kernel need all rows at once and are
        refused. Coordinates, kernel and probabilities are learned from a sample of 5000 rows.
    blocks : iterable of (X, y), or (X, y, sample_weight)
        Or a callable that returns one. The scale of ``sample_weight`` does not matter, but is the
        same in all blocks; it may be None.
        They are read twice: the first pass finds classes, landmarks and the sample, the
        second one sums. (A third time where some columns never vary, which are left out.) An
        iterator that can be read once only is refused: pass the function that makes it. See
        `from_arrays` and `from_parquet`.
    X_target : (M, n) array or data frame, or iterable or callable as ``blocks``, optional
        Target rows. Blocks of them are (T,) or (T, weight), and need ``target_bins``. None, with
        ``target_bins``: the training rows.
    target_weight : (M,) array, optional
        Probability weights of the target rows, on any scale, where the target is one array.
    target_bins : int, optional
        Reduce the target to so many quantiles of each feature, for corrections that look at each
        feature by itself. Its distribution functions move by about 1 / target_bins at most.

    Returns
    -------
    estimator
        The ordinary fitted estimator.

    Notes
    -----
    Memory does not depend on N: the block at hand, about 120 MB of kernel values per thread, and
    the sums, which take ``8 q (folds b + 2 q)`` bytes a few times over: q landmarks and columns of
    Y, b = n (2 M + 1) bins of the symmetric additive V (half as many of the plain one, none without
    a correction), folds = 5 with ``reg="cv"`` or logistic probabilities and one otherwise.
    Time: O(N n (log M + q)).

    Examples
    --------
    >>> import numpy as np
    >>> from covshift import VSVR
    >>> from covshift.distributed import fit_blocks
    >>> def blocks():
    ...     for seed in range(10):
    ...         X = np.random.default_rng(seed).normal(size=(1000, 2))
    ...         yield X, np.sin(X[:, 0])
    >>> T = np.random.default_rng(99).normal(0.5, 1.0, size=(500, 2))
    >>> model = fit_blocks(VSVR(n_components=50, random_state=0), blocks, T)
    >>> model.predict([[0.5, 0.0]]).round(2)
    array([0.48])
    """
    if not isinstance(estimator, KernelMachine):
        raise InputTypeError(f"fit_blocks fits VSVC and VSVR, not {type(estimator).__name__}.")
    make = _as_callable(blocks, "blocks")
    rows, header = Blocks(make), _header(make)
    given = unwrap_target(target_weight), target_bins, estimator, rows
    return run_block_fit(estimator, rows, header, read_target(X_target, *given))


def run_block_fit(estimator: Any, rows: Rows, header: Any, target: FixedTarget) -> Any:
    """Survey the rows, again where columns that never vary were found among them, and sum."""
    target.check_columns(header)
    fit = BlockFit(estimator, header, target.T, target.share, narrow=target.narrow)
    found = rows.total(_survey, fit)
    if found is None:
        raise InputError("X has no rows of positive weight: sample_weight is zero.")
    if fit.leave_out_constant(found, target.T):
        found = rows.total(_survey, fit)
    primal = fit.prepare(found, target.T[:, fit.columns], target.share)
    return fit.finish(primal, rows.total(_partial, fit, primal))


def _survey(X: Any, y: Any, weight: Any, fit: BlockFit) -> Survey | None:
    block = fit.read(X, y, weight)
    return None if block is None else fit.survey(block)


def _partial(X: Any, y: Any, weight: Any, fit: BlockFit, primal: Primal) -> Partial | None:
    block = fit.read(X, y, weight)
    return None if block is None else fit.partial(primal, block)


def from_arrays(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    batch_rows: int = 1 << 17,
) -> Callable[[], Iterator[tuple[Any, ...]]]:
    """Cut arrays into blocks for `fit_blocks`; memory-mapped ones are read a block at a time.

    Parameters
    ----------
    X, y, sample_weight : arrays of N rows
        For example ``np.load("X.npy", mmap_mode="r")``.
    batch_rows : int
        Rows of a block.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift.distributed import from_arrays
    >>> [X.shape for X, y in from_arrays(np.zeros((5, 2)), np.zeros(5), batch_rows=2)()]
    [(2, 2), (2, 2), (1, 2)]
    """
    refuse_no_rows(X, "X")
    if issparse(X):
        raise InputTypeError("X is sparse. Pass a dense array.")
    if isinstance(X, list | tuple):
        X = check_given(X, "X", text=False)
    if len(getattr(X, "shape", (0, 0))) != 2:
        raise InputError(f"X: Expected 2D array, got shape {X.shape} instead.")
    N, own = row_count(X), {"y": y, "sample_weight": sample_weight}
    if not N:
        raise InputError("X is empty: it has no rows.")
    given = {
        name: None if values is None else plain_values(values, name) for name, values in own.items()
    }
    for name, values in given.items():
        if values is not None and (values.ndim == 0 or len(values) != N):
            raise InputError(
                f"{name} has the shape {values.shape}, but X has {N} rows: their length differs."
            )
    y, *weights = given.values()
    weights = [] if len(weights) == 1 and weights[0] is None else weights
    step = _check_rows(batch_rows)

    def blocks() -> Iterator[tuple[Any, ...]]:
        for start in range(0, N, step):
            rows = slice(start, min(start + step, N))
            yield (_cut(X, rows), y[rows], *(None if w is None else w[rows] for w in weights))

    return blocks


def _cut(X: Any, rows: slice) -> Any:
    """Take some rows; a data frame keeps its names, an array its mask."""
    if isinstance(X, np.ndarray):
        return X[rows]
    if column_names(X) is not None or is_array(X):
        return take_rows(X, np.arange(rows.start, rows.stop))
    return np.asarray(X[rows])


def from_parquet(
    path: Any,
    *,
    label: str | None,
    columns: Any = None,
    weight: str | None = None,
    batch_rows: int = 1 << 17,
) -> Callable[[], Iterator[tuple[Any, ...]]]:
    """Read Parquet files in blocks for `fit_blocks`, never more than ``batch_rows`` rows at a time.

    Parameters
    ----------
    path : path, folder or list of paths
        What `pyarrow.dataset.dataset` accepts.
    label : str or None
        Column of y; None for the rows of a target.
    columns : list of str, optional
        Columns of X. None: all others, but for the index that pandas kept in the file.
    weight : str, optional
        Column of the probability weights, on any scale.
    batch_rows : int
        Rows of a block.
    """
    files = ArrowFiles(
        path,
        title="What from_parquet was given",
        extra="parquet",
        needed_by="covshift.distributed.from_parquet",
    )
    names = files.names
    extra = [name for name in (label, weight) if name is not None]
    left_out = {*extra, *files.index}
    features = [name for name in names if name not in left_out] if columns is None else [*columns]
    absent = [name for name in (*features, *extra) if name not in names]
    if absent:
        raise InputError(f"The Parquet files have no columns {absent}; they have {names}.")
    step = _check_rows(batch_rows)

    def blocks() -> Iterator[tuple[Any, ...]]:
        for batch in files.blocks(step, [*features, *extra]):
            X = files.arrow.Table.from_batches([batch]).select(features)
            y = () if label is None else (_numpy(batch, label),)
            w = () if weight is None else (_numpy(batch, weight),)
            yield (X, *y, *w)

    return blocks


def _numpy(batch: Any, name: str) -> Any:
    return batch.column(name).to_numpy(zero_copy_only=False)


def _header(make: Callable[[], Iterable[Any]]) -> Any:
    for block in make():
        if not isinstance(block, tuple | list) or len(block) not in (2, 3):
            raise InputError("A block must be (X, y) or (X, y, sample_weight).")
        return block[0]
    raise InputError("There are no blocks: the iterable is empty.")


def _as_callable(blocks: Any, name: str) -> Callable[[], Iterable[Any]]:
    if callable(blocks):
        return lambda: iter(blocks())
    if isinstance(blocks, Iterator):
        raise InputError(
            f"{name} is an iterator, which can be read once only, and the rows are read twice. "
            "Pass the function that makes it, or a list; or use partial_fit, whose first block "
            "gives the landmarks."
        )
    if not isinstance(blocks, Iterable):
        raise InputTypeError(f"{name} is a {type(blocks).__name__}, not an iterable of (X, y).")
    return lambda: iter(blocks)


def _check_rows(batch_rows: int) -> int:
    whole(1).check(batch_rows, "batch_rows")
    return int(batch_rows)

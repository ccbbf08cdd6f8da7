"""The fit on landmarks, cut at its sums: blocks of rows may lie in files or on other machines.

A first pass surveys the rows (`Survey`: how many, which columns vary, which classes, landmarks, a
sample that chooses coordinates and kernel), a second one sums (`covshift.machine.primal`). What a
block gives is a plain value, values combine in any order, and the result is that of ``fit`` with
``solver="primal"`` on all rows at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..corrections.base import of_features
from ..data.features import feature_groups
from ..data.row_weights import check_weight
from ..data.validation import check_columns, check_points
from ..data.values import numbers_of_rows
from ..encoding import groups_of
from ..encoding.samples import numbers_only, refuse_columns
from ..exceptions import InputError
from ..numerics.array import Real, row_count, to_numpy
from ..numerics.hashing import HashedSample, RowUnits, draw_seed
from ..numerics.row_sample import RowSample
from ..numerics.support import beyond, warn_of_apart
from .base import KernelMachine
from .fit import warn_of_constant
from .primal import Partial, Primal

_WHO = "A fit in blocks"


class Block(NamedTuple):
    """Rows X (b, n), what the estimator reads from y, and weights as given, all positive."""

    X: Real
    y: NDArray[Any]
    w: Real
    single: bool  # whether X came in single precision


@dataclass(frozen=True)
class Survey:
    """What a first pass over some rows learns."""

    rows: int
    low: Real  # (n,)
    high: Real  # (n,)
    labels: NDArray[Any] | None  # distinct classes, sorted
    outputs: int  # columns of y; zero where it is plain
    landmarks: HashedSample
    sample: RowSample  # rows with their outcomes, which choose coordinates and kernel
    single: bool

    def combine(self, other: Survey) -> Survey:
        """Add what other rows tell."""
        if self.outputs != other.outputs:
            raise InputError(
                f"y has {self.outputs} outputs in one block and {other.outputs} in another."
            )
        labels = None
        if self.labels is not None and other.labels is not None:
            labels = np.union1d(self.labels, other.labels)
        return Survey(
            self.rows + other.rows,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            labels,
            self.outputs,
            self.landmarks.combine(other.landmarks),
            self.sample.combine(other.sample),
            self.single and other.single,
        )


class BlockFit:
    """One fit of ``estimator``, as steps that a loop over blocks puts together.

    ``header`` is data with the columns of X and any number of rows, none among them: it gives the
    number of features, their names and their precision; T (M, n) of ``share`` (M,) is the target,
    in whose units rows are compared. `read`, `survey` and `partial` touch neither the estimator
    nor each other, so that copies of this object may run anywhere.
    """

    def __init__(
        self, estimator: KernelMachine, header: Any, T: Real, share: Real, *, narrow: bool
    ) -> None:
        estimator._check_parameters()
        _refuse_what_needs_all_rows(estimator)
        estimator._forget()
        estimator.__dict__.pop("_frame", None)
        refuse_columns(header, "X", _WHO)
        check_columns(estimator, header, reset=True)
        estimator.correction_ = estimator._one_correction()
        self.estimator = estimator
        self.narrow = narrow  # the target came in single precision: so must the rows
        self._seed = draw_seed(check_random_state(estimator.random_state))
        self.columns: NDArray[np.intp] = np.arange(estimator.n_features_in_)
        self._groups = groups_of(header)
        self._target = T.astype(np.float32).astype(np.float64) if _is_single(header) else T, share
        self._units = RowUnits.of(*self._target)
        self.unit = 1.0  # mean probability weight, once all rows were surveyed

    def read(self, X: Any, y: Any, sample_weight: Any = None) -> Block | None:
        """Check a block; None where no row has a weight."""
        if row_count(X) == 0:
            return None
        with numbers_only(_WHO, X=X):
            points = to_numpy(check_points(X, "X"))
        if points.shape[1] != self.estimator.n_features_in_:
            raise InputError(
                f"X has {points.shape[1]} features, but {self.estimator.n_features_in_} were "
                "expected from the first rows."
            )
        values = self.estimator._read_outcomes(points, y)
        single = points.dtype == np.float32
        if self.narrow:
            points = points.astype(np.float32)
        points = points.astype(np.float64)
        if len(self.columns) < points.shape[1]:
            points = points[:, self.columns]
        w = np.ones(len(points))
        if sample_weight is not None:
            w = _block_weight(sample_weight, len(points), "sample_weight")
        rows = np.flatnonzero(w > 0)
        return Block(points[rows], values[rows], w[rows], single) if len(rows) else None

    def survey(self, block: Block) -> Survey:
        """Learn what the sums need to be prepared; O(b n)."""
        estimator, X = self.estimator, block.X
        count = int(estimator.n_components)
        return Survey(
            len(X),
            X.min(axis=0),
            X.max(axis=0),
            estimator._distinct_labels(block.y),
            0 if block.y.ndim == 1 else block.y.shape[1],
            HashedSample.of(X, count, self._seed, self._units),
            RowSample.of(
                X,
                block.y,
                block.w,
                estimator._label_keys(block.y),
                units=self._units,
            ),
            bool(block.single),
        )

    def leave_out_constant(self, survey: Survey, T: Real) -> bool:
        """Drop columns that vary nowhere; True where the survey must be made once more."""
        low, high = np.minimum(survey.low, T.min(axis=0)), np.maximum(survey.high, T.max(axis=0))
        varying = np.flatnonzero(low < high)
        if not 0 < len(varying) < len(low):
            return False
        self.columns = varying
        self._units = RowUnits.of(self._target[0][:, varying], self._target[1])
        names = getattr(self.estimator, "feature_names_in_", None)
        names = None if names is None else names.tolist()
        warn_of_constant(np.flatnonzero(low == high), names, stacklevel=5)
        return True

    def prepare(self, survey: Survey, T: Real, share: Real) -> Primal:
        """Make what the second pass sums with, from the survey of all rows."""
        estimator = self.estimator
        if survey.single:
            T = T.astype(np.float32).astype(np.float64)
        self.unit = survey.sample.weight / survey.sample.rows
        estimator._take_outcomes(survey.labels, survey.outputs)
        estimator._columns = self.columns
        Y = estimator._outcome_columns(survey.sample.y)
        groups = None
        if self._groups is not None:
            groups = feature_groups(self._groups[self.columns], len(self.columns))
        self._warn_if_apart(survey, T, share)
        kernels = estimator._choose_from(survey.sample, Y, T, share, groups, self._units)
        kernel = estimator._best_of(kernels)
        target_sums = of_features(estimator.correction_, groups).target_sums(T, share, None)
        return estimator._primal(kernel, survey.landmarks.sorted_rows, target_sums, self._units)

    def _warn_if_apart(self, survey: Survey, T: Real, share: Real) -> None:
        estimator = self.estimator
        names = getattr(estimator, "feature_names_in_", None)
        names = None if names is None else [str(names[k]) for k in self.columns]
        if estimator.correction_.uses_target:
            parts = beyond(survey.low, survey.high, T, share, len(T), survey.rows)
            warn_of_apart(parts, type(estimator).__name__, names, stacklevel=5)

    def partial(self, primal: Primal, block: Block) -> Partial:
        """Sum over the rows of a block."""
        Y = self.estimator._outcome_columns(block.y)
        return primal.partial(block.X, Y, block.w / self.unit)

    def finish(self, primal: Primal, sums: Partial) -> KernelMachine:
        """Solve, from the sums over all rows; returns the fitted estimator."""
        primal.folds = sums
        self.estimator._solve(primal)
        self.estimator.__dict__.pop("_sample", None)
        return self.estimator


def _refuse_what_needs_all_rows(estimator: KernelMachine) -> None:
    name = type(estimator).__name__
    if estimator.solver == "dual" or estimator._kernel.name == "precomputed":
        raise InputError(
            f"{name} is exact (solver='dual', or a precomputed kernel), which needs all pairs of "
            "rows. Use solver='primal' or 'auto' to fit rows in blocks."
        )


def _block_weight(weight: Any, length: int, name: str) -> Real:
    """Check the weights of a block, of which all may be zero."""
    values = numbers_of_rows(weight, name, "one weight per row of X")
    if values.shape == (length,) and (values == 0).all():
        return values
    return check_weight(values, length, name, of="X")


def _is_single(header: Any) -> bool:
    """Whether X comes in single precision."""
    if row_count(header) == 0:
        return bool(np.asarray(header).dtype == np.float32)
    with numbers_only(_WHO, X=header):
        return bool(to_numpy(check_points(header, "X")).dtype == np.float32)

"""A checked problem: rows, outcomes, weights and target in the form the solvers take."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..corrections.at_cuts import AtCuts
from ..corrections.base import is_weighter, of_features
from ..corrections.matrix import warn_if_unseen
from ..data import validation
from ..data.features import feature_groups, order_by_content
from ..data.row_weights import RowWeights, check_weight, row_weights, target_weights
from ..encoding import TableEncoder, groups_of
from ..encoding.samples import encode_samples
from ..exceptions import ConstantColumnWarning, InputError
from ..margins.reading import named_levels
from ..margins.target_rows import value_rows
from ..numerics.array import Real, Rows, like, take_rows, to_numpy
from ..numerics.hashing import RowUnits
from ..numerics.support import parts_apart, warn_of_apart
from ..operators import TargetSums, VOperator

TARGET_REQUEST = {"X_target": True, "target_weight": True}
"""What metadata routing hands to an estimator that takes a target."""

_SAMPLE_ROWS = 1000  # rows that choose a width or a correction for the primal solver


class GivenWeights(NamedTuple):
    """Weights of training and target rows as `fit` was given them (`covshift.data.row_weights`)."""

    sample_weight: Any = None
    target_weight: Any = None

    def of_rows(self, N: int) -> RowWeights:
        """Check those of N training rows."""
        return row_weights(N, self.sample_weight)

    def mean(self, N: int) -> float:
        """Mean probability weight of N training rows, which `of_rows` divides by."""
        if self.sample_weight is None:
            return 1.0
        weight = check_weight(self.sample_weight, N, "sample_weight", of="X")
        return float(weight[self.of_rows(N).kept].mean())

    def for_target(self, X_target: Any) -> GivenWeights:
        """Return them with those of the target whole: the rows' own where these are the target."""
        weight = validation.unwrap_target(self.target_weight)
        if validation.unwrap_target(X_target) is None and weight is None:
            weight = self.sample_weight
        return self._replace(target_weight=weight)

    def of_target(self, M: int) -> RowWeights:
        """Check those of M target rows."""
        return target_weights(M, self.target_weight)


@dataclass(frozen=True)
class FitProblem:
    """Training rows X (N, n) with outcomes Y (N, k) and weights w; target T with shares."""

    X: Real
    Y: Real
    w: Real
    T: Real
    share: Real
    columns: NDArray[np.intp]  # of the columns given, those that vary, in the order of X here
    weights: RowWeights  # of the training rows, all of which are there
    target: RowWeights
    cuts: AtCuts | None = None  # what margins say; T and share then serve scales alone
    groups: Rows | None = None  # of the columns, where some of them are one feature

    @property
    def N(self) -> int:
        return len(self.X)

    @cached_property
    def units(self) -> RowUnits:
        """What rows are measured in where their content chooses."""
        return RowUnits.of(self.T, self.share)

    def operator(self, correction: Any) -> VOperator:
        """Return V as the correction makes it from the samples and their weights."""
        if self.cuts is not None:
            return self.cuts.operator(correction, self.X, self.weights)
        V: VOperator = of_features(correction, self.groups).operator(
            self.X,
            (self.T,),
            **self.weights.options("sample_weight"),
            **self.target.options("target_weight"),
        )
        return V

    def target_sums(self, correction: Any, whole: Any) -> TargetSums:
        """Return the target side of V; ``whole`` are all training rows, where they are at hand."""
        if self.cuts is not None:
            return self.cuts.target_sums(correction, self.X, self.weights)
        correction = of_features(correction, self.groups)
        if whole is not None:
            correction = correction.weighed(self.X, self.T, self.weights, self.target)
        found: TargetSums = correction.target_sums(self.T, self.share, whole)
        return found

    def weigh(self, weighter: Any) -> Real:
        """Fit a weighter that takes the training rows to the target: their weights (N,)."""
        if self.cuts is not None:
            return self.cuts.weigh(weighter, self.weights)
        fitted = of_features(weighter, self.groups).fit(
            self.X,
            X_target=self.T,
            **self.weights.options("sample_weight"),
            **self.target.options("target_weight"),
        )
        return np.asarray(fitted.weights_)

    def warn_if_apart(self, estimator: Any, correction: Any, *, stacklevel: int) -> None:
        """Raise the alarm where the target lies apart from the training rows.

        A weighter inside raises it by itself. Without a ``correction`` one is looked for.
        """
        fits_weights = is_weighter(getattr(correction, "weights", None))
        uses_target = correction is None or correction.uses_target
        if self.cuts is not None or fits_weights or not uses_target:
            return
        N, size = self.weights.size, self.target.size
        frame = getattr(estimator, "_frame", None)
        names = getattr(estimator, "feature_names_in_", None) if frame is None else frame.columns
        names = None if names is None else [str(name) for name in names]
        found = parts_apart(self.X, self.T, self.share, size, N)
        parts = [replace(part, column=int(self.columns[part.column])) for part in found]
        warn_of_apart(parts, type(estimator).__name__, names, stacklevel=stacklevel + 1)

    def coverage(self, correction: Any, *, stacklevel: int) -> float:
        """Return the share of the training rows that the target sees; warn where it is low."""
        if self.cuts is not None:
            diagonal = self.cuts.raw_diagonal(correction, self.X)
        else:
            seeing = of_features(correction, self.groups)
            diagonal = seeing.raw_diagonal(self.X, self.T, self.share)
        return warn_if_unseen(diagonal, self.w, correction=correction, stacklevel=stacklevel + 1)

    def in_double(self) -> FitProblem:
        """Return the problem of PyTorch tensors in double precision."""
        tensors: tuple[Any, ...] = (self.X, self.Y, self.w, self.T)
        X, Y, w, T = (tensor.double() for tensor in tensors)
        return replace(self, X=X, Y=Y, w=w, T=T)

    def rows(self, some: NDArray[np.intp]) -> FitProblem:
        """Return the problem of some of the training rows, with the whole target."""
        weights = self.weights.take(some)
        cuts = None if self.cuts is None else self.cuts.rows(some)
        return replace(
            self, X=self.X[some], Y=self.Y[some], w=weights.w, weights=weights, cuts=cuts
        )

    def scaled(self, factor: float) -> FitProblem:
        """Return the problem with the weights of its training rows times a factor."""
        weights = RowWeights(self.weights.w * factor)
        return replace(self, w=weights.w, weights=weights)


def encode_problem(
    X: Any, X_target: Any, weights: GivenWeights
) -> tuple[Any, Any, TableEncoder | None]:
    """Make numbers of tables; the target may be margins, which then become `AtCuts`."""
    T = validation.unwrap_target(X_target)
    if not validation.is_margins(T):
        return encode_samples(X, X_target, **weights._asdict())
    cuts = AtCuts.of(T, X)
    points, _, encoder = encode_samples(
        X,
        None,
        more=named_levels(T),
        sample_weight=weights.sample_weight,
    )
    return points, cuts, encoder


def check_problem(
    X: Any,
    Y: Real,
    X_target: Any,
    given: GivenWeights,
    *,
    kernel_given: bool = False,
    streamed: bool = False,
    frame: TableEncoder | None = None,
    columns: Rows | None = None,
) -> FitProblem:
    """Check the samples, leave out rows of weight zero and columns that never vary.

    A column that is constant over training and target rows carries no information; rows of weight
    zero are not there. With a precomputed kernel X holds kernel values, and every column stays; so
    it does where only a block of the rows is known. ``frame`` is what made the columns of X: it
    knows their names and which of them are one feature. ``columns`` are those that were kept of
    more rows, in their order: they are kept here too.
    """
    names = validation.column_names(X) if frame is None else list(frame.columns)
    groups = groups_of(X) if frame is None else frame.groups
    cuts = validation.unwrap_target(X_target)
    if validation.is_margins(cuts):
        cuts = AtCuts.of(cuts, X)
    if isinstance(cuts, AtCuts):
        validation.refuse_target_weights(target_weight=given.target_weight)
        if kernel_given:
            raise InputError(
                "kernel='precomputed' has no columns in common with the margins. Make V "
                "first: correction=Precomputed(v_matrix(X, margins)), without X_target."
            )
        X = to_numpy(validation.check_points(X, "X")).astype(np.float64)
        weights = given.of_rows(len(X))
        T, share = value_rows(cuts.margins, cuts.X, X, weights.w, frame)
        target = RowWeights(share * len(share))
    else:
        cuts, given = None, given.for_target(X_target)
        X, T = validation.check_host_samples(X, X_target)
        weights, target = given.of_rows(len(X)), given.of_target(len(T))
        share = target.share
    ordered = columns is None and not streamed
    if columns is None:
        every = kernel_given or streamed
        columns = np.arange(X.shape[1]) if every else _varying_columns(X, T, names)
    rows = np.flatnonzero(weights.kept)
    weights = weights.take(rows)
    if kernel_given:
        X = X[np.ix_(rows, rows)]
        T, share, target = X, weights.share, weights
    else:
        X, T = X[np.ix_(rows, columns)], T[:, columns]
    seen = None if cuts is None else cuts.rows(rows).varying()
    found = FitProblem(X, Y[rows], weights.w, T, share, columns, weights, target, seen)
    return found if kernel_given else _of_features(found, groups, ordered=ordered)


def _of_features(found: FitProblem, groups: Rows | None, *, ordered: bool = True) -> FitProblem:
    """Tell which columns are one feature, and put these in an order that no name decides."""
    columns = found.columns
    groups = None if groups is None else feature_groups(groups[columns], len(columns))
    if groups is None:
        return found
    if not ordered:
        return replace(found, groups=groups)
    order = order_by_content(groups, found.X, found.Y, found.T)
    X, T = (np.ascontiguousarray(points[:, order]) for points in (found.X, found.T))
    return replace(found, X=X, T=T, columns=columns[order], groups=groups[order])


def check_device_problem(X: Any, Y: Real, X_target: Any, given: GivenWeights) -> FitProblem:
    """Do the same for PyTorch tensors, which stay on their device and in their precision."""
    given = given.for_target(X_target)
    X, T, share = validation.check_samples(X, X_target, given.target_weight)
    columns = _varying(*_ends(X, T))
    weights, target = given.of_rows(int(X.shape[0])), given.of_target(int(T.shape[0]))
    rows = np.flatnonzero(weights.kept)
    if len(rows) < len(weights.w):
        X, Y, weights = take_rows(X, rows), Y[rows], weights.take(rows)
    return FitProblem(
        take_columns(X, columns),
        like(np.ascontiguousarray(Y), X),
        like(weights.w, X),
        take_columns(T, columns),
        share,
        columns,
        weights,
        target,
    )


def take_columns(X: Any, columns: NDArray[np.intp]) -> Any:
    """Keep some columns of a tensor (rows, n)."""
    return X if len(columns) == X.shape[1] else X[:, columns.tolist()]


def _ends(X: Any, T: Any) -> tuple[Real, Real]:
    """Smallest and largest value of each column, over both samples."""
    low = np.minimum(*(to_numpy(points.amin(0)) for points in (X, T)))
    high = np.maximum(*(to_numpy(points.amax(0)) for points in (X, T)))
    return low, high


def _varying_columns(X: Real, T: Real, names: list[str] | None) -> NDArray[np.intp]:
    low, high = np.minimum(X.min(axis=0), T.min(axis=0)), np.maximum(X.max(axis=0), T.max(axis=0))
    return _varying(low, high, names)


def _varying(low: Real, high: Real, names: list[str] | None = None) -> NDArray[np.intp]:
    varying = np.flatnonzero(low < high)
    if len(varying) == 0:
        return np.arange(len(low))
    if len(varying) < len(low):
        warn_of_constant(np.flatnonzero(low == high), names, stacklevel=7)
    return varying


def warn_of_constant(
    constant: NDArray[np.intp], names: list[str] | None, *, stacklevel: int
) -> None:
    """Say which columns are left out: by name, where X had names."""
    shown = constant.tolist() if names is None else ", ".join(repr(names[k]) for k in constant)
    warnings.warn(
        f"Columns {shown} are constant in training and target rows; they are left out.",
        ConstantColumnWarning,
        stacklevel=stacklevel,
    )


def some_rows(N: int, random_state: Any, most: int = _SAMPLE_ROWS) -> NDArray[np.intp]:
    """Return all rows, or a random part where there are more than ``most``, in their order."""
    if N <= most:
        return np.arange(N)
    return np.asarray(np.sort(random_state.choice(N, most, replace=False)))


def part_of(V: VOperator, rows: Rows, share: Real) -> VOperator:
    """V of some rows, each with a share of its weight."""
    part = V.subset(rows)
    return part if (share == 1).all() else part.weighted(share)

"""A checked problem: rows, outcomes, weights and target in the form the solvers take."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._array import like, take_rows, to_numpy
from ._frames import FrameColumns
from ._types import Real
from ._validation import (
    NO_TARGET_ROWS,
    check_points,
    check_samples,
    check_weight,
    is_margins,
    unwrap_target,
)
from .corrections.at_cuts import AtCuts
from .corrections.matrix import warn_if_unseen
from .exceptions import ConstantColumnWarning, InputError
from .margins.made_rows import value_rows
from .operators import TargetSums, VOperator

_SAMPLE_ROWS = 1000  # rows that choose a width or a correction for the primal solver


@dataclass(frozen=True)
class FitData:
    """Training rows X (N, n) with outcomes Y (N, k) and weights w; target T with shares."""

    X: Real
    Y: Real
    w: Real
    T: Real
    share: Real
    columns: NDArray[np.intp]  # of the columns given, those that vary
    weighted: bool  # whether weights were given
    cuts: AtCuts | None = None  # what margins say; T and share then serve scales alone

    @property
    def N(self) -> int:
        return len(self.X)

    def operator(self, correction: Any) -> VOperator:
        """Return V as the correction makes it from the samples and their weights."""
        w = self.w if self.weighted else None
        if self.cuts is not None:
            return self.cuts.operator(correction, self.X, w)
        target: dict[str, Any] = {"target_weight": self.share, "sample_weight": w}
        V: VOperator = correction.operator(self.X, (self.T,), **target)
        return V

    def target_sums(self, correction: Any, whole: Any) -> TargetSums:
        """Return the target side of V, for sums over blocks of rows; ``whole`` are all of them."""
        if self.cuts is not None:
            return self.cuts.target_sums(correction, self.X)
        found: TargetSums = correction.target_sums(self.T, self.share, whole)
        return found

    def weights(self, weighter: Any) -> Real:
        """Fit a weighter that takes the training rows to the target: their weights (N,)."""
        if self.cuts is not None:
            return self.cuts.weights(weighter)
        fitted = weighter.fit(self.X, X_target=self.T, target_weight=self.share)
        return np.asarray(fitted.weights_)

    def coverage(self, correction: Any, *, stacklevel: int) -> float:
        """Return the share of the training rows that the target sees; warn where it is low."""
        if self.cuts is not None:
            diagonal = self.cuts.raw_diagonal(correction, self.X)
        else:
            diagonal = correction.raw_diagonal(self.X, self.T, self.share)
        return warn_if_unseen(diagonal, self.w, correction=correction, stacklevel=stacklevel + 1)

    def in_double(self) -> FitData:
        """Return the problem of PyTorch tensors in double precision."""
        tensors: tuple[Any, ...] = (self.X, self.Y, self.w, self.T)
        X, Y, w, T = (tensor.double() for tensor in tensors)
        return replace(self, X=X, Y=Y, w=w, T=T)

    def rows(self, some: NDArray[np.intp]) -> FitData:
        """Return the problem of some of the training rows, with the whole target."""
        cuts = None if self.cuts is None else self.cuts.rows(some)
        return replace(self, X=self.X[some], Y=self.Y[some], w=self.w[some], cuts=cuts)


def check_fit_data(
    X: Any,
    Y: Real,
    X_target: Any,
    sample_weight: Any,
    target_weight: Any,
    *,
    kernel_given: bool = False,
    streamed: bool = False,
    frame: FrameColumns | None = None,
) -> FitData:
    """Check the samples, leave out rows of weight zero and columns that never vary.

    A column that is constant over training and target rows says nothing; rows of weight zero are
    not there. With a precomputed kernel X holds kernel values, and every column stays; so it does
    where only a block of the rows is known. ``frame`` says which columns of X are levels, where the
    target is margins.
    """
    target_weight = unwrap_target(target_weight)
    if is_margins(unwrap_target(X_target)):
        X_target = AtCuts.of(unwrap_target(X_target), X)
    if isinstance(X_target, AtCuts):
        if target_weight is not None:
            raise InputError(NO_TARGET_ROWS)
        if kernel_given:
            raise InputError(
                "kernel='precomputed' gives no columns that margins could speak of. Make V "
                "beforehand: correction=Precomputed(v_matrix(X, margins)), without X_target."
            )
        return _check_at_cuts(X, Y, X_target, sample_weight, frame)
    if unwrap_target(X_target) is None and target_weight is None:
        target_weight = sample_weight
    samples = check_samples(X, X_target, target_weight)
    X, T = samples.on_host()
    w = np.ones(len(X))
    if sample_weight is not None:
        w = check_weight(sample_weight, len(X), "sample_weight", of="X")
    every = kernel_given or streamed
    columns = np.arange(X.shape[1]) if every else _varying_columns(X, T)
    kept = np.flatnonzero(w > 0)
    if kernel_given:
        X = X[np.ix_(kept, kept)]
        T, share = X, w[kept] / w[kept].sum()
    else:
        X, T, share = X[np.ix_(kept, columns)], T[:, columns], to_numpy(samples.share)
    return FitData(X, Y[kept], w[kept], T, share, columns, sample_weight is not None)


def _check_at_cuts(
    X: Any, Y: Real, cuts: AtCuts, sample_weight: Any, frame: FrameColumns | None
) -> FitData:
    X = to_numpy(check_points(X, "X")).astype(np.float64)
    w = np.ones(len(X))
    if sample_weight is not None:
        w = check_weight(sample_weight, len(X), "sample_weight", of="X")
    T, share = value_rows(cuts.margins, cuts.X, X, w, frame)
    columns = _varying_columns(X, T)
    kept = np.flatnonzero(w > 0)
    X, T = X[np.ix_(kept, columns)], T[:, columns]
    seen = cuts.rows(kept).varying()
    return FitData(X, Y[kept], w[kept], T, share, columns, sample_weight is not None, seen)


def check_device_fit_data(
    X: Any, Y: Real, X_target: Any, sample_weight: Any, target_weight: Any
) -> FitData:
    """Do the same for PyTorch tensors, which stay on their device and in their precision."""
    target_weight = unwrap_target(target_weight)
    if unwrap_target(X_target) is None and target_weight is None:
        target_weight = sample_weight
    X, T, share = check_samples(X, X_target, target_weight)
    columns = _varying(*_ends(X, T))
    w = np.ones(X.shape[0])
    if sample_weight is not None:
        w = check_weight(sample_weight, int(X.shape[0]), "sample_weight", of="X")
        kept = np.flatnonzero(w > 0)
        if len(kept) < len(w):
            X, Y, w = take_rows(X, kept), Y[kept], w[kept]
    return FitData(
        take_columns(X, columns),
        like(np.ascontiguousarray(Y), X),
        like(w, X),
        take_columns(T, columns),
        share,
        columns,
        sample_weight is not None,
    )


def take_columns(X: Any, columns: NDArray[np.intp]) -> Any:
    """Keep some columns of a tensor (rows, n)."""
    return X if len(columns) == X.shape[1] else X[:, columns.tolist()]


def _ends(X: Any, T: Any) -> tuple[Real, Real]:
    """Smallest and largest value of each column, over both samples."""
    low = np.minimum(*(to_numpy(points.amin(0)) for points in (X, T)))
    high = np.maximum(*(to_numpy(points.amax(0)) for points in (X, T)))
    return low, high


def _varying_columns(X: Real, T: Real) -> NDArray[np.intp]:
    low, high = np.minimum(X.min(axis=0), T.min(axis=0)), np.maximum(X.max(axis=0), T.max(axis=0))
    return _varying(low, high)


def _varying(low: Real, high: Real) -> NDArray[np.intp]:
    varying = np.flatnonzero(low < high)
    if len(varying) == 0:
        return np.arange(len(low))
    if len(varying) < len(low):
        constant = np.flatnonzero(low == high)
        warnings.warn(
            f"Columns {constant.tolist()} are constant in X and X_target; they are left out.",
            ConstantColumnWarning,
            stacklevel=6,
        )
    return varying


def some_rows(N: int, random_state: Any, most: int = _SAMPLE_ROWS) -> NDArray[np.intp]:
    """Return all rows, or a random part where there are more than ``most``, in their order."""
    if N <= most:
        return np.arange(N)
    return np.asarray(np.sort(random_state.choice(N, most, replace=False)))

"""The fit on landmarks: sums in one pass over rows, in memory, in blocks or on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..corrections.auto import is_auto
from ..corrections.matrix import warn_if_faint
from ..data.validation import (
    check_columns,
    check_host_rows,
    check_rows,
    refuse_margins,
    unwrap_target,
)
from ..encoding import TableEncoder
from ..encoding.samples import numbers_only
from ..exceptions import InputError
from ..numerics.array import Real, Rows, is_torch, like
from ..numerics.coordinates import Ranked
from ..numerics.device.kernels import KERNELS as DEVICE_KERNELS
from ..numerics.device.kernels import DeviceExpansion, enough_memory
from ..numerics.folds import Fold, ranked_folds
from ..numerics.hashing import RowUnits
from ..numerics.kernels import Kernel, landmarks
from .auto import mixture_of, target_weights
from .expansion import Expansion
from .fit import (
    FitProblem,
    GivenWeights,
    check_device_problem,
    check_problem,
    encode_problem,
    some_rows,
    take_columns,
)
from .primal import Primal
from .ridge import Features
from .search import best_of

# The fitted function of a kernel machine: from new rows, of whatever kind, to values.


class FittedFunction(BaseEstimator):  # type: ignore[misc]
    """f, and how rows are read for it."""

    _f: Expansion
    _columns: Rows  # of the columns given, those that vary, in the order of the fit
    _frame: TableEncoder | None = None  # what made numbers of a table

    @property
    def kernel_(self) -> Any:
        """The kernel of the fitted function: K(X, Z) of two sets of rows."""
        check_is_fitted(self, "_f")
        return self._f.kernel

    @property
    def width_(self) -> Any:
        """Its width: a number, one per column for a sum of kernels, or None."""
        return None if self.kernel_ is None else self.kernel_.width

    def _points(self, X: Any) -> Any:
        """Check new rows and return the columns of the fit; of PyTorch tensors, on their device."""
        check_is_fitted(self, "_f")
        if self._frame is not None:
            check_columns(self, X, reset=False)
            return self._frame.encode(X, "X")[:, self._columns]
        if self._predicts_on_device(X):
            return take_columns(check_rows(self, X, reset=False), self._columns)
        return self._check_rows(X, reset=False)[:, self._columns]

    def _predicts_on_device(self, X: Any) -> bool:
        kernel = self._f.kernel
        by_steps = isinstance(getattr(self, "_coordinates", None), Ranked)  # NumPy alone has them
        known = kernel is not None and kernel.name in (*DEVICE_KERNELS, "sum")
        return is_torch(X) and known and not by_steps

    def _values(self, X: Any) -> Any:
        """Return f at new rows: (rows, k); of PyTorch tensors, on their device."""
        return self._values_at(self._points(X))

    def _values_at(self, points: Any) -> Any:
        if self._predicts_on_device(points):
            f = DeviceExpansion(self._f.kernel, self._f.Z, self._f.coef, self._f.c)
            with enough_memory("the predictions", "Predict fewer rows at a time"):
                return f(points)
        return self._f(points)

    def _read_frames(self, X: Any, X_target: Any, weights: GivenWeights) -> tuple[Any, Any]:
        """Learn the columns of X and X_target; return both as numbers."""
        check_columns(self, X, reset=True)
        X, X_target, self._frame = encode_problem(X, X_target, weights)
        return X, X_target

    def _check_rows(self, X: Any, *, reset: bool) -> Real:
        """Check rows by themselves, then against the columns of the fit."""
        return check_host_rows(self, X, reset=reset)


class LandmarksFit(FittedFunction):
    """What a kernel machine does with ``solver="primal"``; `KernelMachine` has the rest."""

    kernel: Any
    reg_: float
    _stream: Primal | None

    @property
    def _kernel(self) -> Kernel:
        """The kernel that is asked for, with its options."""
        return Kernel.of(self.kernel)

    def _fit_on_landmarks(
        self, problem: FitProblem, kernels: Sequence[Any], *, chooses: bool
    ) -> None:
        """Fit by sums over the rows, and mix in a correction where one is to be found."""
        kernel, Z = self._best_of(kernels), self._landmarks(problem)
        stream = self._stream_of(problem, self.correction_, kernel, Z)
        self._solve(stream)
        if not chooses:
            return
        some = problem.rows(some_rows(problem.N, check_random_state(self.random_state)))
        folds = ranked_folds(some.X, some.Y, min(int(self.n_folds), some.N), some.w)
        Psi = kernel(some.X, Z) @ stream.W
        features = Features(Psi, np.empty(0, dtype=np.intp), np.einsum("ij,ij->i", Psi, Psi))
        mixture = mixture_of(some, features, self.reg_, folds, stronger=self.reg == "cv")
        learns = self._uses_held_out() and len(stream.folds) > 1
        if mixture.share:
            weights = mixture.weights if some.N == problem.N else target_weights(problem)
            other = self._stream_of(problem, mixture.correction(weights), kernel, Z)
            total = other.total()
            self.target_coverage_ = total.covered / total.weight
            plain = self.coef_, self.intercept_
            self._expand(other, *mixture.of(plain, other.fit(mixture.reg)))
            if learns:
                f_0, _ = self._held_out_of_sample(stream, self.reg_)
                f, folds = self._held_out_of_sample(other, mixture.reg)
                self._learn_from_sample(f_0 + mixture.share * (f - f_0), folds)
        self._tell_of(mixture)

    def _stream_of(self, problem: FitProblem, correction: Any, kernel: Any, Z: Real) -> Primal:
        """Return the sums over all rows of a problem in memory."""
        target_sums = problem.target_sums(correction, problem.X)
        example = problem.X[:1] if is_torch(problem.X) else None
        stream = self._primal(kernel, Z, target_sums, problem.units, example)
        stream.add(problem.X, problem.Y, problem.w)
        return stream

    def _landmarks(self, problem: FitProblem) -> Real:
        random_state = check_random_state(self.random_state)
        return landmarks(problem.X, int(self.n_components), random_state, problem.units)

    def _best_of(self, kernels: Sequence[Any]) -> Any:
        """Return the kernel for the fit on landmarks: several are compared on the sample."""
        sample, Y = self._sample
        return best_of(kernels, sample, Y, int(self.n_folds))

    def _primal(
        self, kernel: Any, Z: Real, target_sums: Any, units: RowUnits, example: Any = None
    ) -> Primal:
        held_out = self.reg == "cv" or self._uses_held_out()
        n_folds = max(2, int(self.n_folds)) if held_out else 1
        return Primal(kernel, Z, target_sums, n_folds=n_folds, units=units, example=example)

    # The same on a GPU

    def _runs_on_device(self, X: Any) -> bool:
        """PyTorch tensors stay where they are, unless what is asked for runs on the host alone."""
        return (
            is_torch(X)
            and X.ndim == 2
            and not is_auto(self.correction)
            and self._solver(int(X.shape[0])) == "primal"
            and (self._kernel.searched or self._kernel.name in DEVICE_KERNELS)
            and self._kernel.coordinates in ("standard", "none")
        )

    @enough_memory(
        "the fit; nothing is fitted", "Use fewer landmarks (n_components), fewer rows or float32"
    )
    def _fit_on_device(self, X: Any, Y: Real, X_target: Any, weights: GivenWeights) -> Self:
        problem = check_device_problem(X, Y, X_target, weights)
        self.correction_ = self._one_correction()
        self._columns = problem.columns
        problem.warn_if_apart(self, self.correction_, stacklevel=4)
        if self._kernel.searched:
            problem = problem.in_double()  # its parts differ in size: single precision loses some
        self._fit_on_landmarks(problem, self._choose_kernels(problem), chooses=False)
        self.__dict__.pop("_sample", None)
        for name in ("coef_", "intercept_", "landmarks_"):
            setattr(self, name, like(getattr(self, name), X))
        return self

    def _solve(self, stream: Primal, reg: float | None = None) -> None:
        """Fit, from the sums in ``stream``, with a penalty that is given or chosen."""
        total = stream.total()
        first = not hasattr(self, "target_coverage_")
        self.target_coverage_ = total.covered / total.weight
        if first:  # of a stream, the first block warns
            share = f"{1 - self.target_coverage_:.0%} of the training points"
            warn_if_faint(
                self.target_coverage_,
                total.trace / total.weight,
                share,
                self.correction_,
                stacklevel=6,
            )
        if reg is not None:
            self.reg_ = reg
        elif self.reg == "cv" and len(stream.folds) > 1:
            tuning = stream.tune()
            self.reg_ = tuning.reg
            self.reg_path_ = tuning.path()
        else:
            self.reg_ = 1.0 if self.reg == "cv" else float(self.reg)
        self._expand(stream, *stream.fit(self.reg_))
        if self._uses_held_out() and len(stream.folds) > 1:
            self._learn_from_sample(*self._held_out_of_sample(stream, self.reg_))

    def _expand(self, stream: Primal, coef: Real, c: Real) -> None:
        """Keep f by its coefficients on the landmarks (D, k) and its intercept (k,)."""
        self.coef_, self.intercept_, self.landmarks_ = coef, c, stream.Z
        self._f = Expansion(stream.kernel, stream.Z, coef, c)

    def _held_out_of_sample(self, stream: Primal, reg: float) -> tuple[Real, list[Fold]]:
        """Return what the rows of the sample get without their folds, and the folds."""
        sample, Y = self._sample
        return stream.held_out(sample.X, Y, sample.counts, sample.repeats, reg)

    def _learn_from_sample(self, f: Real, folds: list[Fold]) -> None:
        sample, Y = self._sample
        self._learn_from_held_out(f, sample.X, Y, sample.counts, folds)

    def _partial_fit(self, X: Any, Y: Real, X_target: Any, weights: GivenWeights) -> Self:
        if self._is_first_block():
            self._check_parameters()
            self._forget()
            self.__dict__.pop("_frame", None)
            if self._kernel.name == "precomputed":
                raise InputError("partial_fit needs points, not a precomputed kernel.")
            if is_auto(self.correction):
                raise InputError(
                    "correction='auto' compares corrections on the whole training sample, so "
                    "partial_fit cannot use it. Choose one, such as 'blended'."
                )
            refuse_margins(unwrap_target(X_target), "X_target", "partial_fit")
            with numbers_only("partial_fit", X=X, X_target=X_target):
                problem = check_problem(X, Y, X_target, weights, streamed=True)
            self._weight_unit = weights.mean(len(Y))
            self.correction_ = self._one_correction()
            self._columns = problem.columns
            problem.warn_if_apart(self, self.correction_, stacklevel=3)
            kernel = self._best_of(self._choose_kernels(problem))
            target_sums = problem.target_sums(self.correction_, None)
            Z = self._landmarks(problem)
            self._stream = self._primal(kernel, Z, target_sums, problem.units)
            self._by_blocks = True
        else:
            of_target = (X_target, weights.target_weight)
            if any(unwrap_target(given) is not None for given in of_target):
                raise InputError(
                    "X_target and its weights belong to the first call of partial_fit only."
                )
            problem = check_problem(X, Y, None, weights, streamed=True)
            problem = problem.scaled(weights.mean(len(Y)) / self._weight_unit)
        stream = self._stream
        if problem.N and stream is not None:
            stream.add(problem.X, problem.Y, problem.w)
            self._solve(stream)
        return self

    def _is_first_block(self) -> bool:
        if getattr(self, "_stream", None) is not None:
            return False
        if getattr(self, "_by_blocks", False):
            raise InputError(
                "A model file keeps the function that earlier blocks gave, not their sums, so a "
                "machine from a file cannot add to them. Start afresh with sklearn.base.clone, or "
                "with fit."
            )
        return True

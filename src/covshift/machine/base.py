"""What VSVC and VSVR share: checks, the choice of solver and penalty, and the fitted function."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._array import is_torch, like
from .._device.kernels import KERNELS as DEVICE_KERNELS
from .._device.kernels import DeviceExpansion
from .._fields import (
    ESTIMATOR,
    FINITE,
    FLAG,
    PLAIN,
    WHOLE,
    Kind,
    Maybe,
    OrNone,
    Part,
    Reals,
    Wholes,
)
from .._fit_data import FitData, check_device_fit_data, check_fit_data, some_rows, take_columns
from .._folds import ranked_folds
from .._kernels import KERNEL, WIDTH, Kernel, find_width, has_width, landmarks, widths_to_compare
from .._parameters import Rules, check_parameters, number, one_of, whole
from .._types import Real
from .._validation import check_host_rows, check_rows, unwrap_target
from ..corrections import as_correction
from ..corrections.auto import is_auto
from ..corrections.matrix import warn_if_faint
from ..exceptions import ConditionWarning, InputError
from .auto import fit_auto
from .device_primal import DevicePrimal
from .dual import Dual, small_factor
from .expansion import Expansion
from .primal import Primal
from .tuning import Tuning, kernel_scale, tune_dual

_DUAL_ROWS = 3000  # solver="auto" is exact up to here: a kernel matrix of 72 MB
_PAIRED_ROWS = 10_000  # and up to here where V needs all pairs: 800 MB
_FITTED = (
    "dual_coef_",
    "rank_",
    "coef_",
    "landmarks_",
    "reg_path_",
    "target_coverage_",
    "selection_report_",
    "_stream",
    "_by_blocks",
)


class KernelMachine(BaseEstimator):  # type: ignore[misc]
    """Minimise r'Vr + reg ||f||^2 over kernel expansions with a free intercept.

    A subclass turns labels into the columns of Y and f into predictions.
    """

    __metadata_request__fit: ClassVar = {"X_target": True, "target_weight": True}
    __metadata_request__partial_fit: ClassVar = {"X_target": True, "target_weight": True}
    _rules: ClassVar[Rules] = {
        "kernel": KERNEL,
        "width": WIDTH | one_of("cv"),
        "degree": number(),
        "coef0": number(),
        "reg": number(above=0) | one_of("cv"),
        "solver": one_of("auto", "dual", "primal"),
        "n_components": whole(1),
        "n_folds": whole(2),
    }

    _saved: ClassVar[dict[str, Kind]] = {
        "_columns": Wholes("d", below="n"),
        "_f": Part(Expansion, n="d", k="k"),
        "_by_blocks": Maybe(FLAG),
        "correction_": ESTIMATOR,
        "intercept_": Reals("k"),
        "dual_coef_": Maybe(Reals("N", "k")),
        "rank_": Maybe(WHOLE),
        "coef_": Maybe(Reals("D", "k")),
        "landmarks_": Maybe(Reals("D", "d")),
        "width_": OrNone(FINITE),
        "reg_": FINITE,
        "reg_path_": Maybe(PLAIN),
        "target_coverage_": Maybe(FINITE),
        "selection_report_": Maybe(PLAIN),
    }

    def __init__(
        self,
        correction: Any = "blended",
        *,
        kernel: Any = "rbf",
        width: Any = "scale",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        reg: Any = "cv",
        solver: str = "auto",
        n_components: int = 300,
        n_folds: int = 5,
        random_state: Any = None,
    ) -> None:
        self.correction = correction
        self.kernel = kernel
        self.width = width
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.reg = reg
        self.solver = solver
        self.n_components = n_components
        self.n_folds = n_folds
        self.random_state = random_state

    def _fit(self, X: Any, Y: Real, X_target: Any, sample_weight: Any, target_weight: Any) -> Self:
        self._check_parameters()
        self._forget()
        if self._runs_on_device(X):
            return self._fit_on_device(X, Y, X_target, sample_weight, target_weight)
        given = self.kernel == "precomputed"
        problem = check_fit_data(X, Y, X_target, sample_weight, target_weight, kernel_given=given)
        self._columns = problem.columns
        self._stream: Primal | None = None
        if self._chooses():
            fit_auto(self, problem)
            return self
        self.correction_ = clone(as_correction(self.correction), safe=False)
        if given and self.correction_.needs_points:
            raise InputError(
                f"kernel='precomputed' gives no points to make V from, which {self.correction_!r} "
                "needs. Make it beforehand: correction=Precomputed(v_matrix(X, X_target))."
            )
        if self._solver(problem.N) == "dual":
            self._fit_dual(problem)
        else:
            self._start_primal(problem, problem.X)
            self._add_and_solve(problem)
            self._stream = None  # its sums would serve further blocks only
        return self

    # The exact machine

    def _fit_dual(self, problem: FitData) -> None:
        V = self._operator(problem)
        given = problem.X if self.kernel == "precomputed" else None
        tuning = self._tune_dual(V, problem, given)
        self.width_, self.reg_ = tuning.width, tuning.reg
        kernel = self._kernel(self.width_)
        K = kernel(problem.X, problem.X) if given is None else given
        dual = self._solve_dual(V, problem, K)
        points = None if given is not None else kernel
        self._f = Expansion(points, problem.X, self.dual_coef_, self.intercept_)
        self._after_dual(problem, dual, K)

    def _operator(self, problem: FitData) -> Any:
        V = problem.operator(self.correction_)
        self.target_coverage_ = problem.coverage(self.correction_, stacklevel=6)
        return V

    def _solve_dual(self, V: Any, problem: FitData, K: Real) -> Dual:
        dual = Dual(small_factor(V), K)
        solution = dual.solve(problem.Y, self.reg_)
        self._warn_if_ill_conditioned(solution.ill_conditioned)
        self.rank_ = solution.rank
        self.dual_coef_, self.intercept_ = solution.A, solution.c
        return dual

    def _after_dual(self, problem: FitData, dual: Dual, K: Real) -> None:
        """Let a subclass change the exact solution."""

    def _tune_dual(self, V: Any, problem: FitData, given: Real | None) -> Tuning:
        widths = self._widths(problem)
        regs = None if self.reg == "cv" else np.array([float(self.reg)])
        if regs is not None and len(widths) == 1:
            return Tuning((widths[0],), regs[None, :], np.zeros((1, 1)))
        kernels = [self._kernel(width) for width in widths]
        folds = ranked_folds(problem.X, problem.Y, int(self.n_folds), problem.w)
        if len(folds) < 2:  # nothing to hold out
            if regs is None:
                K = given if given is not None else kernels[0](problem.X, problem.X)
                regs = np.array([kernel_scale(K, problem.w)])
            return Tuning((widths[0],), regs[None, :], np.zeros((1, 1)))
        tuning = tune_dual(V, problem.X, problem.Y, problem.w, kernels, folds, given, regs)
        self.reg_path_ = {"reg": tuning.regs, "width": tuning.widths, "error": tuning.errors}
        return tuning

    # The machine on landmarks, in one pass

    def _start_primal(self, problem: FitData, whole: Real | None) -> None:
        random_state = check_random_state(self.random_state)
        Z = landmarks(problem.X, int(self.n_components), random_state)
        self.width_ = self._primal_width(problem, random_state)
        self._start_stream(problem, whole, Z)

    def _start_stream(self, problem: FitData, whole: Real | None, Z: Real) -> None:
        self._stream = self._primal(
            Z, self.correction_.target_sums(problem.T, problem.share, whole)
        )

    def _primal(self, Z: Real, target_sums: Any, example: Any = None) -> Primal:
        n_folds = max(2, int(self.n_folds)) if self.reg == "cv" else 1
        kernel = self._kernel(self.width_)
        if example is None:
            return Primal(kernel, Z, target_sums, n_folds=n_folds)
        return DevicePrimal(kernel, Z, target_sums, n_folds=n_folds, example=example)

    # The same on a GPU

    def _runs_on_device(self, X: Any) -> bool:
        """PyTorch tensors stay where they are, unless what is asked for runs on the host alone."""
        return (
            is_torch(X)
            and X.ndim == 2
            and not self._chooses()
            and self._solver(int(X.shape[0])) == "primal"
            and self.kernel in DEVICE_KERNELS
            and (self.width != "cv" or not has_width(self.kernel))
        )

    def _fit_on_device(
        self, X: Any, Y: Real, X_target: Any, sample_weight: Any, target_weight: Any
    ) -> Self:
        problem = check_device_fit_data(X, Y, X_target, sample_weight, target_weight)
        self.correction_ = clone(as_correction(self.correction), safe=False)
        self._columns = problem.columns
        self._stream = None
        Z = landmarks(problem.X, int(self.n_components), check_random_state(self.random_state))
        self.width_ = find_width(self.width, self.kernel, problem.X, problem.w)
        target_sums = self.correction_.target_sums(problem.T, problem.share, problem.X)
        stream = self._primal(Z, target_sums, example=problem.X[:1])
        stream.folds = stream.partial(problem.X, problem.Y, problem.w)
        self._solve(stream)
        for name in ("coef_", "intercept_", "landmarks_"):
            setattr(self, name, like(getattr(self, name), problem.X))
        return self

    def _add_and_solve(self, problem: FitData) -> None:
        stream = self._stream
        if stream is None:
            raise RuntimeError("There is no stream to add to.")
        stream.add(problem.X, problem.Y, problem.w)
        self._solve(stream)

    def _solve(self, stream: Primal) -> None:
        """Choose the penalty and fit, from the sums in ``stream``."""
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
        if self.reg == "cv" and len(stream.folds) > 1:
            tuning = stream.tune()
            self.reg_ = tuning.reg
            self.reg_path_ = {"reg": tuning.regs, "width": tuning.widths, "error": tuning.errors}
        else:
            self.reg_ = 1.0 if self.reg == "cv" else float(self.reg)
        self.coef_, self.intercept_ = stream.fit(self.reg_)
        self.landmarks_ = stream.Z
        self._f = Expansion(stream.kernel, stream.Z, self.coef_, self.intercept_)

    def _partial_fit(
        self, X: Any, Y: Real, X_target: Any, sample_weight: Any, target_weight: Any
    ) -> Self:
        if self._is_first_block():
            self._check_parameters()
            self._forget()
            if self.kernel == "precomputed":
                raise InputError("partial_fit needs points, not a precomputed kernel.")
            if self._chooses():
                raise InputError(
                    "correction='auto' compares corrections on the whole training sample, so "
                    "partial_fit cannot use it. Choose one, such as 'blended'."
                )
            problem = check_fit_data(X, Y, X_target, sample_weight, target_weight, streamed=True)
            self.correction_ = clone(as_correction(self.correction), safe=False)
            self._columns = problem.columns
            self._start_primal(problem, None)
            self._by_blocks = True
        else:
            if unwrap_target(X_target) is not None or target_weight is not None:
                raise InputError(
                    "X_target and target_weight belong to the first call of partial_fit only."
                )
            problem = check_fit_data(X, Y, None, sample_weight, None, streamed=True)
        if problem.N:
            self._add_and_solve(problem)
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

    def _primal_width(self, problem: FitData, random_state: Any) -> float | None:
        widths = self._widths(problem)
        if len(widths) == 1:
            return widths[0]
        some = some_rows(problem.N, random_state)
        X, Y, w = problem.X[some], problem.Y[some], problem.w[some]
        V = self.correction_.operator(problem.X, (problem.T,), target_weight=problem.share)
        folds = ranked_folds(X, Y, max(2, int(self.n_folds)), w)
        kernels = [self._kernel(width) for width in widths]
        return tune_dual(V.subset(some), X, Y, w, kernels, folds).width

    # A correction found by comparison

    def _chooses(self) -> bool:
        return is_auto(self.correction)

    # What blocks of rows need (blocks.py)

    def _read_outcomes(self, X: Any, y: Any) -> NDArray[Any]:
        """Check y: labels (N,), or outcomes (N,) or (N, k)."""
        raise NotImplementedError

    def _distinct_labels(self, y: NDArray[Any]) -> NDArray[Any] | None:
        """Return the classes in y, where there are such things."""
        return None

    def _take_outcomes(self, labels: NDArray[Any] | None, outputs: int) -> None:
        """Learn the distinct labels of all rows, and the columns of y; zero where it is plain."""
        raise NotImplementedError

    def _outcome_columns(self, y: NDArray[Any]) -> Real:
        """Turn what `_read_outcomes` returns into the columns of Y: (N, k)."""
        raise NotImplementedError

    # Parameters

    def _check_parameters(self) -> None:
        check_parameters(self)
        if self.kernel == "precomputed" and self.solver == "primal":
            raise InputError("solver='primal' needs points, not a precomputed kernel.")

    def _forget(self) -> None:
        """Drop what an earlier fit by another route left behind."""
        for name in _FITTED:
            self.__dict__.pop(name, None)

    def _solver(self, N: int) -> str:
        if self.solver != "auto":
            return str(self.solver)
        if N <= _DUAL_ROWS or self.kernel == "precomputed":
            return "dual"
        correction = None if self._chooses() else as_correction(self.correction)
        if getattr(correction, "by_blocks", True):
            return "primal"
        if N > _PAIRED_ROWS:
            raise InputError(
                f"{type(correction).__name__} needs all pairs of the {N} training rows, arrays of "
                f"{8 * N**2 / 1e9:.1f} GB each. Use fewer rows or a correction made from target "
                "rows, such as 'additive'; or insist with solver='dual'."
            )
        return "dual"

    def _kernel(self, width: float | None) -> Kernel:
        name = "linear" if self.kernel == "precomputed" else self.kernel
        return Kernel(name, width, self.degree, self.coef0, dict(self.kernel_params or {}))

    def _widths(self, problem: FitData) -> Sequence[float | None]:
        width = find_width(self.width, self.kernel, problem.X, problem.w)
        if self.width != "cv" or width is None:
            return [width]
        return widths_to_compare(self.kernel, width)

    # The fitted function

    def _values(self, X: Any) -> Any:
        """Return f at new rows: (rows, k); of PyTorch tensors, on their device."""
        check_is_fitted(self, "_f")
        if is_torch(X) and self._f.kernel is not None and self._f.kernel.name in DEVICE_KERNELS:
            points = check_rows(self, X, reset=False)
            f = DeviceExpansion(self._f.kernel, self._f.Z, self._f.coef, self._f.c)
            return f(take_columns(points, self._columns))
        points = self._check_rows(X, reset=False)
        return self._f(points[:, self._columns])

    def _check_rows(self, X: Any, *, reset: bool) -> Real:
        """Check rows by themselves, then against the columns of the fit."""
        return check_host_rows(self, X, reset=reset)

    def _warn_if_ill_conditioned(self, ill_conditioned: bool) -> None:
        if ill_conditioned:
            warnings.warn(
                f"reg={self.reg_:.3g} is so small that the system is ill conditioned; the "
                "predictions are still sound, the coefficients may not be. Use a larger reg.",
                ConditionWarning,
                stacklevel=4,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

"""The fit on landmarks: sums in one pass over rows, in memory, in blocks or on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from sklearn.base import clone
from sklearn.utils import check_random_state

from .._array import is_torch, like
from .._device.kernels import KERNELS as DEVICE_KERNELS
from .._device.memory import enough_memory
from .._fit_data import FitData, GivenWeights, check_device_fit_data, check_fit_data
from .._kernels import landmarks
from .._row_units import RowUnits
from .._types import Real
from .._validation import refuse_margins, unwrap_target
from ..corrections import as_correction
from ..corrections.matrix import warn_if_faint
from ..encoding.samples import numbers_only
from ..exceptions import InputError
from .device_primal import DevicePrimal
from .expansion import Expansion
from .function import FittedFunction
from .kernel_choice import best_of, is_searched
from .primal import Primal


class LandmarksFit(FittedFunction):
    """What a kernel machine does with ``solver="primal"``; `KernelMachine` has the rest."""

    _stream: Primal | None

    def _start_primal(self, problem: FitData, kernels: Sequence[Any], whole: Real | None) -> None:
        Z = self._landmarks(problem)
        self._start_stream(problem, self._best_of(kernels), whole, Z)

    def _landmarks(self, problem: FitData) -> Real:
        random_state = check_random_state(self.random_state)
        return landmarks(problem.X, int(self.n_components), random_state, problem.units)

    def _best_of(self, kernels: Sequence[Any]) -> Any:
        """Return the kernel for the fit on landmarks: several are compared on the sample."""
        sample, Y = self._sample
        return best_of(kernels, sample, Y, int(self.n_folds))

    def _start_stream(self, problem: FitData, kernel: Any, whole: Real | None, Z: Real) -> None:
        target_sums = problem.target_sums(self.correction_, whole)
        self._stream = self._primal(kernel, Z, target_sums, problem.units)

    def _primal(
        self, kernel: Any, Z: Real, target_sums: Any, units: RowUnits, example: Any = None
    ) -> Primal:
        held_out = self.reg == "cv" or self._uses_held_out()
        n_folds = max(2, int(self.n_folds)) if held_out else 1
        if example is None:
            return Primal(kernel, Z, target_sums, n_folds=n_folds, units=units)
        return DevicePrimal(kernel, Z, target_sums, n_folds=n_folds, units=units, example=example)

    # The same on a GPU

    def _runs_on_device(self, X: Any) -> bool:
        """PyTorch tensors stay where they are, unless what is asked for runs on the host alone."""
        return (
            is_torch(X)
            and X.ndim == 2
            and not self._chooses()
            and self._solver(int(X.shape[0])) == "primal"
            and (is_searched(self.kernel) or self.kernel in DEVICE_KERNELS)
            and self.coordinates in ("standard", "none")
        )

    @enough_memory(
        "the fit; nothing is fitted", "Use fewer landmarks (n_components), fewer rows or float32"
    )
    def _fit_on_device(self, X: Any, Y: Real, X_target: Any, weights: GivenWeights) -> Self:
        problem = check_device_fit_data(X, Y, X_target, weights)
        self.correction_ = clone(as_correction(self.correction), safe=False)
        self._columns = problem.columns
        self._stream = None
        problem.warn_if_apart(self, self.correction_, stacklevel=4)
        if is_searched(self.kernel):
            problem = problem.in_double()  # its parts differ in size: single precision loses some
        kernels = self._choose_kernels(problem)
        Z = self._landmarks(problem)
        kernel = self._best_of(kernels)
        target_sums = problem.target_sums(self.correction_, problem.X)
        stream = self._primal(kernel, Z, target_sums, problem.units, example=problem.X[:1])
        stream.folds = stream.partial(problem.X, problem.Y, problem.w)
        self._solve(stream)
        self.__dict__.pop("_sample", None)
        for name in ("coef_", "intercept_", "landmarks_"):
            setattr(self, name, like(getattr(self, name), X))
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
            self.reg_path_ = tuning.path()
        else:
            self.reg_ = 1.0 if self.reg == "cv" else float(self.reg)
        self.coef_, self.intercept_ = stream.fit(self.reg_)
        self.landmarks_ = stream.Z
        self._f = Expansion(stream.kernel, stream.Z, self.coef_, self.intercept_)
        if self._uses_held_out() and len(stream.folds) > 1:
            sample, Y = self._sample
            f, folds = stream.held_out(sample.X, Y, sample.counts, sample.repeats, self.reg_)
            self._learn_from_held_out(f, sample.X, Y, sample.counts, folds)

    def _partial_fit(self, X: Any, Y: Real, X_target: Any, weights: GivenWeights) -> Self:
        if self._is_first_block():
            self._check_parameters()
            self._forget()
            self.__dict__.pop("_frame", None)
            if self.kernel == "precomputed":
                raise InputError("partial_fit needs points, not a precomputed kernel.")
            if self._chooses():
                raise InputError(
                    "correction='auto' compares corrections on the whole training sample, so "
                    "partial_fit cannot use it. Choose one, such as 'blended'."
                )
            refuse_margins(unwrap_target(X_target), "X_target", "partial_fit")
            with numbers_only("partial_fit", X=X, X_target=X_target):
                problem = check_fit_data(X, Y, X_target, weights, streamed=True)
            self._weight_unit = weights.mean(len(Y))
            self.correction_ = clone(as_correction(self.correction), safe=False)
            self._columns = problem.columns
            problem.warn_if_apart(self, self.correction_, stacklevel=3)
            self._start_primal(problem, self._choose_kernels(problem), None)
            self._by_blocks = True
        else:
            of_target = (X_target, weights.target_weight)
            if any(unwrap_target(given) is not None for given in of_target):
                raise InputError(
                    "X_target and its weights belong to the first call of partial_fit only."
                )
            problem = check_fit_data(X, Y, None, weights, streamed=True)
            problem = problem.scaled(weights.mean(len(Y)) / self._weight_unit)
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

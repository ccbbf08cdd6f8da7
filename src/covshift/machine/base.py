"""What VSVC and VSVR share: checks, the choice of solver and penalty, and the fitted function."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..corrections import Unweighted, as_correction
from ..corrections.at_cuts import AtCuts
from ..corrections.auto import is_auto
from ..data.parameters import Rule, Rules, check_parameters, flag, number, one_of, whole
from ..data.validation import unwrap_target
from ..exceptions import ConditionWarning, InputError
from ..numerics.array import Real, Rows
from ..numerics.folds import Fold, ranked_folds
from ..numerics.hashing import RowUnits
from ..numerics.kernels import KERNEL_OR_SUM, Kernel
from ..numerics.parallel import one_blas_thread
from ..numerics.progress import warn_if_slow
from ..numerics.row_sample import RowSample
from ..registry import NONE
from .auto import Mixture, mixture_of, target_weighter
from .expansion import Expansion
from .fit import TARGET_REQUEST, FitProblem, GivenWeights, check_problem
from .landmarks import LandmarksFit
from .ridge import Features, Tuning, entries, kernel_scale, kernel_spread, solve_exactly, tune
from .search import choose_kernels

_FAR_FROM_ZERO = 1e-8  # spread of kernel values, of their size, that rounding spoils
_DUAL_ROWS = 3000  # solver="auto" is exact up to here: a kernel matrix of 72 MB
_PAIRED_ROWS = 10_000  # and up to here where V needs all pairs: 800 MB
_ILL_CONDITIONED = 1e14  # of sixteen digits two are left
_COMPARED = 120  # features in which corrections are compared: three V, and only what they differ by
_SECONDS = 4e-8  # of the exact machine, for each pair of rows and output
_FITTED = (
    "_f",
    "dual_coef_",
    "rank_",
    "coef_",
    "landmarks_",
    "reg_path_",
    "target_coverage_",
    "selection_report_",
    "kernel_report_",
    "_coordinates",
    "_calibration",
    "_sample",
    "_stream",
    "_by_blocks",
    "_weight_unit",
)


class KernelMachine(LandmarksFit):
    """Minimise r'Vr + reg ||f||^2 over kernel expansions with a free intercept.

    A subclass turns labels into the columns of Y and f into predictions.
    """

    __metadata_request__fit: ClassVar = TARGET_REQUEST
    __metadata_request__partial_fit: ClassVar = TARGET_REQUEST
    _rules: ClassVar[Rules] = {
        "kernel": KERNEL_OR_SUM
        | Rule(("a covshift.Kernel",), lambda value: isinstance(value, Kernel)),
        "fast": flag(),
        "reg": number(above=0) | one_of("cv"),
        "solver": one_of("auto", "dual", "primal"),
        "n_components": whole(1),
        "n_folds": whole(2),
    }

    def __init__(
        self,
        correction: Any = None,
        *,
        kernel: Any = "cv",
        reg: Any = "cv",
        solver: str = "auto",
        n_components: int = 300,
        fast: bool = False,
        n_folds: int = 5,
        random_state: Any = None,
    ) -> None:
        self.correction = correction
        self.kernel = kernel
        self.reg = reg
        self.solver = solver
        self.n_components = n_components
        self.fast = fast
        self.n_folds = n_folds
        self.random_state = random_state

    def _fit(self, X: Any, Y: Real, X_target: Any, weights: GivenWeights) -> Self:
        self._check_parameters()
        self._forget()
        if self._runs_on_device(X) and not isinstance(X_target, AtCuts):
            return self._fit_on_device(X, Y, X_target, weights)
        given = self._kernel.name == "precomputed"
        columns = getattr(self._kernel.name, "columns", None)  # of a kernel found on more rows
        problem = check_problem(
            X, Y, X_target, weights, kernel_given=given, frame=self._frame, columns=columns
        )
        self._columns = problem.columns
        self._stream = None
        kernels = [None] if given else self._choose_kernels(problem)
        chooses = self._chooses(X_target)
        self.correction_ = Unweighted() if chooses else self._one_correction()
        problem.warn_if_apart(self, None if chooses else self.correction_, stacklevel=3)
        if given and self.correction_.needs_points:
            raise InputError(
                f"kernel='precomputed' gives no points to make V from, which {self.correction_!r} "
                "needs. Make it first: correction=Precomputed(v_matrix(X, X_target))."
            )
        if self._solver(problem.N) == "dual":
            with one_blas_thread(problem.N**2):
                self._fit_exact(problem, kernels, chooses=chooses)
        else:
            self._fit_on_landmarks(problem, kernels, chooses=chooses)
        self.__dict__.pop("_sample", None)
        return self

    # Coordinates and kernel

    def _choose_kernels(self, problem: FitProblem) -> Sequence[Any]:
        """Learn coordinates and kernel from a sample of the rows; return the kernels to compare."""
        keys = self._outcome_keys(problem.Y)
        sample = RowSample.of(problem.X, problem.Y, problem.w, keys, units=problem.units)
        return self._choose_from(
            sample, sample.y, problem.T, problem.share, problem.groups, problem.units
        )

    def _choose_from(
        self,
        sample: RowSample,
        Y: Real,
        T: Any,
        share: Any,
        groups: Rows | None,
        units: RowUnits,
    ) -> Sequence[Any]:
        kernels = choose_kernels(self, sample, Y, T, share, groups, units)
        self._coordinates = kernels.coordinates
        if kernels.report is not None:
            self.kernel_report_ = kernels.report
        self._sample = sample, Y
        return kernels.kernels

    def _outcome_keys(self, Y: Any) -> Any:
        """Return a hash of every outcome that does not depend on how Y codes it; None: of Y."""
        return None

    # The exact machine

    def _fit_exact(self, problem: FitProblem, kernels: Sequence[Any], *, chooses: bool) -> None:
        """Fit in all features of the kernel, and mix in a correction where one is to be found."""
        outputs = problem.Y.shape[1]
        warn_if_slow(
            f"{type(self).__name__} of {problem.N} rows and {outputs} classes or outputs",
            _SECONDS * float(problem.N) ** 2 * outputs,
            'Use solver="primal", whose cost is linear in the rows, or join rare classes.',
            stacklevel=4,
        )

        def values(kernel: Any) -> Real:
            return problem.X if kernel is None else np.asarray(kernel(problem.X, problem.X))

        V = entries(problem.operator(self.correction_))
        self.target_coverage_ = problem.coverage(self.correction_, stacklevel=5)
        tuning, folds = self._tune(V, problem, kernels, values, hold_out=chooses)
        kernel, self.reg_ = kernels[tuning.best[0]], tuning.reg
        features = tuning.features or Features.of(values(kernel))

        def solved(V: Any, reg: float) -> tuple[Real, Real]:
            fit = solve_exactly(V, features, problem.Y, reg)
            if fit.condition > _ILL_CONDITIONED:
                self._warn_of_condition(kernel_spread(values(kernel), problem.w))
            return fit.A, fit.c

        f = solved(V, self.reg_)
        held_out = tuning.held_out
        if chooses:
            some = features.first(_COMPARED)
            mixture = mixture_of(
                problem, some, self.reg_, folds, held_out, stronger=self.reg == "cv"
            )
            if mixture.share:
                correction = mixture.correction(mixture.weights)
                V = entries(problem.operator(correction))
                self.target_coverage_ = problem.coverage(correction, stacklevel=5)
                f = mixture.of(f, solved(V, mixture.reg))
            self._tell_of(mixture)
            if held_out is not None:
                held_out = held_out + mixture.moves(folds)
        self.rank_ = features.Psi.shape[1]
        self.dual_coef_, self.intercept_ = f
        self._f = Expansion(kernel, problem.X, *f)
        if self._uses_held_out() and held_out is not None:
            points = None if kernel is None else problem.X
            self._learn_from_held_out(held_out, points, problem.Y, problem.w, folds)

    def _tell_of(self, mixture: Mixture) -> None:
        """Keep what was chosen and why; correction and penalty are those of what is mixed in."""
        self.selection_report_ = mixture.report(self.reg_)
        self.correction_ = mixture.correction(target_weighter())
        if mixture.share:
            self.reg_ = mixture.reg

    def _tune(
        self,
        V: Any,
        problem: FitProblem,
        kernels: Sequence[Any],
        values: Callable[[Any], Real],
        *,
        hold_out: bool,
    ) -> tuple[Tuning, Sequence[Fold]]:
        """Choose kernel and penalty; return what was compared, and the folds."""
        regs = None if self.reg == "cv" else np.array([float(self.reg)])
        compared = regs is None or len(kernels) > 1
        folds: Sequence[Fold] = []
        if compared or hold_out or self._uses_held_out():
            folds = ranked_folds(problem.X, problem.Y, int(self.n_folds), problem.w)
        if len(folds) < 2:  # nothing to hold out
            if regs is None:
                regs = np.array([kernel_scale(values(kernels[0]), problem.w)])
            return Tuning(tuple(kernels[:1]), regs[None, :], np.zeros((1, 1))), []
        tuning = tune(V, problem.Y, problem.w, kernels, values, folds, regs)
        if compared:
            self.reg_path_ = tuning.path()
        return tuning, folds

    def _uses_held_out(self) -> bool:
        """Whether predictions of held-out rows are needed."""
        return False

    def _learn_from_held_out(
        self, f: Real, X: Real | None, Y: Real, w: Real, folds: Sequence[Fold]
    ) -> None:
        """Let a subclass learn from predictions f (h, k) for the rows of each fold in turn."""

    # The correction: one, or that of a comparison

    @property
    def correction_reason_(self) -> str:
        """What was corrected, and why, in one sentence."""
        check_is_fitted(self, "_f")
        report = getattr(self, "selection_report_", None)
        if report is not None:
            return str(report["reason"])
        if self.correction is not None:
            return f"correction={self.correction!r} was asked for."
        return (
            "No correction: by default fit compares corrections where it is given X_target, with "
            "all rows in memory and a kernel of points."
        )

    def _chooses(self, X_target: Any) -> bool:
        """Whether corrections are compared; by default where a target is given."""
        if self.correction is not None:
            return is_auto(self.correction)
        return unwrap_target(X_target) is not None and self._can_choose()

    def _can_choose(self) -> bool:
        """Whether what is asked for leaves a choice."""
        return bool(self._kernel.name != "precomputed")

    def _one_correction(self) -> Any:
        """Return the correction that is asked for; by default there is none."""
        named = NONE if self.correction is None else self.correction
        return clone(as_correction(named), safe=False)

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

    def _label_keys(self, y: NDArray[Any]) -> Any:
        """Return a hash of every label that `_read_outcomes` returned; None for numbers."""
        return None

    def _outcome_columns(self, y: NDArray[Any]) -> Real:
        """Turn what `_read_outcomes` returns into the columns of Y: (N, k)."""
        raise NotImplementedError

    # Parameters

    def _check_parameters(self) -> None:
        check_parameters(self)
        self._kernel.check()
        if is_auto(self.correction) and self._kernel.name == "precomputed":
            raise InputError("correction='auto' needs points, not a precomputed kernel.")
        if self._kernel.name == "precomputed" and self.solver == "primal":
            raise InputError("solver='primal' needs points, not a precomputed kernel.")

    def _forget(self) -> None:
        """Drop what an earlier fit by another route left behind."""
        for name in _FITTED:
            self.__dict__.pop(name, None)

    def _solver(self, N: int) -> str:
        if self.solver != "auto":
            return str(self.solver)
        if N <= _DUAL_ROWS or self._kernel.name == "precomputed":
            return "dual"
        correction = None if is_auto(self.correction) else self._one_correction()
        if getattr(correction, "by_blocks", True):
            return "primal"
        if N > _PAIRED_ROWS:
            raise InputError(
                f"{type(correction).__name__} needs all pairs of the {N} training rows, arrays of "
                f"{8 * N**2 / 1e9:.1f} GB each. Use fewer rows or a correction made from target "
                "rows, such as 'additive'; or insist with solver='dual'."
            )
        return "dual"

    def _warn_of_condition(self, spread: float) -> None:
        """Tell what an ill conditioned system spoils, for kernel values of this relative spread."""
        message = (
            f"reg={self.reg_:.3g} is so small that the system is ill conditioned; the "
            "predictions are still sound, the coefficients may not be. Use a larger reg."
        )
        if spread < _FAR_FROM_ZERO:
            message = (
                f"The kernel values differ by {spread:.1g} of their size: the features lie far "
                "from zero, and rounding dominates coefficients and predictions. Use "
                "coordinates='standard' in its Kernel, or subtract an offset first."
            )
        warnings.warn(message, ConditionWarning, stacklevel=5)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._kernel.name == "precomputed"
        return tags

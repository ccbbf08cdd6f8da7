"""How a kernel machine finds its correction when it is told ``correction="auto"``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..corrections import Unweighted
from ..corrections.auto import Choice, candidates, choose, no_choice
from ..data.fit import FitProblem, some_rows
from ..exceptions import InputError
from ..numerics.array import Real, Rows
from ..numerics.folds import Fold, part_of, ranked_folds
from ..numerics.kernels import landmarks
from ..numerics.parallel import over_rows
from ..numerics.statistics import least, rounding_of
from ..operators import VOperator
from ..weights import CDFWeights
from .dual import Dual, SmallFactor, small_factor
from .expansion import Expansion


def fit_auto(machine: Any, problem: FitProblem, kernels: Sequence[Any]) -> None:
    """Mix the correction of least estimated target error with the uncorrected machine.

    The machine is a `KernelMachine`; on landmarks a sample of the rows chooses. Of several
    ``kernels`` it takes the uncorrected machine's.
    """
    if machine._kernel.name == "precomputed":
        raise InputError("correction='auto' needs points, not a precomputed kernel.")
    exact = machine._solver(problem.N) == "dual"
    random_state = check_random_state(machine.random_state)
    some = problem if exact else problem.rows(some_rows(problem.N, random_state))
    kernel = _best_kernel(machine, some, kernels)
    K = kernel(some.X, some.X)
    fixed = None if machine.reg == "cv" else np.array([float(machine.reg)])
    choice, regs, weights, held_out = choose_correction(
        some, K, fixed, min(int(machine.n_folds), some.N)
    )
    Z = problem.X
    if not exact:
        Z = landmarks(problem.X, int(machine.n_components), random_state, problem.units)
    coef, intercept = np.zeros((len(Z), problem.Y.shape[1])), np.zeros(problem.Y.shape[1])
    if choice.share and not exact:
        weights = target_weights(problem)
    used = {}
    for evidence, share in choice.parts():
        machine.correction_ = candidates(weights)[evidence.correction]
        if exact:
            machine.reg_ = float(regs[evidence.setting])
            machine._solve_dual(machine._operator(problem), problem, K)
        else:
            machine._start_stream(problem, kernel, problem.X, Z)
            machine._add_and_solve(problem)
        used[evidence.correction] = machine.reg_
        coef += share * (machine.dual_coef_ if exact else machine.coef_)
        intercept += share * machine.intercept_
    setattr(machine, "dual_coef_" if exact else "coef_", coef)
    machine.intercept_, machine._stream = intercept, None
    machine.correction_ = candidates(target_weighter())[choice.chosen.correction]
    machine.selection_report_ = choice.report(regs, used)
    machine._f = Expansion(kernel, Z, coef, intercept)
    if held_out is not None and machine._uses_held_out():
        machine._learn_from_held_out(*held_out)


def choose_correction(
    problem: FitProblem, K: Real, regs: Real | None, n_folds: int
) -> tuple[Choice, Real, Any, tuple[Any, ...] | None]:
    """Compare the candidates with kernel values K (N, N).

    Returns the choice, the penalties, the weights of the rows, or what would find them, and what
    rows held out get from the mixture: (f, X, Y, w, folds). All hold out the same folds, on one
    path of penalties per candidate and fold, and take the penalty that they take alone. ``regs``
    are given where the grid is not to be chosen.
    O(candidates x folds x N^3) time, O(N^2) memory.
    """
    folds = ranked_folds(problem.X, problem.Y, n_folds, problem.w)
    if len(folds) < 2:
        regs = np.array([kernel_scale(K, problem.w)]) if regs is None else regs
        return no_choice(), regs, target_weighter(), None
    if regs is None:
        regs = penalties(kernel_scale(K, problem.w), float(problem.w.sum()))
    weights = target_weights(problem)
    predictions = {
        name: _held_out(problem, problem.operator(correction), K, regs, folds)
        for name, correction in candidates(weights).items()
    }
    choice = choose(predictions, problem.Y, weights * problem.w, problem.w)
    rows = np.concatenate([fold.rows for fold in folds])
    f = sum(
        share * predictions[evidence.correction][evidence.setting][rows]
        for evidence, share in choice.parts()
    )
    return choice, regs, weights, (f, problem.X, problem.Y, problem.w, folds)


def _best_kernel(machine: Any, problem: FitProblem, kernels: Sequence[Any]) -> Any:
    """Return the kernel; where several are compared, the uncorrected machine's."""
    if len(kernels) == 1:
        return kernels[0]
    found, _ = machine._tune_dual(problem.operator(Unweighted()), problem, kernels, None)
    return kernels[found.best[0]]


def target_weights(problem: FitProblem) -> Real:
    """Weights under which the training rows look like the target: (N,)."""
    return problem.weigh(target_weighter())


def target_weighter() -> CDFWeights:
    """What finds them, whether or not there is overlap."""
    return CDFWeights(allow_no_overlap=True, random_state=0)


def _held_out(
    problem: FitProblem, V: VOperator, K: Real, regs: Real, folds: Sequence[Fold]
) -> Real:
    """Predict every row without its fold, at every penalty: (penalties, N, k)."""
    f = np.empty((len(regs), *problem.Y.shape))

    def predict(i: int) -> None:
        train, test = folds[i].rest(problem.w)[0], folds[i].rows
        R = small_factor(V.subset(train))
        f[:, test] = held_out_path(R, K, problem.Y, train, test, regs)

    over_folds(predict, len(folds), problem.N)
    return f


# Choose the penalty, and the kernel's width, by cross-validated error (theory, section 3.1).
#
# Never by the V-loss: cumulative residuals are strongly dependent, and the V-loss of held-out rows
# picks penalties far too small.


_SMALLEST = -4.0  # decades below the scale of the kernel
_STEP = 8 / 19  # decades from one penalty to the next
_THREADED = range(1 << 16, 1 << 24)  # entries of K, where folds are worth a thread and its memory


@dataclass(frozen=True)
class Tuning:
    """Squared errors of held-out rows, and the choice that makes them least."""

    kernels: tuple[Any, ...]
    regs: Real  # (kernels, P)
    errors: Real  # (kernels, P), mean squared error over the held-out rows
    held_out: Real | None = None  # (h, k), what the best predicts for the rows of the folds in turn
    rounding: float = 0.0  # differences of errors that say nothing

    @property
    def best(self) -> tuple[int, int]:
        """Position of the least error; among equals the first kernel, and its strongest penalty.

        Equal up to rounding: of two to five rows many penalties predict the same.
        """
        return least(self.errors, self.rounding)

    @property
    def reg(self) -> float:
        return float(self.regs[self.best])

    def path(self) -> dict[str, Any]:
        """Return what was compared, as plain data."""
        widths = tuple(None if kernel is None else kernel.width for kernel in self.kernels)
        return {"reg": self.regs, "width": widths, "error": self.errors}


def penalties(scale: float, weight: float) -> Real:
    """Return the grid of penalties for a kernel of this scale and rows of this weight in all.

    From 1e-4 of the scale to where nothing but the constant is left: with N rows, centred K and a V
    of unit mean diagonal, R K R' has no eigenvalue above N^2 times the scale.
    """
    largest = max(4.0, 2 * float(np.log10(weight)))
    steps = int(np.ceil(round((largest - _SMALLEST) / _STEP, 6)))
    return np.asarray(scale * 10.0 ** (_SMALLEST + _STEP * np.arange(steps + 1)))


def kernel_scale(K: Real, w: Real) -> float:
    """Mean of the centred kernel's diagonal, over rows of weights w (N,)."""
    scale = _spread(K, w)
    return scale if scale > 1e-12 * float(np.abs(np.diag(K)).max()) else 1.0


def kernel_spread(K: Real, w: Real) -> float:
    """Return the same as a part of the largest value: small where these are nearly constant."""
    return _spread(K, w) / (float(np.abs(np.diag(K)).max()) or 1.0)


def _spread(K: Real, w: Real) -> float:
    share = w / w.sum()
    return float(share @ np.diag(K) - share @ K @ share)


def tune_dual(
    V: VOperator,
    X: Real,
    Y: Real,
    w: Real,
    kernels: Sequence[Any],
    folds: Sequence[Fold],
    K: Real | None = None,
    regs: Real | None = None,
) -> Tuning:
    """Cross-validate the exact machine, one decomposition per fold and kernel.

    V of a fold's training rows is a part of V. ``K`` is given where the kernel is precomputed,
    ``regs`` (P,) where the grid is not to be chosen; else every kernel has its own.
    O(folds x kernels x N^3) time, O(N^2) memory.
    """
    rounding = rounding_of(Y, w)
    parts = [fold.rest(w) for fold in folds]
    factors = over_folds(lambda i: small_factor(part_of(V, *parts[i])), len(folds), len(X))
    grids, errors, held_out = [], [], []
    for kernel in kernels:
        values = kernel(X, X) if K is None else K
        grid = penalties(kernel_scale(values, w), float(w.sum())) if regs is None else regs

        def path(i: int, values: Real = values, grid: Real = grid) -> list[Real]:
            return held_out_path(factors[i], values, Y, parts[i][0], folds[i].rows, grid)

        paths = over_folds(path, len(folds), len(X))
        total = np.zeros(len(grid))
        for fold, predicted in zip(folds, paths, strict=True):
            total += [fold.weight @ ((f - Y[fold.rows]) ** 2).sum(axis=1) for f in predicted]
        grids.append(grid)
        errors.append(total / w.sum())
        _, place = least(errors[-1][None], rounding)
        held_out.append(np.concatenate([predicted[place] for predicted in paths]))
    tuning = Tuning(tuple(kernels), np.array(grids), np.array(errors), None, rounding)
    return replace(tuning, held_out=held_out[tuning.best[0]])


def held_out_path(
    R: SmallFactor, K: Real, Y: Real, train: Rows, test: Rows, regs: Real
) -> list[Real]:
    """Predict the rows ``test`` from the rows ``train``, of factor R, at every penalty: (h, k)."""
    path = Dual(R, K[np.ix_(train, train)]).path(Y[train], regs)
    held_out = K[np.ix_(test, train)]
    return [held_out @ A + c for A, c in path]


def over_folds(work: Callable[[int], Any], n_folds: int, N: int) -> list[Any]:
    """Do ``work`` for every fold of N rows, in threads where that pays, and list the results."""
    found: list[Any] = [None] * n_folds

    def some(part: slice) -> None:
        for fold in range(part.start, part.stop):
            found[fold] = work(fold)

    over_rows(some, n_folds, at_least=1 if N**2 in _THREADED else n_folds)
    return found

"""How a kernel machine finds its correction when it is told ``correction="auto"``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._fit_data import FitData, some_rows
from .._folds import Fold, ranked_folds
from .._kernels import landmarks
from .._types import Real
from ..corrections import Unweighted
from ..corrections.auto import Choice, candidates, choose, no_choice
from ..exceptions import InputError
from ..operators import VOperator
from ..weights import CDFWeights
from .dual import small_factor
from .expansion import Expansion
from .tuning import held_out_path, kernel_scale, over_folds, penalties


def fit_auto(machine: Any, problem: FitData, kernels: Sequence[Any]) -> None:
    """Mix the correction of least estimated target error with the uncorrected machine.

    The machine is a `KernelMachine`; on landmarks a sample of the rows chooses. Of several
    ``kernels`` it takes the uncorrected machine's.
    """
    if machine.kernel == "precomputed":
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
    problem: FitData, K: Real, regs: Real | None, n_folds: int
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


def _best_kernel(machine: Any, problem: FitData, kernels: Sequence[Any]) -> Any:
    """Return the kernel; where several are compared, the uncorrected machine's."""
    if len(kernels) == 1:
        return kernels[0]
    found, _ = machine._tune_dual(problem.operator(Unweighted()), problem, kernels, None)
    return kernels[found.best[0]]


def target_weights(problem: FitData) -> Real:
    """Weights under which the training rows look like the target: (N,)."""
    return problem.weigh(target_weighter())


def target_weighter() -> CDFWeights:
    """What finds them, whether or not there is overlap."""
    return CDFWeights(allow_no_overlap=True, random_state=0)


def _held_out(problem: FitData, V: VOperator, K: Real, regs: Real, folds: Sequence[Fold]) -> Real:
    """Predict every row without its fold, at every penalty: (penalties, N, k)."""
    f = np.empty((len(regs), *problem.Y.shape))

    def predict(i: int) -> None:
        train, test = folds[i].rest(problem.w)[0], folds[i].rows
        R = small_factor(V.subset(train))
        f[:, test] = held_out_path(R, K, problem.Y, train, test, regs)

    over_folds(predict, len(folds), problem.N)
    return f

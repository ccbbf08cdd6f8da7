"""How a kernel machine finds its correction when it is told ``correction="auto"``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..corrections import Correction
from ..corrections.auto import Choice, candidates, choose, no_choice
from ..operators import VOperator
from ..solvers.dual import Dual, small_factor
from ..solvers.folds import ranked_folds
from ..solvers.tuning import Tuning
from ..weights import CDFWeights
from .problem import Problem

Real = NDArray[np.float64]


def auto_candidates() -> dict[str, Correction]:
    """Return the candidates as they are fitted in the end: with weights of all rows."""
    return candidates(_weighter())


def choose_correction(problem: Problem, K: Real, tuning: Tuning, n_folds: int) -> Choice:
    """Compare the candidates with kernel values K (N, N) over the penalties of ``tuning``.

    ``tuning`` is that of the uncorrected machine. All hold out the same folds, on one path of
    penalties a candidate and fold: O(candidates x folds x N^3) time, O(N^2) memory.
    """
    folds = ranked_folds(problem.X, problem.Y, n_folds)
    if len(np.unique(folds)) < 2:
        return no_choice()
    weights = _weighter().fit(problem.X, X_target=problem.T, target_weight=problem.share).weights_
    predictions = {
        name: _held_out(problem.operator(correction), K, problem.Y, tuning.regs, folds)
        for name, correction in candidates(weights).items()
    }
    return choose(predictions, problem.Y, weights * problem.w, setting=tuning.best[1])


def _weighter() -> CDFWeights:
    return CDFWeights(allow_no_overlap=True, random_state=0)


def _held_out(V: VOperator, K: Real, Y: Real, regs: Real, folds: NDArray[np.intp]) -> Real:
    """Predict every row without its fold, at every penalty: (penalties, N, k)."""
    f = np.empty((len(regs), *Y.shape))
    for fold in np.unique(folds):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        dual = Dual(small_factor(V.subset(train)), K[np.ix_(train, train)])
        for j, (A, c) in enumerate(dual.path(Y[train], regs)):
            f[j, test] = K[np.ix_(test, train)] @ A + c
    return f

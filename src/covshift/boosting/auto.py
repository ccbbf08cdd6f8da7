"""``correction="auto"`` for boosted trees; what is compared and how is in `corrections.auto`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._fit_data import FitData, some_rows
from .._folds import Fold, ranked_folds
from .._types import Real
from ..corrections.auto import Choice, candidates, choose, no_choice
from ..machine.auto import target_weighter, target_weights
from ..operators import VOperator
from .ensemble import Ensemble, mixture

_FOLDS = 5
_ROWS = 10_000  # that choose; all rows are fitted


@dataclass(frozen=True)
class Boosted:
    """A fitted ensemble, and the errors of rows held out for early stopping, if any were."""

    ensemble: Ensemble
    scores: Real | None


def fit_auto(booster: Any, problem: FitData) -> Boosted:
    """Compare candidates on folds, then fit the uncorrected trees and the chosen ones.

    As many fits as candidates times folds, and one or two more.
    """
    some = problem.rows(some_rows(problem.N, check_random_state(booster.random_state), _ROWS))
    choice, known = _choose(booster, some, stops=booster._stops(problem.N))
    if some.N < problem.N:
        known = target_weights(problem) if choice.share else target_weighter()
    parts, scores = [], None
    for evidence, share in choice.parts():
        booster.correction_ = candidates(known)[evidence.correction]
        found = booster._boost(problem, problem.operator(booster.correction_))
        parts.append((found.ensemble, share))
        scores = found.scores
    booster.correction_ = candidates(target_weighter())[choice.chosen.correction]
    booster.selection_report_ = choice.report([float(booster.reg_lambda)], {})
    return Boosted(mixture(parts), scores)


def _choose(booster: Any, problem: FitData, *, stops: bool) -> tuple[Choice, Any]:
    """Return the choice, and the weights of the rows, or what would find them."""
    folds = ranked_folds(problem.X, problem.Y, min(_FOLDS, problem.N), problem.w)
    if len(folds) < 2:
        return no_choice(), target_weighter()
    weights = target_weights(problem)
    predictions = {
        name: _held_out(booster, problem, problem.operator(correction), folds, stops=stops)
        for name, correction in candidates(weights).items()
    }
    return choose(predictions, problem.Y, weights * problem.w, problem.w), weights


def _held_out(
    booster: Any, problem: FitData, V: VOperator, folds: Sequence[Fold], *, stops: bool
) -> Real:
    """Predict every row without its fold, by trees that stop early or not: (1, N, k)."""
    f = np.empty((1, *problem.Y.shape))
    X = np.zeros((problem.N, int(problem.columns.max()) + 1))  # as given, with all columns
    X[:, problem.columns] = problem.X
    for fold in folds:
        train, test = fold.rest(problem.w)[0], fold.rows
        found = booster._boost(problem.rows(train), V.subset(train), stops=stops)
        f[0, test] = found.ensemble(X[test])
    return f

"""What both boosted estimators share: checks, rounds, stopping, the fitted function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..corrections import as_correction
from ..corrections.auto import Choice, candidates, choose, is_auto, no_choice
from ..data.parameters import VERBOSE, Rules, check_parameters, flag, number, one_of, whole
from ..data.validation import check_columns, check_host_rows
from ..encoding import TableEncoder
from ..encoding.samples import by_table_column
from ..exceptions import InputError
from ..machine.auto import target_weighter, target_weights
from ..machine.fit import (
    TARGET_REQUEST,
    FitProblem,
    GivenWeights,
    check_problem,
    encode_problem,
    part_of,
    some_rows,
)
from ..numerics.array import Real, Rows
from ..numerics.folds import Fold, ranked_folds
from ..numerics.progress import track
from ..operators import VOperator
from .ensemble import Bins, Ensemble, collect, mixture
from .trees import Grower, Growth, Tree

_STOP_ROWS = 10_000  # early_stopping="auto" is on above, as in scikit-learn


class Booster(BaseEstimator):  # type: ignore[misc]
    """Add trees that minimise the V-loss of the residuals, a round at a time.

    A subclass turns labels into the columns of Y and f into predictions.
    """

    _frame: TableEncoder | None = None  # what made numbers of a table
    _unit = 1.0  # that y was divided by, where it is very large or small

    __metadata_request__fit: ClassVar = TARGET_REQUEST
    _rules: ClassVar[Rules] = {
        "n_estimators": whole(1),
        "learning_rate": number(above=0),
        "max_leaf_nodes": whole(2),
        "max_depth": whole(1) | one_of(None),
        "min_samples_leaf": number(above=0),
        "reg_lambda": number(least=0),
        "reg_leaves": number(least=0),
        "grower": one_of("sklearn", "lightgbm"),
        "max_bins": whole(2),
        "subsample": number(above=0, most=1),
        "early_stopping": one_of("auto") | flag(),
        "validation_fraction": number(above=0, most=0.5),
        "n_iter_no_change": whole(1),
        "tol": number(least=0),
        "verbose": VERBOSE,
    }

    def __init__(
        self,
        correction: Any = "blended",
        *,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_leaf_nodes: int = 31,
        max_depth: int | None = None,
        min_samples_leaf: float = 20,
        reg_lambda: float = 0.0,
        reg_leaves: float = 0.0,
        grower: str = "sklearn",
        max_bins: int = 255,
        subsample: float = 1.0,
        early_stopping: Any = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        random_state: Any = None,
        verbose: Any = 0,
    ) -> None:
        self.correction = correction
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.reg_lambda = reg_lambda
        self.reg_leaves = reg_leaves
        self.grower = grower
        self.max_bins = max_bins
        self.subsample = subsample
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, Y: Real, X_target: Any, weights: GivenWeights) -> Self:
        check_parameters(self)
        self.__dict__.pop("validation_score_", None)
        self.__dict__.pop("selection_report_", None)
        problem = check_problem(X, Y, X_target, weights, frame=self._frame)
        if is_auto(self.correction):
            found = fit_auto(self, problem)
        else:
            self.correction_ = clone(as_correction(self.correction), safe=False)
            problem.warn_if_apart(self, self.correction_, stacklevel=3)
            found = self._boost(problem, problem.operator(self.correction_))
        self.target_coverage_ = problem.coverage(self.correction_, stacklevel=4)
        self.ensemble_, self.baseline_ = found.ensemble, found.ensemble.baseline
        self.n_iter_ = found.ensemble.n_trees // problem.Y.shape[1]
        if found.scores is not None:
            self.validation_score_ = found.scores
        return self

    def _boost(self, problem: FitProblem, V: VOperator, *, stops: bool | None = None) -> Boosted:
        """Add trees until the rounds are over, or rows held out say so, if it ``stops`` early."""
        held, (train, share) = self._parts(problem, stops)
        held_out = held.rows
        if len(held_out):
            V = part_of(V, train, share)
        X, Y, w = problem.X[train], problem.Y[train], share * problem.w[train]
        bins = Bins(X, w, int(self.max_bins))
        codes, held_codes = bins.codes(X), bins.codes(problem.X[held_out])
        baseline, rate = _best_constant(V, Y, w), float(self.learning_rate)
        f, held_f = np.tile(baseline, (len(Y), 1)), np.tile(baseline, (len(held_out), 1))
        random_state, trees = check_random_state(self.random_state), list[tuple[int, Tree]]()
        scores = [_squared_error(held_f, problem, held)]
        grower, rounds = Grower(V, codes, w, self._growth()), int(self.n_estimators)
        for _ in track(range(rounds), rounds, type(self).__name__, verbose=bool(self.verbose)):
            rows = self._drawn(len(Y), random_state)
            if rows is not None:
                grower = Grower(V.subset(rows), codes[rows], w[rows], self._growth())
            for column in range(Y.shape[1]):
                residuals = f[:, column] - Y[:, column]
                tree, step = grower.grow(residuals if rows is None else residuals[rows])
                f[:, column] += rate * (step if rows is None else tree.value[tree.ends(codes)])
                trees.append((column, tree))
                if len(held_out):
                    held_f[:, column] += rate * tree.value[tree.ends(held_codes)]
            if len(held_out):
                scores.append(_squared_error(held_f, problem, held))
                if self._should_stop(scores):
                    break
        ensemble = collect(trees, bins.thresholds, problem.columns, rate, baseline)
        return Boosted(ensemble, np.array(scores) if len(held_out) else None)

    def _stops(self, N: int) -> bool:
        """Whether a fit of N rows stops early."""
        wanted = self.early_stopping
        return N > _STOP_ROWS if wanted == "auto" else bool(wanted)

    def _parts(
        self, problem: FitProblem, stops: bool | None = None
    ) -> tuple[Fold, tuple[Rows, Real]]:
        """Rows held out for early stopping; and rows to fit, with the share of their weight."""
        if not (self._stops(problem.N) if stops is None else stops):
            nothing = Fold(np.arange(0), np.zeros(0))
            return nothing, nothing.rest(problem.w)
        fraction: Any = self.validation_fraction
        n_folds = max(2, round(1 / float(fraction)))
        folds = ranked_folds(problem.X, problem.Y, n_folds, problem.w)
        if len(folds) < n_folds:
            raise InputError(
                f"early_stopping holds out every {n_folds}th row, and there are too few: "
                f"{problem.N}. Use early_stopping=False."
            )
        held = folds[n_folds // 2]
        return held, held.rest(problem.w)

    def _should_stop(self, scores: list[float]) -> bool:
        """Whether none of the last rounds was better than the round before them by ``tol``.

        As a part of the score before the first round, so that the unit of y does not matter.
        """
        last = int(self.n_iter_no_change)
        if len(scores) <= last:
            return False
        least = scores[-last - 1] - self.tol * scores[0]
        return not any(score < least for score in scores[-last:])

    def _drawn(self, N: int, random_state: Any) -> Rows | None:
        """Rows of a round, or None for all of them."""
        size = int(np.ceil(float(self.subsample) * N))
        if size == N:
            return None
        return np.sort(random_state.choice(N, size, replace=False))

    def _growth(self) -> Growth:
        return Growth(
            grower=str(self.grower),
            max_leaf_nodes=int(self.max_leaf_nodes),
            max_depth=None if self.max_depth is None else int(self.max_depth),
            min_samples_leaf=float(self.min_samples_leaf),
            reg_lambda=float(self.reg_lambda),
            reg_leaves=float(self.reg_leaves) / self._unit / self._unit,
        )

    # The fitted function

    @property
    def feature_importances_(self) -> Real:
        """Share of every feature in the total gain of all splits: (n,), one per column of X."""
        check_is_fitted(self, "ensemble_")
        shares = self.ensemble_.importances(self._width)
        return shares if self._frame is None else by_table_column(self._frame, shares)

    @property
    def _width(self) -> int:
        """Number of the columns that trees split on."""
        return self.n_features_in_ if self._frame is None else len(self._frame.groups)

    def _values(self, X: Any) -> Real:
        """Return f at new rows: (rows, k)."""
        check_is_fitted(self, "ensemble_")
        return self.ensemble_(self._check_rows(X))

    def _staged_values(self, X: Any) -> Iterator[Real]:
        check_is_fitted(self, "ensemble_")
        return self.ensemble_.staged(self._check_rows(X))

    def _read_tables(self, X: Any, X_target: Any, weights: GivenWeights) -> tuple[Any, Any]:
        """Learn the columns of X and X_target; return both as numbers."""
        X_given = X
        X, X_target, self._frame = encode_problem(X, X_target, weights)
        if self._frame is None:
            check_host_rows(self, X, reset=True)
        else:
            check_columns(self, X_given, reset=True)
        return X, X_target

    def _check_rows(self, X: Any) -> Real:
        if self._frame is None:
            return check_host_rows(self, X, reset=False)
        check_columns(self, X, reset=False)
        return self._frame.encode(X, "X")


def _best_constant(V: VOperator, Y: Real, w: Real) -> Real:
    """C = 1'VY / 1'V1, the constant of the smallest V-loss: (k,); the mean where V is zero."""
    V1 = np.asarray(V.matmat(np.ones((len(Y), 1))))[:, 0]
    weight = V1 if V1.sum() > 0 else w
    return np.asarray(weight @ Y / weight.sum())


def _squared_error(f: Real, problem: FitProblem, held: Fold) -> float:
    """Mean squared error of held-out rows, summed over columns; by weight."""
    if not len(held.rows):
        return 0.0
    squares = ((f - problem.Y[held.rows]) ** 2).sum(axis=1)
    return float(held.weight @ squares / held.weight.sum())


# ``correction="auto"`` for boosted trees; what is compared and how is in `corrections.auto`.


_FOLDS = 5  # four fifths of the rows are about as many as all
_ROWS = 10_000  # that choose; all rows are fitted


@dataclass(frozen=True)
class Boosted:
    """A fitted ensemble, and the errors of rows held out for early stopping, if any were."""

    ensemble: Ensemble
    scores: Real | None


def fit_auto(booster: Any, problem: FitProblem) -> Boosted:
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
        boosted = booster._boost(problem, problem.operator(booster.correction_))
        parts.append((boosted.ensemble, share))
        scores = boosted.scores
    booster.correction_ = candidates(target_weighter())[choice.chosen.correction]
    booster.selection_report_ = choice.report([float(booster.reg_lambda)], {})
    return Boosted(mixture(parts), scores)


def _choose(booster: Any, problem: FitProblem, *, stops: bool) -> tuple[Choice, Any]:
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
    booster: Any, problem: FitProblem, V: VOperator, folds: Sequence[Fold], *, stops: bool
) -> Real:
    """Predict every row without its fold, by trees that stop early or not: (1, N, k)."""
    f = np.empty((1, *problem.Y.shape))
    X = np.zeros((problem.N, int(problem.columns.max()) + 1))  # as given, with all columns
    X[:, problem.columns] = problem.X
    for fold in folds:
        train, test = fold.rest(problem.w)[0], fold.rows
        boosted = booster._boost(problem.rows(train), V.subset(train), stops=stops)
        f[0, test] = boosted.ensemble(X[test])
    return f

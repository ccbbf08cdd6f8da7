"""Entry points that are functions: answers, comparisons, bounds, pictures and data sets."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import matplotlib as mpl
import numpy as np
from calls import estimate_with, evaluate_with
from sklearn.linear_model import LinearRegression, LogisticRegression

import covshift
from covshift import bounds, datasets, diagnostics, distributed, objectives, plan
from covshift.comparison import Method, TargetSafeSplit
from covshift.weights import GaussianRatio, effective_sample_size

from .estimators import MACHINE, ROWS
from .problem import SLOTS, Entry, Problem, canonical

mpl.use("Agg")
WEIGHTS = ("sample_weight", "target_weight")
TWO = (*ROWS, *WEIGHTS)


def weighted(problem: Problem) -> dict[str, Any]:
    return {slot: getattr(problem, slot) for slot in WEIGHTS}


@cache
def known_model(task: str) -> Any:
    """A model that was fitted to the canonical rows."""
    problem = canonical(task)
    model = LogisticRegression() if task == "classes" else LinearRegression()
    return model.fit(problem.X, problem.y)


@cache
def known_diagnosis() -> Any:
    problem = canonical("classes")
    return diagnostics.diagnose(problem.X, problem.X_target, methods=())


def estimated(what: str) -> Callable[[Problem], Any]:
    def answer(problem: Problem) -> Any:
        found = estimate_with(
            known_diagnosis(),
            problem.X,
            problem.y,
            problem.X_target,
            what=what,
            **weighted(problem),
            method="weights",
            weighter=GaussianRatio(),
        )
        return [one.value for one in found]

    return answer


def evaluated(task: str) -> Callable[[Problem], Any]:
    def answer(problem: Problem) -> Any:
        found = evaluate_with(
            known_diagnosis(),
            canonical_scores(task),
            problem.X,
            problem.y,
            problem.X_target,
            target_scores=canonical_scores(task, target=True),
            task=task,
            metrics=["brier" if task == "classes" else "mse"],
            **weighted(problem),
            method="weights",
            weighter=GaussianRatio(),
        )
        return [one.value for one in found.table]

    return answer


def planned(problem: Problem) -> Any:
    given = problem.X, problem.y, problem.X_target
    return plan(*given, what="mean", count=8, **weighted(problem)).probability


@cache
def canonical_scores(task: str, target: bool = False) -> Any:
    problem = canonical(task)
    rows = problem.X_target if target else problem.X
    model = known_model(task)
    return model.predict_proba(rows)[:, 1] if task == "classes" else model.predict(rows)


def diagnosed(function: Callable[..., Any]) -> Callable[[Problem], Any]:
    def answer(problem: Problem) -> Any:
        found = function(problem.X, problem.X_target, methods=(), **weighted(problem))
        found = found[0] if isinstance(found, tuple) else found
        return [feature.smd for feature in found.features]

    return answer


def batches(problem: Problem) -> Any:
    found = diagnostics.diagnose_batches(
        problem.X,
        {"one": problem.X_target},
        methods=(),
        sample_weight=problem.sample_weight,
        target_weight={"one": problem.target_weight},
    )
    return [feature.smd for feature in found.batches["one"].features]


def restricted(problem: Problem) -> Any:
    return diagnostics.restrict(problem.X, problem.X_target, **weighted(problem)).rows


def compared_methods(task: str) -> Callable[[Problem], Any]:
    def answer(problem: Problem) -> Any:
        found = covshift.compare(
            problem.X,
            problem.y,
            problem.X_target,
            learner="linear",
            task="classification" if task == "classes" else "regression",
            methods=[Method("none", "baseline")],
            weighter="gaussian-ratio",
            n_folds=2,
            **weighted(problem),
        )
        return [row["risk"] for row in found.rows]

    return answer


def compared(problem: Problem) -> Any:
    found = covshift.compare(
        problem.X,
        problem.y,
        problem.X_target,
        estimators={
            "weighted": covshift.Reweighted(LogisticRegression(), weighter=GaussianRatio())
        },
        weighter=GaussianRatio(),
        cv=TargetSafeSplit(2),
        **weighted(problem),
    )
    return [row["risk"] for row in found.rows]


def method_fitted(problem: Problem) -> Any:
    found = covshift.compare(
        problem.X,
        problem.y,
        problem.X_target,
        learner="linear",
        task="classification",
        methods=[],
        weighter="gaussian-ratio",
        n_folds=2,
        **weighted(problem),
    )
    return found.fit("none").predict_proba(problem.X)


def weights_fitted(problem: Problem) -> Any:
    found = covshift.compare(
        problem.X,
        canonical("classes").y,
        problem.X_target,
        learner="linear",
        methods=[],
        weighter="gaussian-ratio",
        n_folds=2,
        **weighted(problem),
    )
    return found.weights(GaussianRatio())


def blocks(problem: Problem) -> Any:
    model = covshift.VSVR("additive", **MACHINE, solver="primal", random_state=0)
    rows = distributed.from_arrays(problem.X, problem.y, problem.sample_weight, batch_rows=20)
    distributed.fit_blocks(model, rows, problem.X_target, target_weight=problem.target_weight)
    return model.predict(canonical("numbers").X_target)


def objective(make: Callable[..., Any]) -> Callable[[Problem], Any]:
    def answer(problem: Problem) -> Any:
        found = make(problem.X, problem.X_target, "additive", target_weight=problem.target_weight)
        y = canonical("numbers").y
        return found(y, np.zeros(len(y)))[0]

    return answer


RESIDUALS = {"y": r"\bresiduals\b"}
BY_WEIGHTS = {"sample_weight": r"\bweights\b"}


def of_data(function: Callable[..., Any], answer: Callable[[Problem], Any], **more: Any) -> Entry:
    name = function.__name__
    return Entry(f"datasets.{name}", answer, ("X",), covers=(name,), **more)


def probability(function: Callable[..., Any]) -> Entry:
    return of_data(function, lambda p: function(p.X))


def in_unit_cube(problem: Problem) -> Problem:
    return problem.each(lambda rows: rows / 8 + 0.5, *ROWS)


def whole_weights(problem: Problem) -> Problem:
    return problem.each(lambda weight: weight * 8, "sample_weight")


ANSWERS = [
    Entry(
        "estimate",
        estimated("mean"),
        task="numbers",
        covers=("estimate",),
        tables=True,
        slow=True,
    ),
    Entry("estimate, proportion", estimated("proportion"), tables=True, slow=True),
    Entry("evaluate", evaluated("classes"), covers=("evaluate",), tables=True, slow=True),
    Entry("evaluate, numbers", evaluated("numbers"), task="numbers", tables=True, slow=True),
    Entry("plan", planned, task="numbers", covers=("plan",), tables=True, slow=True),
    Entry(
        "diagnose",
        diagnosed(diagnostics.diagnose),
        TWO,
        covers=("diagnose",),
        tables=True,
        slow=True,
    ),
    Entry("diagnose_batches", batches, TWO, covers=("diagnose_batches",), tables=True, slow=True),
    Entry("restrict", restricted, TWO, covers=("restrict",), tables=True, slow=True),
    Entry(
        "compare",
        compared_methods("classes"),
        covers=("compare",),
        tables=True,
        slow=True,
    ),
    Entry(
        "compare, numbers",
        compared_methods("numbers"),
        task="numbers",
        tables=True,
        slow=True,
    ),
    Entry("compare, estimators", compared, tables=True, slow=True),
    Entry("compare, fit", method_fitted, tables=True),
    Entry("compare, weights", weights_fitted, TWO, tables=True),
    Entry("fit_blocks", blocks, SLOTS, "numbers", ("fit_blocks", "from_arrays")),
    *(
        Entry(
            f"objectives.{make.__name__}",
            objective(make),
            (*ROWS, "target_weight"),
            covers=(make.__name__,),
            tables=True,
        )
        for make in (
            objectives.VObjective,
            objectives.lightgbm_objective,
            objectives.xgboost_objective,
        )
    ),
    Entry(
        "bounds.loss_error",
        lambda p: [bounds.loss_error(p.y, 50)],
        ("y",),
        "numbers",
        ("loss_error",),
        called=RESIDUALS,
    ),
    Entry(
        "bounds.loss_error_1d",
        lambda p: [bounds.loss_error_1d(p.X, p.y, 50)],
        ("X", "y"),
        "numbers",
        ("loss_error_1d",),
        tables=True,
        called=RESIDUALS,
    ),
    probability(datasets.sigmoid_probability),
    Entry(
        "repeat_rows",
        lambda p: np.mean(covshift.repeat_rows(p.X, p.y, p.sample_weight)[0], axis=0),
        ("X", "y", "sample_weight"),
        covers=("repeat_rows",),
        called={"sample_weight": r"\bcounts\b"},
        start=whole_weights,
    ),
    Entry(
        "effective_sample_size",
        lambda p: [effective_sample_size(p.sample_weight)],
        ("sample_weight",),
        covers=("effective_sample_size",),
        called=BY_WEIGHTS,
    ),
]

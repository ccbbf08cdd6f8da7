"""Entry points that are fitted: machines, trees, wrappers, weighters and corrections."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression

import covshift
from covshift import corrections, weights
from covshift.boosting import BoostedTreesClassifier, BoostedTreesRegressor
from covshift.comparison import ImportanceWeightedScorer

from .problem import SLOTS, Entry, Problem, canonical

ROWS = ("X", "X_target")


def given(problem: Problem, takes: tuple[str, ...]) -> dict[str, Any]:
    """The keywords of `fit`."""
    words = ("X_target", "sample_weight", "target_weight")
    return {slot: getattr(problem, slot) for slot in words if slot in takes}


def fitted(
    name: str, make: Callable[[], Any], method: str, task: str, *, cover: str = "", **more: Any
) -> list[Entry]:
    """An estimator: fitted to all inputs, and asked about odd rows once it is fitted."""
    takes = more.pop("takes", SLOTS)

    def answer(problem: Problem) -> Any:
        model = make().fit(problem.X, problem.y, **given(problem, takes))
        return ask(model, method, problem.X)

    @cache
    def ready() -> Any:
        problem = canonical(task)
        return make().fit(problem.X, problem.y, **given(problem, takes))

    tables = more.get("tables", True)
    return [
        Entry(name, answer, takes, task, (cover or name,), tables=tables, **more_of(more)),
        Entry(f"{name}.{method}", lambda p: ask(ready(), method, p.X), ("X",), task, tables=False),
    ]


def more_of(more: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in more.items() if key != "tables"}


def ask(model: Any, method: str, rows: Any) -> Any:
    """What a fitted model says, as numbers."""
    if method == "predict_interval":
        found = model.predict_interval(rows, coverage=0.5)
        ends = np.column_stack([found.lower, found.upper])
        return np.clip(ends, -1e9, 1e9)  # far from all rows an interval may be infinite
    if method == "predict_set":
        return model.predict_set(rows, coverage=0.5).member.astype(float)
    return getattr(model, method)(rows)


WEIGHTERS: dict[str, Callable[[], Any]] = {
    "KDE": lambda: weights.KDE(random_state=0),
    "KLIEP": lambda: weights.KLIEP(width=1.0, random_state=0),
    "KMM": lambda: weights.KMM(B=10.0),
    "RULSIF": lambda: weights.RULSIF(width=1.0, reg=0.1, random_state=0),
    "ULSIF": lambda: weights.ULSIF(width=1.0, reg=0.1, random_state=0),
    "CDFWeights": lambda: weights.CDFWeights(reg=1.0, allow_no_overlap=True, random_state=0),
    "Discriminative": lambda: weights.Discriminative(cv=2, random_state=0),
    "EnergyWeights": lambda: weights.EnergyWeights(),
    "EntropyBalancing": lambda: weights.EntropyBalancing(reg=0.1),
    "GaussianRatio": lambda: weights.GaussianRatio(),
    "NearestNeighbors": lambda: weights.NearestNeighbors(n_neighbors=5),
    "PostStratification": lambda: weights.PostStratification(bins=2, collapse=True),
    "Raking": lambda: weights.Raking(bins=2, collapse=True),
    "TiltedCDFWeights": lambda: weights.TiltedCDFWeights(allow_no_overlap=True),
}


def weighter(name: str, make: Callable[[], Any]) -> Entry:
    takes = (*ROWS, "sample_weight", "target_weight")

    def answer(problem: Problem) -> Any:
        return make().fit(problem.X, **given(problem, takes)).weights_

    return Entry(f"weights.{name}", answer, takes, covers=(name,), tables=True)


CORRECTIONS: dict[str, Callable[[], Any]] = {
    "Additive": corrections.Additive,
    "Gaussian": corrections.Gaussian,
    "Multiplicative": corrections.Multiplicative,
    "Pairwise": corrections.Pairwise,
    "Sliced": lambda: corrections.Sliced(5, random_state=0),
    "Uniform": corrections.Uniform,
    "Unweighted": corrections.Unweighted,
}


def correction(name: str, make: Callable[[], Any]) -> Entry:
    takes = (*ROWS, "target_weight") if name != "Unweighted" else ROWS

    def answer(problem: Problem) -> Any:
        V = make().operator(problem.X, problem.X_target, target_weight=problem.target_weight)
        return V.dense()

    return Entry(f"corrections.{name}", answer, takes, covers=(name,), tables=True)


def logistic() -> Any:
    return LogisticRegression(C=1.0)


MACHINE = {"kernel": covshift.Kernel("rbf", width=1.0), "reg": 1.0}
FAST_WEIGHTS = {"weighter": weights.GaussianRatio()}

ESTIMATORS = [
    *fitted(
        "VSVC",
        lambda: covshift.VSVC("blended", **MACHINE, probability=None),
        "decision_function",
        "classes",
    ),
    *fitted("VSVR", lambda: covshift.VSVR("blended", **MACHINE), "predict", "numbers"),
    *fitted(
        "VSVR, primal",
        lambda: covshift.VSVR("additive", **MACHINE, solver="primal", random_state=0),
        "predict",
        "numbers",
        cover="VSVR",
    ),
    *fitted(
        "VBoostClassifier",
        lambda: covshift.VBoostClassifier(n_estimators=2, min_samples_leaf=2),
        "predict_proba",
        "classes",
    ),
    *fitted(
        "VBoostRegressor",
        lambda: covshift.VBoostRegressor(n_estimators=2, min_samples_leaf=2),
        "predict",
        "numbers",
    ),
    *fitted("RobustBiasAware", covshift.RobustBiasAware, "predict_proba", "classes"),
    *fitted(
        "Reweighted",
        lambda: covshift.Reweighted(logistic(), **FAST_WEIGHTS),
        "predict_proba",
        "classes",
    ),
    *fitted(
        "Reweighted, numbers",
        lambda: covshift.Reweighted(LinearRegression(), **FAST_WEIGHTS),
        "predict",
        "numbers",
        cover="Reweighted",
    ),
    *fitted(
        "ConformalClassifier",
        lambda: covshift.ConformalClassifier(logistic(), **FAST_WEIGHTS, random_state=0),
        "predict_set",
        "classes",
    ),
    *fitted(
        "ConformalRegressor",
        lambda: covshift.ConformalRegressor(LinearRegression(), **FAST_WEIGHTS, random_state=0),
        "predict_interval",
        "numbers",
    ),
    *fitted(
        "BoostedTreesClassifier",
        lambda: BoostedTreesClassifier(max_iter=2, min_samples_leaf=2, random_state=0),
        "predict_proba",
        "classes",
        takes=("X", "y", "sample_weight"),
        tables=False,
    ),
    *fitted(
        "BoostedTreesRegressor",
        lambda: BoostedTreesRegressor(max_iter=2, min_samples_leaf=2, random_state=0),
        "predict",
        "numbers",
        takes=("X", "y", "sample_weight"),
        tables=False,
    ),
]


TWO = (*ROWS, "sample_weight", "target_weight")


def scored(problem: Problem) -> Any:
    scorer = ImportanceWeightedScorer(weights.GaussianRatio())
    fitted = scorer.fit(problem.X, problem.y, **given(problem, TWO))
    return fitted.weighter_.weights_


def encoder(problem: Problem) -> Any:
    found = covshift.TableEncoder(min_rows=1).fit(problem.X, X_target=problem.X_target)
    return found.transform(problem.X)


def margins_of(problem: Problem) -> Any:
    found = covshift.Margins.from_rows(problem.X, weight=problem.sample_weight, min_count=5, bins=4)
    with tempfile.TemporaryDirectory() as folder:
        found.to_json(Path(folder) / "margins.json")
        text = (Path(folder) / "margins.json").read_text(encoding="utf-8")
    return [float(number) for number in re.findall(r"-?\d+\.\d+", text)]


FITTED = [
    *ESTIMATORS,
    *(weighter(name, make) for name, make in WEIGHTERS.items()),
    *(correction(name, make) for name, make in CORRECTIONS.items()),
    Entry(
        "v_matrix",
        lambda p: covshift.v_matrix(p.X, p.X_target, target_weight=p.target_weight),
        (*ROWS, "target_weight"),
        covers=("v_matrix",),
        tables=True,
    ),
    Entry(
        "ImportanceWeightedScorer", scored, TWO, covers=("ImportanceWeightedScorer",), tables=True
    ),
    Entry(
        "Margins.from_rows",
        margins_of,
        ("X", "sample_weight"),
        covers=("Margins",),
        tables=True,
        called={"X": r"\bT\b", "sample_weight": r"\bweight\b"},
    ),
    Entry("TableEncoder", encoder, ROWS, covers=("TableEncoder",), tables=True),
]

"""A model, labelled rows and a target of one real table, with the model's true performance there.

The table is the population. Every row has a chance p to be the target's (`tables_shifts`: a
logistic of a random direction, or the rank in a random column), and the others are the labelled
sample's; or a column's values tell the two apart ("natural": then p(y | x) may differ as well); or
a coin does ("none": the control, where nothing is to be corrected).
Half of the labelled rows train a model, the other half judge it. The truth is the metric over all
rows that did not train the model, weighted by p.

Models: "linear" (logistic or ridge regression), "boosted" trees, and "restricted", a linear model
that sees a third of the columns, so that its scores cannot know what has shifted.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import tables_data
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import accuracy_score, brier_score_loss, mean_squared_error, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tables_shifts import target_chance

SHIFTS = ("direction", "rank", "natural", "none")
MODELS = ("linear", "boosted", "restricted")
SIZES = {
    "small": (300, 300),
    "middle": (1000, 1000),
    "large": (5000, 5000),
    "few target rows": (1000, 50),
}
METRICS = {"classification": ("accuracy", "brier", "roc_auc"), "regression": ("mse",)}
MOST_COLUMNS, LEAST_CLASS, SPARE = 40, 20, 1.5


@dataclass(frozen=True)
class Problem:
    """X, y: all labelled rows, of which ``trained`` trained the model; T: the target's.

    ``said`` and ``said_T`` are the model's scores of class 1, or its predictions of numbers.
    """

    key: str
    kind: str
    X: Any
    y: np.ndarray
    said: np.ndarray
    trained: np.ndarray  # (N,), bool
    T: Any
    said_T: np.ndarray
    truth: dict[str, float]
    threshold: float = 0.5


def names(half):
    """Tables of one half, narrow enough that no model is starved."""
    known = [name for name in sorted(tables_data.TABLES) if tables_data.half(name) == half]
    return [name for name in known if columns(name).shape[1] <= MOST_COLUMNS]


@cache
def columns(name):
    """All rows as numbers: one column per level of a category, but for one of two."""
    return as_numbers(tables_data.load(name).X)


def draw(name, shift, model, size, run):
    """Return a problem, or None where the table is too small or has no such shift."""
    table, (N, M) = tables_data.load(name), SIZES[size]
    key = f"{name}/{shift}/{model}/{size}/{run}"
    rng = np.random.default_rng([zlib.crc32(f"{name}/{shift}/{size}".encode()), run])
    X, y = columns(name), table.y
    if shift == "natural":
        if table.in_target is None:
            return None
        chance = table.in_target.astype(float)
        X = as_numbers(table.X.drop(columns=table.column))
    else:
        chance = target_chance(table.X, shift, rng)
    in_target = rng.uniform(size=len(y)) < chance
    labelled, target = (rng.permutation(np.flatnonzero(part)) for part in (~in_target, in_target))
    if len(labelled) < 2 * N or len(target) < SPARE * M:
        return None
    labelled, target = labelled[: 2 * N], target[:M]
    trained = np.arange(2 * N) < N
    if table.kind == "classification":
        counts = [np.bincount(y[labelled[part]], minlength=2).min() for part in (trained, ~trained)]
        if min(counts) < LEAST_CLASS:
            return None
    rows = labelled[trained]
    fitted = _model(table.kind, model, X.shape[1], rng).fit(X[rows], y[rows])
    said = fitted.predict(X) if table.kind == "regression" else fitted.predict_proba(X)[:, 1]
    others = np.setdiff1d(np.flatnonzero(chance > 0), rows)
    truth = performance(table.kind, y[others], said[others], weight=chance[others])
    return Problem(
        key,
        table.kind,
        X[labelled],
        y[labelled],
        said[labelled],
        trained,
        X[target],
        said[target],
        truth,
    )


def performance(kind, y, said, *, weight=None, threshold=0.5):
    """Measure what a model said of labelled rows."""
    if kind == "regression":
        return {"mse": float(mean_squared_error(y, said, sample_weight=weight))}
    return {
        "accuracy": float(accuracy_score(y, said >= threshold, sample_weight=weight)),
        "brier": float(brier_score_loss(y, said, sample_weight=weight)),
        "roc_auc": float(roc_auc_score(y, said, sample_weight=weight)),
    }


def as_numbers(X):
    two = [c for c in X.columns if X[c].nunique() == 2]
    rest = X.drop(columns=two)
    parts = [pd.get_dummies(X[two], drop_first=True)] if two else []
    parts += [pd.get_dummies(rest)] if rest.shape[1] else []
    return pd.concat(parts, axis=1).to_numpy(dtype=float)


def _model(kind, name, width, rng):
    classes = kind == "classification"
    if name == "boosted":
        made = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
        return made(max_leaf_nodes=8, learning_rate=0.1, max_iter=100, random_state=0)
    linear = LogisticRegression(max_iter=2000) if classes else RidgeCV(np.logspace(-2, 4, 13))
    if name == "restricted":
        seen = np.sort(rng.permutation(width)[: max(1, width // 3)])
        return make_pipeline(make_column_transformer((StandardScaler(), seen)), linear)
    return make_pipeline(StandardScaler(), linear)

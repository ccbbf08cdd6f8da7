"""A sample, a target and its outcomes, drawn from a real table, for benchmarks/labels.py.

The table is the population. "induced": every row has a chance p to be the target's
(`tables_shifts`: a logistic of a random direction, or the rank in a random column), so that
covariate shift holds.
"natural": a column's values tell the two apart, and p(y | x) may differ. "changed": induced, and
the target's outcomes are others on purpose: numbers grow by half a standard deviation, a third of
the zeros become ones. The truth is the number over all rows, weighted by p, with these outcomes.

Half of the drawn rows train a model (boosted trees), the other half are the sample that `estimate`
and `evaluate` see.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
import tables_data
from evaluations_problems import as_numbers, columns, performance
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import f1_score, mean_absolute_error, r2_score
from tables_shifts import target_chance

SHIFTS = ("induced", "natural", "changed")
SIZES, SPARE = (1000, 500), 1.5
"""Rows of the sample and of the target: the most that a table has to spare."""


@dataclass(frozen=True)
class Problem:
    """``said`` is what the model says of the rows; ``truth`` has the mean and the metrics."""

    kind: str
    X: np.ndarray
    y: np.ndarray
    said: np.ndarray
    T: np.ndarray
    y_target: np.ndarray
    said_target: np.ndarray
    truth: dict[str, float]


def draw(name, shift, run):
    """Return a problem, or None where the table is too small or has no such shift."""
    table = tables_data.load(name)
    rng = np.random.default_rng([zlib.crc32(f"labels/{name}/{shift}".encode()), run])
    X, y = columns(name), table.y.astype(float)
    if shift == "natural":
        if table.in_target is None:
            return None
        chance = table.in_target.astype(float)
        X = as_numbers(table.X.drop(columns=table.column))
    else:
        chance = target_chance(table.X, ("direction", "rank")[run % 2], rng)
    in_target = rng.uniform(size=len(y)) < chance
    sample, target = (rng.permutation(np.flatnonzero(part)) for part in (~in_target, in_target))
    fits = [n for n in SIZES if len(sample) >= 2 * n and len(target) >= SPARE * n]
    if not fits:
        return None
    n = fits[0]
    there = changed(table.kind, y, rng) if shift == "changed" else y
    trained, sample, target = sample[:n], sample[n : 2 * n], target[:n]
    if table.kind == "classification" and min(y[trained].sum(), n - y[trained].sum()) < 5:
        return None
    said = fitted(table.kind, X[trained], y[trained], X)
    others = np.setdiff1d(np.flatnonzero(chance > 0), trained)
    p = chance[others]
    truth = measured(table.kind, there[others], said[others], p)
    return Problem(
        table.kind,
        X[sample],
        y[sample],
        said[sample],
        X[target],
        there[target],
        said[target],
        {"mean": float(p @ there[others] / p.sum()), **truth},
    )


def measured(kind, y, said, weight):
    """The metrics of what a model said, over weighted rows."""
    found = performance(kind, y, said, weight=weight)
    if kind == "regression":
        more = {"mae": mean_absolute_error, "r2": r2_score}
    else:
        more, said = {"f1": f1_score}, said >= 0.5
    return found | {name: float(of(y, said, sample_weight=weight)) for name, of in more.items()}


def changed(kind, y, rng):
    """Outcomes of the target that follow another p(y | x)."""
    if kind == "regression":
        return y + 0.5 * y.std()
    return np.where(rng.uniform(size=len(y)) < 1 / 3, 1.0, y)


def fitted(kind, X, y, rows):
    """Train boosted trees; return what they say of all rows."""
    options = {"max_leaf_nodes": 8, "max_iter": 60, "random_state": 0}
    if kind == "regression":
        return HistGradientBoostingRegressor(**options).fit(X, y).predict(rows)
    return HistGradientBoostingClassifier(**options).fit(X, y).predict_proba(rows)[:, 1]

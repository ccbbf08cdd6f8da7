"""Labelled rows, a target and rows that judge the coverage, with the true density ratio.

Real tables: the table is the population, and every row has a chance p to be the target's
(`tables_shifts`; or "hard": a logistic of the linear direction in which a linear model of the
outcome errs more, where plain intervals lose most). The others are the labelled sample's, so that
the density ratio is p / (1 - p) up to a factor. The coverage is that over all rows that are in
neither sample, weighted by the chance that such a row is the target's. Generated problems: fresh
target rows.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeCV

SIZES = {  # labelled rows (half of them calibrate), target rows
    "200": (200, 200),
    "400": (400, 400),
    "1000": (1000, 1000),
    "4000": (4000, 4000),
    "10000": (10_000, 10_000),
    "1000, target of 50": (1000, 50),
}
MOST_COLUMNS, MOST_JUDGES, LEAST_JUDGES, LEAST_CLASS, SPARE = 50, 4000, 100, 12, 1.3


@dataclass(frozen=True)
class Problem:
    """``judges`` are rows of known outcomes and ``weight`` their share of the target."""

    key: str
    kind: str
    X: np.ndarray
    y: np.ndarray
    T: np.ndarray
    judges: np.ndarray
    outcomes: np.ndarray
    weight: np.ndarray
    source_weight: np.ndarray  # the same rows' share of the labelled sample's population
    ratio: Any  # of rows to their true density ratio

    @property
    def judging(self) -> float:
        """Kish's number of the rows that judge."""
        return float(self.weight.sum() ** 2 / (self.weight @ self.weight))


class Lookup:
    """The density ratio of known rows, found by what they hold."""

    def __init__(self, X, ratio):
        self.known = {row.tobytes(): value for row, value in zip(X, ratio, strict=True)}

    def __call__(self, X):
        return np.array([self.known[row.tobytes()] for row in np.ascontiguousarray(X)])


def names(half):
    """Tables of one half that are not too wide."""
    import tables_data
    from evaluations_problems import columns

    known = [name for name in sorted(tables_data.TABLES) if tables_data.half(name) == half]
    return [name for name in known if columns(name).shape[1] <= MOST_COLUMNS]


@cache
def hard_chance(name):
    """Chance of each row to be the target's, the greater the more a linear model errs there."""
    import tables_data
    from evaluations_problems import columns
    from tables_shifts import STRENGTH

    X, y = columns(name), np.asarray(tables_data.load(name).y, dtype=float)
    Z = np.clip((X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12), -3, 3)
    error = np.abs(y - RidgeCV(np.logspace(-2, 4, 13)).fit(Z, y).predict(Z))
    score = RidgeCV(np.logspace(-2, 4, 13)).fit(Z, error).predict(Z)
    score = np.clip((score - score.mean()) / score.std(), -3, 3)
    return 1 / (1 + np.exp(-STRENGTH * score))


def of_table(name, shift, size, run):
    """Return a problem, or None where the table is too small."""
    import tables_data
    from evaluations_problems import columns
    from tables_shifts import target_chance

    table, (N, M) = tables_data.load(name), SIZES[size]
    rng = np.random.default_rng([zlib.crc32(f"intervals/{name}/{shift}/{size}".encode()), run])
    X, y = np.ascontiguousarray(columns(name)), np.asarray(table.y)
    p = hard_chance(name) if shift == "hard" else target_chance(table.X, shift, rng)
    in_target = rng.uniform(size=len(y)) < p
    source, target = (rng.permutation(np.flatnonzero(part)) for part in (~in_target, in_target))
    M = min(M, int(len(target) / SPARE))
    if len(source) < N or M < min(50, SIZES[size][1]) or M < SIZES[size][1] / 2:
        return None
    S, K = len(source), len(target)
    labelled, seen = source[:N], target[:M]
    if table.kind == "classification" and np.bincount(y[labelled]).min() < LEAST_CLASS:
        return None
    rest = rng.permutation(np.setdiff1d(np.arange(len(y)), np.concatenate([labelled, seen])))
    rest = rest[:MOST_JUDGES]
    left = p[rest] * (1 - M / K) + (1 - p[rest]) * (1 - N / S)  # chance to be in neither sample
    problem = Problem(
        f"{name}/{shift}/{size}/{run}",
        table.kind,
        X[labelled],
        y[labelled],
        X[seen],
        X[rest],
        y[rest],
        p[rest] / left,
        (1 - p[rest]) / left,
        Lookup(X, p / (1 - p)),
    )
    return problem if problem.judging >= LEAST_JUDGES else None


# generated: features of the sample and of the target, and the ratio of the two


def _moved(d, by):
    """Normal features, of which the first has moved."""

    def rows(rng, n, there):
        X = rng.normal(size=(n, d))
        X[:, 0] += by * there
        return X

    return rows, lambda X: np.exp(by * X[:, 0] - by**2 / 2)


LEVELS = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]])


def _levels():
    """Three columns of four levels, one-hot: two of them are other levels in the target."""

    def rows(rng, n, there):
        codes = [rng.choice(4, size=n, p=LEVELS[int(there and k < 2)]) for k in range(3)]
        return np.concatenate([np.eye(4)[code] for code in codes], axis=1)

    odds = LEVELS[1] / LEVELS[0]
    return rows, lambda X: (X[:, :4] @ odds) * (X[:, 4:8] @ odds)


def _uncovered():
    """Uniform features: a quarter of the target lies beyond all rows of the sample."""

    def rows(rng, n, there):
        X = rng.uniform(size=(n, 5))
        X[:, 0] += 0.5 * rng.uniform(size=n) * there
        return X

    def ratio(X):
        return np.where(X[:, 0] <= 1, 2 * np.minimum(X[:, 0], 0.5), np.inf)

    return rows, ratio


def _spread(X, rng):
    return X[:, 0] + X[:, 1] + np.exp(0.5 * X[:, 0]) * rng.normal(size=len(X))


def _curved(X, rng):
    return X[:, 0] ** 2 + X[:, 1] + rng.normal(size=len(X))


def _by_level(X, rng):
    scale = 0.5 + X[:, :4] @ np.arange(4.0) + 0.5 * X[:, 4:8] @ np.arange(4.0)
    return X[:, 8] - X[:, 9] + scale * rng.normal(size=len(X))


def _classes(X, rng):
    """Four classes, the harder to tell apart the greater the first feature."""
    means = 3 * X[:, 1:5] * np.exp(-0.6 * X[:, :1])
    return np.argmax(means + rng.gumbel(size=means.shape), axis=1)


GENERATED = {
    "heteroscedastic": ("regression", _moved(5, 0.8), _spread),
    "curved": ("regression", _moved(5, 0.8), _curved),
    "levels, one-hot": ("regression", _levels(), _by_level),
    "one of 20 features": ("regression", _moved(20, 0.8), _spread),
    "one of 50 features": ("regression", _moved(50, 0.8), _spread),
    "four classes": ("classification", _moved(5, 0.8), _classes),
    "unshifted": ("regression", _moved(5, 0.0), _spread),
}
LITTLE = {
    "moved by 1.5": ("regression", _moved(5, 1.5), _spread),
    "moved by 2": ("regression", _moved(5, 2.0), _spread),
    "moved by 3": ("regression", _moved(5, 3.0), _spread),
    "a quarter beyond": ("regression", _uncovered(), _spread),
}


def generated(name, size, run):
    """Draw a generated problem."""
    kind, (rows, ratio), outcome = {**GENERATED, **LITTLE}[name]
    N, M = SIZES[size]
    rng = np.random.default_rng([zlib.crc32(f"intervals/{name}/{size}".encode()), run])
    X, T, judges, others = (
        rows(rng, n, there) for n, there in ((N, 0), (M, 1), (MOST_JUDGES, 1), (MOST_JUDGES, 0))
    )
    is_target = np.arange(2 * MOST_JUDGES) < MOST_JUDGES
    both = np.concatenate([judges, others])
    return Problem(
        f"{name}/generated/{size}/{run}",
        kind,
        X,
        outcome(X, rng),
        T,
        both,
        outcome(both, rng),
        is_target.astype(float),
        (~is_target).astype(float),
        ratio,
    )

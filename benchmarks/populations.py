"""Generated populations with known truth, of several benchmarks.

`PROBLEMS`: six, classification and regression, with a moderate shift and without any. In the
discrete version the features are cut to a few levels before the outcome is drawn, so that rows
repeat heavily, the truth is a function of the cut features, and covariate shift holds exactly.

`POPULATIONS`: four features, of which the target's first two have another mean and spread; cut to
four levels in the discrete version. "one of 20": twenty features of which one matters. "no shift"
is the control. Their means are known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import expit
from sklearn.preprocessing import StandardScaler

from covshift.datasets import make_survey, survey_probability

MOVE, SPREAD = 0.8, 0.8  # of the shifted features in the target; the training rows have 0 and 1

FRESH = 5000  # target rows that score a model and take no part in its fit


@dataclass(frozen=True)
class Problem:
    """How rows are drawn and cut, and what the outcome depends on."""

    classify: bool
    draw: Callable[[Any, int, bool], np.ndarray]  # generator, rows, whether from the target
    truth: Callable[[np.ndarray], np.ndarray]  # probability, or mean outcome
    cut: Callable[[np.ndarray], np.ndarray]
    show: Callable[[np.ndarray], np.ndarray] = lambda X: X  # rows as a model sees them
    noise: Callable[[Any, int], np.ndarray] = lambda rng, size: rng.normal(size=size)


@dataclass(frozen=True)
class Sample:
    """Scaled training rows with outcomes, target rows, and fresh target rows with the truth."""

    classify: bool
    X: np.ndarray
    y: np.ndarray
    T: np.ndarray
    fresh: np.ndarray
    truth: np.ndarray


def sample(name: str, discrete: bool, shifted: bool, N: int, M: int, seed: int) -> Sample:
    """Draw N training and M target rows of a problem; seeds make equal samples equal."""
    problem = PROBLEMS[name]
    number = list(PROBLEMS).index(name)
    rng = np.random.default_rng([seed, number, discrete, shifted, N, M])
    parts = [problem.draw(rng, N, False)]
    parts += [problem.draw(rng, rows, shifted) for rows in (M, FRESH)]
    X, T, fresh = (problem.cut(part) if discrete else part for part in parts)
    f = problem.truth(X)
    y = (rng.uniform(size=N) < f).astype(int) if problem.classify else f + problem.noise(rng, N)
    truth = problem.truth(fresh)
    if discrete:
        X, T, fresh = (problem.show(part) for part in (X, T, fresh))
    scaler = StandardScaler().fit(X)
    return Sample(
        problem.classify, scaler.transform(X), y, *map(scaler.transform, (T, fresh)), truth
    )


def normal(n: int, moved: int) -> Callable[[Any, int, bool], np.ndarray]:
    """Independent normal features; in the target the first ``moved`` have another mean, spread."""

    def draw(rng, rows, target):
        X = rng.normal(size=(rows, n))
        if target:
            X[:, :moved] = MOVE + SPREAD * X[:, :moved]
        return X

    return draw


def heavy(rng, rows, target):
    """Features with Student's distribution, three degrees of freedom."""
    X = rng.standard_t(3, size=(rows, 3))
    X[:, :2] += MOVE * target
    return X


def population(rng, rows, target):
    """Answers to the survey, or with ``target`` people of the population."""
    seed = int(rng.integers(1 << 31))
    if target:
        return make_survey(1, rows, random_state=seed).X_target
    return make_survey(rows, 1, random_state=seed).X


def levels(*thresholds: float) -> Callable[[np.ndarray], np.ndarray]:
    """Cut every feature at the thresholds, into whole numbers around zero."""

    def cut(X):
        return np.digitize(X, thresholds) - len(thresholds) / 2

    return cut


def one_hot(X):
    """One column for each of the five levels -2 to 2 of a single feature."""
    return (X == np.arange(-2, 3)).astype(float)


def survey_groups(X):
    """Age, income, education, visits and body mass index in groups; households of one to three."""
    X = X.copy()
    for column, (edges, values) in {
        0: ((35, 50, 65), (27, 43, 58, 75)),
        1: ((20_000, 35_000), (14_000, 27_000, 50_000)),
        2: ((12, 15), (10, 13, 17)),
        4: ((2, 5), (1, 3, 8)),
        7: ((25, 30), (23, 27, 33)),
    }.items():
        X[:, column] = np.array(values)[np.digitize(X[:, column], edges)]
    X[:, 3] = np.minimum(X[:, 3], 3)
    return X


PROBLEMS = {
    "additive": Problem(
        True,
        normal(4, 2),
        lambda X: expit(X[:, 0] + X[:, 1] ** 2 - 1 + np.sin(2 * X[:, 2])),
        levels(-1.0, 0.0, 1.0),
    ),
    "interaction": Problem(
        True,
        normal(4, 2),
        lambda X: expit(2 * X[:, 0] * X[:, 1] + X[:, 2]),
        lambda X: np.where(X > 0.4, 1.0, -1.0),
    ),
    "one of 20": Problem(
        False,
        normal(20, 2),
        lambda X: X[:, 0] + 0.5 * X[:, 0] ** 2,
        levels(-0.5, 0.5),
    ),
    "one feature": Problem(
        False,
        normal(1, 1),
        lambda X: np.sin(2 * X[:, 0]) + 0.5 * X[:, 0],
        levels(-1.2, -0.4, 0.4, 1.2),
        show=one_hot,
    ),
    "heavy tails": Problem(
        False,
        heavy,
        lambda X: np.abs(X[:, 0]) + X[:, 1],
        levels(-1.0, 0.0, 1.0),
        noise=lambda rng, size: rng.standard_t(2.5, size=size),
    ),
    "survey": Problem(
        True,
        population,
        survey_probability,
        survey_groups,
    ),
}

MOVED, NARROWED, THRESHOLDS = 0.6, 0.8, (-0.8, 0.0, 0.8)

OUTCOMES = {
    "linear": lambda X: X[:, 0] + X[:, 1] + 0.5 * X[:, 2],
    "curved": lambda X: X[:, 0] ** 2 + np.sin(2 * X[:, 1]) + 0.5 * X[:, 2],
    "interaction": lambda X: 2 * X[:, 0] * X[:, 1] + X[:, 2],
}


def rows_of(rng, size, target, discrete):
    X = rng.normal(size=(size, 4))
    if target:
        X[:, :2] = MOVED + NARROWED * X[:, :2]
    return levels(*THRESHOLDS)(X) if discrete else X


def true_weights(X, discrete):
    """Density of the target over that of the training rows, from the first two features."""
    before, after = stats.norm(), stats.norm(MOVED, NARROWED)
    if not discrete:
        return np.prod(after.pdf(X[:, :2]) / before.pdf(X[:, :2]), axis=1)
    edges = np.array([-np.inf, *THRESHOLDS, np.inf])
    ratio = np.diff(after.cdf(edges)) / np.diff(before.cdf(edges))
    codes = (X[:, :2] + len(THRESHOLDS) / 2).astype(int)
    return np.prod(ratio[codes], axis=1)


MANY = 2_000_000


@dataclass(frozen=True)
class Population:
    """How rows are drawn (rng, size, target), and the mean of y given them."""

    rows: Callable[[np.random.Generator, int, bool], np.ndarray]
    mean: Callable[[np.ndarray], np.ndarray]
    binary: bool = False

    def draw(self, rng, N, M):
        """Return X, y, T."""
        X, T = self.rows(rng, N, False), self.rows(rng, M, True)
        mean = self.mean(X)
        if self.binary:
            return X, (rng.uniform(size=N) < mean) * 1.0, T
        return X, mean + rng.normal(size=N), T


def shifted(rng, size, target):
    return rows_of(rng, size, target, False)


def in_levels(rng, size, target):
    return rows_of(rng, size, target, True)


def alike(rng, size, target):
    return rows_of(rng, size, False, False)


def one_of_20(rng, size, target):
    X = rng.normal(size=(size, 20))
    X[:, 0] += 0.6 * target
    return X


def chance(X):
    return 1 / (1 + np.exp(1.5 - X[:, 0] - 0.7 * X[:, 1]))


POPULATIONS = {
    "linear": Population(shifted, OUTCOMES["linear"]),
    "curved": Population(shifted, OUTCOMES["curved"]),
    "interaction": Population(shifted, OUTCOMES["interaction"]),
    "discrete": Population(in_levels, OUTCOMES["curved"]),
    "share": Population(shifted, chance, binary=True),
    "one of 20": Population(one_of_20, lambda X: 2 * np.sin(X[:, 0])),
    "no shift": Population(alike, OUTCOMES["curved"]),
}


@lru_cache
def true_mean(name):
    """Mean of the outcome in the target."""
    problem = POPULATIONS[name]
    rng = np.random.default_rng(0)
    parts = [problem.mean(problem.rows(rng, MANY // 10, True)).mean() for _ in range(10)]
    return float(np.mean(parts))

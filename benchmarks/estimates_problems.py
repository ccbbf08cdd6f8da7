"""Populations with known means, for the coverage of `covshift.estimate`.

Four features, of which the target's first two have another mean and spread (those of
answers_coverage.py); cut to four levels in the discrete version. "one of 20": twenty features of
which one matters. "no shift" is the control.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from answers_coverage import OUTCOMES, rows_of

TRUTH_ROWS = 2_000_000


@dataclass(frozen=True)
class Problem:
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


def levels(rng, size, target):
    return rows_of(rng, size, target, True)


def alike(rng, size, target):
    return rows_of(rng, size, False, False)


def one_of_20(rng, size, target):
    X = rng.normal(size=(size, 20))
    X[:, 0] += 0.6 * target
    return X


def chance(X):
    return 1 / (1 + np.exp(1.5 - X[:, 0] - 0.7 * X[:, 1]))


PROBLEMS = {
    "linear": Problem(shifted, OUTCOMES["linear"]),
    "curved": Problem(shifted, OUTCOMES["curved"]),
    "interaction": Problem(shifted, OUTCOMES["interaction"]),
    "discrete": Problem(levels, OUTCOMES["curved"]),
    "share": Problem(shifted, chance, binary=True),
    "one of 20": Problem(one_of_20, lambda X: 2 * np.sin(X[:, 0])),
    "no shift": Problem(alike, OUTCOMES["curved"]),
}


@lru_cache
def truth(name):
    """Mean of the outcome in the target."""
    problem = PROBLEMS[name]
    rng = np.random.default_rng(0)
    parts = [problem.mean(problem.rows(rng, TRUTH_ROWS // 10, True)).mean() for _ in range(10)]
    return float(np.mean(parts))

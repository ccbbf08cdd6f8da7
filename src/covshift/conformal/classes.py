"""Scores of classes: how unusual each class would be, from the probabilities of a classifier.

With p(y | x) and the classes of a row in descending order of p,

- "lac": 1 - p(y | x). The smallest sets on average (Sadinle, Lei and Wasserman 2019).
- "aps": the probability of all classes up to y, equal ones in the order of the classes. Sets that
adapt to hard rows (Romano, Sesia and Candès 2020). Randomised: of y itself a random part counts.
- "raps": aps + penalty * max(0, rank of y - start), which keeps sets small where there are many
  classes (Angelopoulos, Bates, Jordan and Malik 2021).

A set holds the classes whose score is at most the threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..numerics.array import Flags, Real
from .held_out import plus_sets
from .scores import Thresholds

SCORES = ("lac", "aps", "raps")


class ClassScore(NamedTuple):
    """A score, and the penalty of "raps"."""

    name: str
    penalty: float = 0.01
    start: int = 2

    def matrix(self, p: Real, u: Real | None = None) -> Real:
        """Score every class (N, K) from probabilities (N, K); ``u`` (N,) randomises."""
        if self.name == "lac":
            return 1.0 - p
        order = np.argsort(-p, axis=1, kind="stable")
        ranked = np.take_along_axis(p, order, axis=1)
        ranks = np.empty_like(order)
        np.put_along_axis(ranks, order, np.arange(p.shape[1])[None, :], axis=1)
        total = np.take_along_axis(np.cumsum(ranked, axis=1), ranks, axis=1)
        if u is not None:
            total = total - (1 - u[:, None]) * p
        if self.name == "raps":
            total = total + self.penalty * np.maximum(0, ranks + 1 - self.start)
        return np.asarray(total)


class ClassScores(NamedTuple):
    """Scores of all classes for each row."""

    matrix: Real  # (n, K)
    classes: NDArray[Any]  # (K,)

    def scores(self, y: NDArray[Any]) -> Real:
        """Score of the class that each row has."""
        return np.asarray(self.matrix[np.arange(len(y)), np.searchsorted(self.classes, y)])

    def within(self, which: Any, limits: Thresholds) -> tuple[Flags, Flags]:
        """Whether classes are in the sets, and could be left out, by a threshold for each row."""
        return limits.admit(self.matrix[which]), ~np.isposinf(limits.scores)[:, None]

    @staticmethod
    def by_all(
        scored: Sequence[ClassScores], which: Any, rows: tuple[Any, ...], u: Real | None
    ) -> tuple[Flags, Flags]:
        """The same by the models of all folds."""
        fold, scores, weights, own, coverage = rows
        matrices, total = [one.matrix[which] for one in scored], weights.sum()
        member = plus_sets(matrices, fold, scores, weights, own, coverage, u)
        alone = (coverage * own > (1 - coverage) * total) | (total + own == 0)
        return member, ~alone[:, None]

"""Quantiles of weighted scores, with the new row's own weight among them.

Calibration rows i have scores s_i and weights w_i, a new row the weight v. If the weights are the
density ratio of target and sample, the score of a target row is exchangeable with them in the
weighted sense, and with W = sum w the threshold

q = min { c : sum_i w_i 1[s_i <= c] >= (1 - alpha) (W + v) }

is not exceeded with probability 1 - alpha at least. Where the new row alone weighs more than
alpha of the whole, no finite threshold will do, and it is infinite. Randomised, with u uniform on
[0, 1], c belongs to the set if

sum_i w_i 1[s_i > c] + u (sum_i w_i 1[s_i = c] + v) > alpha (W + v) ,

and the probability is 1 - alpha exactly. All such c are below a threshold, which may itself be
among them or not: an outcome that ties with it is inside with the probability that is left.

Where unobserved factors change the odds of being in the target up to L-fold, the weights are
known up to [w / L, w L], and the worst ones are w / L up to the threshold and w L beyond it:

sum w 1[s <= c] / L >= (1 - alpha) (sum w 1[s <= c] / L + L sum w 1[s > c] + L v) ,

which is the threshold above at the coverage (1 - alpha) L^2 / (alpha + (1 - alpha) L^2): its odds
are L^2 times as large.

Sources: Tibshirani, Foygel Barber, Candès and Ramdas (2019), *Conformal prediction under
covariate shift*; Vovk, Gammerman and Shafer (2005) for the randomised form; Jin, Ren and Candès
(2023), *Sensitivity analysis of individual treatment effects: a robust conformal inference
approach*. Cost: one sort, then O(log n) for each new row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..numerics.array import Flags, Real

_ROUNDING = 1e-12  # relative: levels that differ by less are equal


def at_worst(coverage: float, odds: float) -> float:
    """Coverage to ask for under known weights, so that it holds where they are off ``odds``-fold.

    >>> at_worst(0.9, 1.0), round(at_worst(0.9, 2.0), 4)
    (0.9, 0.973)
    """
    if odds == 1:
        return coverage
    return coverage * odds**2 / (1 - coverage + coverage * odds**2)


def reached(weights: Real, own: Any) -> Any:
    """Largest coverage with a finite threshold: that of the largest score of all rows (n,)."""
    total = weights.sum()
    return total / (total + own)


def suffice(weights: Real, coverage: float) -> bool:
    """Whether rows (n,) reach the coverage of a new row that weighs as they do on average."""
    if not len(weights):
        return False
    return bool(coverage * (1 - _ROUNDING) <= reached(weights, weights @ weights / weights.sum()))


class Thresholds(NamedTuple):
    """For each new row the largest score of its set, or where ``open`` the least above it."""

    scores: Real  # (m,): infinite where all scores belong to the set, or minus infinite where none
    open: Flags  # (m,): whether the threshold itself is left out

    def admit(self, scores: Real) -> Flags:
        """Which of the scores (m, K) belong to the set of their row."""
        limit = self.scores[:, None]
        return np.asarray(np.where(self.open[:, None], scores < limit, scores <= limit))


@dataclass(frozen=True)
class ScoreDistribution:
    """Scores in ascending order, each once, and the weight of all rows up to it."""

    scores: Real  # (n,)
    upto: Real  # (n,): nondecreasing
    total: float

    @classmethod
    def of(cls, scores: Real, weights: Real) -> ScoreDistribution:
        """Sort the scores (n,) of rows with weights (n,); rows of weight zero are not there."""
        there = weights > 0
        values, place = np.unique(scores[there], return_inverse=True)
        mass = np.bincount(place.reshape(-1), weights[there], minlength=len(values))
        return cls(values, np.cumsum(mass), float(mass.sum()))

    def thresholds(self, coverage: Any, own: Real, u: Real | None = None) -> Thresholds:
        """Return the threshold for new rows of weight ``own`` (m,); infinite where none will do.

        ``u`` (m,) are the random numbers of the randomised form; without them it is the
        conservative one.
        """
        known = np.isfinite(own)
        own = np.where(known, own, 0.0)
        whole = self.total + own
        needed = coverage * whole if u is None else whole * coverage - (1 - u) * own
        place = np.searchsorted(self.upto, needed * (1 - _ROUNDING), side="left")
        found = np.append(self.scores, np.inf)[np.where(known, place, len(self.scores))]
        if u is None or not len(self.scores):
            return Thresholds(found, np.zeros(len(own), dtype=bool))
        tied = np.diff(self.upto, prepend=0.0)
        at = np.minimum(place, len(tied) - 1)
        beyond = self.total - self.upto[at] + u * (tied[at] + own)
        excluded = (
            known & (place < len(tied)) & (beyond <= (1 - coverage) * whole * (1 + _ROUNDING))
        )
        found[known & (needed <= 0)] = -np.inf
        return Thresholds(found, excluded)

    def covers_own(self, coverage: float, scores: Real, u: Real | None = None) -> Flags:
        """Whether the threshold from all other rows covers each row, as if it were a new one."""
        below = np.concatenate([[0.0], self.upto])
        before = below[np.searchsorted(self.scores, scores, side="left")]
        if u is not None:  # of the rows that tie with it, itself among them, a part counts
            tied = below[np.searchsorted(self.scores, scores, side="right")] - before
            before = before + (1 - u) * tied
        return np.asarray(before < coverage * self.total * (1 - _ROUNDING))

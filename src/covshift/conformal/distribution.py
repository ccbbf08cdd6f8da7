"""Quantiles of weighted scores, with the new row's own weight among them.

Calibration rows i have scores s_i and weights w_i, a new row the weight v. If the weights are the
density ratio of target and sample, the score of a target row is exchangeable with them in the
weighted sense, and with W = sum w the threshold

    q = min { c : sum_i w_i 1[s_i <= c] >= (1 - alpha) (W + v) }

is not exceeded with probability 1 - alpha at least. Where the new row alone weighs more than alpha
of the whole, no finite threshold will do, and it is infinite. Randomised, with u uniform on
[0, 1], c belongs to the set if

    sum_i w_i 1[s_i > c] + u (sum_i w_i 1[s_i = c] + v) > alpha (W + v) ,

and the probability is 1 - alpha exactly. All such c are below a threshold, which may itself be
among them or not: an outcome that ties with it is inside with the probability that is left.

Sources: Tibshirani, Foygel Barber, Candès and Ramdas (2019), *Conformal prediction under covariate
shift*; Vovk, Gammerman and Shafer (2005) for the randomised form. Cost: one sort, then O(log n) for
each new row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from .._fields import NONNEGATIVE, Kind, Reals
from .._types import Flags, Real

_ROUNDING = 1e-12  # relative: levels that differ by less are equal


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

    _saved: ClassVar[dict[str, Kind]] = {
        "scores": Reals("n"),
        "upto": Reals("n", least=0),
        "total": NONNEGATIVE,
    }

    @classmethod
    def of(cls, scores: Real, weights: Real) -> ScoreDistribution:
        """Sort the scores (n,) of rows with weights (n,); rows of weight zero are not there."""
        there = weights > 0
        values, place = np.unique(scores[there], return_inverse=True)
        mass = np.bincount(place.reshape(-1), weights[there], minlength=len(values))
        return cls(values, np.cumsum(mass), float(mass.sum()))

    def thresholds(self, coverage: float, own: Real, u: Real | None = None) -> Thresholds:
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

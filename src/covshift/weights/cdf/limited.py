"""CDF weights within limits: those of the same penalty, clipped."""

from __future__ import annotations

from typing import Any

from ..._types import Real
from ...exceptions import InputError
from .._limits import clipped, inside, only_one
from ..base import Weighter
from .matching import Match, Matching
from .thresholds import ThresholdMatching


class WithinLimits(Weighter):
    """What `CDFWeights` does with ``limits``, after it has found the weights without them."""

    views: str
    symmetric: bool
    limits: Any
    tol: float
    max_iter: int
    mismatch_: float
    _match: Match

    def _within_limits(self, problem: Matching | ThresholdMatching, match: Match) -> Real:
        """Weights of a match; with limits that these exceed, those of the same penalty within."""
        w = problem.weights(match)
        if self.limits is None:
            return w
        self._unlimited = w / float(self._own @ w)
        if inside(self._unlimited, self.limits):
            return w
        self._match = self._limited(problem, match)
        self.mismatch_ = self._match.mismatch
        return clipped(problem.weights(self._match), self.limits)

    def _limited(self, problem: Matching | ThresholdMatching, match: Match) -> Match:
        if only_one(self.limits):
            return problem.unweighted()
        low, high = (float(end) for end in self.limits)
        if isinstance(problem, ThresholdMatching):
            return problem.limited(low, high).solve(match.reg, match, min(self.tol, 1e-7))
        if problem.K is None:
            raise InputError(
                f"limits with views={self.views!r} and symmetric={self.symmetric!r} need the dense "
                f"solver for {problem.N} rows. Pass solver='dense', or use views='additive' and "
                "symmetric=False."
            )
        return problem.within(match.reg, low, high)

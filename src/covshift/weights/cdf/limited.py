"""CDF weights within limits: those of the same penalty, clipped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._types import Real
from ...exceptions import InputError
from ...operators.lines.vectors import LineTarget
from .._limits import clipped, inside, only_one
from ..base import Weighter
from .masses import unequal_masses, with_mass
from .matching import Match, Matching
from .thresholds import LocalParts, ThresholdMatching
from .views import Target


class WithinLimits(Weighter):
    """What `CDFWeights` does with ``limits``, after it has found the weights without them."""

    views: str
    symmetric: bool
    limits: Any
    tol: float
    max_iter: int
    mismatch_: float
    _match: Match
    _problem: Callable[[Real, Real, Target], Matching | ThresholdMatching]

    def _within_limits(self, X: Real, target: Target, match: Match) -> Real:
        """Weights of a match; with limits that these exceed, those of the same penalty within."""
        w = match.w if len(match.w) else match.ratio(target.rows(X))
        if self.limits is None:
            return w
        self._unlimited = w / float(self._own @ w)
        if inside(self._unlimited, self.limits):
            return w
        self._match = self._limited(X, target, match)
        self.mismatch_ = self._match.mismatch
        return clipped(self._match.ratio(target.rows(X)), self.limits)

    def _limited(self, X: Real, target: Target, match: Match) -> Match:
        problem = self._problem(X, self._own, target)
        if only_one(self.limits):
            return problem.unweighted()
        low, high = (float(end) for end in self.limits)
        if isinstance(problem, Matching) and problem.K is not None:
            return problem.within(match.reg, low, high)
        if not isinstance(target, LineTarget):
            raise InputError(
                f"limits with views={self.views!r} and symmetric={self.symmetric!r} need the dense "
                f"solver for {len(X)} rows. Pass solver='dense', or use views='additive' and "
                "symmetric=False."
            )
        parts = LocalParts([with_mass(target.rows(X), unequal_masses(self._own))])
        made = ThresholdMatching(parts, len(X), target, max_iter=self.max_iter, limits=(low, high))
        return made.solve(match.reg, match, min(self.tol, 1e-7))

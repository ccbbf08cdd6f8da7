"""The problem of the CDF weights, and its exact solution for few rows (theory, section 7).

    minimise  |R w / N - F|^2 + (reg / N^2) |w|^2   over   w >= 0,  mean w = 1 .

Times N^2 / 2 this is w'Kw / 2 - N b'w + reg |w|^2 / 2 with K = R'R and b = R'F. The multiplier c of
the mean then gives every weight, of training rows and of new ones, in closed form:

    w(x) = [(c + N b(x) - K(x, X) w) / reg]_+  =  [(c + r(x)'(N F - R w)) / reg]_+ ,

r(x) the column of R that belongs to x. Rows of unequal mass: see `masses`; the closed form is the
same, with g w in place of w on the right.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...numerics.array import Real
from ...numerics.qp import solve_simplex
from .views import FactorRows, TargetSide


@dataclass(frozen=True)
class Match:
    """The weights at one penalty, and what gives those of new rows."""

    w: Real  # (N,)
    reg: float
    level: float  # c
    tilt: Real  # (m,): N F - R w
    mismatch: float  # |R w / N - F|^2
    bound: float  # no weights have a smaller mismatch than this
    converged: bool = True

    @classmethod
    def at(
        cls,
        w: Real,
        reg: float,
        level: float,
        tilt: Real,
        residual: Real,
        below: float,
        converged: bool = True,
    ) -> Match:
        """Bound the mismatch from the residual R w / N - F.

        It is a function on which sample and target differ; no reweighting takes its mean below its
        smallest value, which is ``below`` the weighted mean.
        """
        mismatch = float(residual @ residual)
        bound = max(mismatch + below, 0.0) ** 2 / mismatch if mismatch > 0 else 0.0
        return cls(w, reg, level, tilt, mismatch, bound, converged)

    def ratio(self, rows: FactorRows) -> Real:
        """Weights of other rows, given their R."""
        seen = rows.rmatvec(self.tilt)
        if np.isinf(self.reg):
            return 0.0 * seen + 1.0
        return (self.level + seen).clip(0.0, None) / self.reg


class Matching:
    """Training rows X (N, n), of some ``mass`` or of mass one, matched to a target by a dense K."""

    def __init__(self, X: Real, target: TargetSide, mass: Any = 1.0) -> None:
        self.mass, self._limits = np.full(len(X), 1.0) * mass, (0.0, np.inf)
        self.N, self.target = len(X), target
        self.rows = target.rows(X)
        self.b = self.N * self.rows.rmatvec(target.F)  # N b
        self.K = self.rows.gram()

    def unweighted(self) -> Match:
        """The limit of an infinite penalty: all weights one."""
        return self._match(np.ones(self.N), np.inf, 0.0)

    def solve(self, reg: float, start: Match, tol: float) -> Match:
        """Weights at the penalty ``reg``, from those at a neighbouring one; whatever ``tol``."""
        H = self.K.copy()
        H[np.diag_indices_from(H)] += reg / self.mass
        low, high = self._limits
        given = {"lower": low * self.mass, "upper": high * self.mass}
        first = None if high < np.inf else start.w > 0
        exact = solve_simplex(H, self.b, total=float(self.N), tol=1e-15, start=first, **given)
        return self._match(exact.w / self.mass, reg, exact.level)

    def coarse(self, size: int) -> None:
        """Rows of one dimension alone have thresholds to merge; see `ThresholdMatching`."""
        return None

    def weights(self, match: Match) -> Real:
        """Weights of the rows."""
        return match.w

    def limited(self, low: float, high: float) -> Matching:
        """Return the same problem for weights within limits."""
        part = copy(self)
        part._limits = low, high
        return part

    def _match(self, w: Real, reg: float, level: float) -> Match:
        counted = self.mass * w
        residual = self.rows.matvec(counted) / self.N - self.target.F
        witness = self.rows.rmatvec(residual)
        below = float(witness.min()) - float(counted @ witness) / self.N
        return Match.at(w, reg, level, -self.N * residual, residual, below)

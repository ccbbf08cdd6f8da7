"""The problem of the CDF weights, and its two solvers (theory, section 7).

    minimise  |R w / N - F|^2 + (reg / N^2) |w|^2   over   w >= 0,  mean w = 1 .

Times N^2 / 2 this is w'Kw / 2 - N b'w + reg |w|^2 / 2 with K = R'R and b = R'F. The multiplier c of
the mean then gives every weight, of training rows and of new ones, in closed form:

    w(x) = [(c + N b(x) - K(x, X) w) / reg]_+  =  [(c + r(x)'(N F - R w)) / reg]_+ ,

r(x) the column of R that belongs to x. Rows of unequal mass: see `masses`; the closed form is the
same, with g w in place of w on the right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...numerics.array import Real
from ...numerics.qp import solve_simplex
from .newton import solve_ridge_simplex
from .views import RowFactor, TargetSide


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

    def ratio(self, rows: RowFactor) -> Real:
        """Weights of other rows, given their R."""
        seen = rows.tilted(self.tilt)
        if np.isinf(self.reg):
            return 0.0 * seen + 1.0
        return (self.level + seen).clip(0.0, None) / self.reg


@dataclass(frozen=True)
class _Gram:
    """R'R of columns that are multiplied by ``root``, by its products."""

    rows: RowFactor
    root: Real  # (N,)

    def product(self, v: Real) -> Real:
        return self.root * self.rows.rmatvec(self.rows.matvec(self.root * v))


class Matching:
    """Training rows X (N, n), of some ``mass`` or of mass one, to be matched to a target."""

    def __init__(
        self, X: Real, target: TargetSide, *, mass: Real | None = None, dense: bool
    ) -> None:
        self.mass = np.ones(len(X)) if mass is None else mass
        self.N, self.target = len(X), target
        self.rows = target.rows(X)
        self.b = self.N * self.rows.rmatvec(target.F)  # N b
        self.K = self.rows.gram() if dense else None

    def unweighted(self) -> Match:
        """The limit of an infinite penalty: all weights one."""
        return self._match(np.ones(self.N), np.ones(self.N), np.inf, 0.0, True)

    def solve(self, reg: float, start: Match, tol: float) -> Match:
        """Weights at the penalty ``reg``, from those at a neighbouring one.

        ``tol`` bounds the root mean square error of the weights; the dense solver is exact.
        """
        if self.K is not None:
            H = self.K.copy()
            H[np.diag_indices_from(H)] += reg / self.mass
            free = start.w > 0
            exact = solve_simplex(H, self.b, total=float(self.N), start=free, tol=1e-15)
            w = exact.w / self.mass
            return self._match(w, w, reg, exact.level, True)
        root = np.sqrt(self.mass)
        found = solve_ridge_simplex(
            _Gram(self.rows, root),
            root * self.b,
            reg=reg,
            total=float(self.N),
            price=root,
            start=root * start.w,
            tol=tol,
        )
        return self._match(found.w / root, found.v / root, reg, found.level, found.converged)

    def coarse(self, size: int) -> None:
        """Rows of one dimension alone have thresholds to merge; see `ThresholdMatching`."""
        return None

    def weights(self, match: Match) -> Real:
        """Weights of the rows."""
        return match.w

    def within(self, reg: float, low: float, high: float) -> Match:
        """Weights at the penalty ``reg`` within limits, of rows few enough for a dense K."""
        assert self.K is not None
        H, g = self.K.copy(), self.mass
        H[np.diag_indices_from(H)] += reg / g
        exact = solve_simplex(
            H, self.b, total=float(self.N), lower=low * g, upper=high * g, tol=1e-15
        )
        w = exact.w / g
        return self._match(w, w, reg, exact.level, True)

    def _match(self, w: Real, v: Real, reg: float, level: float, converged: bool) -> Match:
        """``v`` is w up to the solver's error; with it the closed form reproduces w exactly."""
        F, N, g = self.target.F, self.N, self.mass
        residual = self.rows.matvec(g * w) / N - F
        mismatch = float(residual @ residual)
        tilt = -N * residual if v is w else N * F - self.rows.matvec(g * v)
        # The residual is a function on which sample and target differ; no reweighting takes its
        # mean below its smallest value.
        witness = self.rows.rmatvec(residual)
        room = mismatch + float(witness.min()) - float((g * w) @ witness) / N
        bound = max(room, 0.0) ** 2 / mismatch if mismatch > 0 else 0.0
        return Match(w, reg, level, tilt, mismatch, bound, converged)

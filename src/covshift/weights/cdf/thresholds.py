"""CDF weights solved among the thresholds: the rows are met in sums only, wherever they lie.

The same problem as `matching`, in any views, by `solve_dual_newton`. What a block of rows adds is a
plain value, so that blocks may be files or the partitions of a cluster. The same lines run on
arrays of NumPy and on tensors.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, Protocol

import numpy as np

from ...data.row_weights import masses
from ...numerics.array import Array, Real
from ...operators import Lines
from ...operators.line_groups import Coarse, coarse_size, crossed, grouped, regrouped
from .matching import Match
from .newton import MOST_STEPS, Totals, inverse_of_groups, solve_dual_newton
from .views import FactorRows, TargetSide

# Rows of unequal mass: a row that counts for g rows (theory, section 7).
#
# With g_i = N d_i / sum d the problem of the CDF weights is
#
#     minimise  |R (g w) / N - F|^2 + (reg / N^2) sum_i g_i w_i^2   over   w >= 0,  sum g w = N .
#
# In v = sqrt(g) w it is the plain problem of the columns sqrt(g_i) r_i of R, but for the sum, which
# is sqrt(g)'v = N.


Ends = tuple[float, float | None]
NO_ENDS: Ends = (0.0, None)
"""Where R'u + c is clipped: at zero, and with limits of the weights at reg times these."""


def mass_of(own: Real) -> Any:
    """Masses of rows with these shares, of mean one."""
    return 1.0 if own.min() == own.max() else masses(own)


class Block:
    """R of some rows with their masses, and what the rows add to a pass, wherever they are."""

    def __init__(self, R: FactorRows, mass: Any = 1.0, *, remembers: bool = False) -> None:
        self.R, self.mass = R, mass  # (N,) or one for all
        self._remembers = remembers  # the last R'u
        self._last: tuple[Array, Array] | None = None

    def totals(self, u: Real, c: float, reg: float, ends: Ends = NO_ENDS) -> Totals:
        """Sums at the weights [(R'u + c) / reg]_+, or clipped to their limits."""
        raw = self._tilted(u) + c
        w = raw.clip(*ends) / reg
        counted, free = self.mass * w, self.mass * (0.0 * w + _inside(raw, ends))
        Rw, Rfree = self.R.matvecs(counted, free)
        return Totals(Rw, Rfree, float(counted.sum()), float(counted @ w), float(free.sum()))

    def sums(self, u: Real, c: float, reg: float, ends: Ends = NO_ENDS) -> Real:
        """Return the sum of these weights, and the number of free rows."""
        raw = self._tilted(u) + c
        total, free = self.mass * raw.clip(*ends), self.mass * (0.0 * raw + _inside(raw, ends))
        return np.array([float(total.sum()) / reg, float(free.sum())])

    def curvature(self, u: Array, c: float, p: Array, ends: Ends = NO_ENDS) -> Array:
        """R_f R_f'p over the free rows."""
        free = self.mass * _inside(self._tilted(u) + c, ends)
        return self.R.matvec(self.R.rmatvec(p) * free)

    def cross(
        self, u: Real, c: float, tables: list[Array], lines: Lines, ends: Ends = NO_ENDS
    ) -> Real:
        """S_f S_f' and S_f 1 (g, g + 1), S the coarse R."""
        free, mass = _inside(self._tilted(u) + c, ends), self.mass
        counted = None if isinstance(mass, float) else mass
        return np.column_stack(crossed(self.R.R, free, tables, lines, counted))

    def coarse(self, tables: list[Array], lines: Lines) -> Block:
        """R of the same rows at fewer thresholds."""
        R = FactorRows(regrouped(self.R.R, tables, lines))
        return Block(R, self.mass, remembers=self._remembers)

    def lowest(self, z: Real) -> float:
        """Smallest entry of R'z."""
        return float(self.R.rmatvec(z).min())

    def _tilted(self, u: Array) -> Array:
        if self._last is not None and self._last[0] is u:
            return self._last[1]
        found = self.R.rmatvec(u)
        if self._remembers:
            self._last = u, found
        return found


def _inside(raw: Array, ends: Ends) -> Array:
    low, high = ends
    return raw > low if high is None else (raw > low) & (raw < high)


_TRY = 15  # steps before a stronger penalty is solved first
_NEAR, _FAR = 10.0, 100.0  # times the penalty: where the way is short, and not too long
_ROUGH = 1e-2  # tolerance on the way


class Parts(Protocol):
    """Blocks of rows: apply a function to each, and add up what comes back."""

    def total(self, function: Callable[..., Totals | Real | float], *shared: object) -> object:
        """Sum ``function(rows, *shared)`` over the blocks, by ``+``."""
        ...

    def least(self, function: Callable[..., float], *shared: object) -> float:
        """Return the smallest ``function(rows, *shared)``."""
        ...

    def mapped(self, function: Callable[..., Block], *shared: object) -> Parts:
        """Return the blocks ``function(rows, *shared)``."""
        ...


class LocalParts:
    """Blocks in memory, which remember the last R'u."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = blocks

    def total(self, function: Callable[..., object], *shared: object) -> object:
        return reduce(operator.add, (function(block, *shared) for block in self.blocks))

    def least(self, function: Callable[..., float], *shared: object) -> float:
        return min(function(block, *shared) for block in self.blocks)

    def mapped(self, function: Callable[..., Block], *shared: object) -> LocalParts:
        return LocalParts([function(block, *shared) for block in self.blocks])


class ThresholdMatching:
    """Rows in parts, to be matched to a target: the interface of `Matching`, without its w."""

    def __init__(
        self,
        parts: Parts,
        N: int,
        target: TargetSide,
        *,
        limits: Ends = NO_ENDS,
    ) -> None:
        self._parts, self.N, self.target = parts, N, target
        self._limits, self._ends = limits, NO_ENDS

    def unweighted(self) -> Match:
        """The limit of an infinite penalty: all weights one."""
        ones = self._parts.total(Block.totals, 0.0 * self.target.F, 1.0, 1.0)
        assert isinstance(ones, Totals)
        return self._match(ones, self.N * self.target.F - ones.Rw, 0.0, np.inf, True)

    def solve(self, reg: float, start: Match, tol: float) -> Match:
        """Weights at the penalty ``reg``, from those at a neighbouring one."""
        if np.isinf(start.reg) and _FAR * reg < self.N * self.target.spread:
            start = self.solve(_FAR * reg, start, max(tol, _ROUGH))
        found = self._newton(reg, start, tol, _TRY)
        if found.converged:
            return found
        # Too far from the start: come from a stronger penalty, where the way is short.
        easier = self.solve(_NEAR * reg, start, max(tol, _ROUGH))
        return self._newton(reg, easier, tol, MOST_STEPS)

    def _newton(self, reg: float, start: Match, tol: float, steps: int) -> Match:
        level = reg if np.isinf(start.reg) else start.level * reg / start.reg
        scale = 1.0 if np.isinf(start.reg) else reg / start.reg
        u = start.tilt * scale
        low, high = self._limits
        self._ends = (reg * low, None if high is None else reg * high)
        found = solve_dual_newton(
            self,
            self.N * self.target.F,
            rows=self.N,
            reg=reg,
            total=float(self.N),
            start=(u, level),
            tol=tol,
            max_iter=steps,
        )
        return self._match(found.sums, found.u, found.c, reg, found.converged)

    def limited(self, low: float, high: float) -> ThresholdMatching:
        """Return the same problem for weights within limits."""
        made = self._parts, self.N, self.target
        return ThresholdMatching(*made, limits=(low, high))

    def weights(self, match: Match) -> Real:
        """Weights of the rows, where these are in memory."""
        assert isinstance(self._parts, LocalParts)
        return np.concatenate([match.ratio(block.R) for block in self._parts.blocks])

    def coarse(self, size: int) -> CoarseThresholds | None:
        """Return the same problem at fewer thresholds; None where that saves little."""
        coarse = self.target.coarse(size)
        return None if coarse is None else CoarseThresholds(self, coarse)

    # The passes of solve_dual_newton

    def totals(self, u: Real, c: float, reg: float) -> Totals:
        sums = self._parts.total(Block.totals, u, c, reg, self._ends)
        assert isinstance(sums, Totals)
        return sums

    def mass(self, u: Real, c: float, reg: float) -> tuple[float, float]:
        total, free = np.asarray(self._parts.total(Block.sums, u, c, reg, self._ends))
        return float(total), float(free)

    def curvature(self, u: Real, c: float, p: Real) -> Real:
        return self._parts.total(Block.curvature, u, c, p, self._ends)  # type: ignore[return-value]

    def preconditioner(
        self, u: Real, c: float, reg: float, free: float
    ) -> Callable[[Real], Real] | None:
        """K of a few thresholds per view stands for all of it, and many rows for more of them."""
        lines = self.target.lines
        if lines is None:
            return None
        size = coarse_size(self.N, len(lines.lines), reg)
        if size is None:
            return None
        groups, few = grouped(lines, size)
        cross = self._parts.total(Block.cross, u, c, few.tables(), few.lines, self._ends)
        counts = np.asarray(cross)  # (g, g + 1)
        seen = counts[:, -1]  # of each group's row, over the free rows
        C = counts[:, :-1] - np.outer(seen, seen) / max(free, 1.0)
        return inverse_of_groups(C, reg, groups)

    def _match(self, sums: Totals, u: Real, c: float, reg: float, converged: bool) -> Match:
        residual = sums.Rw / self.N - self.target.F
        lowest = self._parts.least(Block.lowest, residual)
        mean = float(sums.Rw @ residual) / self.N
        return Match.at(np.empty(0), reg, c, u, residual, lowest - mean, converged)


class CoarseThresholds(ThresholdMatching):
    """A problem at fewer thresholds, whose solution starts that at all of them."""

    def __init__(self, fine: ThresholdMatching, coarse: Coarse) -> None:
        parts = fine._parts.mapped(Block.coarse, coarse.tables(), coarse.lines)
        super().__init__(parts, fine.N, fine.target.merged(coarse.lines))
        self._fine, self._coarse = fine, coarse

    def refined(self, match: Match) -> Match:
        """Return a start for the problem at all thresholds."""
        return replace(match, tilt=self._coarse.refined(match.tilt))

"""CDF weights solved among the thresholds: the rows are met in sums only, wherever they lie.

The same problem as `matching`, in any views, by `solve_dual_newton`. What a block of rows adds is a
plain value, so that blocks may be files or the partitions of a cluster. The same lines run on
arrays of NumPy and on tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Protocol

import numpy as np

from ...data.row_weights import masses
from ...numerics.array import Array, Real
from ...operators.line_thresholds import Thresholds
from ...operators.line_vectors import Coarse, LineRows, LineTarget, coarse_size
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


@dataclass(frozen=True)
class MassRows:
    """R of some rows, and the mass of each."""

    rows: Any
    mass: Real  # (N,), positive


def unequal_masses(own: Real) -> Real | None:
    """Masses of rows with these shares, of mean one; None where all are one."""
    return None if own.min() == own.max() else masses(own)


def with_mass(rows: Any, mass: Real | None) -> Any:
    """Return the rows as they are, or with their masses."""
    return rows if mass is None else MassRows(rows, mass)


def split(rows: Any) -> tuple[Any, Real | None]:
    """Return plain rows, and their masses where they have any."""
    return (rows.rows, rows.mass) if isinstance(rows, MassRows) else (rows, None)


AnyRows = LineRows | FactorRows | MassRows
Ends = tuple[float, float | None]

_TRY = 15  # steps before a stronger penalty is solved first
_NEAR, _FAR = 10.0, 100.0  # times the penalty: where the way is short, and not too long
_ROUGH = 1e-2  # tolerance on the way

NO_ENDS: Ends = (0.0, None)
"""Where R'u + c is clipped: at zero, and with limits of the weights at reg times these."""


class Parts(Protocol):
    """Blocks of rows: apply a function to each, and add up what comes back."""

    def total(self, function: Callable[..., Totals | Real | float], *shared: object) -> object:
        """Sum ``function(rows, *shared)`` over the blocks, by ``combine`` or ``+``."""
        ...

    def least(self, function: Callable[..., float], *shared: object) -> float:
        """Return the smallest ``function(rows, *shared)``."""
        ...

    def mapped(self, function: Callable[..., AnyRows], *shared: object) -> Parts:
        """Return the blocks ``function(rows, *shared)``."""
        ...


class LocalParts:
    """Blocks in memory, which remember the last R'u."""

    def __init__(self, rows: Sequence[AnyRows]) -> None:
        self._rows = rows
        for block in self.plain():
            block.remembers = True

    def total(self, function: Callable[..., object], *shared: object) -> object:
        return reduce(add, (function(rows, *shared) for rows in self._rows))

    def least(self, function: Callable[..., float], *shared: object) -> float:
        return min(function(rows, *shared) for rows in self._rows)

    def plain(self) -> list[LineRows | FactorRows]:
        """Return the blocks without their masses."""
        return [split(rows)[0] for rows in self._rows]

    def mapped(self, function: Callable[..., AnyRows], *shared: object) -> LocalParts:
        return LocalParts([function(rows, *shared) for rows in self._rows])


def add(one: object, other: object) -> object:
    """Add two partial results."""
    return one.combine(other) if isinstance(one, Totals) else one + other  # type: ignore[operator,arg-type]


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
        ones = self._parts.total(totals_of, 0.0 * self.target.F, 1.0, 1.0)
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
        return np.concatenate([match.ratio(rows) for rows in self._parts.plain()])

    def coarse(self, size: int) -> CoarseThresholds | None:
        """Return the same problem at fewer thresholds; None where that saves little."""
        coarse = self.target.coarse(size)
        return None if coarse is None else CoarseThresholds(self, coarse)

    # The passes of solve_dual_newton

    def totals(self, u: Real, c: float, reg: float) -> Totals:
        sums = self._parts.total(totals_of, u, c, reg, self._ends)
        assert isinstance(sums, Totals)
        return sums

    def mass(self, u: Real, c: float, reg: float) -> tuple[float, float]:
        total, free = np.asarray(self._parts.total(mass_of, u, c, reg, self._ends))
        return float(total), float(free)

    def curvature(self, u: Real, c: float, p: Real) -> Real:
        return self._parts.total(curvature_of, u, c, p, self._ends)  # type: ignore[return-value]

    def preconditioner(
        self, u: Real, c: float, reg: float, free: float
    ) -> Callable[[Real], Real] | None:
        """K of a few thresholds per view stands for all of it, and many rows for more of them."""
        if not isinstance(self.target, LineTarget):
            return None
        size = coarse_size(self.N, len(self.target.lines), reg)
        if size is None:
            return None
        groups, tables, lines = self.target.groups(size)
        cross = self._parts.total(cross_of, u, c, tables, lines, self._ends)
        counts = np.asarray(cross)  # (g, g + 1)
        seen = counts[:, -1]  # of each group's row, over the free rows
        C = counts[:, :-1] - np.outer(seen, seen) / max(free, 1.0)
        return inverse_of_groups(C, reg, groups)

    def _match(self, sums: Totals, u: Real, c: float, reg: float, converged: bool) -> Match:
        residual = sums.Rw / self.N - self.target.F
        mismatch = float(residual @ residual)
        lowest = self._parts.least(lowest_of, residual)
        room = mismatch + lowest - float(sums.Rw @ residual) / self.N
        bound = max(room, 0.0) ** 2 / mismatch if mismatch > 0 else 0.0
        return Match(np.empty(0), reg, c, u, mismatch, bound, converged)


class CoarseThresholds(ThresholdMatching):
    """A problem at fewer thresholds, whose solution starts that at all of them."""

    def __init__(self, fine: ThresholdMatching, coarse: Coarse) -> None:
        parts = fine._parts.mapped(coarse_rows, coarse.tables(), coarse.target.lines)
        super().__init__(parts, fine.N, coarse.target)
        self._fine, self._coarse = fine, coarse

    def refined(self, match: Match) -> Match:
        """Return a start for the problem at all thresholds."""
        return replace(match, tilt=self._coarse.refined(match.tilt))


# What a block of rows adds, plain ones or with masses; these run wherever the rows are


def totals_of(rows: AnyRows, u: Real, c: float, reg: float, ends: Ends = NO_ENDS) -> Totals:
    """Sums at the weights [(R'u + c) / reg]_+, or clipped to their limits."""
    plain, mass = split(rows)
    raw = plain.tilted(u) + c
    w = raw.clip(*ends) / reg
    free = 0.0 * w + _inside(raw, ends)
    counted, squares = w, float(w @ w)
    if mass is not None:
        counted, free, squares = mass * w, mass * free, float((mass * w) @ w)
    if isinstance(plain, FactorRows):
        Rw, Rfree = plain.matvecs(counted, free)
    else:
        Rw, Rfree = plain.matvec(counted), plain.matvec(free)
    return Totals(Rw, Rfree, float(counted.sum()), squares, float(free.sum()))


def mass_of(rows: AnyRows, u: Real, c: float, reg: float, ends: Ends = NO_ENDS) -> Real:
    """Return the sum of these weights, and the number of free rows."""
    plain, mass = split(rows)
    raw = plain.tilted(u) + c
    w, free = raw.clip(*ends), _inside(raw, ends)
    if mass is not None:
        return np.array([float(mass @ w) / reg, float((mass * free).sum())])
    return np.array([float(w.sum()) / reg, float(free.sum())])


def curvature_of(rows: AnyRows, u: Array, c: float, p: Array, ends: Ends = NO_ENDS) -> Array:
    """R_f R_f'p over the free rows."""
    plain, mass = split(rows)
    free = _inside(plain.tilted(u) + c, ends)
    return plain.matvec(plain.rmatvec(p) * (free if mass is None else mass * free))


def cross_of(
    rows: AnyRows,
    u: Real,
    c: float,
    tables: list[Array],
    lines: list[Thresholds],
    ends: Ends = NO_ENDS,
) -> Real:
    """S_f S_f' and S_f 1 (g, g + 1), S the coarse R."""
    plain, mass = split(rows)
    free = _inside(plain.tilted(u) + c, ends)
    return np.column_stack(plain.crossed(free, tables, lines, mass))


def coarse_rows(rows: AnyRows, tables: list[Array], lines: list[Thresholds]) -> AnyRows:
    """R of the same rows at fewer thresholds."""
    plain, mass = split(rows)
    found: AnyRows = with_mass(plain.regrouped(tables, lines), mass)
    return found


def _inside(raw: Array, ends: Ends) -> Array:
    low, high = ends
    return raw > low if high is None else (raw > low) & (raw < high)


def lowest_of(rows: AnyRows, z: Real) -> float:
    """Smallest entry of R'z."""
    plain, _ = split(rows)
    return float(plain.rmatvec(z).min())

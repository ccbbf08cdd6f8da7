"""The ridge problem on the simplex, solved among the rows of R instead of those of the data.

    minimise  |R w - f|^2 / 2 + reg |w|^2 / 2   over   w >= 0,  sum w = total .

Its dual has one variable per row of R, the tilt u = f - R w, and the multiplier c of the sum:

    maximise  -|u|^2 / 2 + f'u + total c - (reg / 2) sum_i w_i^2 ,   w_i = [(r_i'u + c) / reg]_+ ,

r_i the column of R that belongs to row i. Newton's method (semismooth; Qi and Sun, 1993) needs sums
over the rows alone: no vector as long as the data is ever held in one place. At any (u, c) with
sum w = total the weights are within |f - R w - u| / sqrt(reg) of the solution, in the 2-norm.
With limits low <= w <= high the weights are clipped to these, and the free rows are those between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ...numerics.array import Array, Real
from ...numerics.root import rising_root
from ...operators.line_groups import RowGroups

MOST_STEPS = 100  # of Newton's method at one penalty
_GRADIENT_STEPS = 300  # of conjugate gradients, in one system
_FLAT = 0.2  # a line search ends where the slope has fallen to this share


@dataclass(frozen=True)
class Totals:
    """Sums over some rows at one (u, c): a plain value."""

    Rw: Real  # (m,): R w
    Rfree: Real  # (m,): R 1, over the rows of positive weight
    total: float  # sum w
    squares: float  # sum w^2
    free: float  # number of rows of positive weight

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.Rw + other.Rw,
            self.Rfree + other.Rfree,
            self.total + other.total,
            self.squares + other.squares,
            self.free + other.free,
        )


class Passes(Protocol):
    """Sums over all rows of the data, wherever they lie."""

    def totals(self, u: Real, c: float, reg: float) -> Totals:
        """Sum at the weights [(R'u + c) / reg]_+."""
        ...

    def mass(self, u: Real, c: float, reg: float) -> tuple[float, float]:
        """Return the sum of these weights, and the number of the rows that are free."""
        ...

    def curvature(self, u: Real, c: float, p: Real) -> Real:
        """R_f R_f'p (m,), over the rows f with R'u + c > 0."""
        ...

    def preconditioner(
        self, u: Real, c: float, reg: float, free: float
    ) -> Callable[[Real], Real] | None:
        """Return an approximate inverse of I + R_f (I - 11'/free) R_f' / reg, or None."""
        ...


@dataclass(frozen=True)
class DualPoint:
    """Where the dual is largest, up to the error: the weights are [(R'u + c) / reg]_+."""

    u: Real  # (m,)
    c: float
    sums: Totals
    error: float  # bound on the root mean square error of w, relative to its mean
    converged: bool


def solve_dual_newton(
    passes: Passes,
    f: Real,
    *,
    rows: int,
    reg: float,
    total: float,
    start: tuple[Real, float],
    tol: float = 1e-6,
    max_iter: int = MOST_STEPS,
) -> DualPoint:
    """Maximise the dual from ``start`` = (u, c), by Newton's method with a line search.

    ``tol`` bounds the root mean square error of w, relative to its mean. Cost: a pass over the rows
    for every step of conjugate gradients and of the line search.
    """
    unit = total / np.sqrt(rows)  # the 2-norm of equal weights
    u, c = start
    c, sums = _at_level(passes, u, c, reg, total)
    for _ in range(max_iter):
        residual = f - sums.Rw - u
        error = _error(residual, sums, reg, total, unit)
        if error <= tol:
            return DualPoint(u, c, sums, error, True)
        du, dc = _direction(passes, u, c, reg, residual, total, sums, min(0.1, error), tol * unit)
        u, c, sums = _search(passes, f, (u, c), (du, dc), reg, residual, total, sums)
        if abs(sums.total - total) > 0.5 * total or sums.free == 0:
            c, sums = _at_level(passes, u, c, reg, total)
    error = _error(f - sums.Rw - u, sums, reg, total, unit)
    return DualPoint(u, c, sums, error, error <= tol)


def _error(residual: Real, sums: Totals, reg: float, total: float, unit: float) -> float:
    gap = _norm(residual) / np.sqrt(reg) / unit
    return max(float(gap), abs(sums.total / total - 1))


def _at_level(passes: Passes, u: Real, c: float, reg: float, total: float) -> tuple[float, Totals]:
    """Bring the sum of the weights near its total; it is convex and increasing in c."""

    def mass(c: float) -> tuple[float, float]:
        found, free = passes.mass(u, c, reg)
        return found - total, free / reg

    c = rising_root(mass, c, unit=reg, tolerance=1e-9 * total)
    return c, passes.totals(u, c, reg)


def _direction(
    passes: Passes,
    u: Real,
    c: float,
    reg: float,
    residual: Real,
    total: float,
    sums: Totals,
    rough: float,
    floor: float,
) -> tuple[Real, float]:
    """Newton's direction; the multiplier of the sum is eliminated, the rest by gradients."""
    s, count = sums.Rfree, sums.free
    missing = total - sums.total
    precondition = passes.preconditioner(u, c, reg, count) or (lambda r: r)

    def curved(p: Real) -> Real:
        return p + (passes.curvature(u, c, p) - s * (float(s @ p) / count)) / reg

    x = 0.0 * u
    r = residual - s * (missing / count)
    enough = max(rough * _norm(r), 0.1 * floor * np.sqrt(reg))
    z = precondition(r)
    p, rz = z, float(r @ z)
    for _ in range(_GRADIENT_STEPS):
        if _norm(r) <= enough or rz <= 0:
            break
        q = curved(p)
        alpha = rz / float(p @ q)
        x, r = x + alpha * p, r - alpha * q
        z = precondition(r)
        rz, before = float(r @ z), rz
        p = z + (rz / before) * p
    return x, (reg * missing - float(s @ x)) / count


def _search(
    passes: Passes,
    f: Real,
    here: tuple[Real, float],
    step: tuple[Real, float],
    reg: float,
    residual: Real,
    total: float,
    sums: Totals,
) -> tuple[Real, float, Totals]:
    """Go a step at which the dual's slope has nearly vanished, or the full one before."""
    (u, c), (du, dc) = here, step

    def at(t: float) -> tuple[Real, Totals, float]:
        there = u + t * du
        found = passes.totals(there, c + t * dc, reg)
        slope = float((f - found.Rw - there) @ du) + (total - found.total) * dc
        return there, found, slope

    first = float(residual @ du) + (total - sums.total) * dc
    flat = _FLAT * abs(first)
    t = 1.0
    there, found, last = at(1.0)
    if last < -flat:
        low, high, rise, fall = 0.0, 1.0, first, last
        for _ in range(30):
            t = low + (high - low) * min(max(rise / (rise - fall), 0.1), 0.9)
            there, found, now = at(t)
            if abs(now) <= flat or high - low < 1e-9:
                break
            if now < 0:
                high, fall = t, now
            else:
                low, rise = t, now
    return there, c + t * dc, found


def _norm(r: Real) -> float:
    return float(np.sqrt(float(r @ r)))


def inverse_of_groups(C: Real, reg: float, P: RowGroups) -> Callable[[Real], Real]:
    """(I + P C P' / reg)^-1 for P with orthonormal columns, from the small C (g, g)."""
    H = C / reg
    H[np.diag_indices_from(H)] += 1.0
    factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)

    def apply(r: Array) -> Array:
        inner = P.gather(r)
        return r + P.spread(cho_solve(factor, inner, check_finite=False) - inner)

    return apply

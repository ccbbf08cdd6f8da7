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
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ...numerics.array import Array, Flags, Real
from ...operators.line_vectors import RowGroups

MOST_STEPS = 100  # of Newton's method at one penalty
_GRADIENT_STEPS = 300  # of conjugate gradients, in one system
_FLAT = 0.2  # a line search ends where the slope has fallen to this share
_LEVELS = 60  # passes at most that bring the sum of the weights to its total


@dataclass(frozen=True)
class Totals:
    """Sums over some rows at one (u, c): a plain value."""

    Rw: Real  # (m,): R w
    Rfree: Real  # (m,): R 1, over the rows of positive weight
    total: float  # sum w
    squares: float  # sum w^2
    free: float  # number of rows of positive weight

    def combine(self, other: Totals) -> Totals:
        """Add the sums over other rows."""
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
    low, high = -np.inf, np.inf
    for _ in range(_LEVELS):
        found, free = passes.mass(u, c, reg)
        if abs(found - total) <= 1e-9 * total:
            break
        low, high = (c, high) if found < total else (low, c)
        step = c + reg * (total - found) / free if free > 0 else np.nan
        if low < step < high:
            c = step
        elif np.isinf(high):
            c = c + max(abs(c), reg)
        else:
            c = c - max(abs(c), reg) if np.isinf(low) else (low + high) / 2
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


# The ridge problem on the simplex, without any N x N array.
#
#     minimise  w'Kw / 2 - b'w + reg |w|^2 / 2   over   w >= 0,  a'w = total ,
#
# a the prices of the entries, which are positive, and one where all rows have the same mass. With K
# = R'R its dual has one variable per row of R, and w is the projection of (b - Kv) / reg onto the
# simplex, where v = w at the solution. Newton's method on the dual (semismooth) solves for the
# positive entries alone, by conjugate gradients with products K p; v is the result. How far v and w
# are apart bounds the error of both.
#
# Source: Qi and Sun (1993), *A nonsmooth version of Newton's method*, applied to the simplex. Three
# to ten systems from a cold start, fewer from the solution at a neighbouring penalty.


_TRY = 15  # steps before a stronger penalty is solved first
_ROW_GRADIENT_STEPS = 500  # of conjugate gradients, in one system
_FLAT_ROWS = 0.1  # a line search ends where the slope has fallen to this share


class Gram(Protocol):
    """K = R'R by its products."""

    def product(self, v: Real) -> Real:
        """K v: (N,) -> (N,)."""
        ...


@dataclass(frozen=True)
class RidgeSolution:
    """w on the simplex; (b - Kv + level a) / reg is w where positive, exactly."""

    w: Real  # (N,)
    v: Real  # (N,), equal to w up to the error
    level: float  # multiplier of the sum
    error: float  # estimated root mean square error of w, relative to its mean
    converged: bool
    n_products: int


def solve_ridge_simplex(
    gram: Gram,
    b: Real,
    *,
    reg: float,
    total: float,
    price: Real | None = None,
    start: Real | None = None,
    tol: float = 1e-6,
    max_iter: int = MOST_STEPS,
) -> RidgeSolution:
    """Minimise w'Kw / 2 - b'w + reg |w|^2 / 2 over w >= 0 with price'w = total.

    ``price`` is one without it. ``start`` is a first guess on the simplex; without it, a multiple
    of the prices. ``tol`` is for the error of w in the 2-norm, relative to that multiple: for
    prices one, the root mean square error relative to the mean. Cost: one product with K per step
    of conjugate gradients, O(N) memory besides.
    """
    a = np.ones(len(b)) if price is None else price
    v = a * (total / float(a @ a)) if start is None else start
    found = _attempt(gram, b, reg, total, a, v, tol, min(max_iter, _TRY))
    if found.converged or max_iter <= _TRY:
        return found
    # Too far from the start: come from a stronger penalty, where the way is short.
    easier = solve_ridge_simplex(
        gram,
        b,
        reg=10 * reg,
        total=total,
        price=price,
        start=v,
        tol=max(tol, 1e-2),
        max_iter=max_iter,
    )
    again = _attempt(gram, b, reg, total, a, easier.w, tol, max_iter)
    spent = found.n_products + easier.n_products + again.n_products
    return replace(again, n_products=spent)


def _attempt(
    gram: Gram, b: Real, reg: float, total: float, a: Real, v: Real, tol: float, steps: int
) -> RidgeSolution:
    size = total / float(np.sqrt(a @ a))  # of a w proportional to the prices
    newton = _Newton(gram, b, reg, total, a, v, 0.3 * tol * size)
    error, converged = np.inf, False
    for step in range(steps):
        newton.advance(0.1 ** (step + 1))
        error = newton.error() / size
        if error <= tol:
            converged = True
            break
    return RidgeSolution(
        newton.w, newton.v, reg * newton.shift, error, converged, newton.n_products
    )


class _Newton:
    """The iterate v, and w, the projection of (b - Kv) / reg.

    v - w is the residual of the system on the free entries over reg, and what is missing or too
    much of v elsewhere. Where v is on the simplex and has the support of w, the problem is
    strongly convex on the face that both share: neither is farther than twice |v - w| from the
    solution.
    """

    def __init__(
        self, gram: Gram, b: Real, reg: float, total: float, a: Real, v: Real, target: float
    ) -> None:
        self.gram, self.b, self.reg, self.total, self.a = gram, b, reg, total, a
        self.mass = a * a
        self.target = target  # of |v - w|
        self.n_products = 0
        self.shift = 0.0
        self.v, self.w = v, v
        self.Kv = self._product(v)
        self.first = True

    def advance(self, rough: float) -> None:
        """Solve for the positive entries of w, search the line to there, and project."""
        v, Kv = self._equations(self.w > 0, rough)
        if not self.first:
            t = self._search(v - self.v, Kv - self.Kv)
            if t < 1:
                v, Kv = self.v + t * (v - self.v), self.Kv + t * (Kv - self.Kv)
        self.first = False
        self.v, self.Kv = v, Kv
        self.w, self.shift = self._project(Kv)

    def error(self) -> float:
        """Estimate of |w - solution|; a bound where the supports agree."""
        return 2 * float(np.linalg.norm(self.v - self.w))

    def _product(self, v: Real) -> Real:
        self.n_products += 1
        return self.gram.product(v)

    def _project(self, Kv: Real) -> tuple[Real, float]:
        u = (self.b - Kv) / (self.reg * self.a)
        shift = simplex_shift(u, self.total, self.shift, self.mass)
        return self.a * np.maximum(u + shift, 0.0), shift

    def _search(self, dv: Real, Kdv: Real) -> float:
        """Return a step at which the dual's slope has nearly vanished, or the full one before."""

        def slope(t: float) -> float:
            at, _ = self._project(self.Kv + t * Kdv)
            return float(Kdv @ (self.v + t * dv - at))

        first, last = float(Kdv @ (self.v - self.w)), slope(1.0)
        flat = _FLAT_ROWS * abs(first)
        if last <= flat or first >= 0:  # of a slope that rises, rounding is all
            return 1.0
        low, high, t = 0.0, 1.0, 1.0
        for _ in range(30):
            t = low + (high - low) * min(max(first / (first - last), 0.1), 0.9)
            now = slope(t)
            if abs(now) <= flat or high - low < 1e-9:
                break
            if now > 0:
                high, last = t, now
            else:
                low, first = t, now
        return t

    def _equations(self, free: Flags, rough: float) -> tuple[Real, Real]:
        """(K + reg) x = b + c a on the free entries with a'x = total: x and K x."""
        mask = free.astype(np.float64)
        a = self.a * mask
        count = float(a @ a)

        def level(r: Real) -> Real:
            """Leave out the multiplier of the sum, which is free."""
            return (r - a * (float(r @ a) / count)) * mask

        x, Kx = self.v, self.Kv
        if ((x != 0) & ~free).any() or abs(float(self.a @ x) - self.total) > 1e-12 * self.total:
            x = x * mask
            x = x + a * ((self.total - float(a @ x)) / count)
            Kx = self._product(x)
        r = level(self.b - Kx - self.reg * x)
        enough = max(rough * float(np.linalg.norm(r)), self.reg * self.target)
        p, rr = r, float(r @ r)
        for _ in range(_ROW_GRADIENT_STEPS):
            if np.sqrt(rr) <= enough:
                break
            Kp = self._product(p)
            q = (Kp + self.reg * p) * mask
            alpha = rr / float(p @ q)
            x = x + alpha * p
            Kx = Kx + alpha * Kp
            r = level(r - alpha * q)
            rr, before = float(r @ r), rr
            p = r + (rr / before) * p
        return x, Kx


def simplex_shift(u: Real, total: float, shift: float = 0.0, mass: Real | None = None) -> float:
    """Find c with mass'max(u + c, 0) = total, by Newton from the right: a few passes over u."""
    mass = np.ones(len(u)) if mass is None else mass
    top = float(u.max())
    weighted = mass * u
    c = shift if shift > -top else total / float(mass.min()) - top
    for _ in range(100):
        positive = u > -c
        step = (total - float(weighted[positive].sum())) / float(mass[positive].sum())
        step = max(step, -top + np.finfo(float).tiny)
        if step == c:
            break
        c = step
    return c

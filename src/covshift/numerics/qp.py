"""Convex quadratic programmes on a simplex or a box with a bounded sum, dense.

    minimise  w'Hw / 2 - b'w   over   lower <= w <= upper,  least <= sum w <= most .

Kernel mean matching, energy balancing and the kernel form of the CDF weights are of this form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import piqp
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..exceptions import InputError
from .array import Flags, Real
from .parallel import one_blas_thread
from .root import rising_root

_JITTER = 1e-9  # proximal term, relative to the mean diagonal
_PATIENCE = 8  # exchanges without progress before PIQP takes over
_POLISHES = 20  # times at most that the proximal term is re-centred
_SOUND = 1e-9  # relative gap of an exchange that ended well

_AT_LOWER, _FREE, _AT_UPPER = -1, 0, 1


@dataclass(frozen=True)
class SimplexSolution:
    """A feasible w, and a certificate of how good it is."""

    w: Real  # (N,)
    level: float  # multiplier c of the sum: the gradient Hw - b is c where w is free
    free: Flags  # (N,): strictly between the bounds
    objective: float
    gap: float  # the minimum is at least objective - gap
    n_iter: int  # linear systems solved


def solve_simplex(
    H: Real,
    b: Real,
    *,
    total: Any,
    lower: Any = 0.0,
    upper: Any = np.inf,
    start: Flags | None = None,
    tol: float = 1e-9,
) -> SimplexSolution:
    """Minimise w'Hw / 2 - b'w over lower <= w <= upper and a bounded or fixed sum.

    Block pivoting: solve for the free entries with the others held at their bounds, then exchange
    *all* entries that violate a bound or whose multiplier has the wrong sign, as long as their
    number falls; a handful of systems the size of the free set. Where it does not fall, PIQP takes
    over: alone it takes 2 to 3 times as long on the problems of weights, and is less exact. A
    singular H is met by a vanishing proximal term, re-centred until the gap is closed. The result
    is projected onto the constraints, so that they hold to rounding, and its gap is Frank and
    Wolfe's bound, which needs no trust in the solver.

    Source: Júdice and Pires (1994), *A block principal pivoting algorithm for large-scale strictly
    monotone linear complementarity problems*. Cost: O(f^3) per system with f free entries,
    O(N^2) memory.

    Parameters
    ----------
    H : (N, N) array
        Symmetric, positive semidefinite.
    b : (N,) array
    total : float, or pair of floats
        The sum, or the least and the most that it may be.
    lower, upper : float or (N,) array
        Bounds of the entries; the upper one may be infinite.
    start : (N,) array of bool, optional
        Entries that are free at first; those of a neighbouring problem save systems.
    tol : float
        Largest gap, relative to the size of the objective's terms. Below 1e-9 it is pursued as far
        as rounding allows.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift.numerics.qp import solve_simplex
    >>> solve_simplex(np.eye(3), np.array([2.0, 1.0, -5.0]), total=2.0).w
    array([1.5, 0.5, 0. ])
    """
    C = Polytope.of(len(b), lower, upper, total)
    if not (np.isfinite(C.upper).all() or np.isfinite(C.most)):
        raise InputError("Bound the entries or their sum from above: both are infinite.")
    with one_blas_thread(H.size):
        return _Pivoting(H, b, C, tol).solve(start)


class _Pivoting:
    """The exchange of entries between their bounds and the free set."""

    def __init__(self, H: Real, b: Real, C: Polytope, tol: float) -> None:
        self.H, self.b, self.C, self.tol = H, b, C, tol
        # Without curvature the linear term sets the scale.
        curvature = float(np.trace(H)) / len(b) or float(np.abs(b).max()) * len(b) / C.size
        self.jitter = _JITTER * max(curvature, np.finfo(float).tiny)
        self.small = 1e-12 * float(max(np.abs(b).max(), np.abs(np.diag(H)).max()))
        self.n_iter = 0
        self.factored: tuple[Any, ...] | None = None

    def solve(self, start: Flags | None) -> SimplexSolution:
        C = self.C
        moving = C.upper > C.lower
        state = np.where(moving if start is None else moving & start, _FREE, _AT_LOWER)
        anchor = C.project(np.full(len(self.b), _finite_middle(C) / len(self.b)))
        found = self._settle(state, anchor)
        if found.gap > self._enough(found, at_least=_SOUND):
            inner = C.project(_piqp(self.H, self.b, C))
            other = _solution(self.H, self.b, C, inner, self.n_iter)
            near = 1e-6 * (C.size / len(self.b))
            state = np.where(inner - C.lower > near, _FREE, _AT_LOWER)
            state = np.where(C.upper - inner > near, state, _AT_UPPER)
            state = np.where(moving, state, _AT_LOWER)
            polished = self._settle(state, inner)
            found = min((found, other, polished), key=lambda solution: solution.gap)
        return found

    def _settle(self, state: NDArray[Any], anchor: Real) -> SimplexSolution:
        """Exchange until nothing is violated, then re-centre the proximal term."""
        best: SimplexSolution | None = None
        held = self.C.least if self.C.least == self.C.most else None
        for _ in range(_POLISHES):
            x, state, held, settled = self._exchange(state, held, anchor)
            w = self.C.project(x)
            found = _solution(self.H, self.b, self.C, w, self.n_iter)
            if best is not None and found.gap >= best.gap / 2:
                return min((best, found), key=lambda solution: solution.gap)
            best, anchor = found, w
            if found.gap <= self._enough(found) or not settled:
                break
        assert best is not None
        return best

    def _exchange(
        self, state: NDArray[Any], held: float | None, anchor: Real
    ) -> tuple[Real, NDArray[Any], float | None, bool]:
        fewest, patience = len(state) + 2, _PATIENCE
        moving = self.C.upper > self.C.lower
        while True:
            x, g, c = self._equations(state, held, anchor)
            slack = 1e-11 * (1 + np.abs(x))
            below = (state == _FREE) & (x < self.C.lower - slack)
            above = (state == _FREE) & (x > self.C.upper + slack)
            rising = moving & (state == _AT_LOWER) & (g < c - self.small)
            falling = moving & (state == _AT_UPPER) & (g > c + self.small)
            next_held = self._next_held(held, float(x.sum()), c)
            bad = int((below | above | rising | falling).sum()) + (next_held != held)
            if not bad:
                return x, state, held, True
            patience = _PATIENCE if bad < fewest else patience - 1
            fewest = min(fewest, bad)
            if not patience:
                return x, state, held, False
            state = np.where(below, _AT_LOWER, np.where(above, _AT_UPPER, state))
            state = np.where(rising | falling, _FREE, state)
            held = next_held

    def _next_held(self, held: float | None, total: float, c: float) -> float | None:
        """Hold the sum where it leaves its range; let it go where it pulls inside."""
        C = self.C
        if C.least == C.most:
            return held
        if held is None:
            slack = 1e-12 * C.size
            if total < C.least - slack:
                return C.least
            return C.most if total > C.most + slack else None
        wrong = c < -self.small if held == C.least else c > self.small
        return None if wrong else held

    def _equations(
        self, state: NDArray[Any], held: float | None, anchor: Real
    ) -> tuple[Real, Real, float]:
        """Solve for the free entries; return w, the gradient, and its level on them."""
        C = self.C
        x = np.where(state == _AT_UPPER, C.upper, C.lower)
        free = np.flatnonzero(state == _FREE)
        c = 0.0
        if len(free):
            x[free] = 0.0
            right = self.b[free] + self.jitter * anchor[free]
            if x.any():
                right = right - self.H[free] @ x
            factor = self._factor(free)
            y = cho_solve(factor, right, check_finite=False)
            if held is not None:
                ones = cho_solve(factor, np.ones(len(free)), check_finite=False)
                c = (held - float(x.sum()) - float(y.sum())) / float(ones.sum())
                y = y + c * ones
            x[free] = y
        g = self.H @ x - self.b
        if not len(free) and held is not None:
            # Everything is at a bound: any level between the two sides will do.
            up, down = g[state == _AT_UPPER], g[state == _AT_LOWER]
            c = float(down.min()) if len(down) else float(up.max())
            if float(x.sum()) < held - 1e-12 * C.size and len(down):
                c += 2 * self.small + abs(c) * 1e-12  # the sum must rise: free the cheapest
            elif float(x.sum()) > held + 1e-12 * C.size and len(up):
                c = float(up.max()) - 2 * self.small - abs(float(up.max())) * 1e-12
        return x, g, c

    def _factor(self, free: NDArray[np.intp]) -> Any:
        if self.factored is not None and np.array_equal(self.factored[0], free):
            return self.factored[1]
        self.n_iter += 1
        while True:
            M = self.H[np.ix_(free, free)]
            M[np.diag_indices_from(M)] += self.jitter
            try:
                factor = cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
            except LinAlgError:
                self.jitter *= 100
                continue
            self.factored = (free, factor)
            return factor

    def _enough(self, found: SimplexSolution, at_least: float = 0.0) -> float:
        """Return the gap to reach: ``tol``, in the size of the objective's terms."""
        linear = float(self.b @ found.w)
        quadratic = 2 * (found.objective + linear)
        return max(self.tol, at_least) * max(abs(linear), abs(quadratic), np.finfo(float).tiny)


def _solution(H: Real, b: Real, C: Polytope, w: Real, n_iter: int) -> SimplexSolution:
    g = H @ w - b
    # Entries that rounding alone keeps off a bound have no say in the level.
    room = np.minimum(w - C.lower, C.upper - w)
    level = float(room @ g / room.sum()) if (room > 0).any() else 0.0
    gap = max(float(g @ w) - C.lowest(g), 0.0)
    return SimplexSolution(w, level, room > 0, float(w @ (g - b)) / 2, gap, n_iter)


def _finite_middle(C: Polytope) -> float:
    low = max(C.least, float(C.lower.sum())) if np.isfinite(C.least) else float(C.lower.sum())
    high = min(C.most, float(C.upper.sum()))
    return (low + high) / 2 if np.isfinite(high) else low


def _piqp(H: Real, b: Real, C: Polytope) -> Real:
    """Minimise by PIQP's interior-point method; entries that cannot move stay put."""
    moving = C.upper > C.lower
    w = C.lower.copy()
    rest = float(w[~moving].sum())
    inner = Polytope(C.lower[moving], C.upper[moving], C.least - rest, C.most - rest)
    if inner.most <= inner.lower.sum():
        return w
    if inner.least >= inner.upper.sum():
        return C.upper.copy()
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-12
    row = np.ones((1, int(moving.sum())), order="F")
    sums: dict[str, Any] = (
        {"A": row, "b": np.array([inner.least])}
        if C.least == C.most
        else {"G": row, "h_l": np.array([inner.least]), "h_u": np.array([inner.most])}
    )
    tilt = b[moving] - H[np.ix_(moving, ~moving)] @ w[~moving]
    among = np.asfortranarray(H[np.ix_(moving, moving)])
    solver.setup(among, -tilt, x_l=inner.lower, x_u=inner.upper, **sums)
    solver.solve()
    found = np.asarray(solver.result.x)
    w[moving] = np.where(np.isfinite(found), found, inner.lower)
    return w


# The set of the simplex problems, lower <= w <= upper and least <= sum w <= most.
#
# Nearest point, and minimum of a linear function over it: what every solver on the set needs.


@dataclass(frozen=True)
class Polytope:
    """Bounds on every entry and on the sum; ``least == most`` fixes the sum."""

    lower: Real  # (N,), finite
    upper: Real  # (N,), may be infinite
    least: float
    most: float  # may be infinite

    @classmethod
    def of(cls, N: int, lower: object, upper: object, total: object) -> Polytope:
        """Check the bounds of N entries; ``total`` is a number, or the pair (least, most)."""
        low = np.broadcast_to(np.asarray(lower, dtype=np.float64), (N,)).copy()
        high = np.broadcast_to(np.asarray(upper, dtype=np.float64), (N,)).copy()
        least, most = (float(end) for end in np.broadcast_to(np.asarray(total, np.float64), (2,)))
        if not np.isfinite(low).all():
            raise InputError("lower must be finite: the problem may have no minimum otherwise.")
        if np.isnan(high).any() or (low > high).any():
            raise InputError("lower exceeds upper, or upper is NaN: no vector satisfies both.")
        if not least <= most or low.sum() > most or high.sum() < least:
            raise InputError(
                f"No vector between lower and upper has a sum from {least:g} to {most:g}: the "
                f"bounds allow sums from {low.sum():g} to {high.sum():g}."
            )
        return cls(low, high, least, most)

    @property
    def size(self) -> float:
        """Size of the sums that the set allows, to measure differences by."""
        ends = [abs(end) for end in (self.least, self.most) if np.isfinite(end)]
        size = max([*ends, float(np.abs(self.lower).sum())])
        return size or float(np.abs(self.upper[np.isfinite(self.upper)]).sum()) or 1.0

    def project(self, u: Real) -> Real:
        """Nearest point of the set: clip(u + c), c zero unless the sum is at its bound."""
        w = np.clip(u, self.lower, self.upper)
        total = float(w.sum())
        if self.least < self.most and self.least <= total <= self.most:
            return w
        aim = self.least if total < self.least else self.most
        # No entry exceeds this, whatever the others are.
        cap = np.minimum(self.upper, self.lower + max(aim - float(self.lower.sum()), 0.0))

        def over(c: float) -> tuple[float, float]:
            moved = u + c
            free = np.count_nonzero((moved > self.lower) & (moved < self.upper))
            return float(np.clip(moved, self.lower, self.upper).sum()) - aim, float(free)

        ends = {"low": float((self.lower - u).min()), "high": float((cap - u).max())}
        return np.clip(u + rising_root(over, 0.0, **ends), self.lower, self.upper)

    def lowest(self, g: Real) -> float:
        """Minimum of g'w over the set, by filling the entries of smallest g first."""
        room = self.upper - self.lower
        base = float(g @ self.lower)
        must, may = self.least - self.lower.sum(), self.most - self.lower.sum()
        order = np.argsort(g)
        g, room = g[order], room[order]
        before = np.concatenate([[0.0], np.cumsum(room)[:-1]])  # room used by smaller g
        limit = np.where(g < 0, may, must)
        with np.errstate(invalid="ignore"):
            filled = np.clip(limit - before, 0.0, room)
        filled = np.where(np.isnan(filled), 0.0, filled)
        used = filled > 0
        return base + float(g[used] @ filled[used])

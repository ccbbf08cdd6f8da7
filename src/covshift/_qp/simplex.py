"""Convex quadratic programmes on a simplex or a box with a bounded sum, dense.

    minimise  w'Hw / 2 - b'w   over   lower <= w <= upper,  least <= sum w <= most .

Kernel mean matching, energy balancing and the kernel form of the CDF weights are of this form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .._optional import import_extra
from .._parallel import one_blas_thread
from .._parameters import one_of
from .._types import Flags, Real
from ..exceptions import InputError
from .interior import interior_point
from .projection import Polytope

BACKEND = one_of("piqp", None)
"""What the parameter ``backend`` may be: the solver of a quadratic programme."""

_JITTER = 1e-9  # proximal term, relative to the mean diagonal
_PATIENCE = 8  # exchanges without progress before the interior-point method takes over
_POLISHES = 20
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
    backend: str | None = None,
) -> SimplexSolution:
    """Minimise w'Hw / 2 - b'w over lower <= w <= upper and a bounded or fixed sum.

    Block pivoting: solve for the free entries with the others held at their bounds, then exchange
    *all* entries that violate a bound or whose multiplier has the wrong sign, as long as their
    number falls; a handful of systems the size of the free set. Where it does not fall, an
    interior-point method takes over. A singular H is met by a vanishing proximal term,
    re-centred until the gap is closed. The result is projected onto the constraints, so that they
    hold to rounding, and its gap is Frank and Wolfe's bound, which needs no trust in the solver.

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
    backend : {None, "piqp"}
        None: our own. "piqp": the solver of that name, from the extra ``qp``.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift._qp.simplex import solve_simplex
    >>> solve_simplex(np.eye(3), np.array([2.0, 1.0, -5.0]), total=2.0).w
    array([1.5, 0.5, 0. ])
    """
    BACKEND.check(backend, "backend")
    C = Polytope.of(len(b), lower, upper, total)
    if not (np.isfinite(C.upper).all() or np.isfinite(C.most)):
        raise InputError("Bound the entries or their sum from above: both are infinite.")
    if backend is None:
        with one_blas_thread(H.size):
            return _Pivoting(H, b, C, tol).solve(start)
    return _solution(H, b, C, _piqp(H, b, C), 0)


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
        anchor, _, _ = C.project(np.full(len(self.b), _finite_middle(C) / len(self.b)))
        found = self._settle(state, anchor)
        if found.gap > self._enough(found, at_least=_SOUND):
            inner, _, _ = C.project(interior_point(self.H, self.b, C))
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
            w, _, _ = self.C.project(x)
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
    piqp = import_extra("piqp", extra="qp", needed_by="backend='piqp'")
    N = len(b)
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = 1e-10
    solver.settings.eps_rel = 1e-12
    row = np.ones((1, N), order="F")
    sums: dict[str, Any] = (
        {"A": row, "b": np.array([C.least])}
        if C.least == C.most
        else {"G": row, "h_l": np.array([C.least]), "h_u": np.array([C.most])}
    )
    solver.setup(np.asfortranarray(H), -b, x_l=C.lower, x_u=C.upper, **sums)
    solver.solve()
    w, _, _ = C.project(np.asarray(solver.result.x))
    return w

"""Interior-point method for the simplex problems: certain to converge, a Cholesky per step.

Mehrotra's predictor and corrector for

    minimise  w'Hw / 2 - b'w   over   lower <= w <= upper,  least <= sum w <= most .

The sum is carried as one more variable t with its own bounds and the equation sum w = t, so every
step is one system H + diag with a border of one row. O(N^3) per step, ten to forty steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .._types import Real
from .projection import Polytope

_STEPS = 100
_TO_BOUND = 0.995  # share of the way to the boundary


def interior_point(H: Real, b: Real, C: Polytope, *, tol: float = 1e-11) -> Real:
    """Return w close to the minimum, inside its bounds; entries that cannot move stay put."""
    moving = C.upper > C.lower
    w = C.lower.copy()
    rest = float(w[~moving].sum())
    inner = Polytope(C.lower[moving], C.upper[moving], C.least - rest, C.most - rest)
    if inner.most <= inner.lower.sum():
        return w
    if inner.least >= inner.upper.sum():
        return C.upper.copy()
    tilt = b[moving] - H[np.ix_(moving, ~moving)] @ w[~moving]
    w[moving] = _Path(H[np.ix_(moving, moving)], tilt, inner).follow(tol)
    return w


class _Path:
    """The iterates: v = (w, t), its distances from the bounds, and a multiplier of each.

    A bound that is infinite, and both of a fixed t, have no side: distance 1 and multiplier 0.
    """

    def __init__(self, H: Real, b: Real, C: Polytope) -> None:
        self.H, self.b = H, b
        self.fixed = C.least == C.most
        self.size = C.size
        lower, upper = np.append(C.lower, C.least), np.append(C.upper, C.most)
        self.sides = np.isfinite(np.stack([lower, upper]))  # (2, N + 1)
        if self.fixed:
            self.sides[:, -1] = False
        typical = self.size / len(b)
        self.v = _between(lower, upper, typical)
        self.room = np.where(self.sides, np.stack([self.v - lower, upper - self.v]), 1.0)
        self.unit = float(max(np.abs(b).max(), np.trace(H) / len(b), np.finfo(float).tiny))
        self.z = np.where(self.sides, self.unit, 0.0)
        self.y = 0.0

    def follow(self, tol: float) -> Real:
        """Descend until complementarity and equations are met, or rounding ends the descent."""
        best, kept = np.inf, self.v
        for _ in range(_STEPS):
            gradient, total = self._residuals()
            mu = float((self.room * self.z).sum() / self.sides.sum())
            error = max(float(np.abs(gradient).max()) / self.unit, abs(total) / self.size)
            size = max(abs(float(self.b @ self.v[:-1])), 1e-6 * self.unit * self.size)
            measure = max(mu * len(self.b) / size, error)
            if not np.isfinite(measure) or measure > 1e6 * best:
                break
            if measure < best:
                best, kept = measure, self.v
            if measure <= tol:
                break
            try:
                self._advance(mu)
            except LinAlgError:
                break
        return kept[:-1]

    def _residuals(self) -> tuple[Real, float]:
        """Gradient of the Lagrangian in (w, t), and the error of sum w = t."""
        w = self.v[:-1]
        gradient = np.append(self.H @ w - self.b - self.y, 0.0 if self.fixed else self.y)
        return gradient - self.z[0] + self.z[1], float(w.sum() - self.v[-1])

    def _advance(self, mu: float) -> None:
        theta = (self.z / self.room).sum(axis=0)
        M = self.H.copy()
        M[np.diag_indices_from(M)] += theta[:-1]
        factor = cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
        bend: Real = np.zeros_like(self.z)
        dv, _, dz = self._direction(factor, theta, 0.0, bend)
        step = min(1.0, self._longest(dv, dz))
        change = np.stack([dv, -dv])
        after = ((self.room + step * change) * (self.z + step * dz))[self.sides].mean()
        aim = mu * min(max(float(after) / mu, 0.0), 1.0) ** 3
        dv, dy, dz = self._direction(factor, theta, aim, change * dz)
        step = min(1.0, _TO_BOUND * self._longest(dv, dz))
        self.v, self.y, self.z = self.v + step * dv, self.y + step * dy, self.z + step * dz
        change = np.where(self.sides, np.stack([dv, -dv]), 0.0)
        self.room = self.room + step * change

    def _direction(
        self, factor: Any, theta: Real, aim: float, bend: Real
    ) -> tuple[Real, float, Real]:
        """Newton's step towards complementarity ``aim``, with second-order terms ``bend``."""
        gradient, total = self._residuals()
        centre = np.where(self.sides, (aim - bend) / self.room - self.z, 0.0)
        right = -gradient + centre[0] - centre[1]
        u = cho_solve(factor, right[:-1], check_finite=False)
        ones = cho_solve(factor, np.ones(len(u)), check_finite=False)
        give = 1 / theta[-1] if theta[-1] > 0 else 0.0  # how far t follows a unit of its multiplier
        dy = (give * right[-1] - total - float(u.sum())) / (float(ones.sum()) + give)
        dv = np.append(u + dy * ones, give * (right[-1] - dy))
        change = np.stack([dv, -dv])
        return dv, dy, np.where(self.sides, centre - self.z / self.room * change, 0.0)

    def _longest(self, dv: Real, dz: Real) -> float:
        """Largest step, at most one over `_TO_BOUND`, that keeps rooms and multipliers."""
        longest = 1 / _TO_BOUND
        for value, change in ((self.room, np.stack([dv, -dv])), (self.z, dz)):
            falling: NDArray[np.bool_] = self.sides & (change < 0)
            if falling.any():
                longest = min(longest, float((-value[falling] / change[falling]).min()))
        return longest


def _between(lower: Real, upper: Real, typical: float) -> Real:
    """Points inside the bounds: half-way, or ``typical`` above the lower one if that is nearer."""
    low = np.where(np.isfinite(lower), lower, upper - typical)
    room = np.where(np.isfinite(upper), upper - low, np.inf)
    return np.asarray(low + np.minimum(room / 2, typical * np.maximum(1.0, np.abs(low))))

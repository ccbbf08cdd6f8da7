"""The exponential tilt that balances moments, free or within limits: one Newton's method.

    minimise  sum_i s_i w_i log w_i   over   sum_i s_i w_i z_i = 0,  sum_i s_i w_i = 1,
                                             low <= w_i <= high ,

s the shares of the rows. The solution is w_i = clip(exp(theta'z_i + a), low, high), and theta and a
minimise the convex dual

sum_i s_i phi*(theta'z_i + a) - a + (reg / 2) |theta|^2 ,   phi*' (t) = clip(exp t, low, high) ,

phi*(t) = w t - w log w + w at that w. Without limits it is 1 + log sum_i s_i exp(theta'z_i). Where
the dual falls below what any weights could have, none balance the z; with limits a vanishing
penalty then finds those of the smallest sum of squared differences.

Source: Deville and Särndal (1992), *Calibration estimators in survey sampling*, case 7 (truncated);
Newton's method (semismooth) as in Qi and Sun (1993). Cost: O(N q^2) per step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lstsq

from ..numerics.array import Real
from ..numerics.root import rising_root

_STEPS = 100  # at one penalty, within limits
_SEARCHES = 60  # halvings of a step: a shorter one is rounding
_LARGEST_STEP = 50.0  # of a log weight, in one step of Newton's method
_FEW_MOMENTS = 300  # up to which singular values are exact; beyond, pivots take a tenth of the time
_PATH = np.geomspace(1.0, 1e-7, 15)  # penalties, where no weights balance everything
_SETTLED = 1e-6  # a penalty that moves the sum of squared differences by less is the last


class At(NamedTuple):
    """The dual at one theta."""

    value: float
    theta: Real  # (q,)
    level: float  # a
    w: Real  # (N,): weighted mean one
    free: Real  # (N,): share times weight where it is strictly within the limits
    slope: Real  # (q,)


class Tilt(NamedTuple):
    """Where the dual is smallest: w = clip(exp(theta'z + a), low, high)."""

    theta: Real  # (q,)
    level: float  # a
    w: Real  # (N,), weighted mean one
    gap: Real  # (q,): sum of s w z
    exact: bool  # whether the gap is as small as was asked for
    unbounded: bool = False  # whether the dual has no minimum: no weights balance everything
    steps: int = 0


def free_tilt(Z: Real, share: Real, *, reg: float, tol: float, max_iter: int) -> Tilt:
    """Balance the rows Z (N, q), whose target is zero, by weights without limits.

    Every step of theta is a combination of rows of Z: of more columns than rows a basis is enough.
    """
    if Z.shape[1] > Z.shape[0]:
        Q, R = np.linalg.qr(Z.T)
        found = free_tilt(R.T, share, reg=reg, tol=tol, max_iter=max_iter)
        return found._replace(theta=Q @ found.theta, gap=(share * found.w) @ Z)
    dual = _Dual(Z, share, 0.0, np.inf)
    at, steps = dual.descend(np.zeros(Z.shape[1]), reg, tol, max_iter)
    left = np.abs(at.slope).max()
    # All weight on a row or two, and still not balanced: there is no minimum either.
    weak = dual.weaker(at) or (left > max(tol, 1e-7) and 1 - at.value > 0.9 * (dual.most + 1))
    gap = (share * at.w) @ Z
    return Tilt(at.theta, at.level, at.w, gap, left <= max(tol, 1e-7), weak and not reg, steps)


def bounded_tilt(
    Z: Real, share: Real, low: float, high: float, *, reg: float, tol: float, start: Real
) -> Tilt:
    """Balance the rows Z (N, q), whose target is zero, from a first theta; low < 1 < high."""
    dual = _Dual(Z, share, low, high)
    at, _ = dual.descend(start, reg, tol, _STEPS)
    done = bool(np.abs(at.slope).max() <= max(tol, 1e-7)) and (reg > 0 or not dual.weaker(at))
    if done or reg:
        return Tilt(at.theta, at.level, at.w, (share * at.w) @ Z, done)
    # The way back is long from where the dual has no minimum: start again.
    theta, before = np.zeros(Z.shape[1]), np.inf
    for penalty, following in zip(_PATH, [*_PATH[1:], _PATH[-1]], strict=True):
        at, _ = dual.descend(theta, float(penalty), 1e-8, _STEPS)
        gap = (share * at.w) @ Z
        left = float(gap @ gap)
        if left > (1 - _SETTLED) * before:
            break
        before, theta = left, at.theta * (penalty / following)  # which is -gap / penalty
    return Tilt(at.theta, at.level, at.w, gap, bool(np.abs(gap).max() <= tol))


class _Dual:
    def __init__(self, Z: Real, share: Real, low: float, high: float) -> None:
        self.Z, self.share, self.low, self.high = Z, share, low, high
        # The most of sum s (w log w - w), at any weights within the limits.
        self.most = -float(np.log(share.min())) - 1
        if high < np.inf:
            self.most = max(w * np.log(w) - w if w > 0 else 0.0 for w in (low, high))

    def weaker(self, at: At) -> bool:
        """Whether the dual is below that of any weights."""
        return -at.value > self.most + 1e-9

    def descend(self, theta: Real, reg: float, tol: float, steps: int) -> tuple[At, int]:
        """Newton's method with backtracking, until it is at a minimum or knows of none."""
        at = self._at(theta, 0.0, reg)
        for step in range(steps):
            if np.abs(at.slope).max() <= tol or (not reg and self.weaker(at)):
                return at, step
            direction = self._direction(at, reg)
            slope, t = float(at.slope @ direction), 1.0
            for _ in range(_SEARCHES):
                new = self._at(at.theta + t * direction, at.level, reg)
                small = abs(t * slope) < 1e-15 * (1 + abs(at.value))
                if new.value <= at.value + 1e-4 * t * slope or small:
                    break
                t /= 2
            if not new.value < at.value and np.abs(new.slope).max() >= np.abs(at.slope).max():
                return at, step  # rounding
            at = new
        return at, steps

    def _at(self, theta: Real, level: float, reg: float) -> At:
        tilt = self.Z @ theta
        level = self._level(tilt, level)
        t = tilt + level
        with np.errstate(over="ignore"):
            raw = np.exp(t)
        w = np.clip(raw, self.low, self.high)
        log_w = np.log(np.maximum(w, np.finfo(np.float64).tiny))
        conjugate = w * (t - log_w) + w
        value = float(self.share @ conjugate) - level + reg / 2 * float(theta @ theta)
        free = np.where((raw > self.low) & (raw < self.high), self.share * w, 0.0)
        return At(value, theta, level, w, free, (self.share * w) @ self.Z + reg * theta)

    def _level(self, tilt: Real, level: float) -> float:
        """Find a with sum s clip(exp(tilt + a)) = 1: Newton, kept in an interval."""
        top = float(tilt.max())
        if self.high == np.inf:
            return -top - float(np.log(self.share @ np.exp(tilt - top)))
        with np.errstate(divide="ignore"):
            left = min(float(np.log(self.low)), 0.0) - top if self.low > 0 else -top
            right = float(np.log(self.high) - tilt.min())

        def total(level: float) -> tuple[float, float]:
            with np.errstate(over="ignore"):
                raw = np.exp(tilt + level)
            w = self.share * np.clip(raw, self.low, self.high)
            return float(w.sum()) - 1, float(w[(raw > self.low) & (raw < self.high)].sum())

        return rising_root(total, level, low=left, high=right, tolerance=1e-15)

    def _direction(self, at: At, reg: float) -> Real:
        total = max(float(at.free.sum()), np.finfo(np.float64).tiny)
        mean = at.free @ self.Z / total
        H = (self.Z * at.free[:, None]).T @ self.Z - total * np.outer(mean, mean)
        H[np.diag_indices_from(H)] += reg + 1e-13 * max(float(np.trace(H)) / len(H), 1e-6)
        driver = "gelsd" if len(H) <= _FEW_MOMENTS else "gelsy"
        direction = -lstsq(H, at.slope, cond=1e-14, check_finite=False, lapack_driver=driver)[0]
        largest = float(np.abs(self.Z @ direction).max())
        direction *= min(1.0, _LARGEST_STEP / max(largest, 1e-300))
        return np.asarray(direction if float(at.slope @ direction) < 0 else -at.slope)

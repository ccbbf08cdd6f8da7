"""Entropy balancing within limits: the truncated form of calibration.

    minimise  sum_i s_i w_i log w_i   over   sum_i s_i w_i z_i = 0,  sum_i s_i w_i = 1,
                                             low <= w_i <= high ,

s the shares of the rows. The solution is w_i = clip(exp(theta'z_i + a), low, high), and theta and a
minimise the convex dual

    sum_i s_i phi*(theta'z_i + a) - a + (reg / 2) |theta|^2 ,   phi*' (t) = clip(exp t, low, high) ,

phi*(t) = w t - w log w + w at that w. Where the dual falls below what any weights within the limits
could have, none balance the z. Then a vanishing penalty finds those of the smallest sum of squared
differences.

Source: Deville and Särndal (1992), *Calibration estimators in survey sampling*, case 7 (truncated);
Newton's method (semismooth) as in Qi and Sun (1993). Cost: O(N q^2) per step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lstsq

from .._types import Real

_STEPS = 100  # at one penalty
_SEARCHES = 40
_PATH = np.geomspace(1.0, 1e-7, 15)  # penalties, where no weights balance everything
_SETTLED = 1e-6  # a penalty that moves the sum of squared differences by less is the last


class Tilt(NamedTuple):
    """Where the dual is smallest: w = clip(exp(theta'z + a), low, high)."""

    theta: Real  # (q,)
    level: float  # a
    w: Real  # (N,), weighted mean one
    gap: Real  # (q,): sum of s w z
    exact: bool  # whether the gap is as small as was asked for


class _At(NamedTuple):
    value: float
    theta: Real
    level: float
    w: Real
    free: Real  # (N,): share times weight where it is strictly within the limits
    slope: Real  # (q,)


def bounded_tilt(
    Z: Real, share: Real, low: float, high: float, *, reg: float, tol: float, start: Real
) -> Tilt:
    """Balance the rows Z (N, q), whose target is zero, from a first theta; low < 1 < high."""
    dual = _Dual(Z, share, low, high)
    at, done = dual.descend(start, reg, tol)
    if done or reg:
        return _tilt(at, Z, share, done)
    # The way back is long from where the dual has no minimum: start again.
    theta, before = np.zeros(Z.shape[1]), np.inf
    for penalty, following in zip(_PATH, [*_PATH[1:], _PATH[-1]], strict=True):
        at, _ = dual.descend(theta, float(penalty), 1e-8)
        found = _tilt(at, Z, share, False)
        left = float(found.gap @ found.gap)
        if left > (1 - _SETTLED) * before:
            break
        before, theta = left, at.theta * (penalty / following)  # which is -gap / penalty
    return found._replace(exact=bool(np.abs(found.gap).max() <= tol))


def _tilt(at: _At, Z: Real, share: Real, exact: bool) -> Tilt:
    return Tilt(at.theta, at.level, at.w, (share * at.w) @ Z, exact)


class _Dual:
    def __init__(self, Z: Real, share: Real, low: float, high: float) -> None:
        self.Z, self.share, self.low, self.high = Z, share, low, high
        ends = [w * np.log(w) - w if w > 0 else 0.0 for w in (low, high)]
        self.most = max(ends)  # of sum s (w log w - w), at any weights within the limits

    def descend(self, theta: Real, reg: float, tol: float) -> tuple[_At, bool]:
        """Newton's method with backtracking; also whether it ended at a minimum."""
        at = self._at(theta, 0.0, reg)
        for _ in range(_STEPS):
            if np.abs(at.slope).max() <= tol:
                return at, True
            if not reg and -at.value > self.most + 1e-9:
                return at, False  # weaker than any weights: there is no minimum
            direction = self._direction(at, reg)
            slope, t = float(at.slope @ direction), 1.0
            for _ in range(_SEARCHES):
                new = self._at(at.theta + t * direction, at.level, reg)
                if new.value <= at.value + 1e-4 * t * slope:
                    break
                t /= 2
            if not new.value < at.value and np.abs(new.slope).max() >= np.abs(at.slope).max():
                break  # rounding
            at = new
        return at, bool(np.abs(at.slope).max() <= max(tol, 1e-7))

    def _at(self, theta: Real, level: float, reg: float) -> _At:
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
        return _At(value, theta, level, w, free, (self.share * w) @ self.Z + reg * theta)

    def _level(self, tilt: Real, level: float) -> float:
        """Find a with sum s clip(exp(tilt + a)) = 1: Newton, kept in an interval."""
        with np.errstate(divide="ignore"):
            left = float(np.log(self.low) - tilt.max()) if self.low > 0 else -float(tilt.max())
            left = min(left, -float(tilt.max()))
            right = float(np.log(self.high) - tilt.min())
        at = min(max(level, left), right)
        for _ in range(200):
            with np.errstate(over="ignore"):
                raw = np.exp(tilt + at)
            w = np.clip(raw, self.low, self.high)
            missing = 1 - float(self.share @ w)
            if abs(missing) <= 1e-15:
                break
            left, right = (at, right) if missing > 0 else (left, at)
            rise = float((self.share * w)[(raw > self.low) & (raw < self.high)].sum())
            step = at + missing / rise if rise > 0 else np.inf
            there = step if left < step < right else (left + right) / 2
            if there == at or right - left <= 1e-16 * max(1.0, abs(left)):
                break
            at = there
        return at

    def _direction(self, at: _At, reg: float) -> Real:
        total = max(float(at.free.sum()), np.finfo(np.float64).tiny)
        mean = at.free @ self.Z / total
        H = (self.Z * at.free[:, None]).T @ self.Z - total * np.outer(mean, mean)
        H[np.diag_indices_from(H)] += reg + 1e-12 * max(float(np.trace(H)) / len(H), 1e-6)
        direction = -lstsq(H, at.slope, cond=1e-14, check_finite=False)[0]
        return np.asarray(direction if float(at.slope @ direction) < 0 else -at.slope)

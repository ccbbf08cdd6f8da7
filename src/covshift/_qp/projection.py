"""The set of the simplex problems, lower <= w <= upper and least <= sum w <= most.

Nearest point, and minimum of a linear function over it: what every solver on the set needs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import Real
from ..exceptions import InputError

_ROUNDS = 200  # the search for the shift ends long before; each round is one pass over w


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

    def project(self, u: Real, shift: float = 0.0) -> tuple[Real, float, bool]:
        """Nearest point clip(u + shift) of the set; the shift; whether the sum is at its bound.

        ``shift`` starts the search; that of a neighbouring problem saves passes over u.
        """
        w = np.clip(u, self.lower, self.upper)
        total = float(w.sum())
        if self.least < self.most and self.least <= total <= self.most:
            return w, 0.0, False
        shift = _shift(u, self, self.least if total < self.least else self.most, shift)
        return np.clip(u + shift, self.lower, self.upper), shift, True

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


def _shift(u: Real, C: Polytope, total: float, shift: float) -> float:
    """Find c with sum clip(u + c) = total: Newton on a rising, piecewise linear function."""
    # No entry exceeds this, whatever the others are.
    cap = np.minimum(C.upper, C.lower + max(total - float(C.lower.sum()), 0.0))
    low, high = float((C.lower - u).min()), float((cap - u).max())
    c = min(max(shift, low), high)
    for _ in range(_ROUNDS):
        moved = u + c
        missing = total - float(np.clip(moved, C.lower, C.upper).sum())
        if missing > 0:
            low = c
        elif missing < 0:
            high = c
        free = int(np.count_nonzero((moved > C.lower) & (moved < C.upper)))
        step = c + missing / free if free else (low + high) / 2
        if not low <= step <= high:
            step = (low + high) / 2
        if step == c:
            break
        c = step
    return c

"""Factors of cells under which weights within limits have given sums."""

from __future__ import annotations

import numpy as np

from .._types import Real, Whole

_STEPS = 100
_CLOSE = 1e-13  # of a sum, which is a share
_WIDEST = 500.0  # of the logarithm of a factor


def attainable(share: Real, mass: Real, low: float, high: float) -> Real:
    """Nearest shares that weights from low to high, of mean one, can give cells of this mass.

    Cells that would need less or more get the limit, and the others share the rest.
    """
    least, most = low * mass, np.where(mass > 0, high, 0.0) * np.where(mass > 0, mass, 1.0)
    aim = share.copy()
    fixed = np.zeros(len(share), dtype=bool)
    for _ in range(len(share) + 1):
        beyond = ~fixed & ((aim < least) | (aim > most))
        if not beyond.any():
            break
        # Fix the side that is farther off: the other cells then move the other way.
        short, much = least - aim, aim - most
        lacks = short[beyond & (aim < least)].sum() >= much[beyond & (aim > most)].sum()
        fixed |= beyond & ((aim < least) if lacks else (aim > most))
        aim = np.where(fixed, np.clip(aim, least, most), aim)
        rest, free = 1 - aim[fixed].sum(), aim[~fixed].sum()
        if free > 0:
            aim = np.where(fixed, aim, aim * (rest / free))
    return np.clip(aim, least, most)


def bounded_factors(
    code: Whole, weight: Real, mass: Real, aim: Real, low: float, high: float
) -> Real:
    """Solve sum of mass clip(factor weight, low, high) = aim in each cell, for the factors (k,).

    The sum grows with the logarithm of the factor; Newton's method, kept inside an interval that
    halves where it would leave it.
    """
    k = len(aim)
    left, right = np.full(k, -_WIDEST), np.full(k, _WIDEST)
    at = np.zeros(k)
    for _ in range(_STEPS):
        scaled = weight * np.exp(at)[code]
        now = np.bincount(code, weights=mass * np.clip(scaled, low, high), minlength=k)
        inside = (scaled > low) & (scaled < high)
        slope = np.bincount(code, weights=np.where(inside, mass * scaled, 0.0), minlength=k)
        off = aim - now
        if np.abs(off).max() <= _CLOSE:
            break
        left, right = np.where(off > 0, at, left), np.where(off < 0, at, right)
        step = np.divide(off, slope, out=np.full(k, np.inf), where=slope > 0)
        there = at + np.clip(step, -50, 50)
        there = np.where((there > left) & (there < right), there, (left + right) / 2)
        at = np.where(off == 0, at, there)
    return np.exp(at)

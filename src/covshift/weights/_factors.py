"""Factors of the cells of margins: by iterative proportional fitting, or within limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from .._fields import Kind, Maybe, OrNone, Part, Reals
from .._types import Real, Whole
from ._bounded_tilt import bounded_tilt
from ._cells import CellTable

_PATIENCE = 50  # rounds in which the largest difference should halve
_EQUAL = 1e-9  # differences of shares that are apart by less are equal
_LARGEST = 600.0  # of an exponent: far above any limit, and exp() does not overflow


@dataclass(frozen=True)
class Raked:
    """The cells of one margin, and the factor of each: times exp(tilt), where there is one."""

    table: CellTable
    factor: Real  # (cells,)
    tilt: Real | None = None  # (cells,): of weights within limits, which may be large

    _saved: ClassVar[dict[str, Kind]] = {
        "table": Part(CellTable, cells="cells"),
        "factor": Reals("cells", least=0),
        "tilt": Maybe(OrNone(Reals("cells"))),
    }


def product(raked: tuple[Raked, ...], X: Real) -> Real:
    """Product of the factors of the cells that each row lies in; zero outside all cells."""
    weight, tilt = np.ones(len(X)), np.zeros(len(X))
    for part in raked:
        place = part.table.places(X)
        weight *= np.where(place < 0, 0.0, part.factor[place])
        if part.tilt is not None:
            tilt += part.tilt[place]
    return weight * np.exp(np.minimum(tilt, _LARGEST))


class Fitted(NamedTuple):
    """The factors of each margin's cells, and how well they do."""

    factors: list[Real]
    tilts: list[Real] | list[None]
    off: float  # largest difference between a weighted share and the target's
    worst: tuple[int, int]  # margin and cell of it
    rounds: int
    converged: bool
    stalled: bool  # more rounds would not help


def fitted_factors(
    codes: Whole, mass: Real, shares: list[Real], tol: float, max_iter: int
) -> Fitted:
    """Iterative proportional fitting of rows (S, margins) of cells, each of some mass."""
    sizes = [len(share) for share in shares]
    factors = [np.ones(k) for k in sizes]
    weight = np.ones(len(codes))
    rounds, converged, stalled, before = 0, False, False, np.inf
    for rounds in range(1, max_iter + 1):
        off = 0.0
        for m, aim in enumerate(shares):
            code = codes[:, m]
            now = np.bincount(code, weights=mass * weight, minlength=sizes[m])
            off = max(off, float(np.abs(now - aim).max()))
            step = np.divide(aim, now, out=np.ones_like(aim), where=now > 0)
            factors[m] = factors[m] * step
            weight = weight * step[code]
        if off <= tol:
            converged = True
            break
        if rounds % _PATIENCE == 0:
            stalled = off > before / 2  # at this pace a thousand rounds would not do
            if stalled:
                break
            before = off
    off, worst = _largest(codes, mass * weight, shares)
    return Fitted(factors, [None] * len(shares), off, worst, rounds, converged, stalled)


def factors_within(
    codes: Whole, mass: Real, shares: list[Real], low: float, high: float, tol: float
) -> Fitted:
    """Tilts of the cells whose clipped product gives the shares, or what comes nearest."""
    sizes = [len(share) for share in shares]
    Z = np.hstack([np.eye(k)[codes[:, m]] - shares[m] for m, k in enumerate(sizes)])
    share = mass / mass.sum()
    found = bounded_tilt(Z, share, low, high, reg=0.0, tol=tol, start=np.zeros(Z.shape[1]))
    tilts = np.split(found.theta, np.cumsum(sizes)[:-1])
    constant = found.level - sum(float(t @ s) for t, s in zip(tilts, shares, strict=True))
    tilts[0] = tilts[0] + constant
    off, worst = _largest(codes, share * found.w, shares)
    return Fitted([np.ones(k) for k in sizes], tilts, off, worst, 0, found.exact, False)


def _largest(codes: Whole, found: Real, shares: list[Real]) -> tuple[float, tuple[int, int]]:
    gaps = [
        np.abs(np.bincount(codes[:, m], weights=found, minlength=len(s)) / found.sum() - s)
        for m, s in enumerate(shares)
    ]
    off = max(float(gap.max()) for gap in gaps)
    worst, gap = next((m, gap) for m, gap in enumerate(gaps) if gap.max() >= off - _EQUAL)
    return off, (worst, int(np.flatnonzero(gap >= off - _EQUAL)[0]))

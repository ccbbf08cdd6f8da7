"""V = diag(u) L diag(u) + diag(d), with L of one-dimensional views: what trees can do faster.

Most corrections are of this form. In it, V times indicators of leaves is a matter of totals in the
bins of the views, and squares z'Vz can be bounded from below view by view: thresholds are taken
together in groups, and within a group the mean square is at least the square of the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .binned import BinnedLines
from .prefixes import Real
from .sweeps import LANES

_GROUPS = 16  # of thresholds in a view: what the bound is made of


@dataclass(frozen=True)
class Lined:
    """diag(u) (scale L) diag(u) + diag(d); without ``lines`` it is diagonal."""

    lines: BinnedLines | None
    scale: float
    u: Real  # (N,)
    d: Real  # (N,)

    def weighted(self, w: Real) -> Lined:
        """diag(w) V diag(w)."""
        return replace(self, u=self.u * w, d=self.d * w**2)

    @cached_property
    def coarse(self) -> Groups:
        """Thresholds in groups, whose squares are a lower bound."""
        assert self.lines is not None
        return Groups(self.lines, self.scale, _GROUPS)

    @cached_property
    def weights(self) -> Real:
        """u, or nothing where all of it is 1."""
        return self.u[:0] if (self.u == 1).all() else self.u

    @cached_property
    def single(self) -> Real:
        """Weights of all thresholds, zero beyond the last one of a view: (U, G or a few more)."""
        assert self.lines is not None
        weights = self.lines.weights
        every = np.zeros((max(len(w) for w in weights), _wide(len(weights))))
        for g, w in enumerate(self.lines.weights):
            every[: len(w), g] = self.scale * w
        return every


class Groups:
    """At most J groups of consecutive thresholds in every view (and mirror image): G of them.

    A row sees all of the groups after one (``place``, by the row's bin; J for none), and of that
    one a share of the weight (``part``). ``views`` tells the column of the codes.
    """

    def __init__(self, lines: BinnedLines, scale: float, J: int) -> None:
        sides = 2 if lines.symmetric else 1
        columns = [
            _side(scale * w, size, J, sides, mirrored=side == 1)
            for w, size in zip(lines.weights, lines.sizes, strict=True)
            for side in range(sides)
        ]
        sizes = [len(place) for place, _, _ in columns]
        self.views = np.repeat(np.arange(len(lines.sizes)), sides)
        self.offsets = np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.intp)
        self.place = np.concatenate([place for place, _, _ in columns])
        self.place = self.place.astype(np.min_scalar_type(J))
        self.part = np.concatenate([part for _, part, _ in columns])
        self.weights = np.zeros((J, _wide(len(columns))))
        for g, (_, _, weight) in enumerate(columns):
            self.weights[:, g] = weight

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """What the loops take."""
        return self.views, self.offsets, self.place, self.part, self.weights


def _wide(G: int) -> int:
    """Columns for ``G`` views, as the loops take them."""
    return -(-G // LANES) * LANES


def _side(w: Real, size: int, J: int, sides: int, *, mirrored: bool) -> tuple[Any, Real, Real]:
    """Of one view: group and share seen there of every bin (size,), weights of the groups (J,)."""
    U, bins = len(w), np.arange(size)
    if mirrored:  # thresholds from the largest down: those at or below the row come last
        w, first = w[::-1], U - (bins + 1) // 2
    else:
        first = bins // sides  # the first threshold that sees a row of the bin
    group = np.arange(U) * min(J, U) // max(U, 1)
    weights = np.asarray(np.bincount(group, w, minlength=J), dtype=np.float64)
    ends = np.cumsum(np.bincount(group, minlength=J))
    above = np.append(np.cumsum(w[::-1])[::-1], 0.0)
    place = np.append(group, J)[first]
    part = np.zeros(size)
    some = first < U
    part[some] = (above[first[some]] - above[ends[place[some]]]) / weights[place[some]]
    return place, part, weights


def lined(V: Any) -> Lined | None:
    """Return an operator or factor in this form, or None where it has another."""
    own = getattr(V, "lined", None)
    return None if own is None else own()


def lined_sum(terms: Sequence[tuple[float, Any]]) -> Lined | None:
    """sum_t c_t V_t, where at most one of them is not diagonal."""
    total: Lined | None = None
    for c, V in terms:
        part = lined(V)
        if part is None:
            return None
        part = replace(part, scale=c * part.scale, d=c * part.d)
        if total is None:
            total = part
        elif total.lines is not None and part.lines is not None:
            return None
        else:
            body = part if total.lines is None else total
            total = replace(body, d=total.d + part.d)
    return total

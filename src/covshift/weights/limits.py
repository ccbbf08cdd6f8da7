"""Limits of calibrated weights, and what they cost in balance.

Weights within limits (low, high), of mean one, are even by force: their effective sample size is
larger, and what they balance may be worse. Nobody should choose the one without seeing the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.parameters import Rule, number, one_of
from ..margins import Margins
from ..numerics.array import Flags, Real
from .problem import Problem

LIMITS = one_of(None) | Rule(
    ("a pair (low, high) with 0 <= low <= 1 <= high and low < high",),
    lambda value: (
        isinstance(value, tuple | list)
        and len(value) == 2
        and all(number(least=0).allows(end) for end in value)
        and value[0] <= 1 <= value[1]
        and value[0] < value[1]
    ),
)
"""What limits of weights may be."""

_ROUNDING = 1e-12  # by which a weight within its limits may exceed them
_AT_LIMIT = 1e-9  # a weight nearer to a limit is at it
_EQUAL = 1e-9  # gaps that are apart by less are equal, and the first is named
_SHOWN = 0.0005  # a gap below is written as zero, and is nowhere


def strictly_inside(weighter: Any) -> Flags | None:
    """Tell which factors of a fitted weighter lie between its limits; None if it has none."""
    limits = getattr(weighter, "limits", None)
    if limits is None:
        return None
    low, high = limits
    w = np.asarray(weighter.weights_)
    return np.asarray((w > low + _AT_LIMIT) & (w < high - _AT_LIMIT))


@dataclass(frozen=True)
class BalanceCost:
    """What limits buy in rows, and pay in balance.

    A gap is the largest difference from what the margins publish, as `Margins.balance` has it; with
    target rows, the largest standardised difference of a column's mean.
    """

    low: float
    high: float
    gap: float  # with the limits
    gap_without: float | None  # None: without them there are no weights
    worst: str  # where the gap is
    effective_sample_size: float
    effective_sample_size_without: float | None

    def __str__(self) -> str:
        where = f" ({self.worst})" if self.gap >= _SHOWN else ""
        text = (
            f"Weights from {self.low:g} to {self.high:g}: largest gap {self.gap:.3f}{where}, "
            f"effective sample size {self.effective_sample_size:.0f}; without limits "
        )
        if self.gap_without is None or self.effective_sample_size_without is None:
            return text + "no weights reach the target."
        return text + f"{self.gap_without:.3f} and {self.effective_sample_size_without:.0f}."


def inside(w: Real, limits: Any) -> bool:
    """Whether no weight is beyond the limits, but for rounding."""
    low, high = limits
    return bool(w.min() >= low - _ROUNDING and w.max() <= high + _ROUNDING)


def only_one(limits: Any) -> bool:
    """Whether the only weights of mean one within the limits are all one."""
    return bool(limits[0] == 1 or limits[1] == 1)


def clipped(w: Real, limits: Any) -> Real:
    """Weights within the limits; without any, as they are."""
    return w if limits is None else np.clip(w, *limits)


def largest_gap(margins: Margins, X: Any, w: Real) -> tuple[float, str]:
    """Largest difference of the weighted rows from the margins, and where it is."""
    found = margins.balance(X, w)
    largest = max(abs(row.gap) for row in found)
    return largest, next(row.what for row in found if abs(row.gap) >= largest - _EQUAL)


def largest_difference(problem: Problem, w: Real) -> tuple[float, str]:
    """Largest standardised difference of a column's mean, and its column."""
    units = problem.units(by_feature=False)
    gap = np.abs(w @ units(problem.X) / w.sum() - problem.share @ units(problem.T))
    worst = int(np.flatnonzero(gap >= gap.max() - _EQUAL)[0])
    names = problem.features.columns
    return float(gap.max()), f"column {worst}" if names is None else repr(names[worst])

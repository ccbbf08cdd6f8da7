"""A target that is known at published cuts alone: its distribution functions, and what is missing.

The problem of the CDF weights asks for one distribution function per view, at some thresholds with
some masses. Rows give one threshold for each value; margins one for each cell, at its upper end,
with its share as mass. Nothing else changes, and nothing is assumed between the cuts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...data.features import column_shares, feature_groups
from ...margins.features import Line
from ...numerics.array import Flags, Real
from ...numerics.statistics import holm
from ...numerics.support import LEVEL, MISSED, chance
from ...operators import Coordinates, Lines, LineViews
from ...operators.line_thresholds import Thresholds
from .views import TargetSide, line_target

_COUNTABLE = 1e7  # rows up to which chances are counted; beyond, the target is a distribution


@dataclass(frozen=True)
class UncoveredCells:
    """Cells of a margin, next to each other, that no training row is in.

    ``share`` of the target is there, ``excess`` of it beyond the 10 / N that N training rows may
    miss by chance, and ``p_value`` is corrected for all cells (Holm).
    """

    name: str
    cells: str
    share: float
    excess: float
    p_value: float

    def describe(self, names: Sequence[str] | None = None) -> str:
        """Say it in a sentence without its full stop.

        >>> UncoveredCells("age", "65 and over", 0.26, 0.25, 1e-9).describe()
        "26% of the target has 'age' in 65 and over, where there are no training rows"
        """
        share = f"{self.share:.0%}" if self.share >= 0.01 else f"{100 * self.share:.2g}%"
        return (
            f"{share} of the target has {self.name!r} in {self.cells}, where there are no "
            "training rows"
        )


def target_of(lines: Sequence[Line], *, even_tails: bool, scale: float) -> TargetSide:
    """Return the target that the CDF weights are matched to.

    The cells of a category, or of a table, share the weight of one feature.
    """
    views = [Thresholds.of(line.values, line.share) for line in lines]
    columns = list(dict.fromkeys(line.column for line in lines))
    groups = feature_groups([columns.index(line.column) for line in lines], len(lines))
    shares = None if groups is None else column_shares(groups)
    made = Lines(views, anderson_darling=even_tails, scale=scale, shares=shares)
    return line_target(LineViews(Coordinates(), made))


def uncovered_cells(
    Z: Real, lines: Sequence[Line], N: float, size: float
) -> tuple[UncoveredCells, ...]:
    """Return the significant parts of the target without training rows, the largest first."""
    found: list[tuple[str, str, float]] = []
    tests = 0
    for line, z in zip(lines, Z.T, strict=True):
        code = np.minimum(np.searchsorted(line.values, z), len(line.values) - 1)
        seen = np.bincount(code, minlength=len(line.values)) > 0
        tests += len(seen)
        for first, last in _runs(~seen):
            share = float(line.share[first : last + 1].sum())
            if share > 0:
                found.append((line.column, _named(line.labels, first, last), share))
    p_values = [_chance(share, N, size) for *_, share in found]
    corrected = holm(np.concatenate([p_values, np.ones(max(0, tests - len(found)))]))
    kept = [
        UncoveredCells(*part, max(0.0, part[2] - MISSED / N), float(p))
        for part, p in zip(found, corrected, strict=False)
        if p <= LEVEL
    ]
    return tuple(sorted(kept, key=lambda part: -part.share))


def _runs(flags: Flags) -> list[tuple[int, int]]:
    """First and last places of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int64), [0]])))
    return [(int(a), int(b) - 1) for a, b in edges.reshape(-1, 2)]


def _named(labels: list[str], first: int, last: int) -> str:
    return labels[first] if first == last else f"{labels[first]} ... {labels[last]}"


def _chance(share: float, N: float, size: float) -> float:
    """Chance that no training row is there, where a sample or a population has this share."""
    if size > _COUNTABLE:
        return float((1 - min(share, 1.0)) ** N)
    return chance(float(np.floor(share * size + 1e-6)), N, size)

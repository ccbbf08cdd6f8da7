"""What rows are measured in where their content chooses: a unit, an origin and an order of columns.

Folds, samples and landmarks follow a hash of what rows hold (`covshift._hashing`). Taken from the
numbers as they came, pounds in place of kilograms would choose other rows. So the hash sees

    u = (x - c) / s ,

c the middle one of the distinct values of a column of the target, s the middle one of their
distances from it, rounded so coarsely that the rounding of another unit is not seen, and finer than
any difference that matters. Columns are told apart by what the target holds in them, not by their
place. Weights and repeats of the target's rows do not move the distinct values. The target is known
before the training rows, which may come in blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._array import Array, is_numpy, namespace, to_numpy
from ._types import Real, Rows

_GRIDS = ((2.0**6, 2.0**-20), (2.0**26, 1.0), (np.inf, 2.0**20))  # up to a size: rounded to
_MARKED = 2.0**20  # the marks of a column are rounded to one over this


@dataclass(frozen=True)
class RowUnits:
    """Origin, unit and mark of each column: (n,) each."""

    center: Real
    spread: Real
    marks: Real  # whole numbers, of columns that are not alike different ones

    @classmethod
    def of(cls, T: Array, share: Array | None = None) -> RowUnits:
        """Learn from target rows T (M, n) of shares (M,), equal without them; O(M n log M)."""
        points = to_numpy(T).astype(np.float64)
        mass = np.full(len(points), 1 / len(points)) if share is None else to_numpy(share)
        points, mass = points[mass > 0], mass[mass > 0]
        found = [_column(points[:, k]) for k in range(points.shape[1])]
        center, spread = np.array(found).reshape(-1, 2).T
        units = cls(center, spread, np.zeros(len(center)))
        columns = [units.rounded(points[:, k], k) for k in range(len(center))]
        means = [
            np.sort(mass * u).sum() for u in columns
        ]  # sorted: the same in every order of rows
        return cls(center, spread, _marks(np.array(means)))

    @property
    def order(self) -> Rows:
        """Columns in an order that follows what they hold: (n,)."""
        return np.argsort(self.marks, kind="stable")

    def rounded(self, x: Array, k: int) -> Array:
        """Column k of some rows, in its unit and rounded: (rows,)."""
        with np.errstate(over="ignore"):
            u = (x - float(self.center[k])) / float(self.spread[k])
        xp = namespace(u)
        size = xp.abs(u)
        if is_numpy(u):
            size = np.minimum(size, np.finfo(np.float64).max)
        grid = xp.where(size < _GRIDS[0][0], _GRIDS[0][1], _GRIDS[2][1])
        grid = xp.where((size >= _GRIDS[0][0]) & (size < _GRIDS[1][0]), _GRIDS[1][1], grid)
        return xp.round(u / grid) * grid


def _column(t: Real) -> tuple[float, float]:
    values = np.unique(t)
    center = float(values[(len(values) - 1) // 2])
    # Halves: the difference of the largest numbers would overflow.
    away = np.sort(np.abs(values[values != center] / 2 - center / 2))
    spread = 2 * float(away[(len(away) - 1) // 2]) if len(away) else abs(center)
    return center, spread if 0 < spread < np.inf else 1.0


def _marks(means: Real) -> Real:
    """Whole numbers that tell columns apart by their means in units; equal ones by their order."""
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = np.rint(means * _MARKED)
    _, first = np.unique(rounded, return_index=True)
    repeated = np.ones(len(means), dtype=bool)
    repeated[first] = False
    rounded[repeated] += 0.5 + np.flatnonzero(repeated)
    return rounded + 0.0

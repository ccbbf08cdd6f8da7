"""Cells of rows: brackets or levels of some columns, crossed, and the target's share of each.

The cells are those that training rows are in. What the target has elsewhere is an empty cell: it
is named, or joins the nearest cell that has rows, along columns whose cells have an order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.spatial import cKDTree

from .._fields import COUNT, FLAG, Each, Kind, Part, Reals, Wholes
from .._types import Real, Whole
from ..exceptions import NoOverlapError
from ..margins.cells import Brackets
from ..margins.cells import Cells as ColumnCells

_APART = 1e6  # distance of two levels of a category, in brackets
_NAMED = 5

OR_LEFT_OUT = ", or left out where it is a level that no training row has"
"""What becomes of cells that have no neighbours, in words."""


@dataclass(frozen=True)
class Axis:
    """A column cut into cells."""

    column: int
    cuts: Real  # (k - 1,)
    right: bool  # whether a value at a cut belongs below it
    ordered: bool  # whether neighbouring cells are alike

    _saved: ClassVar[dict[str, Kind]] = {
        "column": COUNT,
        "cuts": Reals("cuts"),
        "right": FLAG,
        "ordered": FLAG,
    }

    def __post_init__(self) -> None:
        if (np.diff(self.cuts) <= 0).any():
            raise ValueError("cuts that do not grow")

    @classmethod
    def of(cls, column: int, cells: ColumnCells) -> Axis:
        """Take the cells of a margin; levels of a category are numbers from 0."""
        if isinstance(cells, Brackets):
            return cls(column, np.asarray(cells.cuts), cells.right, True)
        return cls(column, np.arange(len(cells) - 1, dtype=np.float64) + 0.5, False, False)

    def codes(self, Z: Real) -> Whole:
        """Number of the cell that each row is in."""
        x = Z[:, self.column]
        if self.right:
            return np.searchsorted(self.cuts, x, side="left").astype(np.int64)
        return np.searchsorted(self.cuts, x, side="right").astype(np.int64)


@dataclass(frozen=True)
class CellTable:
    """The cells of some axes that training rows are in, and the target's share of each."""

    axes: tuple[Axis, ...]
    known: Whole  # (S, axes): numbers of the cells
    share: Real  # (S,), sums to one

    _saved: ClassVar[dict[str, Kind]] = {
        "axes": Each(Part(Axis)),
        "known": Wholes("cells", "axes"),
        "share": Reals("cells", least=0),
    }

    def __post_init__(self) -> None:
        if not self.axes or not len(self.known) or len(self.axes) != self.known.shape[1]:
            raise ValueError("cells of other axes")

    def places(self, Z: Real) -> Whole:
        """Cell of each row: its own, or the nearest that has training rows; -1 where none is."""
        some, where = distinct_codes([axis.codes(Z) for axis in self.axes])
        return nearest(self.axes, self.known, some)[where]


def distinct_codes(columns: Sequence[Whole]) -> tuple[Whole, Whole]:
    """Return the distinct rows (S, columns) of whole numbers from 0, sorted, and whose each is."""
    sizes = [int(column.max()) + 1 for column in columns]
    if math.prod(sizes) < 2**62:  # one number stands for a row
        flat = np.ravel_multi_index(tuple(columns), sizes)
        some, where = np.unique(flat, return_inverse=True)
        found = np.column_stack(np.unravel_index(some, sizes))
    else:
        found, where = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    return found.astype(np.int64), where.reshape(-1).astype(np.int64)


def nearest(axes: Sequence[Axis], known: Whole, wanted: Whole) -> Whole:
    """Return which of the known cells is nearest to each wanted one; -1 where no level agrees."""
    unit = np.array([1.0 if axis.ordered else _APART for axis in axes])
    distance, place = cKDTree(known * unit).query(wanted * unit)
    return np.where(distance < _APART / 2, place, -1).astype(np.int64)


def table_of(
    axes: Sequence[Axis],
    Z: Real,
    codes: Whole,
    share: Real,
    *,
    collapse: bool,
    label: Any,
    advice: str,
    drop: bool = False,
) -> tuple[CellTable, float]:
    """Find the cells of the training rows Z, and share the target out among them.

    ``codes`` (C, axes) are the target's cells with their ``share`` (C,), and ``label(code)`` is
    what one is called. Returns also the share that joined another cell; without ``collapse``
    empty cells are refused. With ``drop`` cells of which no level agrees are left out, as long as
    there are others, and count in what is returned.
    """
    known, _ = distinct_codes([axis.codes(Z) for axis in axes])
    cells, where = distinct_codes(list(codes.T))
    mass = np.bincount(where, weights=share)
    cells, mass = cells[mass > 0], mass[mass > 0]
    place = nearest(axes, known, cells)
    lost = place < 0
    empty = lost | (known[place] != cells).any(axis=1)
    refused = empty if not collapse else lost
    moved = float(mass[empty].sum())
    if drop and not lost.all():
        place, mass, refused = place[~lost], mass[~lost], refused[:0]
    if refused.any():
        order = np.argsort(-mass[refused], kind="stable")[:_NAMED]
        names = [
            f"{label(c)} ({m:.1%})"
            for c, m in zip(cells[refused][order], mass[refused][order], strict=True)
        ]
        more = f" and {int(refused.sum()) - _NAMED} more" if refused.sum() > _NAMED else ""
        raise NoOverlapError(
            "There is no overlap: the target has cells without training rows, "
            f"{', '.join(names)}{more}. {advice}"
        )
    found = np.bincount(place, weights=mass, minlength=len(known))
    return CellTable(tuple(axes), known, found / found.sum()), moved


def quantile_axis(column: int, t: Real, share: Real, bins: int) -> Axis:
    """Cut a column at the target's quantiles; a cell for each value where these are few."""
    values, place = np.unique(t[share > 0], return_inverse=True)
    mass = np.bincount(place.reshape(-1), weights=share[share > 0])
    below = np.cumsum(mass) / mass.sum()
    if len(values) <= bins:
        return Axis(column, values[:-1], True, True)
    at = np.searchsorted(below, np.arange(1, bins) / bins - 1e-9)
    cuts = np.unique(values[at])
    return Axis(column, cuts[cuts < values[-1]], True, True)


def feature_axes(
    X: Real, T: Real, share: Real, columns: Sequence[int], bins: int, *, table: bool
) -> tuple[Axis, ...]:
    """Cut the columns of a feature: at quantiles, or into the levels of a category.

    ``table`` says that the columns come from a data frame, where zeros and ones are levels even if
    the target has one of them alone.
    """
    levels = all(np.isin(rows[:, columns], (0, 1)).all() for rows in (X, T))
    if levels and len(columns) > 1:
        # One column for each level: the cells of all of them together are the levels.
        return tuple(Axis(k, np.zeros(1), True, False) for k in columns)
    if levels and table:
        return (Axis(columns[0], np.zeros(1), True, True),)
    return tuple(quantile_axis(k, T[:, k], share, bins) for k in columns)

"""Cells of rows: brackets or levels of some columns, crossed, and the target's share of each.

The cells are those that training rows are in. What the target has elsewhere is an empty cell: it
is named, or joins the nearest cell that has rows, along columns whose cells have an order.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from ..exceptions import NoOverlapError, WeightWarning
from ..margins.cells import Brackets, CrossTable
from ..margins.cells import Cells as ColumnCells
from ..numerics.array import Real, Whole
from .problem import Problem
from .tilt import bounded_tilt

_APART = 1e6  # distance of two levels of a category, in brackets
_NAMED = 5  # cells that a message names

_MOVED = 0.1  # share of the target in cells without training rows from which a warning is due


@dataclass(frozen=True)
class Axis:
    """A column cut into cells."""

    column: int
    cuts: Real  # (k - 1,)
    right: bool  # whether a value at a cut belongs below it
    ordered: bool  # whether neighbouring cells are alike

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

    def __post_init__(self) -> None:
        if not self.axes or not len(self.known) or len(self.axes) != self.known.shape[1]:
            raise ValueError("cells of other axes")

    def places(self, Z: Real) -> Whole:
        """Cell of each row: its own, or the nearest that has training rows; -1 where none is."""
        some, where = distinct_codes([axis.codes(Z) for axis in self.axes])
        return nearest(self.axes, self.known, some)[where]


def distinct_codes(columns: Sequence[Whole]) -> tuple[Whole, Whole]:
    """Return the distinct rows (S, columns) of whole numbers from 0, sorted, and whose each is."""
    rows = np.column_stack(columns).astype(np.int64)
    sizes = [int(size) + 1 for size in rows.max(axis=0)]
    if math.prod(sizes) < 2**62:  # one number stands for a row
        flat = rows @ np.cumprod([1, *sizes[:0:-1]])[::-1]
        _, first, where = np.unique(flat, return_index=True, return_inverse=True)
        found = rows[first]
    else:
        found, where = np.unique(rows, axis=0, return_inverse=True)
    return found, where.reshape(-1).astype(np.int64)


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
    label: Any = str,
    advice: str = "",
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


def feature_axes(problem: Problem, columns: Sequence[int], bins: int) -> tuple[Axis, ...]:
    """Cut the columns of a feature: at quantiles, or into the levels of a category.

    Zeros and ones of a data frame are levels even if the target has one of them alone.
    """
    levels = all(np.isin(rows[:, columns], (0, 1)).all() for rows in (problem.X, problem.T))
    if levels and len(columns) > 1:
        # One column for each level: the cells of all of them together are the levels.
        return tuple(Axis(k, np.zeros(1), True, False) for k in columns)
    if levels and problem.framed:
        return (Axis(columns[0], np.zeros(1), True, True),)
    return tuple(quantile_axis(k, problem.T[:, k], problem.share, bins) for k in columns)


def target_table(problem: Problem, axes: Sequence[Axis]) -> tuple[CellTable, float]:
    """Share the target rows out among the cells that training rows are in; see `table_of`."""
    codes = np.column_stack([axis.codes(problem.T) for axis in axes])
    return table_of(axes, problem.X, codes, problem.share, collapse=True, drop=True)


def warn_of_moved(problem: Problem, moved: float, where: str, cell: str, advice: str) -> None:
    """Tell where much of the target was counted in other cells than its own."""
    if moved > _MOVED:
        dropped = ", or left out where it is a level that no training row has"
        warnings.warn(
            f"{moved:.0%} of the target lies in {where} without training rows, and was counted in "
            f"the nearest {cell} some{'' if problem.groups is None else dropped}{advice}",
            WeightWarning,
            stacklevel=4,
        )


# Margins and tables as cells of training rows.


_ADVICE = (
    "Merge them with others in the margins and in X, leave out the margin, or let brackets join "
    "their neighbours with collapse=True."
)


def crossed(
    part: Any, columns: list[int], Z: Real, *, collapse: bool
) -> tuple[CellTable, list[str]]:
    """Return the cells of a margin or table that rows Z are in, and what they are called."""
    sides = part.cells if isinstance(part, CrossTable) else (part.cells,)
    axes = [Axis.of(column, cells) for column, cells in zip(columns, sides, strict=True)]
    codes = np.stack(np.meshgrid(*(np.arange(len(s)) for s in sides), indexing="ij"), axis=-1)
    title = part.title if isinstance(part, CrossTable) else None

    def label(code: Any) -> str:
        names = [side.labels[int(c)] for side, c in zip(sides, code, strict=True)]
        return f"{title}: {', '.join(names)}" if title else repr(names[0])

    flat = codes.reshape(-1, len(sides))
    given: dict[str, Any] = {"collapse": collapse, "label": label, "advice": _ADVICE}
    table, _ = table_of(axes, Z, flat, np.ravel(part.share), **given)
    return table, [label(code) for code in table.known]


# Factors of the cells of margins: by iterative proportional fitting, or within limits.


_PATIENCE = 50  # rounds in which the largest difference should halve
_EQUAL = 1e-9  # differences of shares that are apart by less are equal
_LARGEST = 600.0  # of an exponent: far above any limit, and exp() does not overflow


@dataclass(frozen=True)
class Raked:
    """The cells of one margin, and the factor of each: times exp(tilt), where there is one."""

    table: CellTable
    factor: Real  # (cells,)
    tilt: Real | None = None  # (cells,): of weights within limits, which may be large


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
    tilt = bounded_tilt(Z, share, low, high, reg=0.0, tol=tol, start=np.zeros(Z.shape[1]))
    tilts = np.split(tilt.theta, np.cumsum(sizes)[:-1])
    constant = tilt.level - sum(float(t @ s) for t, s in zip(tilts, shares, strict=True))
    tilts[0] = tilts[0] + constant
    off, worst = _largest(codes, share * tilt.w, shares)
    return Fitted([np.ones(k) for k in sizes], tilts, off, worst, 0, tilt.exact, False)


def _largest(codes: Whole, found: Real, shares: list[Real]) -> tuple[float, tuple[int, int]]:
    gaps = [
        np.abs(np.bincount(codes[:, m], weights=found, minlength=len(s)) / found.sum() - s)
        for m, s in enumerate(shares)
    ]
    off = max(float(gap.max()) for gap in gaps)
    worst, gap = next((m, gap) for m, gap in enumerate(gaps) if gap.max() >= off - _EQUAL)
    return off, (worst, int(np.flatnonzero(gap >= off - _EQUAL)[0]))

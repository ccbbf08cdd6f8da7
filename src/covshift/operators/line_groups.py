"""Merged thresholds of one-dimensional views: a small problem that stands for a large one.

Products with all thresholds of a view hardly differ from those with a few of them. So Newton's
method on the CDF weights starts from the solution on few thresholds, and its systems are
preconditioned by R'R of fewer still.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..numerics.array import Array, Real, device, is_numpy, like, namespace, take_rows, to_numpy
from .base import blocks
from .line_bins import Bins, bin_offsets, bin_totals
from .line_factor import LineFactor, Lines
from .line_thresholds import Merged, Thresholds

_MOST_BINS = 128  # of a view, in a preconditioner
_MOST_ROWS = 1024  # of R, in a preconditioner
_ENOUGH_ROWS = 1 << 17  # of the data, in a preconditioner
_ENTRIES = 1 << 20  # codes counted at a time, in a preconditioner
_WORTH_MERGING = 8  # times as many thresholds as wanted, and they are worth merging
_FEW_THRESHOLDS = 10  # of a view, on average: a product of matrices is quicker than counting


def coarse_size(N: int, views: int, reg: float) -> int | None:
    """Return how many thresholds of a view stand for all in (R'R + reg I)^-1; None: too few help.

    The part of R'R that B thresholds per view miss has eigenvalues up to N / (G pi^2 B^2).
    """
    needed = int(np.ceil(np.sqrt(4 * N / (views * np.pi**2 * reg))))
    size = min(needed, _MOST_BINS, _MOST_ROWS // views)
    return None if size < 2 else size


def coarse(lines: Lines, size: int) -> Coarse | None:
    """Merge the thresholds of each view to at most ``size``; None where that saves little."""
    if max(line.size for line in lines.lines) < _WORTH_MERGING * size:
        return None
    merged = [line.merged(size) for line in lines.lines]
    return Coarse(lines, lines.of_merged(merged), merged)


def grouped(lines: Lines, size: int) -> tuple[RowGroups, Coarse]:
    """Do so where it saves little too; return also which rows of R become one."""
    xp = namespace(lines.below[0])
    merged = [line.merged(size) for line in lines.lines]
    ends = bin_offsets([part.thresholds.size for part in merged])
    share = [
        xp.sqrt(line.weights / xp.take(part.thresholds.weights, part.group))
        for line, part in zip(lines.lines, merged, strict=True)
    ]
    group = [part.group + start for part, start in zip(merged, ends, strict=False)]
    groups = RowGroups(xp.concat(group), xp.concat(share), ends[-1])
    return groups, Coarse(lines, lines.of_merged(merged), merged)


@dataclass(frozen=True)
class Coarse:
    """Fewer thresholds, and the way back to all of them."""

    fine: Lines
    lines: Lines
    merged: list[Merged]  # of each view

    def tables(self) -> list[Array]:
        """What each code becomes, in each view: the least that rows elsewhere need to know."""
        tables = [part.codes for part in self.merged]
        if is_numpy(tables[0]):
            smallest = np.min_scalar_type(max(line.size for line in self.lines.lines))
            tables = [table.astype(smallest) for table in tables]
        return tables

    def refined(self, u: Array) -> Array:
        """Vector over all thresholds, by straight lines from one over the fewer."""
        xp = namespace(u)
        starts = bin_offsets([line.size for line in self.lines.lines])
        lines = zip(self.fine.lines, self.lines.lines, strict=True)
        views = zip(lines, self.merged, pairwise(starts), strict=True)
        return xp.concat(
            [
                xp.sqrt(line.weights) * part.between(u[start:end] / xp.sqrt(fewer.weights))
                for (line, fewer), part, (start, end) in views
            ]
        )


@dataclass(frozen=True)
class RowGroups:
    """P (m, g): every row of R belongs to one group, with a share whose squares sum to one."""

    group: Array  # (m,)
    share: Array  # (m,)
    count: int

    def gather(self, r: Array) -> Real:
        """P'r, on the host."""
        sums = to_numpy(bin_totals(self.group, self.share * r, self.count))
        return sums.astype(np.float64, copy=False)

    def spread(self, z: Real) -> Array:
        """P z, where the rows of R are."""
        return self.share * namespace(self.share).take(like(z, self.share), self.group)


def regrouped(R: LineFactor, tables: list[Array], lines: Lines) -> LineFactor:
    """R of the same rows at other thresholds: their codes are read from one table per view."""
    pairs = zip(tables, R.bins.codes, strict=True)
    codes = [namespace(table).take(table, code) for table, code in pairs]
    return LineFactor(lines, Bins(codes, lines.sizes), R.shape[1])


def crossed(
    R: LineFactor, free: Array, tables: list[Array], lines: Lines, mass: Array | None = None
) -> tuple[Real, Real]:
    """S_f S_f' (g, g) and S_f 1 (g,) over the free rows, S the R of the codes in the tables.

    On the host, about: of many rows some are drawn, and stand for all. With ``mass`` (N,) a row
    counts for so many.
    """
    xp = namespace(free)
    rows = xp.nonzero(free)[0]
    count = int(rows.shape[0])
    if count > _ENOUGH_ROWS:
        drawn = np.random.default_rng(0).integers(count, size=_ENOUGH_ROWS)
        rows = take_rows(rows, np.sort(drawn))
    S = Crossed(regrouped(R.subset(rows), tables, lines))
    cross, ones = S.cross(None if mass is None else xp.take(mass, rows))
    scale = count / max(int(rows.shape[0]), 1)
    return scale * cross, scale * ones


class Crossed:
    """Products R R' of a small R (m, N), on the host."""

    def __init__(self, R: LineFactor) -> None:
        self._lines, self._codes = R.lines.lines, R.bins.codes
        self._ranges = [
            slice(*pair) for pair in pairwise(bin_offsets([t.size for t in self._lines]))
        ]

    def cross(self, mass: Array | None = None) -> tuple[Real, Real]:
        """R R' (m, m) and R 1 (m,), on the host; m is small.

        A product of zeros and ones where views have few thresholds, else from the counts of rows in
        the bins of every pair of views. With ``mass`` (N,) a row counts for so many.
        """
        few = self._ranges[-1].stop <= _FEW_THRESHOLDS * len(self._lines)
        cross = self._multiplied(mass) if few else self._counted(mass)
        ones = np.diagonal(cross)  # of zeros and ones the squares are the sums
        roots = np.concatenate([np.sqrt(to_numpy(line.weights)) for line in self._lines])
        return cross * roots * roots[:, None], ones * roots

    def _multiplied(self, mass: Array | None) -> Real:
        """Return how many rows each pair of thresholds dominates: (m, m)."""
        xp, m = namespace(self._codes[0]), self._ranges[-1].stop
        # Whole numbers below 2^24, as a block's counts are, are exact in half the digits.
        kind = xp.float32 if mass is None else xp.float64
        cross = np.zeros((m, m))
        for block in blocks(int(self._codes[0].shape[0]), max(1, _ENTRIES // m)):
            count = block.stop - block.start
            seen = xp.empty((m, count), dtype=kind, device=device(self._codes[0]))
            for line, code, part in self._views():
                numbers = xp.arange(line.size, dtype=code.dtype, device=device(code))
                seen[part, :] = xp.astype(code[block] <= numbers[:, None], kind)
            if mass is not None:
                seen *= xp.sqrt(mass[block])
            cross += to_numpy(seen @ seen.T)
        return cross

    def _counted(self, mass: Array | None) -> Real:
        """Return the same from tables of counts."""
        xp, G = namespace(self._codes[0]), len(self._lines)
        wide = 1 + max(line.size for line in self._lines)
        codes = xp.stack([xp.astype(code, xp.int64) for code in self._codes], axis=1)  # (N, G)
        starts = wide**2 * xp.arange(G, dtype=xp.int64, device=device(codes))
        some = max(1, _ENTRIES // max(1, int(codes.shape[0])))
        cross = np.empty((self._ranges[-1].stop, self._ranges[-1].stop))
        for a, here in enumerate(self._ranges):
            for first in range(a, G, some):
                there = self._ranges[first : first + some]
                cells = wide * codes[:, a : a + 1] + codes[:, first : first + len(there)]
                cells = xp.reshape(cells + starts[: len(there)], (-1,))
                each = None if mass is None else _repeated(mass, len(there))
                counts = to_numpy(bin_totals(cells, each, len(there) * wide**2))
                tables = counts.astype(np.float64).reshape(len(there), wide, wide)
                tables = tables.cumsum(axis=1).cumsum(axis=2)
                for table, part in zip(tables, there, strict=True):
                    block = table[: self._lines[a].size, : part.stop - part.start]
                    cross[here, part], cross[part, here] = block, block.T
        return cross

    def _views(self) -> Iterator[tuple[Thresholds, Array, slice]]:
        return zip(self._lines, self._codes, self._ranges, strict=True)


def _repeated(values: Array, times: int) -> Array:
    xp = namespace(values)
    shape = (int(values.shape[0]), times)
    return xp.reshape(xp.broadcast_to(values[:, None], shape), (-1,))

"""R of one-dimensional views for one vector at a time, by sums into bins.

Every row keeps one code per view, the number of the target's thresholds below it. R v is then,
view by view, a sum into bins and a prefix sum, R'z a suffix sum and a look-up: O(G (N + M)) for G
views, no N x M array. The same lines run on arrays of NumPy and on tensors,
which stay on their device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from ..numerics.array import Array, Real, device, is_numpy, like, namespace, take_rows, to_numpy
from .base import blocks
from .line_bins import bin_offsets, bin_totals, nested_gram, suffix_sums, sums_of_tables
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


class LineTarget:
    """The target side of views that map every point to a number.

    ``project`` yields a point set's (rows,) values in each view, ``below`` holds the target's
    distribution function at the thresholds of each.
    """

    def __init__(
        self,
        project: Callable[[Array], Iterable[Array]],
        lines: list[Thresholds],
        below: list[Array],
    ) -> None:
        self.project, self.lines, self.below = project, lines, below
        xp = namespace(below[0])
        pairs = list(zip(lines, below, strict=True))
        self.F = xp.concat([xp.sqrt(line.weights) * F for line, F in pairs])
        trace = sum(float(line.weights @ F) for line, F in pairs)
        self.spread = max(trace - float(self.F @ self.F), 0.0)

    @classmethod
    def of(
        cls,
        project: Callable[[Array], Iterable[Array]],
        T: Array,
        share: Array,
        *,
        anderson_darling: bool = False,
        scale: float = 1.0,
        shares: Real | None = None,
        most: int | None = None,
    ) -> LineTarget:
        """Sort the target T (M, n) in each view.

        ``scale`` multiplies R'R; ``shares`` are those of the views in the average, None: equal.
        Neighbours are merged where a view has more than ``most`` thresholds.
        """
        lines = (Thresholds.of(t, share) for t in project(T))
        return cls.from_lines(
            project, lines, anderson_darling=anderson_darling, scale=scale, shares=shares, most=most
        )

    @classmethod
    def from_lines(
        cls,
        project: Callable[[Array], Iterable[Array]],
        lines: Iterable[Thresholds],
        *,
        anderson_darling: bool = False,
        scale: float = 1.0,
        shares: Real | None = None,
        most: int | None = None,
    ) -> LineTarget:
        """Take each view by itself: its thresholds, and the share of the target at each."""
        kept, below = [], []
        for line in lines:
            F = line.below()
            weighted = (line.anderson_darling() if anderson_darling else line).scaled(scale)
            if most is not None and line.size > most:
                merged = weighted.merged(most)
                weighted, F = merged.thresholds, namespace(F).take(F, merged.chosen)
            kept.append(weighted)
            below.append(F)
        if shares is None:
            return cls(project, [line.averaged(len(kept)) for line in kept], below)
        pairs = zip(kept, shares, strict=True)
        return cls(project, [line.scaled(float(part)) for line, part in pairs], below)

    def rows(self, X: Array) -> LineRows:
        """R for the rows X (N, n)."""
        values = zip(self.lines, self.project(X), strict=True)
        return LineRows(self.lines, [line.codes(x) for line, x in values])

    def groups(self, size: int) -> tuple[RowGroups, list[Array], list[Thresholds]]:
        """Merge the thresholds of each view to at most ``size``.

        Return which rows of R become one, and for each view the table of new codes and the merged
        thresholds.
        """
        xp = namespace(self.F)
        merged = [line.merged(size) for line in self.lines]
        ends = bin_offsets([part.thresholds.size for part in merged])
        share = [
            xp.sqrt(line.weights / xp.take(part.thresholds.weights, part.group))
            for line, part in zip(self.lines, merged, strict=True)
        ]
        group = [part.group + start for part, start in zip(merged, ends, strict=False)]
        groups = RowGroups(xp.concat(group), xp.concat(share), ends[-1])
        return groups, [part.codes for part in merged], [part.thresholds for part in merged]

    def coarse(self, size: int) -> Coarse | None:
        """Merge the thresholds of each view to at most ``size``; None where that saves little."""
        if max(line.size for line in self.lines) < _WORTH_MERGING * size:
            return None
        xp = namespace(self.F)
        merged = [line.merged(size) for line in self.lines]
        below = [xp.take(F, part.chosen) for F, part in zip(self.below, merged, strict=True)]
        target = LineTarget(self.project, [part.thresholds for part in merged], below)
        return Coarse(self, target, merged)


@dataclass(frozen=True)
class Coarse:
    """A target of fewer thresholds, and its way back to all of them."""

    fine: LineTarget
    target: LineTarget
    merged: list[Merged]  # of each view

    def tables(self) -> list[Array]:
        """What each code becomes, in each view."""
        return [part.codes for part in self.merged]

    def refined(self, u: Array) -> Array:
        """Vector over all thresholds, by straight lines from one over the fewer."""
        xp = namespace(u)
        starts = bin_offsets([line.size for line in self.target.lines])
        views = zip(self.fine.lines, self.target.lines, self.merged, pairwise(starts), strict=True)
        return xp.concat(
            [
                xp.sqrt(line.weights) * part.between(u[start:end] / xp.sqrt(fewer.weights))
                for line, fewer, part, (start, end) in views
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


class LineRows:
    """R of one-dimensional views: for each, its thresholds in order."""

    def __init__(self, lines: list[Thresholds], codes: list[Array]) -> None:
        self._lines, self._codes = lines, codes
        self._ranges = [slice(*pair) for pair in pairwise(bin_offsets([t.size for t in lines]))]

    def matvec(self, v: Array) -> Array:
        """R v: (N,) -> (m,)."""
        xp = namespace(v)
        z = xp.empty(self._ranges[-1].stop, dtype=xp.float64, device=device(v))
        for root, (line, code, part) in zip(self._roots, self._views(), strict=True):
            z[part] = root * _prefix(code, v, line.size)
        return z

    def matvecs(self, v: Array, w: Array) -> tuple[Array, Array]:
        """R v and R w."""
        return self.matvec(v), self.matvec(w)

    def rmatvec(self, z: Array) -> Array:
        """R' z: (m,) -> (N,)."""
        pairs = zip(self._roots, self._ranges, strict=True)
        return sums_of_tables([suffix_sums(root * z[part]) for root, part in pairs], self._codes)

    def gram(self) -> Array:
        """R'R as a dense (N, N) array."""
        xp = namespace(self._lines[0].weights)
        views = self._views()
        return nested_gram([xp.take(suffix_sums(line.weights), code) for line, code, _ in views])

    def regrouped(self, tables: list[Array], lines: list[Thresholds]) -> LineRows:
        """Read new codes from one table per view."""
        xp = namespace(tables[0])
        if is_numpy(tables[0]):
            smallest = np.min_scalar_type(max(line.size for line in lines))
            tables = [table.astype(smallest) for table in tables]
        pairs = zip(tables, self._codes, strict=True)
        return LineRows(lines, [xp.take(table, code) for table, code in pairs])

    def crossed(
        self,
        free: Array,
        tables: list[Array],
        lines: list[Thresholds],
        mass: Array | None = None,
    ) -> tuple[Real, Real]:
        """S_f S_f' (g, g) and S_f 1 (g,) over the free rows, S the R of the codes in the tables.

        On the host, about: of many rows some are drawn, and stand for all. With ``mass`` (N,) a row
        counts for so many.
        """
        rows = namespace(free).nonzero(free)[0]
        count = int(rows.shape[0])
        if count > _ENOUGH_ROWS:
            drawn = np.random.default_rng(0).integers(count, size=_ENOUGH_ROWS)
            rows = take_rows(rows, np.sort(drawn))
        xp = namespace(rows)
        part = LineRows(self._lines, [xp.take(code, rows) for code in self._codes])
        counted = None if mass is None else xp.take(mass, rows)
        scale = count / max(int(rows.shape[0]), 1)
        cross, ones = part.regrouped(tables, lines).cross(counted)
        return scale * cross, scale * ones

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

    @cached_property
    def _roots(self) -> list[Array]:
        return [namespace(line.weights).sqrt(line.weights) for line in self._lines]

    def _views(self) -> Iterator[tuple[Thresholds, Array, slice]]:
        return zip(self._lines, self._codes, self._ranges, strict=True)


def _repeated(values: Array, times: int) -> Array:
    xp = namespace(values)
    shape = (int(values.shape[0]), times)
    return xp.reshape(xp.broadcast_to(values[:, None], shape), (-1,))


def _prefix(code: Array, v: Array, size: int) -> Array:
    """Sum ``v`` (N,) over the rows that each of ``size`` thresholds dominates: (U,)."""
    return namespace(v).cumulative_sum(bin_totals(code, v, size + 1)[:size])

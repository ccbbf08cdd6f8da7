"""R of one-dimensional views for one vector at a time, by sums into bins.

Every row keeps one code per view, the number of the target's thresholds below it. A product
K v = R'R v is then, view by view, a sum into bins, a prefix sum, a suffix sum and a look-up:
O(G (N + M)) for G views, no N x M array. The same lines run on arrays of NumPy and on tensors,
which stay on their device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..._array import Array, device, is_numpy, like, namespace, to_numpy
from ..._types import Flags, Real
from .bins import bin_offsets, bin_totals
from .tables import nested_gram, suffix_sums
from .thresholds import Thresholds

_MOST_BINS = 128  # of a view, in a preconditioner
_MOST_ROWS = 1024  # of R, in a preconditioner
_WORTH_MERGING = 8  # times as many thresholds as wanted, and they are worth merging


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
    ) -> LineTarget:
        """Sort the target T (M, n) in each view.

        ``scale`` multiplies R'R; ``shares`` are those of the views in the average, None: equal.
        """
        lines = [Thresholds.of(t, share) for t in project(T)]
        return cls.from_lines(
            project, lines, anderson_darling=anderson_darling, scale=scale, shares=shares
        )

    @classmethod
    def from_lines(
        cls,
        project: Callable[[Array], Iterable[Array]],
        lines: list[Thresholds],
        *,
        anderson_darling: bool = False,
        scale: float = 1.0,
        shares: Real | None = None,
    ) -> LineTarget:
        """Take each view by itself: its thresholds, and the share of the target at each."""
        below = [line.below() for line in lines]
        if anderson_darling:
            lines = [line.anderson_darling() for line in lines]
        lines = [line.scaled(scale) for line in lines]
        if shares is None:
            return cls(project, [line.averaged(len(lines)) for line in lines], below)
        pairs = zip(lines, shares, strict=True)
        return cls(project, [line.scaled(float(part)) for line, part in pairs], below)

    def rows(self, X: Array) -> LineRows:
        """R for the rows X (N, n)."""
        values = zip(self.lines, self.project(X), strict=True)
        return LineRows(self.lines, [line.codes(x) for line, x in values])

    def groups(self, size: int) -> tuple[Groups, list[Array], list[Thresholds]]:
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
        groups = Groups(xp.concat(group), xp.concat(share), ends[-1])
        return groups, [part.codes for part in merged], [part.thresholds for part in merged]

    def coarse(self, size: int) -> LineTarget | None:
        """Merge the thresholds of each view to at most ``size``; None where that saves little."""
        if max(line.size for line in self.lines) < _WORTH_MERGING * size:
            return None
        xp = namespace(self.F)
        merged = [line.merged(size) for line in self.lines]
        below = [xp.take(F, part.chosen) for F, part in zip(self.below, merged, strict=True)]
        return LineTarget(self.project, [part.thresholds for part in merged], below)


@dataclass(frozen=True)
class Groups:
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
        self._coarse: tuple[int, LineRows] | None = None

    def matvec(self, v: Array) -> Array:
        """R v: (N,) -> (m,)."""
        xp = namespace(v)
        z = xp.empty(self._ranges[-1].stop, dtype=xp.float64, device=device(v))
        for line, code, part in self._views():
            z[part] = xp.sqrt(line.weights) * _prefix(code, v, line.size)
        return z

    def rmatvec(self, z: Array) -> Array:
        """R' z: (m,) -> (N,)."""
        xp = namespace(z)
        total = self._nothing(z)
        for line, code, part in self._views():
            total += xp.take(suffix_sums(xp.sqrt(line.weights) * z[part]), code)
        return total

    def product(self, v: Array) -> Array:
        """R'R v: (N,) -> (N,)."""
        xp = namespace(v)
        total = self._nothing(v)
        for line, code, _ in self._views():
            total += xp.take(suffix_sums(line.weights * _prefix(code, v, line.size)), code)
        return total

    def gram(self) -> Array:
        """R'R as a dense (N, N) array."""
        xp = namespace(self._lines[0].weights)
        views = self._views()
        return nested_gram([xp.take(suffix_sums(line.weights), code) for line, code, _ in views])

    def preconditioner(
        self, free: Flags, reg: float, mass: Real | None = None
    ) -> Callable[[Real], Real] | None:
        """K is replaced by that of a few thresholds: S'S + reg I, inverted by Woodbury's formula.

        For rows on the host; with ``mass`` (N,) their columns of R times its square root. None
        where more than a few thresholds are needed.
        """
        size = coarse_size(len(free), len(self._lines), reg)
        if size is None:
            return None
        if self._coarse is None or not size <= self._coarse[0] <= 2 * size:
            merged = [line.merged(size) for line in self._lines]
            tables, lines = [part.codes for part in merged], [part.thresholds for part in merged]
            self._coarse = (size, self.regrouped(tables, lines))
        S = self._coarse[1]
        cross, _ = S.cross(free, mass)
        root = np.where(free, 1.0 if mass is None else np.sqrt(mass), 0.0)
        cross[np.diag_indices_from(cross)] += reg
        factor = cho_factor(cross, lower=True, overwrite_a=True, check_finite=False)

        def apply(r: Real) -> Real:
            inner = cho_solve(factor, S.matvec(root * r), check_finite=False)
            return np.asarray((r - root * S.rmatvec(inner)) / reg)

        return apply

    def regrouped(self, tables: list[Array], lines: list[Thresholds]) -> LineRows:
        """Read new codes from one table per view."""
        xp = namespace(tables[0])
        if is_numpy(tables[0]):
            smallest = np.min_scalar_type(max(line.size for line in lines))
            tables = [table.astype(smallest) for table in tables]
        pairs = zip(tables, self._codes, strict=True)
        return LineRows(lines, [xp.take(table, code) for table, code in pairs])

    def cross(self, free: Array, mass: Array | None = None) -> tuple[Real, Real]:
        """R_f R_f' (m, m) and R_f 1 (m,) over the free rows, on the host; m is small.

        From the counts of rows in the bins of every pair of views. With ``mass`` (N,) a row counts
        for so many.
        """
        xp, m = namespace(free), self._ranges[-1].stop
        codes = self._codes if bool(xp.all(free)) else [code[free] for code in self._codes]
        counted = None if mass is None else mass[free]
        roots = [np.sqrt(to_numpy(line.weights)) for line in self._lines]
        cross, ones = np.empty((m, m)), np.empty(m)
        wide = 1 + max(line.size for line in self._lines)
        for a, here in enumerate(self._ranges):
            first = wide * xp.astype(codes[a], xp.int64)
            for b, there in enumerate(self._ranges[a:], start=a):
                counts = to_numpy(bin_totals(first + codes[b], counted, wide**2))
                table = counts.reshape(wide, wide)[: len(roots[a])].cumsum(axis=0).cumsum(axis=1)
                if a == b:
                    ones[here] = roots[a] * table[:, -1]
                cross[here, there] = table[:, : len(roots[b])] * np.outer(roots[a], roots[b])
                cross[there, here] = cross[here, there].T
        return cross, ones

    def _nothing(self, example: Array) -> Array:
        xp = namespace(example)
        return xp.zeros(self._codes[0].shape[0], dtype=xp.float64, device=device(example))

    def _views(self) -> Iterator[tuple[Thresholds, Array, slice]]:
        return zip(self._lines, self._codes, self._ranges, strict=True)


def _prefix(code: Array, v: Array, size: int) -> Array:
    """Sum ``v`` (N,) over the rows that each of ``size`` thresholds dominates: (U,)."""
    return namespace(v).cumulative_sum(bin_totals(code, v, size + 1)[:size])

"""One-dimensional views: R by sorting, without any N x M array (theory, section 2.2).

A view maps every point to a number. Sorted, the target cuts the line into bins; a training point is
dominated by all thresholds at or above its own value. R A is then a prefix sum of bin totals and
R'Z a suffix sum read at the bins: O((N + M) log M) to build, O((N + M) D) a product and view.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._array import Array, device, namespace, real_dtype, searchsorted
from .._parallel import over_rows
from .base import blocks, columns
from .bins import BinSums, bin_offsets, bin_sums


@dataclass(frozen=True)
class _Line:
    """The target in one view: distinct sorted values and the weight of each, zeros dropped."""

    thresholds: Array  # (U,)
    weights: Array  # (U,), float64

    @property
    def size(self) -> int:
        return int(self.thresholds.shape[0])


class Lines:
    """The target side of G one-dimensional views, averaged: V = (1/G) sum_g R_g'R_g.

    Parameters
    ----------
    values : iterable of (M,) arrays
        The target in each view.
    weight : (M,) array
        Weight of each target row: its share of the target times phi.
    symmetric : bool
        Average every view with its mirror image (t <= x).
    anderson_darling : bool
        Multiply by phi = 1 / (F (1 - F)), F the target's mid-distribution function in the view.
    """

    def __init__(
        self,
        values: Iterable[Array],
        weight: Array,
        *,
        symmetric: bool = False,
        anderson_darling: bool = False,
    ) -> None:
        lines = [_line(t, weight, anderson_darling=anderson_darling) for t in values]
        sides = 2 if symmetric else 1
        self.symmetric = symmetric
        self.lines = [_Line(line.thresholds, line.weights / (len(lines) * sides)) for line in lines]
        # Mirrored, a point on a threshold and one just below it differ: each gets a bin.
        self.stride = sides
        self.sizes = [self.stride * line.size + 1 for line in self.lines]
        self.rows = sides * sum(line.size for line in self.lines)

    def factor(self, values: Iterable[Array], *, n_points: int) -> LineFactor:
        """R for ``n_points`` training points, given by their (N,) values in each view."""
        return LineFactor(self, bin_sums(self._codes(values), self.sizes), n_points)

    def rows_of(self, totals: Array) -> Array:
        """R A from the totals of all training rows: prefix sums over the bins of each view."""
        xp = namespace(totals)
        rows = []
        for line, start, size in zip(self.lines, bin_offsets(self.sizes), self.sizes, strict=False):
            scale = xp.sqrt(line.weights)[:, None]
            prefix = xp.cumulative_sum(totals[start : start + size, :], axis=0)
            if self.symmetric:
                rows.append(scale * prefix[1::2, :])
                rows.append(scale * (prefix[-1:, :] - prefix[:-1:2, :]))
            else:
                rows.append(scale * prefix[:-1, :])
        return xp.concat(rows)

    def _codes(self, values: Iterable[Array]) -> Iterator[Array]:
        for line, x in zip(self.lines, values, strict=True):
            xp = namespace(x)
            # Ties count as dominated (t >= x), hence side="left".
            code = searchsorted(line.thresholds, x, side="left")
            if self.symmetric:
                on = xp.take(line.thresholds, xp.clip(code, max=line.size - 1)) == x
                code = 2 * code + xp.astype(on, code.dtype)
            yield code


class LineFactor:
    """R of one-dimensional views: for each, its thresholds in order, then those of its mirror."""

    def __init__(self, lines: Lines, bins: BinSums, n_points: int) -> None:
        self._lines, self._bins = lines, bins
        self._like = lines.lines[0].thresholds  # namespace, device and dtype of the points
        self.shape = (lines.rows, n_points)

    def matmat(self, A: Array) -> Array:
        columns(A, self.shape[1], "R.matmat")
        product = self._lines.rows_of(self.totals(A))
        return namespace(A).astype(product, real_dtype(A, self._like.dtype))

    def totals(self, A: Array) -> Array:
        """Add the rows of ``A`` into the bins of every view; totals over blocks of rows add up."""
        return self._bins.sums(A)

    def rmatmat(self, Z: Array) -> Array:
        columns(Z, self.shape[0], "R.rmatmat")
        xp = namespace(Z)
        Z64 = xp.astype(Z, xp.float64)
        tables, row = [], 0
        for line in self._lines.lines:
            sides = []
            for _ in range(self._lines.stride):
                scale = xp.sqrt(line.weights)[:, None]
                sides.append(scale * Z64[row : row + line.size, :])
                row += line.size
            tables.append(self._read(*sides))
        return self._bins.gather(xp.concat(tables), real_dtype(Z, self._like.dtype))

    def squares(self) -> Array:
        xp = namespace(self._like)
        total = sum(self._seen())
        return xp.astype(total, self._like.dtype)

    def gram(self) -> Array:
        """Within a view the points seen are nested: V(i, j) = min(V(i, i), V(j, j)), per side."""
        xp = namespace(self._like)
        N = self.shape[1]
        V = xp.zeros((N, N), dtype=xp.float64, device=device(self._like))
        every_side = list(self._seen())

        def fill(chunk: slice) -> None:
            for part in blocks(chunk.stop - chunk.start, max(1, (1 << 18) // N)):
                rows = slice(chunk.start + part.start, chunk.start + part.stop)
                for seen in every_side:
                    V[rows, :] += xp.minimum(seen[rows, None], seen[None, :])

        over_rows(fill, N, at_least=max(1, (1 << 18) // N))
        return xp.astype(V, self._like.dtype)

    def subset(self, rows: NDArray[np.intp]) -> LineFactor:
        return LineFactor(self._lines, self._bins.subset(rows), len(rows))

    def _seen(self) -> Iterator[Array]:
        """Yield the target weight that sees each training point, one view and side at a time."""
        xp = namespace(self._like)
        for view, line in enumerate(self._lines.lines):
            weights = line.weights[:, None]
            if not self._lines.symmetric:
                yield self._bins.pick(view, self._read(weights)[:, 0])
            else:
                nothing = xp.zeros_like(weights)
                yield self._bins.pick(view, self._read(weights, nothing)[:, 0])
                yield self._bins.pick(view, self._read(nothing, weights)[:, 0])

    def _read(self, upper: Array, lower: Array | None = None) -> Array:
        """Return, for every bin, the sum of ``upper`` at or above it plus ``lower`` up to it."""
        xp = namespace(upper)
        suffix = xp.flip(
            xp.cumulative_sum(xp.flip(upper, axis=0), axis=0, include_initial=True), axis=0
        )
        if lower is None:
            return suffix
        prefix = xp.cumulative_sum(lower, axis=0, include_initial=True)
        bins = xp.arange(2 * upper.shape[0] + 1, device=device(upper))
        return xp.take(suffix, bins // 2, axis=0) + xp.take(prefix, (bins + 1) // 2, axis=0)


def _line(t: Array, weight: Array, *, anderson_darling: bool) -> _Line:
    xp = namespace(t)
    thresholds = xp.sort(xp.unique_values(t))
    place = searchsorted(thresholds, t)
    weights = bin_sums([place], [int(thresholds.shape[0])]).sums(weight[:, None])[:, 0]
    thresholds, weights = thresholds[weights > 0], weights[weights > 0]
    if anderson_darling:
        F = (xp.cumulative_sum(weights) - weights / 2) / xp.sum(weights)
        weights = weights / (F * (1 - F))
    return _Line(thresholds, weights)

"""Rows sorted into bins: the two sums behind every one-dimensional view.

N rows carry G codes each, one per view; view g has ``sizes[g]`` bins. `Bins.sums` adds the rows
of a matrix into their bins, `Bins.gather` reads a table back at every row: adjoint products with
one sparse 0/1 matrix of G ones per row, O(N G D), never held as floats for all rows at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from ..numerics.array import Array, device, is_numpy, is_torch, namespace, take_rows
from ..numerics.parallel import over_rows
from .base import blocks

_ENTRIES = 1 << 19  # codes handled at a time: about 6 MB of indices and ones
_CELLS = 1 << 22  # numbers of a dense block that is copied: 32 MB
_AT_ONCE = 1 << 13  # rows
_WORTH_THREADS = 1 << 15  # rows of a thread
_FEW = 2  # columns up to which one after the other is faster than a sparse product


def bin_offsets(sizes: Sequence[int]) -> list[int]:
    """Return where each view's bins start in the joint numbering, and their total."""
    return [0, *accumulate(sizes)]


def bin_totals(code: Array, values: Array | None, size: int) -> Array:
    """Add the rows of ``values`` (N, ...) into the ``size`` bins of one view; None counts rows.

    Sums are of float64. NumPy takes one column.
    """
    if is_numpy(code):
        return np.bincount(code, values, size)
    xp = namespace(code)
    if values is None:
        values = xp.ones(code.shape, dtype=xp.float64, device=device(code))
    if is_torch(code):
        total = xp.zeros((size, *values.shape[1:]), dtype=xp.float64, device=device(code))
        return total.index_add_(0, code, values.double())
    # The standard knows no sums by index: sorted, prefix sums are read at the ends of the bins.
    order = xp.argsort(code)
    numbers = xp.arange(size, dtype=code.dtype, device=device(code))
    ends = xp.searchsorted(xp.take(code, order), numbers, side="right")
    prefix = xp.cumulative_sum(
        xp.take(values, order, axis=0), axis=0, dtype=xp.float64, include_initial=True
    )
    at_ends = xp.take(prefix, ends, axis=0)
    return at_ends - xp.concat([xp.zeros_like(at_ends[:1, ...]), at_ends[:-1, ...]])


def sums_of_tables(tables: Sequence[Array], codes: Sequence[Array]) -> Array:
    """Read the table of each view at its codes, and add up: (N,)."""
    xp = namespace(tables[0])
    total = xp.zeros(codes[0].shape[0], dtype=xp.float64, device=device(tables[0]))
    if not is_numpy(total):
        for table, code in zip(tables, codes, strict=True):
            total += xp.take(table, code)
        return total

    # Rows whose codes and sums stay in the processor's cache, and the table where it is longer.
    size = max(_AT_ONCE, *(len(table) for table in tables))

    def work(chunk: slice) -> None:
        buffer = np.empty(min(size, chunk.stop - chunk.start))
        for part in blocks(chunk.stop - chunk.start, size):
            rows = slice(chunk.start + part.start, chunk.start + part.stop)
            here, read = total[rows], buffer[: part.stop - part.start]
            for table, code in zip(tables, codes, strict=True):
                np.take(table, code[rows].astype(np.intp), out=read, mode="clip")
                here += read

    over_rows(work, len(total), at_least=_WORTH_THREADS)
    return total


class Bins:
    """The codes of N rows in G views, (N,) each, and products with their 0/1 matrix.

    On NumPy by SciPy's compiled sparse product, block by block.
    """

    def __init__(self, codes: Iterable[Array], sizes: Sequence[int]) -> None:
        self.codes, self._sizes = list(codes), list(sizes)

    def sums(self, A: Array) -> Array:
        """Add each row of ``A`` (N, D) into its bins: (total bins, D), float64."""
        if not is_numpy(A):
            views = zip(self.codes, self._sizes, strict=True)
            return namespace(A).concat([bin_totals(code, A, size) for code, size in views])
        if 0 < A.shape[1] <= _FEW:
            views = zip(self.codes, self._sizes, strict=True)
            each = [[bin_totals(code, a, size) for a in A.T] for code, size in views]
            return np.concatenate(each, axis=1).T
        parts: dict[int, Array] = {}  # by first row: the order of the sum is that of the rows
        total = sum(self._sizes)
        # Every block of rows makes an array of all bins: take enough rows to make it worth while.
        size = self._rows(min(max(_ENTRIES, total), 4 * _ENTRIES))
        if A.dtype != np.float64:
            size = min(size, max(1, _CELLS // A.shape[1]))

        def add(chunk: slice) -> None:
            for rows, indices, ones, starts in self._blocks(chunk, size):
                membership = csc_array((ones, indices, starts), shape=(total, len(starts) - 1))
                part = membership @ A[rows].astype(np.float64, copy=False)
                if chunk.start in parts:
                    parts[chunk.start] += part
                else:
                    parts[chunk.start] = part

        over_rows(add, len(A), at_least=size)
        return reduce(np.add, (parts[start] for start in sorted(parts)))

    def gather(self, table: Array) -> Array:
        """Sum the rows of ``table`` (total bins, D) found at each row's codes: (N, D)."""
        if not is_numpy(table):
            xp, starts = namespace(table), bin_offsets(self._sizes)
            views = zip(self.codes, starts, strict=False)
            return sum(xp.take(table, code + start, axis=0) for code, start in views)
        N = len(self.codes[0])
        found = np.empty((N, table.shape[1]))
        if table.shape[1] <= _FEW:
            ends = bin_offsets(self._sizes)[1:-1]
            for column, values in zip(found.T, table.T, strict=True):
                column[:] = sums_of_tables(np.split(values, ends), self.codes)
            return found
        size = min(self._rows(_ENTRIES), max(1, _CELLS // table.shape[1]))

        def fill(chunk: slice) -> None:
            for rows, indices, ones, starts in self._blocks(chunk, size):
                shape = (len(starts) - 1, len(table))
                found[rows] = csr_array((ones, indices, starts), shape=shape) @ table

        over_rows(fill, N, at_least=size)
        return found

    def pick(self, view: int, table: Array) -> Array:
        """Read one view's ``table`` (its bins,) at each row's code: (N,)."""
        return namespace(table).take(table, self.codes[view])

    def subset(self, rows: NDArray[np.intp]) -> Bins:
        """Keep some of the rows."""
        return Bins([take_rows(code, rows) for code in self.codes], self._sizes)

    def _rows(self, entries: int) -> int:
        return max(1, entries // len(self._sizes))

    def _blocks(self, chunk: slice, size: int) -> Iterator[tuple[slice, Array, Array, Array]]:
        G, offsets = len(self._sizes), bin_offsets(self._sizes)
        size = min(size, chunk.stop - chunk.start)
        ones, starts = np.ones(size * G), np.arange(0, (size + 1) * G, G, dtype=np.int32)
        for part in blocks(chunk.stop - chunk.start, size):
            rows = slice(chunk.start + part.start, chunk.start + part.stop)
            count = rows.stop - rows.start
            indices = np.empty((count, G), dtype=np.int32)
            for view, (code, offset) in enumerate(zip(self.codes, offsets, strict=False)):
                np.add(code[rows], np.int32(offset), out=indices[:, view], casting="unsafe")
            yield rows, indices.ravel(), ones[: count * G], starts[: count + 1]


# From the bins of a view to its thresholds and back: prefix sums, suffix sums, two sides.
#
# A view with U thresholds has bins 0..U, or 0..2U where it is averaged with its mirror image (there
# a point on a threshold has a bin of its own). A threshold sees the bins at or below it; mirrored,
# those at or above it.


_TABLE_ENTRIES = 1 << 18  # of a Gram matrix, filled at a time


def bin_count(U: int, symmetric: bool) -> int:
    """Return the number of bins that ``U`` thresholds make."""
    return 2 * U + 1 if symmetric else U + 1


def suffix_sums(values: Array) -> Array:
    """Sum ``values`` (U, ...) from each place to the end, and a zero behind: (U + 1, ...)."""
    xp = namespace(values)
    if xp is np:
        table = np.zeros((len(values) + 1, *values.shape[1:]))
        np.cumsum(values[::-1], axis=0, out=table[-2::-1])
        return table
    sums = xp.cumulative_sum(xp.flip(values, axis=0), axis=0, include_initial=True)
    return xp.flip(sums, axis=0)


def at_thresholds(prefix: Array, symmetric: bool) -> list[Array]:
    """Read prefix sums over the bins at the thresholds: what lies at or below each of them.

    In a symmetric view also what lies strictly below each.
    """
    if symmetric:
        return [prefix[1::2, ...], prefix[:-1:2, ...]]
    return [prefix[:-1, ...]]


def at_bins(upper: Array, lower: Array | None = None) -> Array:
    """Sum ``upper`` over the thresholds at or above each bin, and ``lower`` over those up to it.

    Values (U, ...) become (bins, ...); with ``lower`` the view is symmetric.
    """
    suffix = suffix_sums(upper)
    if lower is None:
        return suffix
    xp = namespace(upper)
    prefix = xp.cumulative_sum(lower, axis=0, include_initial=True)
    bins = xp.arange(bin_count(upper.shape[0], True), device=device(upper))
    return xp.take(suffix, bins // 2, axis=0) + xp.take(prefix, (bins + 1) // 2, axis=0)


def seen_by_bin(weights: Array, symmetric: bool) -> list[Array]:
    """Sum the weights (U,) of the thresholds that see each bin, for every side: (bins,)."""
    if not symmetric:
        return [at_bins(weights)]
    nothing = namespace(weights).zeros_like(weights)
    return [at_bins(weights, nothing), at_bins(nothing, weights)]


def nested_gram(sides: Sequence[Array]) -> Array:
    """V(i, j) = min(V(i, i), V(j, j)), summed over the sides of all views: (N, N), float64.

    Within a side the points that a threshold sees are nested, so V is known by its diagonal (N,).
    """
    xp, N = namespace(sides[0]), int(sides[0].shape[0])
    V = xp.zeros((N, N), dtype=xp.float64, device=device(sides[0]))
    size = max(1, _TABLE_ENTRIES // N)

    def fill(chunk: slice) -> None:
        for part in blocks(chunk.stop - chunk.start, size):
            rows = slice(chunk.start + part.start, chunk.start + part.stop)
            for seen in sides:
                V[rows, :] += xp.minimum(seen[rows, None], seen[None, :])

    over_rows(fill, N, at_least=size)
    return V

"""Rows sorted into bins: the two sums behind every one-dimensional view.

N rows carry G codes each, one per view; view g has ``sizes[g]`` bins. `BinSums.sums` adds the rows
of a matrix into their bins, `BinSums.gather` reads a table back at every row: adjoint products with
one sparse 0/1 matrix of G ones per row, O(N G D), never held as floats for all rows at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import reduce
from itertools import accumulate, chain
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from ..numerics.array import Array, device, is_numpy, is_torch, namespace, take_rows
from ..numerics.device.arrays import device_bin_totals
from ..numerics.parallel import over_rows
from .base import blocks

_ENTRIES = 1 << 19  # codes handled at a time: about 6 MB of indices and ones
_CELLS = 1 << 22  # numbers of a dense block that is copied: 32 MB
_AT_ONCE = 1 << 13  # rows
_WORTH_THREADS = 1 << 15  # rows of a thread


class BinSums(Protocol):
    """Adjoint products with the 0/1 matrix of bin membership, accumulated in float64."""

    def sums(self, A: Array) -> Array:
        """Add each row of ``A`` (N, D) into its bins: (total bins, D), float64."""
        ...

    def gather(self, table: Array, dtype: Any) -> Array:
        """Sum the rows of ``table`` (total bins, D) found at each row's codes: (N, D)."""
        ...

    def pick(self, view: int, table: Array) -> Array:
        """Read one view's ``table`` (its bins,) at each row's code: (N,)."""
        ...

    def table(self) -> NDArray[Any] | None:
        """Return the codes as a NumPy array (N, G), or None where they lie elsewhere."""
        ...

    def subset(self, rows: NDArray[np.intp]) -> BinSums:
        """Keep some of the rows."""
        ...

    def only(self, views: slice) -> BinSums:
        """Keep some consecutive views."""
        ...


def bin_sums(codes: Iterable[Array], sizes: Sequence[int]) -> BinSums:
    """Choose the implementation for these codes: one (N,) integer array per view, read once."""
    codes = iter(codes)
    first = next(codes)
    return (_SparseBins if is_numpy(first) else _SortedBins)(chain([first], codes), sizes)


def bin_offsets(sizes: Sequence[int]) -> list[int]:
    """Return where each view's bins start in the joint numbering, and their total."""
    return [0, *accumulate(sizes)]


def bin_totals(code: Array, values: Array | None, size: int) -> Array:
    """Add one column of ``values`` (N,) into the ``size`` bins of one view; None counts rows."""
    if is_numpy(code):
        return np.bincount(code, values, size)
    if is_torch(code):
        return device_bin_totals(code, values, size)
    if values is None:
        xp = namespace(code)
        values = xp.ones(code.shape, dtype=xp.float64, device=device(code))
    return bin_sums([code], [size]).sums(values[:, None])[:, 0]


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


class _SparseBins:
    """NumPy: SciPy's compiled sparse product, block by block."""

    def __init__(self, codes: Iterable[Array], sizes: Sequence[int]) -> None:
        for view, code in enumerate(codes):
            if view == 0:
                smallest = np.min_scalar_type(max(sizes))
                self._codes = np.empty((len(code), len(sizes)), dtype=smallest)
            self._codes[:, view] = code
        self._sizes = list(sizes)

    def sums(self, A: Array) -> Array:
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

        over_rows(add, len(self._codes), at_least=size)
        return reduce(np.add, (parts[start] for start in sorted(parts)))

    def gather(self, table: Array, dtype: Any) -> Array:
        read = np.empty((len(self._codes), table.shape[1]), dtype=dtype)
        size = min(self._rows(_ENTRIES), max(1, _CELLS // table.shape[1]))

        def fill(chunk: slice) -> None:
            for rows, indices, ones, starts in self._blocks(chunk, size):
                shape = (len(starts) - 1, len(table))
                read[rows] = csr_array((ones, indices, starts), shape=shape) @ table

        over_rows(fill, len(self._codes), at_least=size)
        return read

    def pick(self, view: int, table: Array) -> Array:
        return table[self._codes[:, view]]

    def table(self) -> NDArray[Any] | None:
        return self._codes

    def subset(self, rows: NDArray[np.intp]) -> _SparseBins:
        part = copy(self)
        part._codes = self._codes[rows]
        return part

    def only(self, views: slice) -> _SparseBins:
        part = copy(self)
        part._codes, part._sizes = self._codes[:, views], self._sizes[views]
        return part

    def _rows(self, entries: int) -> int:
        return max(1, entries // len(self._sizes))

    def _blocks(self, chunk: slice, size: int) -> Iterator[tuple[slice, Array, Array, Array]]:
        G = len(self._sizes)
        size = min(size, chunk.stop - chunk.start)
        offsets = np.array(bin_offsets(self._sizes)[:-1], dtype=np.int32)
        ones, starts = np.ones(size * G), np.arange(0, (size + 1) * G, G, dtype=np.int32)
        for part in blocks(chunk.stop - chunk.start, size):
            rows = slice(chunk.start + part.start, chunk.start + part.stop)
            count = rows.stop - rows.start
            indices = (self._codes[rows] + offsets).ravel()
            yield rows, indices, ones[: count * G], starts[: count + 1]


class _SortedBins:
    """Array API: rows sorted by code once, then prefix sums read at the ends of the bins."""

    def __init__(self, codes: Iterable[Array], sizes: Sequence[int]) -> None:
        self._codes, self._sizes = list(codes), list(sizes)
        xp = namespace(self._codes[0])
        self._orders = [xp.argsort(code) for code in self._codes]
        self._ends = [
            xp.searchsorted(
                xp.take(code, order),
                xp.arange(size, dtype=code.dtype, device=device(code)),
                side="right",
            )
            for code, order, size in zip(self._codes, self._orders, sizes, strict=True)
        ]

    def sums(self, A: Array) -> Array:
        xp = namespace(A)
        per_view = []
        for order, ends in zip(self._orders, self._ends, strict=True):
            prefix = xp.cumulative_sum(
                xp.take(A, order, axis=0), axis=0, dtype=xp.float64, include_initial=True
            )
            at_ends = xp.take(prefix, ends, axis=0)
            start = xp.zeros_like(at_ends[:1, :])
            per_view.append(at_ends - xp.concat([start, at_ends[:-1, :]]))
        return xp.concat(per_view)

    def gather(self, table: Array, dtype: Any) -> Array:
        xp = namespace(table)
        read = xp.zeros((self._codes[0].shape[0], table.shape[1]), dtype=xp.float64)
        read = xp.asarray(read, device=device(table))
        for code, offset in zip(self._codes, bin_offsets(self._sizes), strict=False):
            read = read + xp.take(table, code + offset, axis=0)
        return xp.astype(read, dtype)

    def pick(self, view: int, table: Array) -> Array:
        return namespace(table).take(table, self._codes[view])

    def table(self) -> NDArray[Any] | None:
        return None

    def subset(self, rows: NDArray[np.intp]) -> _SortedBins:
        return _SortedBins([take_rows(code, rows) for code in self._codes], self._sizes)

    def only(self, views: slice) -> _SortedBins:
        part = copy(self)
        part._codes, part._sizes = self._codes[views], self._sizes[views]
        part._orders, part._ends = self._orders[views], self._ends[views]
        return part


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

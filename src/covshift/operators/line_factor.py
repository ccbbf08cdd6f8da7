"""R of one-dimensional views by sorting, without any N x M array (theory, section 2.2).

A view maps every point to a number. Sorted, the target cuts the line into bins; a training point is
dominated by all thresholds at or above its own value. R A is then a prefix sum of bin totals and
R'Z a suffix sum read at the bins: O((N + M) log M) to build, O((N + M) D) per product
and view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import reduce
from operator import iadd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputTypeError
from ..numerics.array import Array, Real, Rows, device, namespace
from ..numerics.device.arrays import DeviceColumns
from .base import blocks, columns
from .line_bins import (
    BinSums,
    at_bins,
    at_thresholds,
    bin_count,
    bin_offsets,
    bin_sums,
    nested_gram,
    seen_by_bin,
)
from .line_thresholds import Thresholds

_BYTES = 16 << 20  # of bin totals that a product holds at a time, a few times over


class Lines:
    """The target side of G one-dimensional views, averaged: V = sum_g c_g R_g'R_g, c_g = 1/G.

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
    shares : (G,) array, optional
        Share c_g of every view in the average; they sum to one (`covshift.data.features`).
    """

    def __init__(
        self,
        values: Iterable[Array],
        weight: Array,
        *,
        symmetric: bool = False,
        anderson_darling: bool = False,
        shares: Real | None = None,
    ) -> None:
        lines = [Thresholds.of(t, weight) for t in values]
        if anderson_darling:
            lines = [line.anderson_darling() for line in lines]
        self.symmetric, self.sides = symmetric, 2 if symmetric else 1
        if shares is None:
            self.lines = [line.averaged(len(lines) * self.sides) for line in lines]
        else:
            pairs = zip(lines, shares, strict=True)
            self.lines = [line.scaled(float(share) / self.sides) for line, share in pairs]

    @property
    def sizes(self) -> list[int]:
        """Number of bins in each view."""
        return [bin_count(line.size, self.symmetric) for line in self.lines]

    @property
    def rows(self) -> int:
        """Number of rows of R."""
        return self.sides * sum(line.size for line in self.lines)

    def factor(self, values: Iterable[Array], *, n_points: int) -> LineFactor:
        """R for ``n_points`` training points, given by their (N,) values in each view."""
        return LineFactor(self, bin_sums(self._codes(values), self.sizes), n_points)

    def rows_of(self, totals: Array) -> Array:
        """R A from the totals of all training rows: prefix sums over the bins of each view."""
        xp = namespace(totals)
        product = _empty((self.rows, totals.shape[1]), totals, totals.dtype)
        row = 0
        for line, start, size in zip(self.lines, bin_offsets(self.sizes), self.sizes, strict=False):
            scale = xp.sqrt(line.weights)[:, None]
            prefix = xp.cumulative_sum(totals[start : start + size, :], axis=0)
            seen, *strictly_below = at_thresholds(prefix, self.symmetric)
            for side in (seen, *(prefix[-1:, :] - part for part in strictly_below)):
                product[row : row + line.size, :] = scale * side
                row += line.size
        return product

    def device_totals(
        self, values: Iterable[Array], A: DeviceColumns, w: Array
    ) -> tuple[Array, Array]:
        """Totals of w times the columns, and of w, and which rows some threshold sees."""
        codes = list(self._codes(values))
        seen = codes[0] < self.sizes[0] - 1
        for code, size in zip(codes, self.sizes, strict=True):
            # Mirrored, every row is seen from one side at least.
            seen = seen | (code < size - 1) | self.symmetric
        return A.bin_totals(codes, bin_offsets(self.sizes), w), seen

    def trace(self, totals: Array) -> Array:
        """Sum of w_i V(i, i), from the totals (bins,) of w."""
        xp = namespace(totals)
        roots = [xp.sqrt(line.weights) for line in self.lines for _ in range(self.sides)]
        return xp.sum(xp.concat(roots) * self.rows_of(totals[:, None])[:, 0])

    def merged(self, size: int, fewest: int) -> Lines:
        """Merge neighbouring thresholds to about ``size`` over all views, ``fewest`` in each.

        No distribution function of the target moves by more than the weight of one threshold.
        """
        part = copy(self)
        each = max(fewest, size // len(self.lines))
        part.lines = [line.merged(each).thresholds for line in self.lines]
        return part

    def only(self, views: slice) -> Lines:
        """Keep some consecutive views, with their part of the average."""
        part = copy(self)
        part.lines = self.lines[views]
        return part

    def _codes(self, values: Iterable[Array]) -> Iterator[Array]:
        for line, x in zip(self.lines, values, strict=True):
            yield line.codes(x, symmetric=self.symmetric)


class LineFactor:
    """R of one-dimensional views: for each, its thresholds in order, then those of its mirror."""

    def __init__(self, lines: Lines, bins: BinSums, n_points: int) -> None:
        self._lines, self._bins = lines, bins
        self._like = lines.lines[0].values  # namespace, device and dtype of the points
        self.shape = (lines.rows, n_points)

    def matmat(self, A: Array) -> Array:
        A = columns(A, self.shape[1], "R.matmat", self._like)
        product = _empty((self.shape[0], A.shape[1]), A, A.dtype)
        for cols, parts in self._pieces(A.shape[1]):
            for rows, part in parts:
                product[rows, cols] = namespace(A).astype(part._forward(A[:, cols]), A.dtype)
        return product

    def rmatmat(self, Z: Array) -> Array:
        Z = columns(Z, self.shape[0], "R.rmatmat", self._like)
        return self._gathered(Z, lambda part, rows, cols: Z[rows, cols])

    def normal(self, A: Array) -> Array:
        A = columns(A, self.shape[1], "V.matmat", self._like)
        return self._gathered(A, lambda part, rows, cols: part._forward(A[:, cols]))

    def leaf_gram(self, place: Rows, T: int, u: Real) -> Real:
        """Z'R'RZ, Z carrying the weight ``u`` (N,) of a row in the leaf at ``place``: (T, T)."""
        codes = self._bins.table()
        if codes is None:
            raise InputTypeError("Trees need V made from NumPy arrays. Convert the samples first.")
        gram = np.zeros((T, T))
        for code, line, B in zip(codes.T, self._lines.lines, self._lines.sizes, strict=True):
            totals = np.bincount(place * B + code, u, T * B).reshape(T, B)
            prefix, root = np.cumsum(totals, axis=1).T, np.sqrt(line.weights)[:, None]
            upper, *lower = at_thresholds(prefix, self._lines.symmetric)
            for side in (upper, *(prefix[-1] - below for below in lower)):
                seen = root * side
                gram += seen.T @ seen
        return gram

    def totals(self, A: Array) -> Array:
        """Add the rows of ``A`` into the bins of every view; totals over blocks of rows add up."""
        return self._bins.sums(A)

    def squares(self) -> Array:
        xp = namespace(self._like)
        total = sum(self._seen())
        return xp.astype(total, self._like.dtype)

    def gram(self) -> Array:
        return namespace(self._like).astype(nested_gram(list(self._seen())), self._like.dtype)

    def subset(self, rows: NDArray[np.intp]) -> LineFactor:
        return LineFactor(self._lines, self._bins.subset(rows), len(rows))

    def _forward(self, A: Array) -> Array:
        """R A, float64."""
        return self._lines.rows_of(self.totals(A))

    def _backward(self, Z: Array, dtype: Any) -> Array:
        """R'Z: suffix sums, and prefix sums of the mirrored views, read at the bins."""
        xp = namespace(Z)
        table = _empty((sum(self._lines.sizes), Z.shape[1]), Z, xp.float64)
        row = start = 0
        for line, size in zip(self._lines.lines, self._lines.sizes, strict=True):
            sides = []
            for _ in range(self._lines.sides):
                side = xp.astype(Z[row : row + line.size, :], xp.float64, copy=False)
                sides.append(xp.sqrt(line.weights)[:, None] * side)
                row += line.size
            table[start : start + size, :] = at_bins(*sides)
            start += size
        return self._bins.gather(table, dtype)

    def _gathered(self, A: Array, values: Callable[[LineFactor, slice, slice], Array]) -> Array:
        """Sum R_p' values over the parts p of R: (N, D), in the precision of ``A``."""
        xp = namespace(A)
        pieces = list(self._pieces(A.shape[1]))
        if sum(len(parts) for _, parts in pieces) == 1:
            return self._backward(values(self, slice(None), slice(None)), A.dtype)
        product = _empty((self.shape[1], A.shape[1]), A, A.dtype)
        for cols, parts in pieces:
            terms = (part._backward(values(part, rows, cols), xp.float64) for rows, part in parts)
            product[:, cols] = xp.astype(reduce(iadd, terms), A.dtype)
        return product

    def _pieces(self, D: int) -> Iterator[tuple[slice, list[tuple[slice, LineFactor]]]]:
        """Cut a product into columns and R into consecutive views, so that totals stay small."""
        sizes = self._lines.sizes
        width = max(1, min(D, _BYTES // 8 // max(sizes)))
        views, start = [], 0
        for view in range(1, len(sizes) + 1):
            if view == len(sizes) or 8 * width * sum(sizes[start : view + 1]) > _BYTES:
                views.append(slice(start, view))
                start = view
        if len(views) > 1:  # their sum is held besides, for all training points
            width = min(width, max(1, 4 * _BYTES // 8 // self.shape[1]))
        parts, row = [], 0
        for some in views:
            lines, bins = self._lines.only(some), self._bins.only(some)
            parts.append((slice(row, row + lines.rows), LineFactor(lines, bins, self.shape[1])))
            row += lines.rows
        return ((cols, parts) for cols in blocks(D, width))

    def _seen(self) -> Iterator[Array]:
        """Yield the target weight that sees each training point, one view and side at a time."""
        for view, line in enumerate(self._lines.lines):
            for table in seen_by_bin(line.weights, self._lines.symmetric):
                yield self._bins.pick(view, table)


def _empty(shape: tuple[int, int], like: Array, dtype: Any) -> Array:
    return namespace(like).empty(shape, dtype=dtype, device=device(like))

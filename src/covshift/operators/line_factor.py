"""R of one-dimensional views by sorting, without any N x M array (theory, section 2.2).

A view maps every point to a number. Sorted, the target cuts the line into bins; a training point is
dominated by all thresholds at or above its own value. R A is then a prefix sum of bin totals and
R'Z a suffix sum read at the bins: O((N + M) log M) to build, O((N + M) D) per product
and view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputTypeError
from ..numerics.array import Array, Real, Rows, device, is_numpy, namespace
from .base import blocks, columns
from .line_bins import (
    Bins,
    at_bins,
    at_thresholds,
    bin_count,
    bin_offsets,
    nested_gram,
    seen_by_bin,
)
from .line_thresholds import Merged, Thresholds

_BYTES = 64 << 20  # of bin totals that a product holds at a time, a few times over


class Lines:
    """The target side of G one-dimensional views, averaged: V = sum_g c_g R_g'R_g, c_g = 1/G.

    Parameters
    ----------
    lines : iterable of Thresholds
        The target in each view.
    symmetric : bool
        Average every view with its mirror image (t <= x).
    anderson_darling : bool
        Multiply by phi = 1 / (F (1 - F)), F the target's mid-distribution function in the view.
    shares : (G,) array, optional
        Share c_g of every view in the average; they sum to one (`covshift.data.features`).
    scale : float
        Multiplies V.
    """

    def __init__(
        self,
        lines: Iterable[Thresholds],
        *,
        symmetric: bool = False,
        anderson_darling: bool = False,
        shares: Real | None = None,
        scale: float = 1.0,
    ) -> None:
        lines = list(lines)
        below = [line.below() for line in lines]
        if anderson_darling:
            lines = [line.anderson_darling() for line in lines]
        self.symmetric, self.sides = symmetric, 2 if symmetric else 1
        parts = np.full(len(lines), 1 / len(lines)) if shares is None else shares
        pairs = zip(lines, scale * parts / self.sides, strict=True)
        self._take([line.scaled(float(part)) for line, part in pairs], below)

    def _take(self, lines: list[Thresholds], below: list[Array]) -> Lines:
        self.lines, self.below = lines, below  # below: the target's distribution functions
        self.sizes = [bin_count(line.size, self.symmetric) for line in lines]  # bins of each view
        self.roots = [namespace(line.weights).sqrt(line.weights) for line in lines]
        return self

    @property
    def F(self) -> Array:
        """R_T share, the target seen by its own rows from one side: (m,)."""
        xp = namespace(self.below[0])
        return xp.concat([root * F for root, F in zip(self.roots, self.below, strict=True)])

    @property
    def trace(self) -> float:
        """Mean of V(t, t) over the target's rows t, from one side."""
        pairs = zip(self.lines, self.below, strict=True)
        return sum(float(line.weights @ below) for line, below in pairs)

    @property
    def rows(self) -> int:
        """Number of rows of R."""
        return self.sides * sum(line.size for line in self.lines)

    def factor(self, values: Iterable[Array], *, n_points: int) -> LineFactor:
        """R for ``n_points`` training points, given by their (N,) values in each view."""
        return LineFactor(self, Bins(self._codes(values), self.sizes), n_points)

    def rows_of(self, totals: Array) -> Array:
        """R A from the totals of all training rows: prefix sums over the bins of each view."""
        xp = namespace(totals)
        product = _empty((self.rows, totals.shape[1]), totals, totals.dtype)
        row = 0
        for root, start, size in zip(self.roots, bin_offsets(self.sizes), self.sizes, strict=False):
            U = int(root.shape[0])
            prefix = xp.cumulative_sum(totals[start : start + size, :], axis=0)
            seen, *strictly_below = at_thresholds(prefix, self.symmetric)
            for side in (seen, *(prefix[-1:, :] - part for part in strictly_below)):
                product[row : row + U, :] = root[:, None] * side
                row += U
        return product

    def scaled(self, factor: float) -> Lines:
        """Multiply V by ``factor``."""
        return copy(self)._take([line.scaled(factor) for line in self.lines], self.below)

    def merged(self, most: int) -> Lines:
        """Merge neighbouring thresholds to at most so many in each view.

        No distribution function of the target moves by more than the weight of one threshold.
        """
        if max(line.size for line in self.lines) <= most:
            return self
        return self.of_merged([line.merged(most) for line in self.lines])

    def of_merged(self, merged: list[Merged]) -> Lines:
        """Return the lines of merged thresholds, which stand where some of the old ones did."""
        pairs = zip(self.below, merged, strict=True)
        below = [namespace(below).take(below, line.chosen) for below, line in pairs]
        return copy(self)._take([line.thresholds for line in merged], below)

    def _codes(self, values: Iterable[Array]) -> Iterator[Array]:
        for line, x in zip(self.lines, values, strict=True):
            yield line.codes(x, symmetric=self.symmetric)


class LineFactor:
    """R of one-dimensional views: for each, its thresholds in order, then those of its mirror."""

    def __init__(self, lines: Lines, bins: Bins, n_points: int) -> None:
        self.lines, self.bins = lines, bins
        self._like = lines.lines[0].values  # namespace, device and dtype of the points
        self.shape = (lines.rows, n_points)

    def matmat(self, A: Array) -> Array:
        A = columns(A, self.shape[1], "R.matmat", self._like)
        return self._by_columns(A, self.shape[0], self._forward)

    def rmatmat(self, Z: Array) -> Array:
        Z = columns(Z, self.shape[0], "R.rmatmat", self._like)
        return self._by_columns(Z, self.shape[1], self._backward)

    def normal(self, A: Array) -> Array:
        A = columns(A, self.shape[1], "V.matmat", self._like)
        return self._by_columns(A, self.shape[1], lambda part: self._backward(self._forward(part)))

    def leaf_gram(self, place: Rows, T: int, u: Real) -> Real:
        """Z'R'RZ, Z carrying the weight ``u`` (N,) of a row in the leaf at ``place``: (T, T)."""
        codes = self.bins.codes
        if not is_numpy(codes[0]):
            raise InputTypeError("Trees need V made from NumPy arrays. Convert the samples first.")
        gram = np.zeros((T, T))
        for code, root, B in zip(codes, self.lines.roots, self.lines.sizes, strict=True):
            totals = np.bincount(place * B + code, u, T * B).reshape(T, B)
            prefix = np.cumsum(totals, axis=1).T
            upper, *lower = at_thresholds(prefix, self.lines.symmetric)
            for side in (upper, *(prefix[-1] - below for below in lower)):
                seen = root[:, None] * side
                gram += seen.T @ seen
        return gram

    def totals(self, A: Array) -> Array:
        """Add the rows of ``A`` into the bins of every view; totals over blocks of rows add up."""
        return self.bins.sums(A)

    def squares(self) -> Array:
        xp = namespace(self._like)
        total = sum(self._seen())
        return xp.astype(total, self._like.dtype)

    def gram(self) -> Array:
        return namespace(self._like).astype(nested_gram(list(self._seen())), self._like.dtype)

    def subset(self, rows: NDArray[np.intp]) -> LineFactor:
        return LineFactor(self.lines, self.bins.subset(rows), int(rows.shape[0]))

    def _forward(self, A: Array) -> Array:
        """R A, float64."""
        return self.lines.rows_of(self.totals(A))

    def _backward(self, Z: Array) -> Array:
        """R'Z, float64: suffix sums, and prefix sums of the mirrored views, read at the bins."""
        xp, lines = namespace(Z), self.lines
        Z = xp.astype(Z, xp.float64, copy=False)
        table = _empty((sum(lines.sizes), Z.shape[1]), Z, xp.float64)
        row = start = 0
        for root, size in zip(lines.roots, lines.sizes, strict=True):
            U, sides = int(root.shape[0]), []
            for _ in range(lines.sides):
                sides.append(root[:, None] * Z[row : row + U, :])
                row += U
            table[start : start + size, :] = at_bins(*sides)
            start += size
        return self.bins.gather(table)

    def _by_columns(self, A: Array, rows: int, product: Callable[[Array], Array]) -> Array:
        """Make a product of some columns at a time, so that bin totals stay small."""
        D, width = int(A.shape[1]), max(1, _BYTES // 8 // sum(self.lines.sizes))
        if D <= width:
            return namespace(A).astype(product(A), A.dtype, copy=False)
        found = _empty((rows, D), A, A.dtype)
        for cols in blocks(D, width):
            found[:, cols] = namespace(A).astype(product(A[:, cols]), A.dtype)
        return found

    def _seen(self) -> Iterator[Array]:
        """Yield the target weight that sees each training point, one view and side at a time."""
        for view, line in enumerate(self.lines.lines):
            for table in seen_by_bin(line.weights, self.lines.symmetric):
                yield self.bins.pick(view, table)


def _empty(shape: tuple[int, int], like: Array, dtype: Any) -> Array:
    return namespace(like).empty(shape, dtype=dtype, device=device(like))

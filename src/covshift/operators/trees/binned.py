"""One-dimensional views of NumPy rows, for learners that ask for many small products and sums.

The same V as `LineFactor`, whose codes these are: by the loops of `bin_loops` where numba is
installed, by NumPy otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._compiled import has_numba
from ..._parallel import over_rows
from ..._types import Codes, Real, Rows
from ..lines.bins import bin_offsets, bin_totals
from ..lines.tables import at_thresholds, bin_count, seen_by_bin
from .bin_loops import (
    add_rows,
    add_some,
    between,
    read_rows,
    spread_of_prefixes,
    squares_of_prefixes,
)

_FEW = 4  # columns up to which a loop over rows beats a sparse product
_BYTES = 8 << 20  # of bin totals that a product holds, for every thread
_ROWS = 20_000  # rows a thread takes at least


class BinnedLines:
    """V = sum_g R_g'R_g for rows in bins ``codes`` (N, G), thresholds weighted by ``weights``."""

    def __init__(self, codes: Codes, weights: Sequence[Real], *, symmetric: bool) -> None:
        # One kind of codes for few bins and for many: numba compiles every loop for each kind.
        self.codes = codes.astype(np.uint16) if codes.dtype == np.uint8 else codes
        self.weights, self.symmetric = list(weights), symmetric
        self.sizes = [bin_count(len(w), symmetric) for w in weights]
        self.offsets = np.array(bin_offsets(self.sizes))
        self.starts = np.array(bin_offsets([len(w) for w in weights]))

    @cached_property
    def by_view(self) -> Codes:
        """The codes of one view after another: (G, N)."""
        return np.ascontiguousarray(self.codes.T)

    @cached_property
    def flat(self) -> Real:
        return np.concatenate(self.weights)

    @cached_property
    def _meets(self) -> Real:
        """Weight of the thresholds at or above each bin of each view, and of those below it."""
        return np.concatenate([_up_and_down(w, self.symmetric) for w in self.weights])

    def fast(self, A: NDArray[Any]) -> bool:
        """Whether `normal` is the shorter way to V A, and small enough to hold."""
        small = A.shape[1] <= _FEW and 8 * int(self.offsets[-1]) <= _BYTES
        return small and A.dtype == np.float64 and has_numba()

    def normal(self, A: Real) -> Real:
        """V A: (N, D) -> (N, D), by compiled loops, a column at a time."""
        product = np.empty(A.shape)
        for d in range(A.shape[1]):
            self._times(np.ascontiguousarray(A[:, d]), product[:, d])
        return product

    def _times(self, a: Real, out: Real) -> None:
        parts: dict[int, Real] = {}

        def add(rows: slice) -> None:
            parts[rows.start] = np.zeros(int(self.offsets[-1]))
            add_rows(self.codes, self.cells, a, parts[rows.start], rows.start, rows.stop)

        def read(rows: slice) -> None:
            read_rows(self.codes, self.cells, table, out, rows.start, rows.stop)

        over_rows(add, len(a), at_least=_ROWS)
        first, *others = (parts[start] for start in sorted(parts))
        table = sum(others, start=first)
        between(table, self.offsets, self.flat, self.starts, self.symmetric)
        over_rows(read, len(a), at_least=_ROWS)

    @cached_property
    def cells(self) -> NDArray[np.uint32]:
        return self.offsets.astype(np.uint32)

    def prefix_squares(self, rows: Rows, ends: Rows, u: Real) -> Real:
        """z_b'Vz_b: O(p G log U) compiled; in NumPy O(G (p + B U)), one histogram per view."""
        G = self.codes.shape[1]
        if not has_numba():
            return np.asarray(sum(self._squares_of_view(g, rows, ends, u) for g in range(G)))
        parts: dict[int, Real] = {}

        def add(views: slice) -> None:
            parts[views.start] = np.zeros(len(ends))
            some = np.array([views.start, views.stop])
            squares_of_prefixes(
                self.codes, self.offsets, self._meets, rows, ends, u, parts[views.start], some
            )

        over_rows(add, G, at_least=max(1, _ROWS // max(1, len(rows))))
        return np.asarray(sum(parts[start] for start in sorted(parts)))

    def _squares_of_view(self, g: int, rows: Rows, ends: Rows, u: Real) -> Real:
        """Fill a histogram of (prefix, bin of the view), both without empty ones, and sum it up.

        With S the weight up to each bin and L that from it on, z'Vz is S^2 times the falls of `up`
        plus L^2 times the rises of `down`.
        """
        counts = np.diff(ends, prepend=0)
        filled = np.flatnonzero(counts)
        prefix = np.repeat(np.arange(len(filled)), counts[filled])
        p = len(prefix)
        values, place = np.unique(self.codes[rows[:p], g], return_inverse=True)
        cells = np.bincount(prefix * len(values) + place, u[:p], len(filled) * len(values))
        S = cells.reshape(len(filled), -1).cumsum(axis=0).cumsum(axis=1)
        up, down = self._meets[self.offsets[g] + values].T
        squares = S**2 @ (up - np.append(up[1:], 0.0))
        if self.symmetric and p:
            L = S[:, -1:] - np.column_stack([np.zeros(len(S)), S[:, :-1]])
            squares += L**2 @ np.diff(down, prepend=0.0)
        return np.asarray(np.append(0.0, squares)[np.cumsum(counts > 0)])


class NestedLines:
    """Of every feature the views that grow with it: for `Additive`, the feature's own."""

    def __init__(self, lines: BinnedLines, codes: Codes, n_bins: int) -> None:
        self._lines = lines
        views = [_growing_with(code, lines.codes, n_bins) for code in codes.T]
        pairs = [(k, g) for k, some in enumerate(views) for g in some]
        self._pairs = np.array(pairs, dtype=np.intp).reshape(-1, 2)
        self.growing = np.zeros((len(views), lines.codes.shape[1]), dtype=bool)  # (n, G)
        for k, some in enumerate(views):
            self.growing[k, some] = True
        self.whole = all(len(some) == lines.codes.shape[1] for some in views)

    def split_squares(self, rows: Rows, u: Real, below: Real, share: Real) -> Real:
        out = np.zeros_like(below)
        lines = self._lines
        if has_numba():
            bins = np.zeros(int(lines.offsets[-1]))
            add_some(lines.codes[rows], lines.cells, 0, len(rows), u, bins)
            self.add_spread(bins, below, share, out)
            return out
        for k, g in self._pairs:
            codes, weights = lines.codes[:, g], lines.weights[g]
            _spread(codes, rows, u, weights, lines.symmetric, below[k], share[k], out[k])
        return out

    def add_spread(self, bins: Real, below: Real, share: Real, out: Real) -> None:
        """Add it, compiled, for rows with totals ``bins`` in the bins of the views."""
        lines = self._lines
        places = (lines.flat, lines.starts, lines.symmetric)
        spread_of_prefixes(bins, lines.offsets, self._pairs, *places, below, share, out)


def _spread(
    codes: Codes,
    rows: Rows,
    u: Real,
    weights: Real,
    symmetric: bool,
    below: Real,
    share: Real,
    out: Real,
) -> None:
    """Do in NumPy what the loop of `bin_loops` does."""
    seen = bin_totals(codes[rows], u, bin_count(len(weights), symmetric)).cumsum()
    total, rest = seen[-1], 1 - share
    for lower, S in enumerate(at_thresholds(seen, symmetric)):
        t = np.searchsorted(S, below, side="right")
        sums = np.concatenate([np.zeros((1, 3)), np.cumsum(_powers(S, weights), axis=0)])
        one, first, second = sums[t].T
        rest_one, rest_first, rest_second = (sums[-1] - sums[t]).T
        if lower:
            m = below - share * total
            out += m**2 * one - 2 * m * rest * first + rest**2 * second
            out += share**2 * (rest_second - 2 * total * rest_first + total**2 * rest_one)
        else:
            out += rest**2 * second + below**2 * rest_one
            out += share**2 * rest_second - 2 * share * below * rest_first


def _powers(S: Real, weights: Real) -> Real:
    return np.column_stack([weights, weights * S, weights * S**2])


def _growing_with(code: Codes, views: Codes, n_bins: int) -> list[int]:
    """Views whose bins follow the order of a feature's bins ``code`` (N,)."""
    order = np.argsort(code, kind="stable")
    counts = np.bincount(code, minlength=n_bins)
    starts = (np.cumsum(counts) - counts)[counts > 0]
    growing = []
    for g in range(views.shape[1]):
        seen = views[order, g]
        low, high = np.minimum.reduceat(seen, starts), np.maximum.reduceat(seen, starts)
        if (high[:-1] <= low[1:]).all():
            growing.append(g)
    return growing


def _up_and_down(weights: Real, symmetric: bool) -> Real:
    up, *down = seen_by_bin(weights, symmetric)
    return np.column_stack([up, *(down or [np.zeros_like(up)])])

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

from ..numerics.array import Codes, Real, Rows
from ..numerics.parallel import Loop, has_numba, over_rows
from .line_bins import at_thresholds, bin_count, bin_offsets, bin_totals, seen_by_bin

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


# Loops over binned rows, for numba; see `covshift.numerics.parallel`.
#
# A view with U thresholds has bins 0..U (one-sided) or 0..2U (symmetric, where a point on a
# threshold has a bin of its own). A pair of rows in bins c and d meets in V as up[max(c, d)] +
# down[min(c, d)], the weights of the thresholds at or above both and at or below both.


READ_ROWS = 4096  # numbers that stay at hand


def _add_rows(codes: Any, offsets: Any, a: Any, totals: Any, start: int, stop: int) -> None:
    """Add rows ``start`` to ``stop`` of a column (N,) into the bins of every view."""
    for i in range(start, stop):
        value = a[i]
        if value != 0.0:
            for g in range(codes.shape[1]):
                totals[offsets[g] + codes[i, g]] += value


def _read_rows(codes: Any, offsets: Any, table: Any, out: Any, start: int, stop: int) -> None:
    """Sum the table at the codes of rows ``start`` to ``stop``."""
    for i in range(start, stop):
        value = 0.0
        for g in range(codes.shape[1]):
            value += table[offsets[g] + codes[i, g]]
        out[i] = value


def _between(totals: Any, offsets: Any, weights: Any, starts: Any, symmetric: bool) -> None:
    """Turn bin totals into what a row in each bin reads of V a, in place."""
    for g in range(len(starts) - 1):
        first, U = offsets[g], starts[g + 1] - starts[g]
        total = 0.0
        for c in range(first, offsets[g + 1]):  # prefix sums
            total += totals[c]
            totals[c] = total
        suffix = 0.0
        if symmetric:
            for u in range(U):
                suffix += weights[starts[g] + u] * totals[first + 2 * u + 1]
            prefix = 0.0
            for u in range(U):
                weight = weights[starts[g] + u]
                upper = weight * totals[first + 2 * u + 1]
                lower = weight * (total - totals[first + 2 * u])
                totals[first + 2 * u] = suffix + prefix
                prefix += lower
                totals[first + 2 * u + 1] = suffix + prefix
                suffix -= upper
            totals[first + 2 * U] = prefix
        else:
            for u in range(U - 1, -1, -1):
                suffix += weights[starts[g] + u] * totals[first + u]
                totals[first + u] = suffix
            totals[first + U] = 0.0


def _prefix_squares(
    codes: Any, offsets: Any, meets: Any, rows: Any, ends: Any, u: Any, squares: Any, views: Any
) -> None:
    """Add z_b'Vz_b of some views, from ``views[0]`` to ``views[1]``, to ``squares`` (B,).

    ``meets`` holds up and down of every bin of every view. A row in bin c joins those already in,
    of which those up to bin c are found by a tree of partial sums (Fenwick).
    """
    for g in range(views[0], views[1]):
        first = offsets[g]
        size = offsets[g + 1] - first
        tree = np.zeros((size + 1, 2))
        weight = seen = square = 0.0
        p = 0
        for b in range(len(ends)):
            while p < ends[b]:
                c = np.intp(codes[rows[p], g])
                up, down = meets[first + c, 0], meets[first + c, 1]
                below = difference = 0.0
                node = c + 1
                while node > 0:
                    below += tree[node, 0]
                    difference += tree[node, 1]
                    node &= node - 1
                joined = up * below + down * (weight - below) + seen + difference
                square += u[p] * (2.0 * joined + u[p] * (up + down))
                weight += u[p]
                seen += u[p] * up
                change = u[p] * (down - up)
                node = c + 1
                while node <= size:
                    tree[node, 0] += u[p]
                    tree[node, 1] += change
                    node += node & -node
                p += 1
            squares[b] += square


def _spread_bins(
    bins: Any,
    offsets: Any,
    pairs: Any,
    all_weights: Any,
    starts: Any,
    symmetric: bool,
    below: Any,
    share: Any,
    out: Any,
) -> None:
    """Add (z_b - share z)'V_g (z_b - share z) to ``out`` (n, B), for views g that grow with k.

    ``bins`` holds the totals of z in the bins of the views. The rows up to bin b are those of the
    smallest values in the view too, so of the S rows up to a threshold min(S, below) belong to
    them: sums of 1, S and S^2 over the thresholds say it all.
    """
    for pair in range(len(pairs)):
        k, g = pairs[pair, 0], pairs[pair, 1]
        weights = all_weights[starts[g] : starts[g + 1]]
        U = len(weights)
        totals = np.empty(offsets[g + 1] - offsets[g])
        total = 0.0
        for c in range(len(totals)):
            total += bins[offsets[g] + c]
            totals[c] = total
        sums = np.zeros((U + 1, 3))
        for side in range(2 if symmetric else 1):
            # S at threshold t: the rows that it sees from above, or those strictly below it.
            stride = 2 if symmetric else 1
            shift = 1 if symmetric and side == 0 else 0
            zeroth = first = second = 0.0
            for t in range(U):
                S = totals[stride * t + shift]
                weighted = weights[t] * S
                zeroth += weights[t]
                first += weighted
                second += weighted * S
                sums[t + 1, 0] = zeroth
                sums[t + 1, 1] = first
                sums[t + 1, 2] = second
            t = 0
            for b in range(below.shape[1]):
                inside, f = below[k, b], share[k, b]
                while t < U and totals[stride * t + shift] <= inside:
                    t += 1
                one, first, second = sums[t, 0], sums[t, 1], sums[t, 2]
                rest_one, rest_first = sums[U, 0] - one, sums[U, 1] - first
                rest_second = sums[U, 2] - second
                if side == 0:
                    value = (1 - f) ** 2 * second
                    value += inside * inside * rest_one - 2 * f * inside * rest_first
                    value += f * f * rest_second
                else:
                    m = inside - f * total
                    rest = rest_second - 2 * total * rest_first + total * total * rest_one
                    value = m * m * one - 2 * m * (1 - f) * first + (1 - f) ** 2 * second
                    value += f * f * rest
                out[k, b] += value


def exact_squares(
    codes: Any,
    starts: Any,
    weights: Any,
    symmetric: bool,
    bins: Any,
    order: Any,
    ends: Any,
    wanted: Any,
    u: Any,
    squares: Any,
) -> None:
    """z_b'L z_b of the rows in ``order`` up to ``ends[b]``, for the b wanted.

    ``weights`` (U, G) are those of the thresholds, zero beyond the last one of a view; ``bins``
    holds the totals of all rows in the bins of the views, which begin at ``starts``. The first
    prefix is added up, or what follows it is taken off, if that is shorter and nothing is rounded:
    without ``u`` all weights are 1.
    """
    U, G = weights.shape
    totals = np.zeros((2 * U + 1 if symmetric else U + 1, G))
    seen, square = np.empty(G), np.empty(G)
    first, last = len(ends), 0
    for b in range(len(ends)):
        if wanted[b]:
            first, last = min(first, b), b + 1
    if last == 0:
        return
    p, total = 0, 0.0
    if len(u) == 0 and 2 * ends[first] > len(order):
        for g in range(G):
            for c in range(starts[g + 1] - starts[g]):
                totals[c, g] = bins[starts[g] + c]
        for c in range(starts[1]):
            total += bins[c]
        for q in range(ends[first], len(order)):
            total -= 1.0
            for g in range(G):
                totals[codes[order[q], g], g] -= 1.0
        p = ends[first]
    for b in range(first, last):
        while p < ends[b]:
            value = u[order[p]] if len(u) else 1.0
            total += value
            for g in range(G):
                totals[codes[order[p], g], g] += value
            p += 1
        if not wanted[b]:
            continue
        for g in range(G):
            seen[g] = square[g] = 0.0
        for t in range(U):  # views side by side, to wait for none
            for g in range(G):
                if symmetric:
                    seen[g] += totals[2 * t, g]
                    above = total - seen[g]
                    seen[g] += totals[2 * t + 1, g]
                    square[g] += weights[t, g] * (seen[g] * seen[g] + above * above)
                else:
                    seen[g] += totals[t, g]
                    square[g] += weights[t, g] * seen[g] * seen[g]
        squares[b] = 0.0
        for g in range(G):
            squares[b] += square[g]


def _add_some(codes: Any, offsets: Any, start: int, stop: int, u: Any, totals: Any) -> None:
    """Add the weights of rows ``start`` to ``stop``, or 1, into the bins of every view."""
    for p in range(start, stop):
        value = u[p] if len(u) else 1.0
        for g in range(codes.shape[1]):
            totals[offsets[g] + codes[p, g]] += value


def _add_leaves(totals: Any, values: Any, table: Any) -> None:
    """Add up the totals of leaves times their values, a block of bins at a time."""
    for first in range(0, len(table), READ_ROWS):
        some = table[first : first + READ_ROWS]
        some[:] = 0.0
        for t in range(len(values)):
            leaf = totals[t, first : first + READ_ROWS]
            for c in range(len(some)):
                some[c] += values[t] * leaf[c]


def _read_leaves(
    by_view: Any,
    offsets: Any,
    table: Any,
    u: Any,
    d: Any,
    values: Any,
    leaf: Any,
    out: Any,
    start: int,
    stop: int,
) -> None:
    """V x at rows ``start`` to ``stop``, x being ``values`` by leaf; codes ``by_view`` (G, N).

    In blocks of rows, a view at a time: its part of the table and the block stay at hand. Without
    ``u`` it is 1, without ``d`` 0.
    """
    G = len(by_view)
    for first in range(start, stop, READ_ROWS):
        last = min(stop, first + READ_ROWS)
        some = out[first:last]
        some[:] = 0.0
        g = 0
        while g + 1 < G:
            one, two = table[offsets[g] :], table[offsets[g + 1] :]
            codes, others = by_view[g, first:last], by_view[g + 1, first:last]
            for i in range(len(some)):
                some[i] += one[codes[i]] + two[others[i]]
            g += 2
        if g < G:
            one, codes = table[offsets[g] :], by_view[g, first:last]
            for i in range(len(some)):
                some[i] += one[codes[i]]
        if len(u):
            for i in range(len(some)):
                some[i] *= u[first + i]
        if len(d):
            for i in range(len(some)):
                some[i] += d[first + i] * values[leaf[first + i]]


add_some, add_leaves, read_leaves = Loop(_add_some), Loop(_add_leaves), Loop(_read_leaves)
add_rows, read_rows, between = Loop(_add_rows), Loop(_read_rows), Loop(_between)
squares_of_prefixes, spread_of_prefixes = Loop(_prefix_squares), Loop(_spread_bins)

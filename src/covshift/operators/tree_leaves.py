"""Z'VZ for the indicators Z of a tree's leaves: what couples leaf values under V.

Where V is a `LineForm`, a view at a time: the weight of each leaf that every threshold sees, and
one product of these. O(N + T M) for the sums of a view and O(T^2 M) for the product; any other V is
asked for V Z, T columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ..numerics.array import Codes, Real, Rows
from ..numerics.parallel import Loop, has_numba, over_rows
from .base import VOperator
from .line_bins import at_thresholds, bin_count
from .line_form import LineForm
from .tree_bins import BinnedLines, add_leaves, add_some, between, read_leaves

_CELLS = 1 << 16  # sums of a thread at least
_COLUMNS = 1 << 22  # entries of Z at a time


def leaf_gram(V: VOperator, form: LineForm | None, order: Rows, ranges: Rows) -> Real:
    """Z'VZ (T, T) of leaves that are ``ranges`` (T, 2) of the rows in ``order`` (N,)."""
    if form is None:
        return _by_products(V, order, ranges)
    gram = np.diag([form.d[order[start:stop]].sum() for start, stop in ranges])
    return gram if form.lines is None else gram + form.scale * _by_views(form, order, ranges)


def _by_products(V: VOperator, order: Rows, ranges: Rows) -> Real:
    N, T = len(order), len(ranges)
    gram = np.empty((T, T))
    size = max(1, _COLUMNS // N)
    for first in range(0, T, size):
        some = ranges[first : first + size]
        Z = np.zeros((N, len(some)))
        for column, (start, stop) in enumerate(some):
            Z[order[start:stop], column] = 1
        image = np.asarray(V.matmat(Z))[order]
        for leaf, (start, stop) in enumerate(ranges):
            gram[leaf, first : first + size] = image[start:stop].sum(axis=0)
    return (gram + gram.T) / 2


def _by_views(form: LineForm, order: Rows, ranges: Rows) -> Real:
    lines = form.lines
    assert lines is not None
    T, parts = len(ranges), dict[int, Real]()

    def add(views: slice) -> None:
        gram = parts[views.start] = np.zeros((T, T))
        for g in range(views.start, views.stop):
            code, root = lines.by_view[g], np.sqrt(lines.weights[g])
            seen = np.empty((T, (1 + lines.symmetric) * len(root)))
            leaves = (code, order, ranges, form.weights)
            (see if has_numba() else _see_in_numpy)(*leaves, root, lines.symmetric, seen)
            gram += seen @ seen.T

    work = len(order) + T * (lines.sizes[0] if lines.sizes else 1)
    over_rows(add, len(lines.weights), at_least=max(1, _CELLS // work))
    return np.asarray(sum(parts[start] for start in sorted(parts)))


def _see_in_numpy(
    code: Codes, order: Rows, ranges: Rows, u: Real, root: Real, symmetric: bool, out: Real
) -> None:
    """Do in NumPy what the loop below does."""
    T, B, U = len(ranges), bin_count(len(root), symmetric), len(root)
    sizes = ranges[:, 1] - ranges[:, 0]
    rows = np.concatenate([order[start:stop] for start, stop in ranges])
    cells = np.repeat(np.arange(T) * B, sizes) + code[rows]
    totals = np.bincount(cells, u[rows] if len(u) else None, T * B).reshape(T, B)
    prefix = np.cumsum(totals, axis=1, dtype=np.float64).T
    upper, *lower = at_thresholds(prefix, symmetric)
    out[:, :U] = (root[:, None] * upper).T
    for below in lower:
        out[:, U:] = (root[:, None] * (prefix[-1] - below)).T


def _see(code: Any, order: Any, ranges: Any, u: Any, root: Any, symmetric: bool, out: Any) -> None:
    """Sum the weights ``u`` of each leaf that each threshold of a view sees, times ``root``."""
    U = len(root)
    totals = np.empty(2 * U + 1 if symmetric else U + 1)
    for leaf in range(len(ranges)):
        totals[:] = 0.0
        whole = 0.0
        for p in range(ranges[leaf, 0], ranges[leaf, 1]):
            value = u[order[p]] if len(u) else 1.0
            totals[code[order[p]]] += value
            whole += value
        seen, row = 0.0, out[leaf]
        if symmetric:
            for t in range(U):
                seen += totals[2 * t]
                row[U + t] = root[t] * (whole - seen)
                seen += totals[2 * t + 1]
                row[t] = root[t] * seen
        else:
            for t in range(U):
                seen += totals[t]
                row[t] = root[t] * seen


see = Loop(_see)


# V times columns that are constant on the leaves of a growing tree.
#
# `LineLeafProducts` keeps the totals of every leaf in the bins of the views, so that a new leaf
# costs its own rows; `ColumnLeafProducts` serves any V with one product per leaf, and keeps V Z.


_ROWS = 10_000  # rows a thread takes at least


class Leaves(Protocol):
    """The rows by leaf, a leaf being a range of positions; see `covshift.boosting.candidates`."""

    ranges: Rows
    views: Codes
    u: Real

    def rows(self, leaf: int) -> Rows: ...
    def size(self, leaf: int) -> int: ...


class ColumnLeafProducts:
    """V Z, (L, N), by products with V."""

    def __init__(self, product: Callable[[Real], Real], first: Real, L: int) -> None:
        self._product = product
        self._images = np.empty((L, len(first)))
        self._images[0] = first  # V 1
        self._count = 1

    def split(self, m: int, parts: Leaves) -> None:
        """Take rows out of leaf ``m``: they are the next leaf."""
        z = np.zeros(self._images.shape[1])
        z[parts.rows(self._count)] = 1
        self._images[self._count] = self._product(z)
        self._images[m] -= self._images[self._count]
        self._count += 1

    def of(self, values: Real, leaf: Rows, out: Real) -> None:
        """V x in ``out`` (N,), x having one of the ``values`` (T,) by ``leaf``."""
        np.matmul(values, self._images[: self._count], out=out)


class LineLeafProducts:
    """``totals`` of the leaves in the bins of all views, (L, bins); compiled."""

    def __init__(self, V: LineForm, lines: BinnedLines, parts: Leaves, L: int) -> None:
        self._V, self._lines = V, lines
        self.totals = np.zeros((L, sum(lines.sizes)))
        self._count = 1
        self._add(parts, 0, self.totals[0])

    def split(self, m: int, parts: Leaves) -> None:
        """Take rows out of leaf ``m``: they are the next leaf. Only the smaller part is added."""
        totals, new = self.totals, self._count
        small, large = (new, m) if parts.size(new) <= parts.size(m) else (m, new)
        some = np.zeros(totals.shape[1])
        self._add(parts, small, some)
        np.subtract(totals[m], some, out=totals[large])
        totals[small] = some
        self._count += 1

    def _add(self, parts: Leaves, leaf: int, totals: Real) -> None:
        add_some(parts.views, self._lines.cells, *parts.ranges[leaf], parts.u, totals)

    def of(self, values: Real, leaf: Rows, out: Real) -> None:
        """V x in ``out`` (N,), x having one of the ``values`` (T,) by ``leaf``."""
        V, lines = self._V, self._lines
        table = np.empty(self.totals.shape[1])
        add_leaves(self.totals, V.scale * values, table)
        between(table, lines.offsets, lines.flat, lines.starts, lines.symmetric)

        def read(rows: slice) -> None:
            ends = (rows.start, rows.stop)
            terms = (V.weights, V.diagonal, values, leaf)
            read_leaves(lines.by_view, lines.offsets, table, *terms, out, *ends)

        over_rows(read, len(out), at_least=_ROWS)

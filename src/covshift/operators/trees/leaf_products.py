"""V times columns that are constant on the leaves of a growing tree.

`LineLeafProducts` keeps the totals of every leaf in the bins of the views, so that a new leaf costs
its own rows; `ColumnLeafProducts` serves any V with one product per leaf, and keeps V Z.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from ..._parallel import over_rows
from ..._types import Codes, Real, Rows
from .bin_loops import add_leaves, add_some, between, read_leaves
from .binned import BinnedLines
from .line_form import LineForm

_ROWS = 10_000  # rows a thread takes at least


class Leaves(Protocol):
    """The rows by leaf, a leaf being a range of positions; see `covshift.boosting.partition`."""

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

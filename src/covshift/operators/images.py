"""V times columns that are constant on the leaves of a growing tree.

`LineImages` keeps the totals of every leaf in the bins of the views, so a new leaf costs its own
rows; `ColumnImages` serves any V with one product a leaf, and keeps V Z.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._parallel import over_rows
from .binned import BinnedLines
from .lined import Lined
from .prefixes import Real, Rows
from .sweeps import add_some, between, read_some

_ROWS = 10_000  # rows a thread takes at least


class ColumnImages:
    """V Z, (L, N), by products with V."""

    def __init__(self, product: Callable[[Real], Real], first: Real, L: int) -> None:
        self._product = product
        self._images = np.empty((L, len(first)))
        self._images[0] = first  # V 1
        self._count = 1

    def split(self, m: int, rows: Rows) -> None:
        """Take ``rows`` out of leaf ``m``: they are the next leaf."""
        z = np.zeros(self._images.shape[1])
        z[rows] = 1
        self._images[self._count] = self._product(z)
        self._images[m] -= self._images[self._count]
        self._count += 1

    def of(self, values: Real, leaf: Rows, rows: Rows, out: Real) -> None:
        """V x at some ``rows`` of ``out`` (N,), x having one of the ``values`` (T,) by ``leaf``."""
        out[rows] = (values @ self._images[: self._count])[rows]

    def of_newest(self, leaf: Rows, rows: Rows, out: Real) -> None:
        """V z of the newest leaf at some rows of ``out`` (N,)."""
        out[rows] = self._images[self._count - 1][rows]


class LineImages:
    """Totals of the leaves in the bins of all views, (L, bins); compiled."""

    def __init__(self, V: Lined, lines: BinnedLines, every: Rows, L: int) -> None:
        self._V, self._lines = V, lines
        self._totals = np.zeros((L, sum(lines.sizes)))
        self._count = 0
        self._add(every)

    def _add(self, rows: Rows) -> None:
        totals = self._totals[self._count]
        totals[:] = 0
        add_some(self._lines.codes, self._lines._cells, rows, self._V.u, totals)
        self._count += 1

    def split(self, m: int, rows: Rows) -> None:
        """Take ``rows`` out of leaf ``m``: they are the next leaf."""
        self._add(rows)
        self._totals[m] -= self._totals[self._count - 1]

    def of(self, values: Real, leaf: Rows, rows: Rows, out: Real) -> None:
        """V x at some ``rows`` of ``out`` (N,), x having one of the ``values`` (T,) by ``leaf``."""
        self._read((self._V.scale * values) @ self._totals[: self._count], values, leaf, rows, out)

    def of_newest(self, leaf: Rows, rows: Rows, out: Real) -> None:
        """V z of the newest leaf at some rows of ``out`` (N,)."""
        values = np.zeros(self._count)
        values[-1] = 1.0
        self._read(self._V.scale * self._totals[self._count - 1], values, leaf, rows, out)

    def _read(self, table: Real, values: Real, leaf: Rows, rows: Rows, out: Real) -> None:
        V, lines = self._V, self._lines
        between(table, lines._offsets, lines._flat, lines._starts, lines.symmetric)

        def read(chunk: slice) -> None:
            ends = (chunk.start, chunk.stop)
            read_some(lines.codes, lines._cells, table, V.u, V.d, values, leaf, rows, out, *ends)

        over_rows(read, len(rows), at_least=_ROWS)

"""A kernel that all methods of a comparison share: its values are computed once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numerics.array import Real, Rows
from ..numerics.hashing import Keys, row_hash
from .methods import (
    SharedKernel,
)

_MOST_ROWS = 3_000  # of which all pairs are kept: 72 MB


class Remembered(SharedKernel):
    """K(x, z), looked up where z is among the rows it was made with, and x as well or to be scored.

    A comparison fits a dozen methods on parts of the same rows, and scores all of them on the same
    others. Rows are found by their content, so that it does not matter which part they come in;
    others are computed as always.
    """

    _tables: tuple[tuple[Keys, Real], ...]  # sorted keys and the values (keys, those of the first)

    @classmethod
    def of(cls, kernel: Any, X: Real, scored: Real | None = None) -> Any:  # type: ignore[override]
        """Remember the values of a kernel between the rows X (N, n), and with rows to be scored.

        O(N^2) memory, and O(N M) for M rows to be scored, unless there are very many of either.
        """
        if len(X) > _MOST_ROWS:
            return kernel
        found = super().of(kernel, getattr(kernel, "columns", None))
        keys, rows = _distinct(X)
        tables = [(keys, kernel(rows, rows))]
        if scored is not None and len(scored) <= _MOST_ROWS:
            further, others = _distinct(scored)
            tables.append((further, kernel(others, rows)))
        object.__setattr__(found, "_tables", tuple(tables))  # it is frozen
        return found

    def __call__(self, X: Real, Z: Real) -> Real:
        """Kernel values of the rows of X (a, n) with those of Z (b, n): (a, b)."""
        known = self._tables[0][0]
        wanted = row_hash(X)
        columns = _places(known, wanted if Z is X else row_hash(Z))
        if columns is not None:
            for keys, values in self._tables:
                rows = _places(keys, wanted)
                if rows is not None:
                    return values[np.ix_(rows, columns)]
        return super().__call__(X, Z)


def _distinct(X: Real) -> tuple[Keys, Real]:
    keys, place = np.unique(row_hash(X), return_index=True)
    return keys, np.ascontiguousarray(X[place])


def _places(known: Keys, wanted: Keys) -> Rows | None:
    """Positions of keys among sorted ones; None unless all are there."""
    found = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return found if (known[found] == wanted).all() else None

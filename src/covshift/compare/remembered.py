"""A kernel that all methods of a comparison share: its values are computed once."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._coordinates import OnCoordinates, Unchanged
from .._hashing import Keys, row_hash
from .._types import Real, Rows

_MOST_ROWS = 3_000  # of which all pairs are kept: 72 MB


class Remembered(OnCoordinates):
    """K(x, z), looked up where both rows are among those it was made with.

    A comparison fits a dozen methods on parts of the same rows. Rows are found by their content, so
    that it does not matter which part they come in; others are computed as always.
    """

    _keys: Keys  # sorted
    _values: Real  # (keys, keys)

    @classmethod
    def of(cls, kernel: Any, X: Real) -> Any:
        """Remember the values of a kernel between the rows X (N, n): O(N^2) memory."""
        if len(X) > _MOST_ROWS:
            return kernel
        found = cls(getattr(kernel, "kernel", kernel), getattr(kernel, "coordinates", Unchanged()))
        keys, place = np.unique(row_hash(X), return_index=True)
        rows = np.ascontiguousarray(X[place])
        for name, value in {"_keys": keys, "_values": kernel(rows, rows)}.items():  # it is frozen
            object.__setattr__(found, name, value)
        return found

    def __call__(self, X: Real, Z: Real) -> Real:
        """Kernel values of the rows of X (a, n) with those of Z (b, n): (a, b)."""
        rows = self._rows(X)
        columns = rows if Z is X else self._rows(Z)
        if rows is None or columns is None:
            return super().__call__(X, Z)
        return self._values[np.ix_(rows, columns)]

    def _rows(self, X: Real) -> Rows | None:
        keys = row_hash(X)
        found = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return found if (self._keys[found] == keys).all() else None

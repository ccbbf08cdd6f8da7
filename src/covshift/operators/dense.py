"""V as an array that is there already."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._array import Array, namespace, take_rows
from .base import columns, row_weights


class Dense:
    """V by its entries."""

    def __init__(self, V: Array) -> None:
        self._V = V
        self.shape = (int(V.shape[0]), int(V.shape[1]))

    def matmat(self, A: Array) -> Array:
        A = columns(A, self.shape[0], "V.matmat", self._V)
        return namespace(A).astype(self._V, A.dtype, copy=False) @ A

    def diagonal(self) -> Array:
        return namespace(self._V).linalg.diagonal(self._V)

    def dense(self) -> Array:
        return namespace(self._V).asarray(self._V, copy=True)

    def factor(self) -> None:
        return None

    def subset(self, rows: NDArray[np.intp]) -> Dense:
        return Dense(take_rows(take_rows(self._V, rows).T, rows).T)

    def weighted(self, w: Array) -> Dense:
        w = row_weights(w, self.shape[0], self._V)
        return Dense(w[:, None] * self._V * w[None, :])

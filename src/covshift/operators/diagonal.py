"""V = diag(w): the unweighted loss (w = 1) and every importance-weighted one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._array import Array, device, namespace, take_rows
from .base import columns, row_weights, scale_rows


class Diagonal:
    """V = diag(w), w >= 0: O(N) throughout."""

    def __init__(self, w: Array) -> None:
        self._w = w
        self.shape = (int(w.shape[0]), int(w.shape[0]))

    def matmat(self, A: Array) -> Array:
        return scale_rows(self._w, columns(A, self.shape[0], "V.matmat", self._w))

    def diagonal(self) -> Array:
        return namespace(self._w).asarray(self._w, copy=True)

    def dense(self) -> Array:
        return _dense_diagonal(self._w)

    def factor(self) -> DiagonalFactor:
        return DiagonalFactor(namespace(self._w).sqrt(self._w))

    def subset(self, rows: NDArray[np.intp]) -> Diagonal:
        return Diagonal(take_rows(self._w, rows))

    def weighted(self, w: Array) -> Diagonal:
        """Rows have no company here, so w of them are w times one: diag(w) V, not diag(w)^2 V."""
        return Diagonal(self._w * row_weights(w, self.shape[0], self._w))


class DiagonalFactor:
    """R = diag(s)."""

    def __init__(self, s: Array) -> None:
        self._s = s
        self.shape = (int(s.shape[0]), int(s.shape[0]))

    def matmat(self, A: Array) -> Array:
        return scale_rows(self._s, columns(A, self.shape[0], "R.matmat", self._s))

    rmatmat = matmat

    def normal(self, A: Array) -> Array:
        return self.matmat(self.matmat(A))

    def squares(self) -> Array:
        return self._s**2

    def gram(self) -> Array:
        return _dense_diagonal(self._s**2)

    def subset(self, rows: NDArray[np.intp]) -> DiagonalFactor:
        return DiagonalFactor(take_rows(self._s, rows))


def _dense_diagonal(w: Array) -> Array:
    xp = namespace(w)
    return xp.eye(w.shape[0], dtype=w.dtype, device=device(w)) * w[None, :]

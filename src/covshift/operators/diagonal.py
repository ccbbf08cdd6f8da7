"""V = diag(w): the unweighted loss (w = 1) and every importance-weighted one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._array import Array, device, namespace, take_rows
from .._types import Codes, Real, Rows
from .base import columns, row_weights, scale_rows
from .trees.line_form import LineForm
from .trees.prefixes import Nested, bin_sums_of, prefix_sums


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

    def prefix_squares(self, rows: Rows, ends: Rows, u: Real) -> Real:
        return prefix_sums(self._w[rows] * u**2, ends)

    def nested(self, codes: Codes, n_bins: int) -> Nested:
        return NestedDiagonal(self._w, codes, n_bins)

    def line_form(self) -> LineForm:
        return LineForm(None, 0.0, np.ones(self.shape[0]), np.asarray(self._w))


class NestedDiagonal:
    """(z_b - share z)' diag(w) (z_b - share z), exact."""

    whole = True

    def __init__(self, w: Real, codes: Codes, n_bins: int) -> None:
        self._w, self._codes, self._n_bins = w, codes, n_bins

    def split_squares(self, rows: Rows, u: Real, below: Real, share: Real) -> Real:
        inside = bin_sums_of(self._codes, rows, self._w[rows] * u**2, self._n_bins).cumsum(axis=1)
        return np.asarray((1 - share) ** 2 * inside + share**2 * (inside[:, -1:] - inside))


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

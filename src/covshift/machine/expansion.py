"""A fitted function: a sum of kernels and an intercept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from ..numerics.array import Array, Real, like, namespace
from ..numerics.parallel import one_blas_thread, over_rows
from ..operators.base import blocks
from ..operators.target_sums import weighted_gram

_ENTRIES = 1 << 20  # kernel values that a thread holds at a time


@dataclass(frozen=True)
class Expansion:
    """f(x) = sum_i K(x, z_i) coef_i + c; without a kernel the rows given are K(x, Z) themselves."""

    kernel: Any  # of the rows; None: they are kernel values
    Z: Real  # (D, n)
    coef: Real  # (D, k)
    c: Real  # (k,)

    def __call__(self, X: Real) -> Real:
        """Return f at the rows of ``X``: (rows, k), in blocks of bounded memory."""
        f = np.empty((len(X), len(self.c)))
        size = max(16, _ENTRIES // max(1, len(self.coef)))

        def fill(chunk: slice) -> None:
            for part in blocks(chunk.stop - chunk.start, size):
                rows = slice(chunk.start + part.start, chunk.start + part.stop)
                values = X[rows] if self.kernel is None else self.kernel(X[rows], self.Z)
                f[rows] = values @ self.coef + self.c

        over_rows(fill, len(X), at_least=size)
        return f


# Features of landmarks, made from sums of kernel values instead of row by row (theory, 4).
#
# With K(Z, Z) = U diag(s) U' the features of a row are Psi(x) = K(x, Z) W, W = U diag(s)^(-1/2).
# Whitening the rows would be the largest product of a fit, N D^2, and is not needed: sums are
# linear, so that what the views sum of K(x, Z) is whitened afterwards, bin by bin. Rounding of a
# sum grows by (s_1 / s_j)^(1/2), which is harmless.
#
# Squares A' diag(w) A are another matter: theirs grows by s_1 / s_j in relation to the sum and by
# (s_1 / s_j)^2 in relation to the direction. Directions of small s_j are therefore multiplied out
# row by row before they are squared, K(x, Z) u_j, few as they are; where they are many, all are.


_SQUARED = 1e-5
"""Eigenvalues of K(Z, Z), relative to the largest, whose directions may be squared unchanged."""


class LandmarkBasis:
    """W'K(Z, Z)W = I, and what becomes of sums over the columns [K(x, Z), 1, y].

    Directions whose eigenvalue is below ``smallest`` times the largest are left out: rounding in
    K(x, Z) would be a visible part of their features. So equal landmarks do no harm.
    """

    def __init__(self, K: Real, smallest: float, squared: float = _SQUARED) -> None:
        with one_blas_thread(K.size):
            s, U = np.linalg.eigh((K + K.T) / 2)
        kept = s > smallest * max(float(s[-1]), 0.0)
        s, U = s[kept], U[:, kept]
        self.W = np.asarray(U / np.sqrt(s))  # (D, r)
        self.rank = U.shape[1]
        D, r = self.W.shape
        low = int(np.searchsorted(s, squared * s[-1])) if r else 0
        # Operations for each row, of columns [K u_1 .. K u_low, K] and of [K W].
        self._whole = (D + low) ** 2 + 2 * D * low > r**2 + 2 * D * r
        self._rows = self.W if self._whole else U[:, :low]
        self._after = (
            np.eye(r) if self._whole else block_diag(np.diag(s[:low] ** -0.5), self.W[:, low:])
        )

    def squares(self, A: Array, w: Array) -> Array:
        """Sum what `of_squares` needs over rows of columns A (b, D + 1 + k), of weights w (b,)."""
        D, low = self._rows.shape
        if not (self._whole or low):
            return weighted_gram(A, w)
        xp = namespace(A)
        rotated = A[:, :D] @ like(self._rows, A)
        if self._whole:
            return weighted_gram(xp.concat([rotated, A[:, D:]], axis=1), w)
        weighted = w[:, None] * rotated  # few columns: A itself is not copied
        beside = weighted.T @ A
        upper = xp.concat([rotated.T @ weighted, beside], axis=1)
        lower = xp.concat([beside.T, weighted_gram(A, w)], axis=1)
        return xp.concat([upper, lower], axis=0)

    def of_sums(self, sums: Array) -> Array:
        """Turn sums of [K(x, Z), 1, y], (m, D + 1 + k), into those of [Psi, 1, y]."""
        D = len(self.W)
        white = sums[:, :D] @ like(self.W, sums)
        return namespace(sums).concat([white, sums[:, D:]], axis=1)

    def of_squares(self, squares: Real) -> Real:
        """A' diag(w) A of [Psi, 1, y], from `squares`."""
        back = self._with_others(squares)
        return np.asarray(back.T @ squares @ back)

    def as_squared(self, direction: Real, squares: Real) -> Real:
        """Write coefficients of [Psi, 1, y] as those of the columns that were squared."""
        return np.asarray(self._with_others(squares) @ direction)

    def _with_others(self, squares: Real) -> Real:
        others = len(squares) - len(self._after)
        return np.asarray(block_diag(self._after, np.eye(others)))

"""A fitted function: a sum of kernels and an intercept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..numerics.array import Real
from ..numerics.parallel import one_blas_thread, over_rows
from ..operators.base import blocks

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


SMALLEST = 1e-10
"""Eigenvalues of K(Z, Z), of the largest, below which rounding is a visible part of a feature."""


def whitening(K: Real) -> Real:
    """Return W (D, r) with W'K(Z, Z)W = I, for features Psi(x) = K(x, Z) W of rows (theory, 4).

    Directions of small eigenvalues are left out, so that equal landmarks do no harm.
    """
    with one_blas_thread(K.size):
        s, U = np.linalg.eigh((K + K.T) / 2)
    kept = s > SMALLEST * max(float(s[-1]), 0.0)
    return np.asarray(U[:, kept] / np.sqrt(s[kept]))

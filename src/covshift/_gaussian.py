"""Values of the Gaussian kernel for many rows, in blocks that stay in the cache of a core.

    K(x, z) = exp(-gamma |x - z|^2) ,   |x - z|^2 = |x|^2 - 2 x'z + |z|^2 ,

the distances as one product of [x, |x|^2, 1] with a table of z. Both are measured from the mean of
the z: far from zero the three terms would cancel, and a unit or an origin must not matter.
"""

from __future__ import annotations

import numpy as np

from ._types import Real

_BYTES = 1 << 19  # of values that are made at a time


class Gaussian:
    """K(x, Z) for the rows Z (D, n); O(D (n + 1)) time for each row x."""

    def __init__(self, gamma: float, Z: Real) -> None:
        self._gamma, self._center = gamma, Z.mean(axis=0)
        z = Z - self._center
        self._table = np.vstack([-2 * z.T, np.ones(len(z)), (z**2).sum(axis=1)])
        self._size = max(16, _BYTES // (8 * max(1, len(z))))

    def fill(self, X: Real, out: Real) -> None:
        """Write the values of the rows X (b, n) to ``out`` (b, D)."""
        n = X.shape[1]
        rows = np.empty((min(self._size, len(X)), n + 2))
        rows[:, n + 1] = 1.0
        for start in range(0, len(X), self._size):
            values = out[start : start + self._size]
            some = rows[: len(values)]
            np.subtract(X[start : start + self._size], self._center, out=some[:, :n])
            np.einsum("ij,ij->i", some[:, :n], some[:, :n], out=some[:, n])
            np.matmul(some, self._table, out=values)
            np.maximum(values, 0.0, out=values)  # rounding of a distance of zero
            with np.errstate(over="ignore", under="ignore"):  # beyond the largest number: K = 0
                values *= -self._gamma
                np.exp(values, out=values)

"""Values of the Gaussian kernel for many rows, in blocks that stay in the cache of a core.

    K(x, z) = exp(-|x - z|^2 / (2 width^2)) ,   |x - z|^2 = |x|^2 - 2 x'z + |z|^2 ,

the distances as one product of [x, |x|^2, 1] with a table of z. Both are measured from the mean of
the z, in the power of two next to the width: far from zero the three terms would cancel, squares of
large numbers overflow, and a unit or an origin must not matter.
"""

from __future__ import annotations

import math

import numpy as np

from ._types import Real

_NARROWEST = 2.0**-300  # width, of the size of the numbers
_STEEPEST = 2.0**300
_BYTES = 1 << 19  # of values that are made at a time


def power_of_two(size: float) -> float:
    """Power of two next to a positive size: dividing by it loses nothing.

    >>> power_of_two(5.0), power_of_two(0.3)
    (4.0, 0.25)
    """
    _, exponent = math.frexp(size)
    return math.ldexp(1.0, exponent - 1)


class Gaussian:
    """K(x, Z) for the rows Z (D, n); O(D (n + 1)) time for each row x."""

    def __init__(self, width: float, Z: Real) -> None:
        size = float(np.abs(Z).max(initial=0.0))  # a width far below it makes no larger squares
        self._unit = power_of_two(max(width, _NARROWEST * size))
        self._gamma = min(self._unit / width, _STEEPEST) ** 2 / 2
        self._center = (Z / self._unit).mean(axis=0)
        z = Z / self._unit - self._center
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
            np.divide(X[start : start + self._size], self._unit, out=some[:, :n])
            some[:, :n] -= self._center
            np.einsum("ij,ij->i", some[:, :n], some[:, :n], out=some[:, n])
            np.matmul(some, self._table, out=values)
            np.maximum(values, 0.0, out=values)  # rounding of a distance of zero
            with np.errstate(over="ignore", under="ignore"):  # beyond the largest number: K = 0
                values *= -self._gamma
                np.exp(values, out=values)

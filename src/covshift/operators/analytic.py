"""V of a known target distribution with independent coordinates (Lemma 2.1).

With u(i, k) the target's probability of a value at or above x_i^k, Lemma 2.1 reads

    V(i, j) = prod_k [1 - mu_k(max(x_i^k, x_j^k)^-)] = prod_k min(u(i, k), u(j, k)),

so a known target enters through the (N, n) array of survival values alone (theory, eq. 1.5).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .._array import Array, namespace, take_rows
from .base import VOperator, blocks, columns
from .compose import FactorOperator, RowWeighted
from .lines.factor import LineFactor, Lines

_ENTRIES = 1 << 21  # entries of V held at a time


def min_product(u: Array) -> VOperator:
    """V(i, j) = prod_k min(u(i, k), u(j, k)) for survival values ``u`` of shape (N, n)."""
    return FactorOperator(_min_factor(u[:, 0])) if u.shape[1] == 1 else MinProduct(u)


class MinProduct:
    """V in several dimensions: no finite factor, products in row blocks, O(N^2 (n + D))."""

    def __init__(self, u: Array) -> None:
        self._u = u
        self.shape = (int(u.shape[0]), int(u.shape[0]))

    def matmat(self, A: Array) -> Array:
        xp, A = namespace(self._u), columns(A, self.shape[0], "V.matmat", self._u)
        return xp.concat([xp.astype(V, A.dtype) @ A for _, V in self._row_blocks()])

    def diagonal(self) -> Array:
        return namespace(self._u).prod(self._u, axis=1)

    def dense(self) -> Array:
        return namespace(self._u).concat([V for _, V in self._row_blocks()])

    def factor(self) -> None:
        return None

    def subset(self, rows: NDArray[np.intp]) -> MinProduct:
        return MinProduct(take_rows(self._u, rows))

    def weighted(self, w: Array) -> RowWeighted:
        return RowWeighted(self, w)

    def _row_blocks(self) -> Iterator[tuple[slice, Array]]:
        xp, u = namespace(self._u), self._u
        for rows in blocks(self.shape[0], max(1, _ENTRIES // self.shape[0])):
            V = xp.minimum(u[rows, 0][:, None], u[:, 0][None, :])
            for k in range(1, u.shape[1]):
                V = V * xp.minimum(u[rows, k][:, None], u[:, k][None, :])
            yield rows, V


def _min_factor(u: Array) -> LineFactor:
    """min(u_i, u_j) = sum_k (v_k - v_{k-1}) 1[u_i >= v_k] 1[u_j >= v_k], v the sorted values.

    This is the empirical V of a target with points -v and those gaps as weights.
    """
    xp = namespace(u)
    v = xp.sort(xp.unique_values(u))
    gaps = v - xp.concat([xp.zeros_like(v[:1]), v[:-1]])
    return Lines([-v], xp.astype(gaps, xp.float64)).factor([-u], n_points=int(u.shape[0]))

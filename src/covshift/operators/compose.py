"""Every V of the library: diag(u) R'R diag(u) + diag(d), with R from views of the target.

Corrections compose inside this form (theory, eqs. 2.3 to 2.5): a scale and row weights multiply u,
a blend with the identity adds to d, and a diagonal V has no R. Of a known target, or of a V that is
there already, R'R is known by its products alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..numerics.array import Array, device, namespace, take_rows
from .base import Factor, Gram, blocks, columns, row_weights, scale_rows
from .line_factor import LineFactor, Lines
from .line_thresholds import Thresholds


class FactorOperator:
    """V = scale diag(u) R'R diag(u) + diag(d); without u it is one, without R or d zero."""

    def __init__(
        self,
        R: Gram | None = None,
        u: Array | None = None,
        d: Array | None = None,
        scale: float = 1.0,
    ) -> None:
        self.R, self.u, self.d, self.scale = R, u, d, scale
        if R is not None:
            N = R.shape[1]
        elif d is not None:
            N = int(d.shape[0])
        else:
            raise ValueError("V needs R, d or both.")
        self.shape = (N, N)

    def matmat(self, A: Array) -> Array:
        given = self.d if self.u is None else self.u
        if given is not None:
            A = columns(A, self.shape[0], "V.matmat", given)
        product = None if self.d is None else scale_rows(self.d, A)
        if self.R is None:
            return product
        seen = self._scaled(self.R.normal(A if self.u is None else scale_rows(self.u, A)))
        seen = seen if self.u is None else scale_rows(self.u, seen)
        return seen if product is None else seen + product

    def diagonal(self) -> Array:
        if self.R is None:
            return namespace(self.d).asarray(self.d, copy=True)
        squares = self._scaled(self.R.squares())
        squares = squares if self.u is None else self.u**2 * squares
        return squares if self.d is None else squares + self.d

    def dense(self) -> Array:
        own = None
        if self.d is not None:
            xp = namespace(self.d)
            own = xp.eye(self.shape[0], dtype=self.d.dtype, device=device(self.d))
            own = own * self.d[None, :]
        if self.R is None:
            return own
        gram = self._scaled(self.R.gram())
        gram = gram if self.u is None else self.u[:, None] * gram * self.u[None, :]
        return gram if own is None else gram + own

    def subset(self, rows: NDArray[np.intp]) -> FactorOperator:
        u, d = (None if part is None else take_rows(part, rows) for part in (self.u, self.d))
        R = None if self.R is None else self.R.subset(rows)
        return FactorOperator(R, u, d, self.scale)

    def weighted(self, w: Array) -> FactorOperator:
        """Give rows weights: diag(w) on both sides of R'R, where they meet, but once of d."""
        w = row_weights(w, self.shape[0], self.d if self.u is None else self.u)
        u = w if self.u is None else self.u * w
        return FactorOperator(self.R, u, None if self.d is None else self.d * w, self.scale)

    def scaled(self, factor: float) -> FactorOperator:
        """Return ``factor`` V."""
        d = None if self.d is None else factor * self.d
        return FactorOperator(self.R, self.u, d, factor * self.scale)

    def plus(self, d: Array) -> FactorOperator:
        """Return V + diag(d)."""
        d = d if self.d is None else self.d + d
        return FactorOperator(self.R, self.u, d, self.scale)

    def _scaled(self, part: Array) -> Array:
        return part if self.scale == 1 else self.scale * part


class Diagonal(FactorOperator):
    """V = diag(w), w >= 0: the unweighted loss (w = 1) and every importance-weighted one; O(N)."""

    def __init__(self, w: Array) -> None:
        super().__init__(d=w)


class Dense(FactorOperator):
    """V by its entries."""

    def __init__(self, V: Array) -> None:
        super().__init__(Entries(V))


def is_diagonal(V: object) -> bool:
    """Whether no two rows meet in V."""
    return isinstance(V, FactorOperator) and V.R is None


class Entries:
    """R'R as an array that is there already."""

    def __init__(self, V: Array) -> None:
        self._V = V
        self.shape = (int(V.shape[0]), int(V.shape[1]))

    def normal(self, A: Array) -> Array:
        A = columns(A, self.shape[0], "V.matmat", self._V)
        return namespace(A).astype(self._V, A.dtype, copy=False) @ A

    def squares(self) -> Array:
        return namespace(self._V).linalg.diagonal(self._V)

    def gram(self) -> Array:
        return namespace(self._V).asarray(self._V, copy=True)

    def subset(self, rows: NDArray[np.intp]) -> Entries:
        return Entries(take_rows(take_rows(self._V, rows).T, rows).T)


class StackedFactor:
    """R with the blocks s_k R_k one above the other."""

    def __init__(self, parts: Sequence[tuple[float, Factor]]) -> None:
        self._parts = list(parts)
        self.shape = (sum(R.shape[0] for _, R in parts), self._parts[0][1].shape[1])

    def matmat(self, A: Array) -> Array:
        products = [s * R.matmat(A) for s, R in self._parts]
        return namespace(products[0]).concat(products)

    def rmatmat(self, Z: Array) -> Array:
        columns(Z, self.shape[0], "R.rmatmat")
        product, row = 0, 0
        for s, R in self._parts:
            product = product + s * R.rmatmat(Z[row : row + R.shape[0], :])
            row += R.shape[0]
        return product

    def normal(self, A: Array) -> Array:
        return sum(s**2 * R.normal(A) for s, R in self._parts)

    def squares(self) -> Array:
        return sum(s**2 * R.squares() for s, R in self._parts)

    def gram(self) -> Array:
        return sum(s**2 * R.gram() for s, R in self._parts)

    def subset(self, rows: NDArray[np.intp]) -> StackedFactor:
        return StackedFactor([(s, R.subset(rows)) for s, R in self._parts])


# V of a known target distribution with independent coordinates (Lemma 2.1).
#
# With u(i, k) the target's probability of a value at or above x_i^k, Lemma 2.1 reads
#
#     V(i, j) = prod_k [1 - mu_k(max(x_i^k, x_j^k)^-)] = prod_k min(u(i, k), u(j, k)),
#
# so a known target enters through the (N, n) array of survival values alone (theory, eq. 1.5).


_ENTRIES = 1 << 21  # entries of V held at a time


def min_product(u: Array) -> FactorOperator:
    """V(i, j) = prod_k min(u(i, k), u(j, k)) for survival values ``u`` of shape (N, n)."""
    return FactorOperator(_min_factor(u[:, 0]) if u.shape[1] == 1 else MinProduct(u))


class MinProduct:
    """V in several dimensions: no finite factor, products in row blocks, O(N^2 (n + D))."""

    def __init__(self, u: Array) -> None:
        self._u = u
        self.shape = (int(u.shape[0]), int(u.shape[0]))

    def normal(self, A: Array) -> Array:
        xp, A = namespace(self._u), columns(A, self.shape[0], "V.matmat", self._u)
        return xp.concat([xp.astype(V, A.dtype) @ A for _, V in self._row_blocks()])

    def squares(self) -> Array:
        return namespace(self._u).prod(self._u, axis=1)

    def gram(self) -> Array:
        return namespace(self._u).concat([V for _, V in self._row_blocks()])

    def subset(self, rows: NDArray[np.intp]) -> MinProduct:
        return MinProduct(take_rows(self._u, rows))

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
    lines = Lines([Thresholds.of(-v, xp.astype(gaps, xp.float64))])
    return lines.factor([-u], n_points=int(u.shape[0]))

"""Corrections compose: sums of operators stack their factors, row weights scale their columns.

sum_k c_k V_k       has the factor that stacks sqrt(c_k) R_k   (views, symmetric, blends)
diag(w) V diag(w)   has the factor R diag(w)                   (theory, eqs. 2.3 and 2.5)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..numerics.array import Array, device, namespace, take_rows
from .base import Factor, VOperator, blocks, columns, row_weights, scale_rows
from .leaves import LineForm, line_form, line_form_sum
from .line_factor import LineFactor, Lines


class FactorOperator:
    """V = R'R, by the products with its factor."""

    def __init__(self, R: Factor) -> None:
        self.R = R

    @property
    def shape(self) -> tuple[int, int]:
        return self.R.shape[1], self.R.shape[1]

    def matmat(self, A: Array) -> Array:
        return self.R.normal(A)

    def diagonal(self) -> Array:
        return self.R.squares()

    def dense(self) -> Array:
        return self.R.gram()

    def factor(self) -> Factor:
        return self.R

    def subset(self, rows: NDArray[np.intp]) -> FactorOperator:
        return FactorOperator(self.R.subset(rows))

    def weighted(self, w: Array) -> FactorOperator:
        return FactorOperator(ColumnWeightedFactor(self.R, w))

    def line_form(self) -> LineForm | None:
        return line_form(self.R)


class WeightedSum:
    """V = sum_k c_k V_k with c_k >= 0."""

    def __init__(self, terms: Sequence[tuple[float, VOperator]]) -> None:
        self._terms = list(terms)
        self.shape = self._terms[0][1].shape

    def matmat(self, A: Array) -> Array:
        return sum(c * V.matmat(A) for c, V in self._terms)

    def diagonal(self) -> Array:
        return sum(c * V.diagonal() for c, V in self._terms)

    def dense(self) -> Array:
        return sum(c * V.dense() for c, V in self._terms)

    def factor(self) -> Factor | None:
        factors = [(c, V.factor()) for c, V in self._terms]
        known = [(c**0.5, R) for c, R in factors if R is not None]
        return StackedFactor(known) if len(known) == len(factors) else None

    def subset(self, rows: NDArray[np.intp]) -> WeightedSum:
        return WeightedSum([(c, V.subset(rows)) for c, V in self._terms])

    def weighted(self, w: Array) -> WeightedSum:
        return WeightedSum([(c, V.weighted(w)) for c, V in self._terms])

    def line_form(self) -> LineForm | None:
        return line_form_sum(self._terms)


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

    def line_form(self) -> LineForm | None:
        return line_form_sum([(s**2, R) for s, R in self._parts])


class RowWeighted:
    """diag(w) V diag(w): both sides of the Fredholm equation under weighted training points."""

    def __init__(self, V: VOperator, w: Array) -> None:
        self._V, self._w = V, row_weights(w, V.shape[0])
        self.shape = V.shape

    def matmat(self, A: Array) -> Array:
        A = columns(A, self.shape[0], "V.matmat", self._w)
        return scale_rows(self._w, self._V.matmat(scale_rows(self._w, A)))

    def diagonal(self) -> Array:
        return self._w**2 * self._V.diagonal()

    def dense(self) -> Array:
        return self._w[:, None] * self._V.dense() * self._w[None, :]

    def factor(self) -> Factor | None:
        R = self._V.factor()
        return None if R is None else ColumnWeightedFactor(R, self._w)

    def subset(self, rows: NDArray[np.intp]) -> RowWeighted:
        return RowWeighted(self._V.subset(rows), take_rows(self._w, rows))

    def weighted(self, w: Array) -> RowWeighted:
        return RowWeighted(self._V, self._w * row_weights(w, self.shape[0], self._w))

    def line_form(self) -> LineForm | None:
        part = line_form(self._V)
        return None if part is None else part.weighted(self._w)


class ColumnWeightedFactor:
    """R diag(w)."""

    def __init__(self, R: Factor, w: Array) -> None:
        self._R, self._w = R, row_weights(w, R.shape[1])
        self.shape = R.shape

    def matmat(self, A: Array) -> Array:
        return self._R.matmat(self._scaled(A, "R.matmat"))

    def rmatmat(self, Z: Array) -> Array:
        return scale_rows(self._w, self._R.rmatmat(Z))

    def normal(self, A: Array) -> Array:
        return scale_rows(self._w, self._R.normal(self._scaled(A, "V.matmat")))

    def squares(self) -> Array:
        return self._w**2 * self._R.squares()

    def gram(self) -> Array:
        return self._w[:, None] * self._R.gram() * self._w[None, :]

    def subset(self, rows: NDArray[np.intp]) -> ColumnWeightedFactor:
        return ColumnWeightedFactor(self._R.subset(rows), take_rows(self._w, rows))

    def line_form(self) -> LineForm | None:
        part = line_form(self._R)
        return None if part is None else part.weighted(self._w)

    def _scaled(self, A: Array, what: str) -> Array:
        return scale_rows(self._w, columns(A, self.shape[1], what, self._w))


# V = diag(w): the unweighted loss (w = 1) and every importance-weighted one.


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

    def line_form(self) -> LineForm:
        return LineForm(None, 0.0, np.ones(self.shape[0]), np.asarray(self._w))


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


# V as an array that is there already.


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


# V of a known target distribution with independent coordinates (Lemma 2.1).
#
# With u(i, k) the target's probability of a value at or above x_i^k, Lemma 2.1 reads
#
#     V(i, j) = prod_k [1 - mu_k(max(x_i^k, x_j^k)^-)] = prod_k min(u(i, k), u(j, k)),
#
# so a known target enters through the (N, n) array of survival values alone (theory, eq. 1.5).


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

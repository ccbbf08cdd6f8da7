"""Corrections compose: sums of operators stack their factors, row weights scale their columns.

sum_k c_k V_k       has the factor that stacks sqrt(c_k) R_k   (views, symmetric, blends)
diag(w) V diag(w)   has the factor R diag(w)                   (theory, eqs. 2.3 and 2.5)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .._array import Array, namespace, take_rows
from .._types import Codes, Real, Rows
from .base import Factor, VOperator, columns, row_weights, scale_rows
from .trees.line_form import LineForm, line_form, line_form_sum
from .trees.prefixes import (
    Nested,
    NestedSum,
    NestedWeighted,
    nested,
    prefix_squares,
    sum_of_prefix_squares,
)


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

    def prefix_squares(self, rows: Rows, ends: Rows, u: Real) -> Real:
        return prefix_squares(self.R, rows, ends, u)

    def nested(self, codes: Codes, n_bins: int) -> Nested:
        return nested(self.R, codes, n_bins)

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

    def prefix_squares(self, rows: Rows, ends: Rows, u: Real) -> Real:
        return sum_of_prefix_squares(self._terms, rows, ends, u)

    def nested(self, codes: Codes, n_bins: int) -> Nested:
        return NestedSum((c, nested(V, codes, n_bins)) for c, V in self._terms)

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

    def prefix_squares(self, rows: Rows, ends: Rows, u: Real) -> Real:
        return sum_of_prefix_squares([(s**2, R) for s, R in self._parts], rows, ends, u)

    def nested(self, codes: Codes, n_bins: int) -> Nested:
        return NestedSum((s**2, nested(R, codes, n_bins)) for s, R in self._parts)

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

    def prefix_squares(self, rows: Rows, ends: Rows, u: Real) -> Real:
        return prefix_squares(self._V, rows, ends, u * self._w[rows])

    def nested(self, codes: Codes, n_bins: int) -> Nested:
        return NestedWeighted(nested(self._V, codes, n_bins), self._w, codes, n_bins)

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

    def prefix_squares(self, rows: Rows, ends: Rows, u: Real) -> Real:
        return prefix_squares(self._R, rows, ends, u * self._w[rows])

    def nested(self, codes: Codes, n_bins: int) -> Nested:
        return NestedWeighted(nested(self._R, codes, n_bins), self._w, codes, n_bins)

    def line_form(self) -> LineForm | None:
        part = line_form(self._R)
        return None if part is None else part.weighted(self._w)

    def _scaled(self, A: Array, what: str) -> Array:
        return scale_rows(self._w, columns(A, self.shape[1], what, self._w))

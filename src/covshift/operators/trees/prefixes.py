"""Quadratic forms of growing sets of training rows: z_b'Vz_b for the prefixes z_b of an order.

A tree that splits a leaf compares as many columns of indicators as there are places to cut it; all
that the candidates have to themselves is z_b'Vz_b (theory, eq. 5.9). An operator that knows a short
way offers ``prefix_squares``, and ``nested`` for a part of itself that is cheaper still; any other
operator is asked for products.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from ..._compiled import Loop, has_numba
from ..._types import Codes, Real, Rows
from ..base import blocks

_COLUMNS = 64  # bins whose columns of R are held at a time


class Nested(Protocol):
    """A part V_k of V for each feature k, with V - V_k positive semidefinite, that is cheap."""

    whole: bool
    """Whether V_k is V itself, for every feature."""

    def split_squares(self, rows: Rows, u: Real, below: Real, share: Real) -> Real:
        """(z_b - share z)'V_k (z_b - share z) for every feature k and bin b: (n, B).

        z carries the weights ``u`` (p,) of the ``rows`` (p,) and z_b those up to bin b of feature
        k, which sum to ``below`` (n, B).
        """
        ...


class NothingNested:
    """No part of V is cheap: the bound is zero."""

    whole = False

    def split_squares(self, rows: Rows, u: Real, below: Real, share: Real) -> Real:
        return np.zeros_like(below)


class NestedSum:
    """sum_t c_t V_t, part by part."""

    def __init__(self, terms: Iterable[tuple[float, Nested]]) -> None:
        self._terms = list(terms)
        self.whole = all(part.whole for _, part in self._terms)

    def split_squares(self, rows: Rows, u: Real, below: Real, share: Real) -> Real:
        total = np.zeros_like(below)
        for c, part in self._terms:
            total += c * part.split_squares(rows, u, below, share)
        return total


class NestedWeighted:
    """diag(w) V diag(w): the weights of the rows are multiplied by w."""

    def __init__(self, part: Nested, w: Real, codes: Codes, n_bins: int) -> None:
        self._part, self._w, self._codes, self._n_bins = part, w, codes, n_bins
        self.whole = part.whole

    def split_squares(self, rows: Rows, u: Real, below: Real, share: Real) -> Real:
        weight = u * self._w[rows]
        heavy = bin_sums_of(self._codes, rows, weight, self._n_bins).cumsum(axis=1)
        return self._part.split_squares(rows, weight, heavy, share)


def bin_sums_of(codes: Codes, rows: Rows, values: Real, n_bins: int) -> Real:
    """Add ``values`` (p,) of the ``rows`` (p,) into the bins of every feature: (n, B)."""
    if has_numba():
        sums = np.zeros((codes.shape[1], n_bins))
        add_up_bins(codes, rows, values, sums)
        return sums
    return np.array([np.bincount(code[rows], values, minlength=n_bins) for code in codes.T])


def _add_up_bins(codes: Any, rows: Any, values: Any, sums: Any) -> None:
    for p in range(len(rows)):
        for k in range(codes.shape[1]):
            sums[k, codes[rows[p], k]] += values[p]


add_up_bins = Loop(_add_up_bins)


def prefix_sums(values: Real, ends: Rows) -> Real:
    """Sum the first ``ends[b]`` values: (B,)."""
    return np.asarray(np.cumsum(np.append(0.0, values))[ends])


def nested(V: Any, codes: Codes, n_bins: int) -> Nested:
    """Return the cheap part of ``V`` for features given by their bins ``codes`` (N, n)."""
    own = getattr(V, "nested", None)
    return NothingNested() if own is None else own(codes, n_bins)


def prefix_squares(V: Any, rows: Rows, ends: Rows, u: Real) -> Real:
    """z_b'Vz_b of the first ``ends[b]`` of the ``rows``, with weights ``u`` (p,): (B,).

    ``V`` is an operator or a factor. Without a shorter way: one product with the rows' part of V
    or R, O(B) columns, in blocks.
    """
    own = getattr(V, "prefix_squares", None)
    if own is not None:
        return np.asarray(own(rows, ends, u))
    part = V.subset(rows)
    return _factor_squares(part, ends, u) if hasattr(V, "rmatmat") else _squares(part, ends, u)


def sum_of_prefix_squares(
    terms: Sequence[tuple[float, Any]], rows: Rows, ends: Rows, u: Real
) -> Real:
    """z_b' (sum_t c_t V_t) z_b: (B,)."""
    return np.asarray(sum(c * prefix_squares(V, rows, ends, u) for c, V in terms))


def _factor_squares(R: Any, ends: Rows, u: Real) -> Real:
    squares, seen = np.empty(len(ends)), np.zeros((R.shape[0], 1))
    for some in blocks(len(ends), _COLUMNS):
        columns = seen + np.cumsum(R.matmat(_increments(ends, u, some)), axis=1)
        squares[some] = (columns**2).sum(axis=0)
        seen = columns[:, -1:]
    return squares


def _squares(V: Any, ends: Rows, u: Real) -> Real:
    squares, seen = np.empty(len(ends)), np.zeros((len(u), 1))
    for some in blocks(len(ends), _COLUMNS):
        columns = seen + np.cumsum(_increments(ends, u, some), axis=1)
        squares[some] = (columns * V.matmat(columns)).sum(axis=0)
        seen = columns[:, -1:]
    return squares


def _increments(ends: Rows, u: Real, some: slice) -> Real:
    """Weights of the rows that each of ``some`` prefixes adds to the one before: (p, bins)."""
    starts = np.concatenate([[0], ends])
    columns = np.zeros((len(u), some.stop - some.start))
    for column, b in enumerate(range(some.start, some.stop)):
        added = slice(starts[b], starts[b + 1])
        columns[added, column] = u[added]
    return columns

"""V = diag(u) L diag(u) + diag(d), with L of one-dimensional views: what trees can do faster.

Most corrections are of this form. In it, V times indicators of leaves is a matter of totals in the
bins of the views, and squares z'Vz can be bounded from below view by view, by a few linear forms.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ..numerics.array import Codes, Real, Rows
from ..numerics.parallel import Loop, has_numba
from .base import blocks
from .line_bins import at_bins, at_thresholds, bin_count, bin_totals
from .tree_bins import BinnedLines

_SINES = 2  # of a view: three quarters of the square of a bridge are along them
_FORMS = 64  # of all views, but at least one of each


@dataclass(frozen=True)
class LineForm:
    """diag(u) (scale L) diag(u) + diag(d); without ``lines`` it is diagonal."""

    lines: BinnedLines | None
    scale: float
    u: Real  # (N,)
    d: Real  # (N,)

    def weighted(self, w: Real) -> LineForm:
        """diag(w) V diag(w)."""
        return replace(self, u=self.u * w, d=self.d * w**2)

    @cached_property
    def weights(self) -> Real:
        """u, or nothing where all of it is 1."""
        return self.u[:0] if (self.u == 1).all() else self.u

    @cached_property
    def diagonal(self) -> Real:
        """d, or nothing where it is 0."""
        return self.d if self.d.any() else self.d[:0]

    @cached_property
    def single(self) -> Real:
        """Weights of all thresholds, zero beyond the last one of a view: (U, G)."""
        assert self.lines is not None
        weights = self.lines.weights
        every = np.zeros((max(len(w) for w in weights), len(weights)))
        for g, w in enumerate(self.lines.weights):
            every[: len(w), g] = self.scale * w
        return every

    def forms(self) -> Real:
        """Linear forms whose squares bound z'(V - diag(d))z from below: (bins of all views, K).

        In a view z shows S to the thresholds, and z'Vz is the square of S, by their weights. Its
        parts along K orthonormal functions are at most as large; here is what a row adds to them,
        by its bin. The functions are sines in the order of the rows: what a random part of the
        rows differs in from all of them, most of all in the first (a Brownian bridge).
        """
        lines = self.lines
        assert lines is not None
        K = min(_SINES, max(1, _FORMS // len(lines.weights)))
        tables = [
            _forms_of_view(code, w, K, lines.symmetric)
            for code, w in zip(lines.by_view, lines.weights, strict=True)
        ]
        return np.asarray(self.scale**0.5 * np.concatenate(tables))


def _forms_of_view(code: Codes, w: Real, K: int, symmetric: bool) -> Real:
    """What a row in each bin adds to each of ``K`` forms: (bins, K)."""
    U = len(w)
    below = bin_totals(code, None, bin_count(U, symmetric)).cumsum() / len(code)
    F = at_thresholds(below, symmetric)[0]  # share of the rows at or below each threshold
    sines = np.sin(np.pi * np.outer(F, np.arange(1, K + 1)))
    root = np.sqrt(w)[:, None]
    Q, _ = np.linalg.qr(root * sines)  # (U, K), fewer where there are few thresholds
    functions = np.zeros((U, K))
    functions[:, : Q.shape[1]] = root * Q
    if not symmetric:
        return np.asarray(at_bins(functions))
    # Where S rises on one side it falls on the other, so the two are taken as one.
    return np.asarray(at_bins(functions, -functions) / 2**0.5)


def line_form(V: Any) -> LineForm | None:
    """Return an operator or factor in this form, or None where it has another."""
    own = getattr(V, "line_form", None)
    return None if own is None else own()


def line_form_sum(terms: Sequence[tuple[float, Any]]) -> LineForm | None:
    """sum_t c_t V_t, where at most one of them is not diagonal."""
    total: LineForm | None = None
    for c, V in terms:
        part = line_form(V)
        if part is None:
            return None
        part = replace(part, scale=c * part.scale, d=c * part.d)
        if total is None:
            total = part
        elif total.lines is not None and part.lines is not None:
            return None
        else:
            body = part if total.lines is None else total
            total = replace(body, d=total.d + part.d)
    return total


# Quadratic forms of growing sets of training rows: z_b'Vz_b for the prefixes z_b of an order.
#
# A tree that splits a leaf compares as many columns of indicators as there are places to cut it;
# all that the candidates have to themselves is z_b'Vz_b (theory, eq. 5.9). An operator that knows a
# short way offers ``prefix_squares``, and ``nested`` for a part of itself that is cheaper still;
# any other operator is asked for products.


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

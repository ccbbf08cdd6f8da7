"""The candidates of all leaves: one for every leaf, feature and bin, kept up to date by sums.

What a candidate z (the rows of its leaf up to a bin) must know, with D of the present leaves, r the
residuals after the joint solution, and l its own leaf (theory, eqs. 5.6 to 5.9):

    alpha = c'D^-1 c,  beta = (D^-1 c)_l,  num = -2 z'Vr,  square = z'Vz,     c = 2 Z'Vz.

Every split adds one or two directions; a candidate changes by its inner products with them, which
are sums over the rows of its leaf, bin by bin. Loops for numba and their NumPy forms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from .._compiled import Loop, has_numba
from .._parallel import over_rows
from ..operators.prefixes import Codes, Real, Rows

_CELLS = 1 << 18  # additions that make a second thread worth while
SPAN = 1e-10  # share of a column that must lie outside the span of the others; so in `_rank_loop`
TIE = 1e-9  # gains that differ by less, relatively, are equal; so in `_rank_loop`


def sums_up_to(codes: Codes, order: Rows, leaves: NDArray[np.intp], values: Real, B: int) -> Real:
    """Sum ``values`` (N, C) over the rows of each leaf, up to each bin of each feature.

    ``leaves`` (L, 2) holds where each leaf starts and stops in ``order``. Returns (L, n, B, C).
    """
    n = codes.shape[1]
    sums = np.zeros((len(leaves), n, B, values.shape[1]))
    if not has_numba():
        for leaf, (start, stop) in zip(sums, leaves, strict=True):
            rows = order[start:stop]
            cells = (codes[rows] + B * np.arange(n)).ravel()
            parts = (np.ones(len(cells)), cells, np.arange(0, len(cells) + 1, n))
            member = csc_array(parts, shape=(n * B, len(rows)))
            leaf += (member @ values[rows]).reshape(leaf.shape)
        return np.cumsum(sums, axis=2, out=sums)
    work = n * values.shape[1] * int((leaves[:, 1] - leaves[:, 0]).sum())

    def add(features: slice) -> None:
        if values.shape[1] == 1:
            add_up_one(codes, order, leaves, column, flat, B, features.start, features.stop)
        else:
            add_up(codes, order, leaves, values, sums, features.start, features.stop)

    flat, column = sums.reshape(len(leaves), n * B * values.shape[1]), values[:, 0]
    over_rows(add, n, at_least=max(1, n * _CELLS // max(1, work)))
    return sums


def _add_up(
    codes: Any, order: Any, leaves: Any, values: Any, sums: Any, first: int, last: int
) -> None:
    C = values.shape[1]
    for leaf in range(len(leaves)):
        for p in range(leaves[leaf, 0], leaves[leaf, 1]):
            row = order[p]
            for k in range(first, last):
                b = codes[row, k]
                for c in range(C):
                    sums[leaf, k, b, c] += values[row, c]
        for k in range(first, last):
            for b in range(1, sums.shape[2]):
                for c in range(C):
                    sums[leaf, k, b, c] += sums[leaf, k, b - 1, c]


def _add_up_one(
    codes: Any,
    order: Any,
    leaves: Any,
    column: Any,
    flat: Any,
    B: int,
    first: int,
    last: int,
) -> None:
    for leaf in range(len(leaves)):
        table = flat[leaf]
        for p in range(leaves[leaf, 0], leaves[leaf, 1]):
            row = order[p]
            value = column[row]
            for k in range(first, last):
                table[np.uint32(k * B) + codes[row, k]] += value
        for k in range(first, last):
            for cell in range(k * B + 1, (k + 1) * B):
                table[cell] += table[cell - 1]


add_up, add_up_one = Loop(_add_up), Loop(_add_up_one)


def by_bin(code: Codes, rows: Rows, B: int) -> tuple[Rows, Rows]:
    """Sort ``rows`` by their bins ``code`` (N,): the rows in order, and where each bin ends."""
    if has_numba():
        order, ends = np.empty_like(rows), np.zeros(B, dtype=np.intp)
        sort_loop(code, rows, order, ends)
        return order, ends
    bins = code[rows]
    return rows[np.argsort(bins, kind="stable")], np.cumsum(np.bincount(bins, minlength=B))


def _sort_loop(code: Any, rows: Any, order: Any, ends: Any) -> None:
    """Sort by counting; ``ends`` starts at zero."""
    for p in range(len(rows)):
        ends[code[rows[p]]] += 1
    total = 0
    for b in range(len(ends)):  # now where each bin starts
        count = ends[b]
        ends[b] = total
        total += count
    for p in range(len(rows)):
        b = code[rows[p]]
        order[ends[b]] = rows[p]
        ends[b] += 1


sort_loop = Loop(_sort_loop)


class Candidates:
    """State of the candidates of up to ``L`` leaves with ``n`` features and ``B`` bins."""

    def __init__(self, L: int, n: int, B: int) -> None:
        shape = (L, n, B)
        self.alpha, self.beta, self.num = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.square = np.zeros(shape)  # exact, or a lower bound
        self.allowed = np.zeros(shape, dtype=bool)
        self.exact = np.zeros((L, n), dtype=bool)
        self.gain = np.full((L, n), -np.inf)  # the largest of a feature, or an upper bound of it
        self.bin = np.zeros((L, n), dtype=np.intp)

    def enter(self, leaf: int, sums: Real, first: int, signs: Real) -> None:
        """Start a leaf from its sums (n, B, C): column 2 is Vr, directions are from ``first``."""
        if has_numba():
            enter_loop(sums, first, signs, self.num[leaf], self.alpha[leaf])
        else:
            self.num[leaf] = -2 * sums[..., 2]
            self.alpha[leaf] = sums[..., first:] ** 2 @ signs

    def change(self, leaves: Rows, sums: Real, steps: Real) -> None:
        """Follow a split elsewhere: ``sums`` (L, n, B, p) along p directions, steps (L, p, 3)."""
        if has_numba():
            change(leaves, sums, steps, self.alpha, self.beta, self.num)
            return
        for leaf, along, step in zip(leaves, sums, steps, strict=True):
            for direction, (sign, for_beta, for_num) in enumerate(step):
                y = along[..., direction]
                self.alpha[leaf] += sign * y**2
                self.beta[leaf] += for_beta * y
                self.num[leaf] += for_num * y

    def rank(self, leaves: Rows, tau: Real, w: Real, cost: float, features: slice) -> None:
        """Find the best bin of some features in some leaves: gains, or upper bounds of gains.

        ``tau`` (L,) is lambda / (1 + lambda (D^-1)_ll), ``w`` (L,) the present leaf values.
        """
        find = rank_loop if has_numba() else _rank
        find(
            leaves,
            tau,
            w,
            cost,
            self.alpha[:, features],
            self.beta[:, features],
            self.num[:, features],
            self.square[:, features],
            self.allowed[:, features],
            self.exact[:, features],
            self.gain[:, features],
            self.bin[:, features],
        )


def _enter_loop(sums: Any, first: int, signs: Any, num: Any, alpha: Any) -> None:
    for k in range(sums.shape[0]):
        for b in range(sums.shape[1]):
            num[k, b] = -2.0 * sums[k, b, 2]
            total = 0.0
            for d in range(len(signs)):
                total += signs[d] * sums[k, b, first + d] ** 2
            alpha[k, b] = total


enter_loop = Loop(_enter_loop)


def _change(leaves: Any, sums: Any, steps: Any, alpha: Any, beta: Any, num: Any) -> None:
    for j in range(len(leaves)):
        leaf = leaves[j]
        for k in range(sums.shape[1]):
            for b in range(sums.shape[2]):
                for d in range(sums.shape[3]):
                    y = sums[j, k, b, d]
                    alpha[leaf, k, b] += steps[j, d, 0] * y * y
                    beta[leaf, k, b] += steps[j, d, 1] * y
                    num[leaf, k, b] += steps[j, d, 2] * y


change = Loop(_change)


def _rank_loop(
    leaves: Any,
    tau: Any,
    w: Any,
    cost: float,
    alpha: Any,
    beta: Any,
    num: Any,
    square: Any,
    allowed: Any,
    exact: Any,
    gain: Any,
    best: Any,
) -> None:
    for j in range(len(leaves)):
        leaf = leaves[j]
        base = 0.5 * tau[j] * w[j] * w[j] + cost
        for k in range(alpha.shape[1]):
            top, where = -np.inf, 0
            for b in range(alpha.shape[2]):
                if not allowed[leaf, k, b]:
                    continue
                rest = tau[j] * (1.0 - beta[leaf, k, b])
                norm = 2.0 * square[leaf, k, b]
                s = norm - alpha[leaf, k, b] + rest * (1.0 - beta[leaf, k, b])
                y = num[leaf, k, b] - rest * w[j]
                if s > 1e-10 * norm:
                    value = 0.5 * y * y / s - base
                elif exact[leaf, k]:
                    continue
                else:
                    value = np.inf
                if top == -np.inf or value > top + 1e-9 * abs(top):
                    top, where = value, b
            gain[leaf, k], best[leaf, k] = top, where


rank_loop = Loop(_rank_loop)


def _rank(
    leaves: Rows,
    tau: Real,
    w: Real,
    cost: float,
    alpha: Real,
    beta: Real,
    num: Real,
    square: Real,
    allowed: NDArray[np.bool_],
    exact: NDArray[np.bool_],
    gain: Real,
    best: Rows,
) -> None:
    for leaf, t, value in zip(leaves, tau, w, strict=True):
        rest = t * (1 - beta[leaf])
        norm = 2 * square[leaf]
        s = norm - alpha[leaf] + rest * (1 - beta[leaf])
        y = num[leaf] - rest * value
        outside = s > SPAN * norm
        gains = np.where(exact[leaf][:, None], -np.inf, np.inf) * np.ones_like(s)
        base = 0.5 * t * value**2 + cost
        np.divide(0.5 * y**2, s, out=gains, where=outside)
        gains -= base
        gains[~allowed[leaf]] = -np.inf
        top = gains.max(axis=1)
        finite = np.where(np.isfinite(top), top, 0.0)
        least = np.where(np.isfinite(top), finite - TIE * np.abs(finite), top)
        best[leaf] = (gains >= least[:, None]).argmax(axis=1)
        gain[leaf] = gains[np.arange(len(top)), best[leaf]]

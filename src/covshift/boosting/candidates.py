"""The candidates of all leaves: one for every leaf, feature and bin, kept up to date by sums.

What a candidate z (the rows of its leaf up to a bin) must know, with D of the present leaves, r the
residuals after the joint solution, and l its own leaf (theory, eqs. 5.6 to 5.9):

    alpha = c'D^-1 c,  beta = (D^-1 c)_l,  num = -2 z'Vr,  square = z'Vz,     c = 2 Z'Vz.

Every split adds one or two directions; a candidate changes by its inner products with them, which
are sums over the rows of its leaf, bin by bin. Loops for numba are in `loops`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from .._compiled import has_numba
from .._parallel import over_rows
from ..operators.prefixes import Codes, Real, Rows
from .loops import by_counting, enter, follow
from .ranking import SPAN, TIE, rank

_CELLS = 1 << 18  # additions that make a second thread worth while
BASE = 4  # columns of a store that are no directions: 1, w, Vr, and V z_l of the row's own leaf


class Candidates:
    """State of the candidates of up to ``L`` leaves with ``n`` features and ``B`` bins."""

    def __init__(self, L: int, n: int, B: int) -> None:
        shape = (L, n, B)
        self.alpha, self.beta, self.num = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.square = np.zeros(shape)  # exact, or a lower bound; infinite where not allowed
        self.exact = np.zeros(shape, dtype=bool)
        self.count, self.own = np.zeros(shape), np.zeros(shape)
        self._work = np.zeros(0)
        # Of a leaf and feature: the first bin that is allowed, and the one after the last.
        self.low, self.high = np.zeros((L, n), dtype=np.intp), np.zeros((L, n), dtype=np.intp)
        self.gain = np.full((L, n), -np.inf)  # the largest of a feature, or an upper bound of it
        self.bin = np.zeros((L, n), dtype=np.intp)
        self.known = np.zeros((L, n), dtype=bool)  # whether that gain is exact
        self.level = np.zeros((L, n), dtype=np.intp)  # 1 where squares are bounded by all views
        self.every: Real | None = None  # what each leaf shows to groups of thresholds, if `seen`
        self.seen = np.zeros(L, dtype=bool)

    def enter(
        self,
        leaf: int,
        codes: Codes,
        rows: Rows,
        store: Real,
        signs: Real,
        for_beta: Real,
        enough: float,
    ) -> bool:
        """Start a leaf: sum the store's columns (N, BASE + directions) over its rows, by bin.

        alpha adds up the squares along the directions by their ``signs``, beta the sums themselves
        by ``for_beta``, which may be empty. Candidates of weight below ``enough``, or with no more
        rows than the bin before, are ruled out. Returns whether any is left.
        """
        n, B = self.count.shape[1:]
        used = BASE + len(signs)
        self.level[leaf], self.seen[leaf] = 0, False
        if not has_numba():
            sums = _sums_up_to(codes, rows, store[:, :used], B)
            self.count[leaf], below, num, self.own[leaf] = np.moveaxis(sums[..., :BASE], 2, 0)
            self.num[leaf] = -2 * num
            self.alpha[leaf] = sums[..., BASE:] ** 2 @ signs
            if len(for_beta):
                self.beta[leaf] = sums[..., BASE:] @ for_beta
            return self._allow(leaf, below, enough)
        if self._work.size < n * B * used:
            self._work = np.zeros(n * B * store.shape[1])
        sums = self._work[: n * B * used].reshape(n, B, used)
        parts = (self.count, self.num, self.own, self.alpha, self.beta)
        outputs = [part[leaf] for part in (*parts, self.exact, self.low, self.high)]

        def add(features: slice) -> None:
            ends = (features.start, features.stop)
            enter(codes, rows, store, signs, for_beta, enough, sums, *outputs, *ends)

        over_rows(add, n, at_least=max(1, n * _CELLS // ((len(rows) + B) * n * used)))
        return bool((self.low[leaf] < self.high[leaf]).any())

    def _allow(self, leaf: int, below: Real, enough: float) -> bool:
        count = self.count[leaf]
        more = np.diff(count, axis=1, prepend=0) > 0
        allowed = (below >= enough) & (below[:, -1:] - below >= enough) & more
        allowed &= count < count[:, -1:]
        self.exact[leaf] = ~allowed
        self.low[leaf] = allowed.argmax(axis=1)
        last = allowed.shape[1] - allowed[:, ::-1].argmax(axis=1)
        self.high[leaf] = np.where(allowed.any(axis=1), last, self.low[leaf])
        return bool(allowed.any())

    def set_squares(self, leaf: int, square: Real, *, exact: bool) -> None:
        """Set z'Vz, or lower bounds, of a leaf (n, B)."""
        self.square[leaf] = np.where(self.exact[leaf], np.inf, square)
        self.exact[leaf] |= exact

    def follow(
        self, leaves: Rows, codes: Codes, order: Rows, ranges: Rows, new: Real, steps: Real
    ) -> None:
        """Follow a split elsewhere along p directions, ``new`` (p, N), with steps (L, p, 3)."""
        n, B = self.count.shape[1:]
        if has_numba():

            def add(features: slice) -> None:
                ends = (features.start, features.stop)
                limits = (self.low, self.high)
                state = (self.alpha, self.beta, self.num)
                for y, step in zip(new, steps.transpose(1, 0, 2), strict=True):
                    follow(leaves, codes, order, ranges, y, step, *limits, *state, *ends)

            work = len(new) * n * int((ranges[leaves, 1] - ranges[leaves, 0] + B).sum())
            over_rows(add, n, at_least=max(1, n * _CELLS // (work + 1)))
            return
        for leaf, step in zip(leaves, steps, strict=True):
            rows = order[ranges[leaf, 0] : ranges[leaf, 1]]
            along = _sums_up_to(codes, rows, new.T, B)
            for direction, (sign, for_beta, for_num) in enumerate(step):
                y = along[..., direction]
                self.alpha[leaf] += sign * y**2
                self.beta[leaf] += for_beta * y
                self.num[leaf] += for_num * y

    def rank(self, leaves: Rows, tau: Real, w: Real, cost: float, features: slice) -> None:
        """Find the best bin of some features in some leaves: gains, or upper bounds of gains.

        ``tau`` (L,) is lambda / (1 + lambda (D^-1)_ll), ``w`` (L,) the present leaf values.
        """
        if not has_numba():
            for leaf, t, value in zip(leaves, tau, w, strict=True):
                for k in range(features.start, features.stop):
                    self._rank_one(leaf, k, t, value, cost)
            return

        def find(some: slice) -> None:
            state = (self.alpha, self.beta, self.num, self.square, self.exact)
            results = (self.low, self.high, self.gain, self.bin, self.known)
            ends = (features.start + some.start, features.start + some.stop)
            rank(leaves, tau, w, cost, *state, *results, *ends)

        n, B = features.stop - features.start, self.count.shape[2]
        over_rows(find, n, at_least=max(1, _CELLS // 2 // (B * len(leaves))))

    def _rank_one(self, leaf: int, k: int, tau: float, w: float, cost: float) -> None:
        low, high = self.low[leaf, k], self.high[leaf, k]
        self.gain[leaf, k], self.known[leaf, k] = -np.inf, True
        if low == high:
            return
        gains = self.gains(leaf, k, tau, w, cost)
        top = gains.max()
        tied = gains >= (top if np.isinf(top) else top - TIE * abs(top))
        best = int(tied.argmax())
        self.gain[leaf, k], self.bin[leaf, k] = gains[best], low + best
        self.known[leaf, k] = self.exact[leaf, k, low:high][tied].all()

    def gains(self, leaf: int, k: int, tau: float, w: float, cost: float) -> Real:
        """Gains, or bounds, of the bins from ``low`` to ``high`` of a feature (theory, eq. 5.7)."""
        bins = slice(self.low[leaf, k], self.high[leaf, k])
        rest = tau * (1 - self.beta[leaf, k, bins])
        norm = 2 * self.square[leaf, k, bins]
        s = norm - self.alpha[leaf, k, bins] + rest * (1 - self.beta[leaf, k, bins])
        y = self.num[leaf, k, bins] - rest * w
        gains = np.where(self.exact[leaf, k, bins], -np.inf, np.inf)
        np.divide(0.5 * y**2, s, out=gains, where=s > SPAN * norm)
        return np.asarray(gains - (0.5 * tau * w**2 + cost))


def _sums_up_to(codes: Codes, rows: Rows, values: Real, B: int) -> Real:
    """Sum ``values`` (N, C) over some rows, up to each bin of each feature: (n, B, C)."""
    n = codes.shape[1]
    cells = (codes[rows] + B * np.arange(n)).ravel()
    parts = (np.ones(len(cells)), cells, np.arange(0, len(cells) + 1, n))
    member = csc_array(parts, shape=(n * B, len(rows)))
    sums: Real = (member @ values[rows]).reshape(n, B, values.shape[1])
    return np.cumsum(sums, axis=1, out=sums)


def by_bin(code: NDArray[Any], rows: Rows, B: int) -> tuple[Rows, Rows]:
    """Sort ``rows`` by their bins ``code`` (N,): the rows in order, and where each bin ends."""
    if has_numba():
        order, ends = np.empty_like(rows), np.zeros(B, dtype=np.intp)
        by_counting(code, rows, order, ends)
        return order, ends
    bins = code[rows]
    return rows[np.argsort(bins, kind="stable")], np.cumsum(np.bincount(bins, minlength=B))

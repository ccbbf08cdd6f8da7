"""The best split of all leaves, with squares z'Vz refined where it matters: a loop for numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._compiled import Loop
from ..operators.trees.bin_loops import exact_squares
from .loops import sort_by_bin
from .ranking import SPAN, TIE, rank_feature


def _search(
    leaves: Any,
    tau: Any,
    w: Any,
    cost: float,
    noise: float,
    state: Any,
    level: Any,
    alone: Any,
    codes: Any,
    ranges: Any,
    views: Any,
    u: Any,
    single: Any,
    symmetric: bool,
    bins: Any,
    starts: Any,
) -> tuple[int, int]:
    """Find the leaf and feature of the largest gain, refining squares wherever it matters.

    A leaf and feature at the top gets the exact square of the bin with the largest bound, then of
    more bins that might be better. ``bins`` holds the totals of every leaf in the bins of views.
    """
    alpha, beta, num, square, exact, low, high, gain, _, known = state
    n, B = alpha.shape[1:]
    gains = np.empty(B)
    wanted, found = np.zeros(B, dtype=np.bool_), np.zeros(B)
    while True:
        # The largest bound, the largest gain that is known, and the first of those at the top.
        top = least = -np.inf
        for j in range(len(leaves)):
            for k in range(n):
                value = gain[leaves[j], k]
                top = max(top, value)
                if known[leaves[j], k]:
                    least = max(least, value)
        if not top > noise:
            return -1, -1
        limit = top if top == np.inf else top * (1 - TIE)
        leaf, feature, place, sure = -1, -1, -1, False
        for j in range(len(leaves)):
            for k in range(n):
                better = leaf < 0 or (sure and not known[leaves[j], k])
                if gain[leaves[j], k] >= limit and better:
                    leaf, feature, place = leaves[j], k, j
                    sure = known[leaves[j], k]
        k = feature
        if sure:
            return leaf, k
        start, stop = ranges[leaf, 0], ranges[leaf, 1]
        by_bin = np.empty(stop - start, dtype=np.intp)
        ends = np.zeros(B, dtype=np.intp)
        sort_by_bin(codes[:, k], start, stop, by_bin, ends)
        # Which bins might be best?
        base = 0.5 * tau[place] * w[place] * w[place] + cost
        for b in range(low[leaf, k], high[leaf, k]):
            rest = tau[place] * (1.0 - beta[leaf, k, b])
            norm = 2.0 * square[leaf, k, b]
            s = norm - alpha[leaf, k, b] + rest * (1.0 - beta[leaf, k, b])
            y = num[leaf, k, b] - rest * w[place]
            gains[b] = -np.inf if exact[leaf, k, b] else np.inf
            if s > SPAN * norm:
                gains[b] = 0.5 * y * y / s - base
            if exact[leaf, k, b]:
                least = max(least, gains[b])
        might = 0
        for b in range(B):
            wanted[b] = False
        for b in range(low[leaf, k], high[leaf, k]):
            if not exact[leaf, k, b] and gains[b] >= least - 4 * TIE * (abs(least) + base):
                wanted[b] = True
                might += 1
        if might == 0:  # ties that rounding breaks in two ways: then all of them
            for b in range(low[leaf, k], high[leaf, k]):
                wanted[b] = not exact[leaf, k, b]
        # The likeliest: one, later more; in a large leaf as many as take the time of its rows.
        most = max(4 ** level[leaf, k], 2 * len(by_bin) // len(single))
        level[leaf, k] = min(level[leaf, k] + 1, 4)
        if might > most:
            for b in range(B):
                wanted[b] = False
            for _ in range(most):
                highest = -1
                for b in range(low[leaf, k], high[leaf, k]):
                    free = not exact[leaf, k, b] and not wanted[b]
                    if free and (highest < 0 or gains[b] > gains[highest]):
                        highest = b
                wanted[highest] = True
        exact_squares(views, starts, single, symmetric, bins[leaf], by_bin, ends, wanted, u, found)
        for b in range(B):
            if wanted[b]:
                square[leaf, k, b] = found[b] + alone[leaf, k, b]
                exact[leaf, k, b] = True
        rank_feature(leaf, k, tau[place], w[place], cost, state)


search = Loop(_search, (rank_feature, sort_by_bin, exact_squares))

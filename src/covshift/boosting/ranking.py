"""Which candidate is best: loops for numba, see `covshift._compiled` and `candidates`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._compiled import Loop
from ..operators.sweeps import seen_by_groups, squares_of_groups
from .loops import sort_by_bin

SPAN = 1e-10  # share of a column that must lie outside the span of the others
TIE = 1e-9  # gains that differ by less, relatively, are equal
MARGIN = 1e-12  # of z'Vz of a leaf: taken off a lower bound, for its rounding


def rank_feature(
    leaf: int,
    k: int,
    tau: float,
    w: float,
    cost: float,
    alpha: Any,
    beta: Any,
    num: Any,
    square: Any,
    exact: Any,
    low: Any,
    high: Any,
    gain: Any,
    best: Any,
    known: Any,
) -> None:
    """Find the largest gain of a feature in a leaf, and the first bin that has it (eq. 5.7).

    Gains are compared as fractions y^2 / s, without dividing.
    """
    alphas, betas, nums, squares = alpha[leaf, k], beta[leaf, k], num[leaf, k], square[leaf, k]
    gain[leaf, k], known[leaf, k] = -np.inf, True
    top, under = 0.0, 1.0  # the largest so far
    for b in range(low[leaf, k], high[leaf, k]):
        rest = tau * (1.0 - betas[b])
        norm = 2.0 * squares[b]
        s = norm - alphas[b] + rest * (1.0 - betas[b])
        y = nums[b] - rest * w
        value = y * y * under
        if value >= (1.0 - TIE) * top * s:
            if not s > SPAN * norm:
                if not exact[leaf, k, b]:
                    gain[leaf, k], best[leaf, k], known[leaf, k] = np.inf, b, False
                    return
            elif value > (1.0 + TIE) * top * s:
                top, under = y * y, s
                best[leaf, k], known[leaf, k] = b, exact[leaf, k, b]
            elif not exact[leaf, k, b]:
                known[leaf, k] = False
    if top > 0.0:
        gain[leaf, k] = 0.5 * top / under - (0.5 * tau * w * w + cost)


def _rank(
    leaves: Any,
    tau: Any,
    w: Any,
    cost: float,
    alpha: Any,
    beta: Any,
    num: Any,
    square: Any,
    exact: Any,
    low: Any,
    high: Any,
    gain: Any,
    best: Any,
    known: Any,
    first: int,
    last: int,
) -> None:
    """Rank some features in some leaves."""
    for j in range(len(leaves)):
        for k in range(first, last):
            rank_feature(
                leaves[j],
                k,
                tau[j],
                w[j],
                cost,
                alpha,
                beta,
                num,
                square,
                exact,
                low,
                high,
                gain,
                best,
                known,
            )


def _search(
    leaves: Any,
    tau: Any,
    w: Any,
    cost: float,
    noise: float,
    alpha: Any,
    beta: Any,
    num: Any,
    square: Any,
    exact: Any,
    low: Any,
    high: Any,
    gain: Any,
    best: Any,
    known: Any,
    level: Any,
    own: Any,
    codes: Any,
    order: Any,
    ranges: Any,
    view_codes: Any,
    u: Any,
    d: Any,
    every: Any,
    is_known: Any,
    coarse: Any,
    fine: Any,
) -> tuple[int, int]:
    """Find the leaf and feature of the largest gain, refining squares wherever it matters.

    A leaf and feature at the top first gets bounds from all views (``coarse`` groups), then exact
    squares (``fine``): of the bin with the largest bound, then of all that might be better.
    """
    B, n = alpha.shape[2], alpha.shape[1]
    gains, share, nothing = np.empty(B), np.zeros(B), np.zeros(B)
    wanted, found = np.zeros(B, dtype=np.bool_), np.zeros(B)
    no_rows = np.zeros(fine[4].shape)
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
        rows = order[ranges[leaf, 0] : ranges[leaf, 1]]
        by_bin = np.empty_like(rows)
        ends = np.zeros(B, dtype=np.intp)
        sort_by_bin(codes[:, k], rows, by_bin, ends)
        if level[leaf, k] == 0:
            if not is_known[leaf]:
                every[leaf] = 0.0
                seen_by_groups(
                    view_codes, coarse[0], coarse[1], coarse[2], coarse[3], u, rows, every[leaf]
                )
                is_known[leaf] = True
            total = own[leaf, k, B - 1]
            for b in range(B):
                wanted[b] = not exact[leaf, k, b]
                share[b] = own[leaf, k, b] / total
            squares_of_groups(
                view_codes,
                coarse[0],
                coarse[1],
                coarse[2],
                coarse[3],
                coarse[4],
                by_bin,
                ends,
                wanted,
                share,
                every[leaf],
                u,
                found,
            )
            together = 0.0
            for p in range(len(by_bin)):
                together += d[by_bin[p]]
            alone = 0.0
            p = 0
            for b in range(B):
                while p < ends[b]:
                    alone += d[by_bin[p]]
                    p += 1
                if wanted[b]:
                    f = share[b]
                    value = (1 - 2 * f) * alone + f * f * together + found[b]
                    value += f * own[leaf, k, b] - MARGIN * total
                    square[leaf, k, b] = max(square[leaf, k, b], value)
            level[leaf, k] = 1
        else:
            base = 0.5 * tau[place] * w[place] * w[place] + cost
            for b in range(low[leaf, k], high[leaf, k]):
                rest = tau[place] * (1.0 - beta[leaf, k, b])
                norm = 2.0 * square[leaf, k, b]
                s = norm - alpha[leaf, k, b] + rest * (1.0 - beta[leaf, k, b])
                y = num[leaf, k, b] - rest * w[place]
                gains[b] = -np.inf if exact[leaf, k, b] else np.inf
                if s > SPAN * norm:
                    gains[b] = 0.5 * y * y / s - base
            for b in range(low[leaf, k], high[leaf, k]):
                if exact[leaf, k, b]:
                    least = max(least, gains[b])
            # Of the bins that might be best, the likeliest: one, then 4, then 16, ...; in a large
            # leaf more, since going through its rows takes as long.
            wanted[:] = False
            worth = 2 * len(rows) // fine[4].shape[1]
            for _ in range(max(worth, 4 ** (level[leaf, k] - 1))):
                highest = -1
                for b in range(low[leaf, k], high[leaf, k]):
                    free = not exact[leaf, k, b] and not wanted[b]
                    if free and (highest < 0 or gains[b] > gains[highest]):
                        highest = b
                if highest < 0 or gains[highest] < least - 2 * TIE * abs(least):
                    break
                wanted[highest] = True
            level[leaf, k] = min(level[leaf, k] + 1, 5)
            squares_of_groups(
                view_codes,
                fine[0],
                fine[1],
                fine[2],
                fine[3],
                fine[4],
                by_bin,
                ends,
                wanted,
                nothing,
                no_rows,
                u,
                found,
            )
            alone = 0.0
            p = 0
            for b in range(B):
                while p < ends[b]:
                    alone += d[by_bin[p]]
                    p += 1
                if wanted[b]:
                    square[leaf, k, b] = found[b] + alone
                    exact[leaf, k, b] = True
        rank_feature(
            leaf,
            k,
            tau[place],
            w[place],
            cost,
            alpha,
            beta,
            num,
            square,
            exact,
            low,
            high,
            gain,
            best,
            known,
        )


rank = Loop(_rank, (rank_feature,))
search = Loop(_search, (rank_feature, sort_by_bin, seen_by_groups, squares_of_groups))

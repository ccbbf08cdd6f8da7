"""The best split of all leaves, with squares z'Vz refined where it matters: a loop for numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numerics.parallel import Loop
from ..operators.tree_bins import exact_squares

# Which candidate is best: loops for numba, see `covshift.numerics.parallel` and `candidates`.


SPAN = 1e-10  # share of a column that must lie outside the span of the others
TIE = 1e-9  # gains that differ by less, relatively, are equal
MARGIN = 1e-12  # of z'Vz of a leaf: taken off a lower bound, for its rounding


def rank_feature(
    leaf: int,
    k: int,
    tau: float,
    w: float,
    cost: float,
    state: Any,
) -> None:
    """Find the largest gain of a feature in a leaf, and the first bin that has it (eq. 5.7).

    ``state`` is that of `Candidates.ranked`. Gains are compared as fractions y^2 / s, without
    dividing.
    """
    alpha, beta, num, square, exact, low, high, gain, best, known = state
    alphas, betas, nums, squares = alpha[leaf, k], beta[leaf, k], num[leaf, k], square[leaf, k]
    gain[leaf, k], known[leaf, k] = -np.inf, True
    top, under = 0.0, 1.0  # the largest so far
    for b in range(low[leaf, k], high[leaf, k]):
        norm, y = 2.0 * squares[b], nums[b]
        s = norm - alphas[b]
        if tau > 0.0:
            rest = tau * (1.0 - betas[b])
            s += rest * (1.0 - betas[b])
            y -= rest * w
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
    state: Any,
    first: int,
    last: int,
) -> None:
    """Rank some features in some leaves."""
    for j in range(len(leaves)):
        for k in range(first, last):
            rank_feature(leaves[j], k, tau[j], w[j], cost, state)


rank = Loop(_rank, (rank_feature,))


# Sums over the rows of leaves and what candidates make of them, for numba; see `candidates`.


def add_column(codes: Any, order: Any, start: int, stop: int, y: Any, out: Any) -> None:
    """Sum ``y`` (N,) over the rows at some positions up to every bin: ``out`` (n, B)."""
    n, B = out.shape
    cells = out.reshape(-1)
    cells[:] = 0.0
    for p in range(start, stop):
        value = y[order[p]]
        for k in range(n):
            cells[np.uint32(k * B) + codes[p, k]] += value
    for k in range(n):
        total = 0.0
        for b in range(B):
            total += out[k, b]
            out[k, b] = total


def _add_up(
    codes: Any, order: Any, start: int, stop: int, store: Any, out: Any, first: int, last: int
) -> None:
    """Sum columns ``first`` to ``last`` of the store (C, N) over some rows: ``out`` (C, n, B).

    Four at a time, since finding the cells takes longer than the additions.
    """
    n, B = out.shape[1:]
    c = first
    cells = np.empty(n * B * 4 if last - first >= 4 else 0)
    while last - c >= 4:
        cells[:] = 0.0
        for p in range(start, stop):
            row = order[p]
            y0, y1, y2, y3 = store[c, row], store[c + 1, row], store[c + 2, row], store[c + 3, row]
            for k in range(n):
                cell = 4 * (np.uint32(k * B) + codes[p, k])
                cells[cell] += y0
                cells[cell + 1] += y1
                cells[cell + 2] += y2
                cells[cell + 3] += y3
        for k in range(n):
            y0 = y1 = y2 = y3 = 0.0
            for b in range(B):
                cell = 4 * (k * B + b)
                y0 += cells[cell]
                y1 += cells[cell + 1]
                y2 += cells[cell + 2]
                y3 += cells[cell + 3]
                out[c, k, b], out[c + 1, k, b] = y0, y1
                out[c + 2, k, b], out[c + 3, k, b] = y2, y3
        c += 4
    while c < last:
        add_column(codes, order, start, stop, store[c], out[c])
        c += 1


def _derive(
    sums: Any,
    places: Any,
    signs: Any,
    for_beta: Any,
    steps: Any,
    lam: float,
    enough: float,
    num: Any,
    own: Any,
    alpha: Any,
    beta: Any,
    exact: Any,
    low: Any,
    high: Any,
) -> None:
    """Make the candidates of a leaf from its sums (C, n, B), and rule out those not allowed.

    ``places`` are the columns of 1, Vg, the weights, and the first direction.
    """
    ones, gradient, weights, base = places[0], places[1], places[2], places[3]
    n, B = sums.shape[1:]
    for k in range(n):
        for b in range(B):
            num[k, b] = -2.0 * sums[gradient, k, b]
            alpha[k, b] = own[k, b] = beta[k, b] = 0.0
        for d in range(len(signs)):
            along = sums[base + d, k]
            sign, step, whole = signs[d], steps[d], signs[d] * along[B - 1]
            for b in range(B):
                alpha[k, b] += sign * along[b] * along[b]
                num[k, b] -= step * along[b]
                own[k, b] += whole * along[b]
        for d in range(len(for_beta)):
            along = sums[base + d, k]
            for b in range(B):
                beta[k, b] += for_beta[d] * along[b]
        before = 0.0
        low[k] = high[k] = 0
        weight, count = sums[weights, k, B - 1], sums[ones, k, B - 1]
        for b in range(B):
            own[k, b] = 0.5 * (own[k, b] + lam * beta[k, b])
            below, up_to = sums[weights, k, b], sums[ones, k, b]
            fits = below >= enough and weight - below >= enough
            fits = fits and up_to > before + 0.5 and up_to < count - 0.5
            before = up_to
            exact[k, b] = not fits
            if fits:
                if high[k] == 0:
                    low[k] = b
                high[k] = b + 1


def _follow(
    leaves: Any,
    codes: Any,
    order: Any,
    ranges: Any,
    store: Any,
    columns: Any,
    sums: Any,
    slots: Any,
    steps: Any,
    tau: Any,
    w: Any,
    cost: float,
    state: Any,
) -> None:
    """Sum new directions over the rows of some leaves, change their candidates, and rank these.

    ``steps`` (leaves, directions, 3) tells what a sum does to alpha, beta and num of ``state``.
    """
    alpha, beta, num, low, high = state[0], state[1], state[2], state[5], state[6]
    scratch = np.empty(alpha.shape[1:])
    for j in range(len(leaves)):
        leaf = leaves[j]
        start, stop = ranges[leaf, 0], ranges[leaf, 1]
        for c in range(columns[0], columns[1]):
            sign, for_beta, for_num = steps[j, c - columns[0]]
            out = sums[slots[leaf], c] if slots[leaf] >= 0 else scratch
            add_column(codes, order, start, stop, store[c], out)
            for k in range(len(out)):
                for b in range(low[leaf, k], high[leaf, k]):
                    along = out[k, b]
                    alpha[leaf, k, b] += sign * along * along
                    num[leaf, k, b] += for_num * along
                if for_beta != 0.0:
                    for b in range(low[leaf, k], high[leaf, k]):
                        beta[leaf, k, b] += for_beta * out[k, b]
        for k in range(alpha.shape[1]):
            rank_feature(leaf, k, tau[j], w[j], cost, state)


def sort_by_bin(code: Any, start: int, stop: int, order: Any, ends: Any) -> None:
    """Sort positions by their bins ``code``, by counting; ``ends`` starts at zero."""
    for p in range(start, stop):
        ends[code[p]] += 1
    total = 0
    for b in range(len(ends)):  # now where each bin starts
        count = ends[b]
        ends[b] = total
        total += count
    for p in range(start, stop):
        b = code[p]
        order[ends[b]] = p
        ends[b] += 1


add_up, derive = Loop(_add_up, (add_column,)), Loop(_derive)
follow = Loop(_follow, (add_column, rank_feature))


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

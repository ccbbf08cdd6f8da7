"""Sums over the rows of leaves and what candidates make of them, for numba; see `candidates`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._compiled import Loop
from .ranking import rank_feature


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

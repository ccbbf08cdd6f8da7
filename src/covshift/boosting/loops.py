"""Loops over rows and candidates, for numba; see `covshift._compiled` and `candidates`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._compiled import Loop


def _enter(
    codes: Any,
    rows: Any,
    store: Any,
    signs: Any,
    for_beta: Any,
    enough: float,
    sums: Any,
    count: Any,
    num: Any,
    own: Any,
    alpha: Any,
    beta: Any,
    exact: Any,
    low: Any,
    high: Any,
    first: int,
    last: int,
) -> None:
    """Sum the columns of the store over the rows of a leaf, up to every bin; rule out candidates.

    ``sums`` (n, B, columns) is zero before and after.
    """
    B = count.shape[1]
    D = len(signs)
    used = 4 + D
    for p in range(len(rows)):
        row = rows[p]
        values = store[row]
        for k in range(first, last):
            cell = sums[k, codes[row, k]]
            for c in range(used):
                cell[c] += values[c]
    total = np.empty(used)
    weight = 0.0
    for p in range(len(rows)):
        weight += store[rows[p], 1]
    for k in range(first, last):
        total[:] = 0.0
        square = along = 0.0
        low[k] = high[k] = 0
        for b in range(B):
            cell = sums[k, b]
            some = cell[0] > 0.0
            if some:
                for c in range(used):
                    total[c] += cell[c]
                    cell[c] = 0.0
                square = 0.0
                for d in range(D):
                    square += signs[d] * total[4 + d] * total[4 + d]
                along = 0.0
                for d in range(len(for_beta)):
                    along += for_beta[d] * total[4 + d]
            count[k, b] = total[0]
            num[k, b] = -2.0 * total[2]
            own[k, b] = total[3]
            alpha[k, b] = square
            beta[k, b] = along
            fits = total[1] >= enough and weight - total[1] >= enough
            fits = fits and some and total[0] < len(rows)
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
    y: Any,
    steps: Any,
    low: Any,
    high: Any,
    alpha: Any,
    beta: Any,
    num: Any,
    first: int,
    last: int,
) -> None:
    """Change the candidates of some leaves by their inner products with a direction y (N,)."""
    B = alpha.shape[2]
    table = np.empty(last * B)
    for j in range(len(leaves)):
        leaf = leaves[j]
        table[:] = 0.0
        for p in range(ranges[leaf, 0], ranges[leaf, 1]):
            row = order[p]
            value = y[row]
            for k in range(first, last):
                table[np.uint32(k * B) + codes[row, k]] += value
        sign, for_beta, for_num = steps[j, 0], steps[j, 1], steps[j, 2]
        for k in range(first, last):
            total = 0.0
            for b in range(low[leaf, k]):
                total += table[k * B + b]
            for b in range(low[leaf, k], high[leaf, k]):
                total += table[k * B + b]
                table[k * B + b] = total
            for b in range(low[leaf, k], high[leaf, k]):
                along = table[k * B + b]
                alpha[leaf, k, b] += sign * along * along
                num[leaf, k, b] += for_num * along
            if for_beta != 0.0:
                for b in range(low[leaf, k], high[leaf, k]):
                    beta[leaf, k, b] += for_beta * table[k * B + b]


def sort_by_bin(code: Any, rows: Any, order: Any, ends: Any) -> None:
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


def _sum_rows(store: Any, rows: Any, sums: Any) -> None:
    """Sum the leading columns of some rows of the store: as many as ``sums`` has."""
    for p in range(len(rows)):
        for c in range(len(sums)):
            sums[c] += store[rows[p], c]


def _partition(code: Any, b: int, order: Any, start: int, stop: int, leaf: Any, new: int) -> int:
    """Move the rows up to bin ``b`` to the front, both parts in order; they are leaf ``new``."""
    rest = np.empty(stop - start, dtype=order.dtype)
    front, back = start, 0
    for p in range(start, stop):
        row = order[p]
        if code[row] <= b:
            order[front] = row
            leaf[row] = new
            front += 1
        else:
            rest[back] = row
            back += 1
    order[front:stop] = rest[:back]
    return front


def _move_own(store: Any, image: Any, left: Any, right: Any) -> None:
    """Bring V z_l of the rows' own leaves up to date after a split by z_A: V z_A is given."""
    for p in range(len(left)):
        store[left[p], 3] = image[left[p]]
    for p in range(len(right)):
        store[right[p], 3] -= image[right[p]]


def _record(store: Any, column: int, y: Any, step: float, start: int, stop: int) -> None:
    """Keep a direction in a column of the store, and move Vr along it."""
    for i in range(start, stop):
        store[i, column] = y[i]
        store[i, 2] += step * y[i]


enter, follow = Loop(_enter), Loop(_follow)
by_counting, sum_rows = Loop(sort_by_bin), Loop(_sum_rows)
partition, record, move_own = Loop(_partition), Loop(_record), Loop(_move_own)

"""Loops over rows and candidates, for numba; see `covshift._compiled` and `candidates`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._compiled import Loop


def _enter(
    codes: Any,
    rows: Any,
    store: Any,
    used: int,
    signs: Any,
    for_beta: Any,
    count: Any,
    below: Any,
    num: Any,
    own: Any,
    alpha: Any,
    beta: Any,
    first: int,
    last: int,
) -> None:
    """Sum the first ``used`` columns of the store over rows of a leaf, up to every bin."""
    B = count.shape[1]
    sums = np.zeros((last - first, B, used))
    for p in range(len(rows)):
        row = rows[p]
        values = store[row]
        for k in range(first, last):
            cell = sums[k - first, codes[row, k]]
            for c in range(used):
                cell[c] += values[c]
    for k in range(first, last):
        total = np.zeros(used)
        for b in range(B):
            cell = sums[k - first, b]
            if cell[0] > 0.0:
                for c in range(used):
                    total[c] += cell[c]
                square = 0.0
                for d in range(used - 4):
                    square += signs[d] * total[4 + d] * total[4 + d]
            elif b == 0:
                square = 0.0
            count[k, b] = total[0]
            below[k, b] = total[1]
            num[k, b] = -2.0 * total[2]
            own[k, b] = total[3]
            alpha[k, b] = square
            along = 0.0
            for d in range(len(for_beta)):
                along += for_beta[d] * total[4 + d]
            beta[k, b] = along


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


def _record(store: Any, column: int, y: Any, step: float, start: int, stop: int) -> None:
    """Keep a direction in a column of the store, and move Vr along it."""
    for i in range(start, stop):
        store[i, column] = y[i]
        store[i, 2] += step * y[i]


enter, follow = Loop(_enter), Loop(_follow)
by_counting, sum_rows = Loop(sort_by_bin), Loop(_sum_rows)
partition, record = Loop(_partition), Loop(_record)

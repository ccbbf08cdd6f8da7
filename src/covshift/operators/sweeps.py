"""Loops over binned rows, for numba; see `covshift._compiled`.

A view with U thresholds has bins 0..U (one-sided) or 0..2U (symmetric, where a point on a threshold
has a bin of its own). A pair of rows in bins c and d meets in V as up[max(c, d)] + down[min(c, d)],
the weights of the thresholds at or above both and at or below both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._compiled import Loop


def _add_rows(codes: Any, offsets: Any, a: Any, totals: Any, start: int, stop: int) -> None:
    """Add rows ``start`` to ``stop`` of a column (N,) into the bins of every view."""
    for i in range(start, stop):
        value = a[i]
        if value != 0.0:
            for g in range(codes.shape[1]):
                totals[offsets[g] + codes[i, g]] += value


def _read_rows(codes: Any, offsets: Any, table: Any, out: Any, start: int, stop: int) -> None:
    """Sum the table at the codes of rows ``start`` to ``stop``."""
    for i in range(start, stop):
        value = 0.0
        for g in range(codes.shape[1]):
            value += table[offsets[g] + codes[i, g]]
        out[i] = value


def _between(totals: Any, offsets: Any, weights: Any, starts: Any, symmetric: bool) -> None:
    """Turn bin totals into what a row in each bin reads of V a, in place."""
    for g in range(len(starts) - 1):
        first, U = offsets[g], starts[g + 1] - starts[g]
        total = 0.0
        for c in range(first, offsets[g + 1]):  # prefix sums
            total += totals[c]
            totals[c] = total
        suffix = 0.0
        if symmetric:
            for u in range(U):
                suffix += weights[starts[g] + u] * totals[first + 2 * u + 1]
            prefix = 0.0
            for u in range(U):
                weight = weights[starts[g] + u]
                upper = weight * totals[first + 2 * u + 1]
                lower = weight * (total - totals[first + 2 * u])
                totals[first + 2 * u] = suffix + prefix
                prefix += lower
                totals[first + 2 * u + 1] = suffix + prefix
                suffix -= upper
            totals[first + 2 * U] = prefix
        else:
            for u in range(U - 1, -1, -1):
                suffix += weights[starts[g] + u] * totals[first + u]
                totals[first + u] = suffix
            totals[first + U] = 0.0


def _prefix_squares(
    codes: Any, offsets: Any, meets: Any, rows: Any, ends: Any, u: Any, squares: Any, views: Any
) -> None:
    """Add z_b'Vz_b of some views, from ``views[0]`` to ``views[1]``, to ``squares`` (B,).

    ``meets`` holds up and down of every bin of every view. A row in bin c joins those already in,
    of which those up to bin c are found by a tree of partial sums (Fenwick).
    """
    for g in range(views[0], views[1]):
        first = offsets[g]
        size = offsets[g + 1] - first
        tree = np.zeros((size + 1, 2))
        weight = seen = square = 0.0
        p = 0
        for b in range(len(ends)):
            while p < ends[b]:
                c = np.intp(codes[rows[p], g])
                up, down = meets[first + c, 0], meets[first + c, 1]
                below = difference = 0.0
                node = c + 1
                while node > 0:
                    below += tree[node, 0]
                    difference += tree[node, 1]
                    node &= node - 1
                joined = up * below + down * (weight - below) + seen + difference
                square += u[p] * (2.0 * joined + u[p] * (up + down))
                weight += u[p]
                seen += u[p] * up
                change = u[p] * (down - up)
                node = c + 1
                while node <= size:
                    tree[node, 0] += u[p]
                    tree[node, 1] += change
                    node += node & -node
                p += 1
            squares[b] += square


def _spread(
    codes: Any,
    pairs: Any,
    rows: Any,
    u: Any,
    all_weights: Any,
    starts: Any,
    symmetric: bool,
    below: Any,
    share: Any,
    out: Any,
) -> None:
    """Add (z_b - share z)'V_g (z_b - share z) to ``out`` (n, B), for views g that grow with k.

    The rows up to bin b are those of the smallest values in the view too, so of the S rows up to a
    threshold min(S, below) belong to them: sums of 1, S and S^2 over the thresholds say it all.
    """
    for pair in range(len(pairs)):
        k, g = pairs[pair, 0], pairs[pair, 1]
        weights = all_weights[starts[g] : starts[g + 1]]
        U = len(weights)
        totals = np.zeros(2 * U + 1 if symmetric else U + 1)
        for p in range(len(rows)):
            totals[codes[rows[p], g]] += u[p]
        total = 0.0
        for c in range(len(totals)):
            total += totals[c]
            totals[c] = total
        sums = np.zeros((U + 1, 3))
        for side in range(2 if symmetric else 1):
            # S at threshold t: the rows that it sees from above, or those strictly below it.
            stride = 2 if symmetric else 1
            shift = 1 if symmetric and side == 0 else 0
            zeroth = first = second = 0.0
            for t in range(U):
                S = totals[stride * t + shift]
                weighted = weights[t] * S
                zeroth += weights[t]
                first += weighted
                second += weighted * S
                sums[t + 1, 0] = zeroth
                sums[t + 1, 1] = first
                sums[t + 1, 2] = second
            t = 0
            for b in range(below.shape[1]):
                inside, f = below[k, b], share[k, b]
                while t < U and totals[stride * t + shift] <= inside:
                    t += 1
                one, first, second = sums[t, 0], sums[t, 1], sums[t, 2]
                rest_one, rest_first = sums[U, 0] - one, sums[U, 1] - first
                rest_second = sums[U, 2] - second
                if side == 0:
                    value = (1 - f) ** 2 * second
                    value += inside * inside * rest_one - 2 * f * inside * rest_first
                    value += f * f * rest_second
                else:
                    m = inside - f * total
                    rest = rest_second - 2 * total * rest_first + total * total * rest_one
                    value = m * m * one - 2 * m * (1 - f) * first + (1 - f) ** 2 * second
                    value += f * f * rest
                out[k, b] += value


def seen_by_groups(
    codes: Any, views: Any, offsets: Any, place: Any, part: Any, u: Any, rows: Any, every: Any
) -> None:
    """What all ``rows`` together show to every group of thresholds, over its weight: (G, J + 1)."""
    G, J = every.shape
    whole = np.zeros((G, J))
    for p in range(len(rows)):
        row = rows[p]
        for g in range(G):
            cell = offsets[g] + codes[row, views[g]]
            whole[g, place[cell]] += u[row]
            every[g, place[cell]] += u[row] * part[cell]
    for g in range(G):
        seen = 0.0
        for j in range(J):
            every[g, j] += seen
            seen += whole[g, j]


def squares_of_groups(
    codes: Any,
    views: Any,
    offsets: Any,
    place: Any,
    part: Any,
    weights: Any,
    order: Any,
    ends: Any,
    wanted: Any,
    share: Any,
    every: Any,
    u: Any,
    squares: Any,
) -> None:
    """(z_b - share z)'L(z_b - share z) by groups of thresholds, for the b wanted; see `lined`.

    Of a group of weight W the rows in ``order`` up to ``ends[b]`` show S + F, S being those that
    show it whole: it adds W (S + F - share every)^2, where ``every`` is S + F of all rows.
    """
    G, J = weights.shape
    whole, some = np.zeros((G, J + 1)), np.zeros((G, J + 1))
    last = 0
    for b in range(len(ends)):
        if wanted[b]:
            last = b + 1
    p = 0
    for b in range(last):
        while p < ends[b]:
            row = order[p]
            value = u[row]
            for g in range(G):
                cell = offsets[g] + codes[row, views[g]]
                j = place[cell]
                whole[g, j] += value
                some[g, j] += value * part[cell]
            p += 1
        if wanted[b]:
            f = share[b]
            total = 0.0
            for g in range(G):
                seen = square = 0.0
                for j in range(J):
                    value = seen + some[g, j] - f * every[g, j]
                    square += weights[g, j] * value * value
                    seen += whole[g, j]
                total += square
            squares[b] = total


def _add_some(codes: Any, offsets: Any, rows: Any, u: Any, totals: Any) -> None:
    """Add the weights of some rows into the bins of every view."""
    for p in range(len(rows)):
        row = rows[p]
        for g in range(codes.shape[1]):
            totals[offsets[g] + codes[row, g]] += u[row]


def _read_some(
    codes: Any,
    offsets: Any,
    table: Any,
    u: Any,
    d: Any,
    values: Any,
    leaf: Any,
    rows: Any,
    out: Any,
    start: int,
    stop: int,
) -> None:
    """V x at rows ``start`` to ``stop`` of ``rows``, x being ``values`` by leaf."""
    for p in range(start, stop):
        row = rows[p]
        value = 0.0
        for g in range(codes.shape[1]):
            value += table[offsets[g] + codes[row, g]]
        out[row] = u[row] * value + d[row] * values[leaf[row]]


add_some, read_some = Loop(_add_some), Loop(_read_some)
add_rows, read_rows, between = Loop(_add_rows), Loop(_read_rows), Loop(_between)
squares_of_prefixes, spread_of_prefixes = Loop(_prefix_squares), Loop(_spread)

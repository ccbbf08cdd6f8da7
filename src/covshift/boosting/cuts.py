"""Histograms of moments by bin, and the best cut in them: in NumPy, and as loops for numba.

The moments of a row are three: the gradient and the second derivative of its loss, and its weight.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csc_array

from .._compiled import Loop, has_numba
from .._parallel import over_rows
from .._types import Codes, Real, Rows
from .ranking import TIE

_CELLS = 1 << 17  # additions that make a second thread worth while


def moments_by_bin(codes: Codes, rows: Rows, moments: Real, B: int) -> Real:
    """Sum ``moments`` (N, 3) of some rows in every bin of every feature: (n, B, 3)."""
    n = codes.shape[1]
    if not has_numba():
        cells = (codes[rows] + B * np.arange(n)).ravel()
        entries = (np.ones(len(cells)), cells, np.arange(0, len(cells) + 1, n))
        member = csc_array(entries, shape=(n * B, len(rows)))
        return np.asarray(member @ moments[rows]).reshape(n, B, 3)
    sums = np.zeros((n, B, 3))

    def add(features: slice) -> None:
        add_moments(codes, rows, moments, sums, features.start, features.stop)

    over_rows(add, n, at_least=_CELLS // max(1, len(rows)) + 1)
    return sums


def best_cut(sums: Real, lam: float, enough: float) -> tuple[float, int, int]:
    """Return the largest gain of a split in two, its feature and its bin; of equal ones the first.

    The gain is half of G_1^2 / (H_1 + lam) + G_2^2 / (H_2 + lam) - G^2 / (H + lam); each part must
    have a weight of ``enough``. Without a split: -1, -1, -1.
    """
    if has_numba():
        gain, k, b = find_cut(sums, lam, enough)
        return float(gain), int(k), int(b)
    below = np.cumsum(sums, axis=1)
    whole = below[0, -1]
    above = whole - below
    allowed = (below[..., 2] >= enough) & (above[..., 2] >= enough)
    allowed &= (below[..., 1] + lam > 0) & (above[..., 1] + lam > 0)
    fall = np.zeros(allowed.shape)
    for part in (below[allowed], above[allowed]):
        fall[allowed] += part[:, 0] ** 2 / (part[:, 1] + lam)
    top = float(fall.max())
    least = float(whole[0] ** 2 / (whole[1] + lam)) if allowed.any() else 0.0
    if not top > least * (1 + TIE):
        return -1.0, -1, -1
    k, b = np.argwhere(fall >= top * (1 - TIE))[0]
    return float(fall[k, b] - least) / 2, int(k), int(b)


def divide(order: Rows, codes: Codes, k: int, b: int) -> int:
    """Put the rows up to bin ``b`` of feature ``k`` first, both parts in order; return how many."""
    if has_numba():
        return int(move(order, codes, k, b))
    low = codes[order, k] <= b
    first, last = order[low], order[~low]
    order[: len(first)], order[len(first) :] = first, last
    return len(first)


def _add_moments(codes: Any, rows: Any, moments: Any, sums: Any, first: int, last: int) -> None:
    """Add the moments of some rows to their bins, for features ``first`` to ``last``."""
    B, cells = sums.shape[1], sums.reshape(-1)
    for i in rows:
        gradient, hessian, weight = moments[i, 0], moments[i, 1], moments[i, 2]
        for k in range(first, last):
            cell = 3 * (np.uint32(k * B) + codes[i, k])
            cells[cell] += gradient
            cells[cell + 1] += hessian
            cells[cell + 2] += weight


def _find_cut(sums: Any, lam: float, enough: float) -> tuple[float, int, int]:
    n, B = sums.shape[:2]
    G = H = W = 0.0
    for b in range(B):
        G += sums[0, b, 0]
        H += sums[0, b, 1]
        W += sums[0, b, 2]
    if not H + lam > 0.0:
        return -1.0, -1, -1
    least = G * G / (H + lam)
    top, feature, place = least, -1, -1
    for k in range(n):
        g = h = w = 0.0
        for b in range(B):
            g += sums[k, b, 0]
            h += sums[k, b, 1]
            w += sums[k, b, 2]
            left, right = h + lam, H - h + lam
            if w >= enough and W - w >= enough and left > 0.0 and right > 0.0:
                fall = g * g / left + (G - g) * (G - g) / right
                if fall > top * (1.0 + TIE):
                    top, feature, place = fall, k, b
    if feature < 0:
        return -1.0, -1, -1
    return 0.5 * (top - least), feature, place


def _move(order: Any, codes: Any, k: int, b: int) -> int:
    rest = np.empty_like(order)
    front = back = 0
    for row in order:
        if codes[row, k] <= b:
            order[front] = row
            front += 1
        else:
            rest[back] = row
            back += 1
    for p in range(back):
        order[front + p] = rest[p]
    return front


add_moments, find_cut, move = Loop(_add_moments), Loop(_find_cut), Loop(_move)

"""From the bins of a view to its thresholds and back: prefix sums, suffix sums, two sides.

A view with U thresholds has bins 0..U, or 0..2U where it is averaged with its mirror image (there a
point on a threshold has a bin of its own). A threshold sees the bins at or below it; mirrored,
those at or above it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._array import Array, device, namespace
from ..._parallel import over_rows
from ..base import blocks

_ENTRIES = 1 << 18  # of a Gram matrix, filled at a time


def bin_count(U: int, symmetric: bool) -> int:
    """Return the number of bins that ``U`` thresholds make."""
    return 2 * U + 1 if symmetric else U + 1


def suffix_sums(values: Array) -> Array:
    """Sum ``values`` (U, ...) from each place to the end, and a zero behind: (U + 1, ...)."""
    xp = namespace(values)
    if xp is np:
        table = np.zeros((len(values) + 1, *values.shape[1:]))
        np.cumsum(values[::-1], axis=0, out=table[-2::-1])
        return table
    sums = xp.cumulative_sum(xp.flip(values, axis=0), axis=0, include_initial=True)
    return xp.flip(sums, axis=0)


def at_thresholds(prefix: Array, symmetric: bool) -> list[Array]:
    """Read prefix sums over the bins at the thresholds: what lies at or below each of them.

    In a symmetric view also what lies strictly below each.
    """
    if symmetric:
        return [prefix[1::2, ...], prefix[:-1:2, ...]]
    return [prefix[:-1, ...]]


def at_bins(upper: Array, lower: Array | None = None) -> Array:
    """Sum ``upper`` over the thresholds at or above each bin, and ``lower`` over those up to it.

    Values (U, ...) become (bins, ...); with ``lower`` the view is symmetric.
    """
    suffix = suffix_sums(upper)
    if lower is None:
        return suffix
    xp = namespace(upper)
    prefix = xp.cumulative_sum(lower, axis=0, include_initial=True)
    bins = xp.arange(bin_count(upper.shape[0], True), device=device(upper))
    return xp.take(suffix, bins // 2, axis=0) + xp.take(prefix, (bins + 1) // 2, axis=0)


def seen_by_bin(weights: Array, symmetric: bool) -> list[Array]:
    """Sum the weights (U,) of the thresholds that see each bin, for every side: (bins,)."""
    if not symmetric:
        return [at_bins(weights)]
    nothing = namespace(weights).zeros_like(weights)
    return [at_bins(weights, nothing), at_bins(nothing, weights)]


def nested_gram(sides: Sequence[Array]) -> Array:
    """V(i, j) = min(V(i, i), V(j, j)), summed over the sides of all views: (N, N), float64.

    Within a side the points that a threshold sees are nested, so V is known by its diagonal (N,).
    """
    xp, N = namespace(sides[0]), int(sides[0].shape[0])
    V = xp.zeros((N, N), dtype=xp.float64, device=device(sides[0]))
    size = max(1, _ENTRIES // N)

    def fill(chunk: slice) -> None:
        for part in blocks(chunk.stop - chunk.start, size):
            rows = slice(chunk.start + part.start, chunk.start + part.stop)
            for seen in sides:
                V[rows, :] += xp.minimum(seen[rows, None], seen[None, :])

    over_rows(fill, N, at_least=size)
    return V

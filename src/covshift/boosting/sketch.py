"""A few linear forms of every candidate, whose squares bound z'Vz from below (theory, 5.2).

They are those of `Lined.forms`, a few for every view, summed over the rows of a leaf up to every
bin of every feature. Compiled, as `search` is, which needs them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._compiled import Loop
from ..operators.lined import Lined
from ..operators.prefixes import Real
from .candidates import over_features
from .partition import Partition


class Sketch:
    """Bounds squares by the forms of views: of those that a feature has ``elsewhere`` (n, G)."""

    def __init__(self, form: Lined, elsewhere: NDArray[np.bool_], B: int) -> None:
        assert form.lines is not None
        self._offsets, self._table = form.lines.offsets, form.forms()
        self._counts = np.repeat(elsewhere, self._table.shape[1], axis=1).astype(float)
        self._sums = np.empty((len(elsewhere), B, self._counts.shape[1]))

    def add_squares(self, parts: Partition, leaf: int, share: Real, out: Real) -> None:
        """Add the squares of the forms of z_b - share z, z being a leaf, to ``out`` (n, B)."""

        def add(features: slice) -> None:
            places = (parts.views, parts.u, parts.codes, *parts.ranges[leaf])
            ends = (features.start, features.stop)
            forms = (self._offsets, self._table, self._sums, self._counts)
            add_squares(*places, *forms, share, out, *ends)

        n, _, forms = self._sums.shape
        over_features(add, n, forms * parts.size(leaf))


def _add_squares(
    views: Any,
    u: Any,
    codes: Any,
    start: int,
    stop: int,
    offsets: Any,
    table: Any,
    sums: Any,
    counts: Any,
    share: Any,
    out: Any,
    first: int,
    last: int,
) -> None:
    """Sum the forms over the rows at some positions up to every bin, and add up their squares."""
    K, (B, size) = table.shape[1], sums.shape[1:]
    forms = np.empty(size)
    sums[first:last] = 0.0
    for p in range(start, stop):
        value = u[p] if len(u) else 1.0
        for g in range(views.shape[1]):
            cell = offsets[g] + views[p, g]
            for i in range(K):
                forms[g * K + i] = value * table[cell, i]
        for k in range(first, last):
            here = sums[k, codes[p, k]]
            for f in range(size):
                here[f] += forms[f]
    for k in range(first, last):
        for b in range(1, B):
            for f in range(size):
                sums[k, b, f] += sums[k, b - 1, f]
        whole = sums[k, B - 1]
        for b in range(B):
            square = 0.0
            for f in range(size):
                rest = sums[k, b, f] - share[k, b] * whole[f]
                square += counts[k, f] * rest * rest
            out[k, b] += square


add_squares = Loop(_add_squares)

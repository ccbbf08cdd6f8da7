"""A few linear forms of every candidate, whose squares bound z'Vz from below (theory, 5.2).

They are those of `LineForm.forms`, a few for every view, summed over the rows of a leaf up to every
bin of every feature. Compiled, as `search` is, which needs them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._compiled import Loop
from .._parallel import over_rows
from .._types import Real
from ..operators.base import blocks
from ..operators.trees.line_form import LineForm
from .partition import Partition

_ROWS = 1000  # rows a thread takes at least
_BYTES = 32 << 20  # of sums that a thread holds


class Sketch:
    """Bounds squares by the forms of views: of those that a feature has ``elsewhere`` (n, G)."""

    def __init__(self, form: LineForm, elsewhere: NDArray[np.bool_], B: int) -> None:
        assert form.lines is not None
        self._offsets, self._table = form.lines.offsets, form.forms()
        self._elsewhere, self._B = elsewhere, B

    def add_squares(self, parts: Partition, leaf: int, share: Real, out: Real) -> None:
        """Add the squares of the forms of z_b - share z, z being a leaf, to ``out`` (n, B)."""
        n, G = self._elsewhere.shape
        forms = G * self._table.shape[1]
        for some in blocks(n, max(1, _BYTES // (8 * self._B * forms))):
            self._add_some(parts, leaf, some, forms, share, out)

    def _add_some(
        self, parts: Partition, leaf: int, features: slice, forms: int, share: Real, out: Real
    ) -> None:
        found: dict[int, Real] = {}
        start, codes = parts.ranges[leaf, 0], parts.codes[:, features]

        def add(rows: slice) -> None:
            found[rows.start] = np.zeros((codes.shape[1], self._B, forms))
            places = (parts.views, parts.u, codes, start + rows.start, start + rows.stop)
            add_forms(*places, self._offsets, self._table, found[rows.start])

        over_rows(add, parts.size(leaf), at_least=_ROWS)
        first, *others = (found[part] for part in sorted(found))
        for other in others:
            first += other
        add_squares(first, self._elsewhere[features], share[features], out[features])


def _add_forms(
    views: Any, u: Any, codes: Any, start: int, stop: int, offsets: Any, table: Any, sums: Any
) -> None:
    """Add the forms of the rows at some positions to their bins: ``sums`` (n, B, G K)."""
    G, K = views.shape[1], table.shape[1]
    forms = np.empty(G * K)
    for p in range(start, stop):
        value = u[p] if len(u) else 1.0
        for g in range(G):
            cell = offsets[g] + views[p, g]
            for i in range(K):
                forms[g * K + i] = value * table[cell, i]
        for k in range(codes.shape[1]):
            here = sums[k, codes[p, k]]
            for f in range(len(forms)):
                here[f] += forms[f]


def _add_squares(sums: Any, elsewhere: Any, share: Any, out: Any) -> None:
    """Sum up to every bin, in place, and add the squares of the forms that count."""
    n, B, size = sums.shape
    K = size // elsewhere.shape[1]
    counts = np.empty(size)
    for k in range(n):
        for f in range(size):
            counts[f] = 1.0 if elsewhere[k, f // K] else 0.0
        for b in range(1, B):
            for f in range(size):
                sums[k, b, f] += sums[k, b - 1, f]
        whole = sums[k, B - 1]
        for b in range(B):
            square = 0.0
            for f in range(size):
                rest = sums[k, b, f] - share[k, b] * whole[f]
                square += counts[f] * rest * rest
            out[k, b] += square


add_forms, add_squares = Loop(_add_forms), Loop(_add_squares)

"""Squares z'Vz of candidates, from below and exactly, as far as the best split needs them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Codes, Real, Rows
from ..operators import VOperator
from ..operators.trees.binned import NestedLines
from ..operators.trees.line_form import LineForm
from ..operators.trees.prefixes import nested, prefix_squares
from .candidates import Candidates
from .columns import Columns
from .partition import Partition
from .ranking import MARGIN
from .search import search
from .sketch import Sketch

_KEPT_ROWS = 1 / 16  # of the sample: larger leaves keep their squares for the next trees
_KEPT_BYTES = 32 << 20


class Squares:
    """Bounds the squares of a leaf from below, and makes them exact where that is asked for.

    Where V has the form of `LineForm`, bin by bin, in `search`; elsewhere a feature at a time.
    """

    def __init__(
        self, V: VOperator, form: LineForm | None, codes: Codes, n_bins: int, columns: Columns
    ) -> None:
        self._V, self._form, self._codes, self._B = V, form, codes, n_bins
        self._columns = columns
        self._lines = None
        if form is not None and form.lines is not None:
            self._lines = NestedLines(form.lines, codes, n_bins)
            self._sketch = Sketch(form, ~self._lines.growing, n_bins)
        else:
            self._nested = nested(V, codes, n_bins)
        self._kept: dict[bytes, tuple[NDArray[Any], ...]] = {}
        self._most = _KEPT_BYTES // (17 * n_bins * codes.shape[1])

    def bound(
        self, state: Candidates, leaf: int, parts: Partition, bins: Real | None, box: bytes
    ) -> None:
        """Bound the squares of a new leaf (theory, eq. 5.9), or recall them from earlier trees.

        ``bins`` are its totals in the bins of the views, where V is of the form of `LineForm`.
        """
        kept = self._kept.get(box)
        if kept is not None:
            state.square[leaf], state.exact[leaf], state.level[leaf], state.alone[leaf] = kept
            return
        own = state.own[leaf]
        total = own[0, -1]
        share = own / total
        if self._lines is not None and bins is not None:
            exact, spread = self._lines.whole, self._spread(state, leaf, parts, bins, share)
        else:
            exact, rows = self._nested.whole, parts.rows(leaf)
            spread = self._nested.split_squares(
                rows, np.ones(len(rows)), state.sums(leaf, 0), share
            )
        margin = 0.0 if exact else MARGIN * total
        state.set_squares(leaf, share * own + spread - margin, exact=exact)

    def _spread(
        self, state: Candidates, leaf: int, parts: Partition, bins: Real, share: Real
    ) -> Real:
        assert self._form is not None
        assert self._lines is not None
        spread = np.zeros_like(share)
        self._lines.add_spread(bins, state.sums(leaf, self._columns.u), share, spread)
        spread *= self._form.scale
        self._sketch.add_squares(parts, leaf, share, spread)
        if self._columns.d is not None:
            state.alone[leaf] = d = state.sums(leaf, self._columns.d)
            spread += (1 - 2 * share) * d + share**2 * d[:, -1:]
        return spread

    def keep(self, state: Candidates, leaf: int, size: int, box: bytes) -> None:
        """Keep what is known of a large leaf for the next trees."""
        room = len(self._kept) < self._most or box in self._kept
        if room and size >= _KEPT_ROWS * len(self._codes):
            known = (state.square, state.exact, state.level, state.alone)
            self._kept[box] = tuple(values[leaf].copy() for values in known)

    def make_exact(self, state: Candidates, leaf: int, k: int, parts: Partition) -> None:
        """Compute the squares of all bins of a feature."""
        code = parts.codes[slice(*parts.ranges[leaf]), k]
        order = parts.rows(leaf)[np.argsort(code, kind="stable")]
        ends = np.cumsum(np.bincount(code, minlength=self._B))
        curve = prefix_squares(self._V, order, ends, np.ones(len(order)))
        allowed = np.isfinite(state.square[leaf, k])
        state.square[leaf, k] = np.where(allowed, curve, np.inf)
        state.exact[leaf, k] = True

    def search(
        self,
        state: Candidates,
        leaves: Rows,
        tau: Real,
        w: Real,
        cost: float,
        noise: float,
        parts: Partition,
        bins: Real,
    ) -> tuple[int, int]:
        """Find the best leaf and feature, compiled, for V of the form of `LineForm`."""
        form = self._form
        assert form is not None
        assert form.lines is not None
        leaf, feature = search(
            leaves,
            tau,
            w,
            cost,
            noise,
            state.ranked,
            state.level,
            *(state.alone, parts.codes, parts.ranges, parts.views, parts.u),
            *(form.single, form.lines.symmetric, bins, form.lines.offsets),
        )
        return int(leaf), int(feature)

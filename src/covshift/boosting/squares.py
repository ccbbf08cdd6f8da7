"""Squares z'Vz of candidates, from below and exactly, as far as the best split needs them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..operators import VOperator
from ..operators.lined import Lined
from ..operators.prefixes import Codes, Real, Rows, nested, prefix_squares
from .candidates import Candidates, by_bin
from .ranking import MARGIN, search

_KEPT_ROWS = 1 / 16  # of the sample: larger leaves keep their squares for the next trees
_KEPT_BYTES = 32 << 20


class Squares:
    """Bounds the squares of a leaf from below, and makes them exact where that is asked for.

    Where V has the form of `Lined`, bin by bin, in `search`; elsewhere a feature at a time.
    """

    def __init__(self, V: VOperator, form: Lined | None, codes: Codes, n_bins: int) -> None:
        self._V, self._form, self._codes, self._B = V, form, codes, n_bins
        self._nested = nested(V, codes, n_bins)
        self._kept: dict[bytes, tuple[Real, NDArray[np.bool_], NDArray[np.intp]]] = {}
        self._most = _KEPT_BYTES // (9 * n_bins * codes.shape[1])

    def bound(self, state: Candidates, leaf: int, rows: Rows, box: bytes) -> None:
        """Bound the squares of a new leaf (theory, eq. 5.9), or recall them from earlier trees."""
        kept = self._kept.get(box)
        if kept is not None:
            state.square[leaf], state.exact[leaf], state.level[leaf] = kept
            return
        own, exact = state.own[leaf], self._nested.whole
        total = own[0, -1]
        share = own / total
        spread = self._nested.spread(rows, np.ones(len(rows)), state.count[leaf], share)
        margin = 0.0 if exact else MARGIN * total
        state.set_squares(leaf, share * own + spread - margin, exact=exact)

    def keep(self, state: Candidates, leaf: int, rows: Rows, box: bytes) -> None:
        """Keep what is known of a large leaf for the next trees."""
        room = len(self._kept) < self._most or box in self._kept
        if room and len(rows) >= _KEPT_ROWS * len(self._codes):
            exact, level = state.exact[leaf].copy(), state.level[leaf].copy()
            self._kept[box] = state.square[leaf].copy(), exact, level

    def make_exact(self, state: Candidates, leaf: int, k: int, rows: Rows) -> None:
        """Compute the squares of all bins of a feature."""
        order, ends = by_bin(self._codes[:, k], rows, self._B)
        curve = prefix_squares(self._V, order, ends, np.ones(len(rows)))
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
        order: Rows,
        ranges: Rows,
    ) -> tuple[int, int]:
        """Find the best leaf and feature at once, compiled, for V of the form of `Lined`."""
        form = self._form
        assert form is not None
        assert form.lines is not None
        if state.every is None:
            G, J = form.coarse.weights.shape
            state.every = np.zeros((len(state.count), G, J + 1))
        leaf, feature = search(
            leaves,
            tau,
            w,
            cost,
            noise,
            *(state.alpha, state.beta, state.num, state.square, state.exact),
            *(state.low, state.high, state.gain, state.bin, state.known, state.level, state.own),
            *(self._codes, order, ranges, form.lines.codes, form.u, form.d),
            *(state.every, state.seen, form.coarse.arrays, form.fine.arrays),
        )
        return int(leaf), int(feature)

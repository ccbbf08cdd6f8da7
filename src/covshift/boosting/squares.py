"""Squares z'Vz of candidates, from below and exactly, as far as the best split needs them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..operators import VOperator
from ..operators.lined import Lined
from ..operators.prefixes import Codes, Real, Rows, prefix_squares
from .candidates import Candidates, by_bin
from .loops import TIE

_KEPT_ROWS = 1 / 16  # of the sample: larger leaves keep their squares for the next trees
_KEPT = 4096  # curves kept at most, 2 KB each
_MARGIN = 1e-12  # of z'Vz: taken off a lower bound, for its rounding
_MANY = 4  # bins in question: with more, the best of them is computed first


class Squares:
    """Makes the squares of a leaf and feature exact, step by step.

    Where V has the form of `Lined`: first a bound from all views, then the bins that it leaves in
    question. Elsewhere all bins at once.
    """

    def __init__(self, V: VOperator, form: Lined | None, codes: Codes, n_bins: int) -> None:
        self._V, self._form, self._codes, self._B = V, form, codes, n_bins
        self._kept: dict[tuple[bytes, int], tuple[Real, NDArray[np.bool_]]] = {}

    def refine(
        self,
        state: Candidates,
        leaf: int,
        k: int,
        rows: Rows,
        box: bytes,
        *,
        gains: Callable[[], Real],
        least: float,
    ) -> None:
        """Take one step for feature ``k`` of a leaf, given by its ``rows`` and its ``box``.

        ``gains`` tells the present bounds of the gains, ``least`` a gain that is known elsewhere.
        """
        square, exact = state.square[leaf, k], state.exact[leaf, k]
        state.level[leaf, k] += 1
        known = self._kept.get((box, k))
        if known is not None and state.level[leaf, k] == 1:
            square[:] = np.where(np.isinf(square), np.inf, np.maximum(square, known[0]))
            square[known[1]] = np.where(np.isinf(square), np.inf, known[0])[known[1]]
            exact |= known[1]
            return
        order, ends = by_bin(self._codes[:, k], rows, self._B)
        if self._form is None:
            curve = prefix_squares(self._V, order, ends, np.ones(len(rows)))
            square[:] = np.where(np.isinf(square), np.inf, curve)
            exact[:] = True
        elif state.level[leaf, k] == 1:
            wanted = ~exact
            own = state.own[leaf, k]
            share = own / own[-1]
            spread = self._form.squares(self._form.coarse, order, ends, wanted, share)
            bound = share * own + spread - _MARGIN * own[-1]
            square[wanted] = np.maximum(square, bound)[wanted]
        else:
            wanted = self._in_question(state, leaf, k, gains(), least)
            found = self._form.squares(self._form.fine, order, ends, wanted, np.zeros(self._B))
            square[wanted] = found[wanted]
            exact |= wanted
        if len(rows) >= _KEPT_ROWS * len(self._codes):
            if len(self._kept) < _KEPT or known is not None:
                finite = np.isfinite(square)
                self._kept[box, k] = np.where(finite, square, 0.0), exact & finite

    def _in_question(
        self, state: Candidates, leaf: int, k: int, gains: Real, least: float
    ) -> NDArray[np.bool_]:
        """Bins whose bound is above what is known already, or the highest of too many: (B,)."""
        low, high = state.low[leaf, k], state.high[leaf, k]
        exact = state.exact[leaf, k, low:high]
        least = max(least, float(np.where(exact, gains, -np.inf).max()))
        open_ = ~exact & (gains >= least - 2 * TIE * abs(least) if np.isfinite(least) else ~exact)
        wanted = np.zeros(state.exact.shape[2], dtype=bool)
        if open_.sum() > _MANY and not exact[gains >= 0.5 * least].any():
            open_ = np.arange(high - low) == np.where(open_, gains, -np.inf).argmax()
        wanted[low:high] = open_
        return wanted

"""Which candidate is best: loops for numba, see `covshift._compiled` and `candidates`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._compiled import Loop

SPAN = 1e-10  # share of a column that must lie outside the span of the others
TIE = 1e-9  # gains that differ by less, relatively, are equal
MARGIN = 1e-12  # of z'Vz of a leaf: taken off a lower bound, for its rounding


def rank_feature(
    leaf: int,
    k: int,
    tau: float,
    w: float,
    cost: float,
    state: Any,
) -> None:
    """Find the largest gain of a feature in a leaf, and the first bin that has it (eq. 5.7).

    ``state`` is that of `Candidates.ranked`. Gains are compared as fractions y^2 / s, without
    dividing.
    """
    alpha, beta, num, square, exact, low, high, gain, best, known = state
    alphas, betas, nums, squares = alpha[leaf, k], beta[leaf, k], num[leaf, k], square[leaf, k]
    gain[leaf, k], known[leaf, k] = -np.inf, True
    top, under = 0.0, 1.0  # the largest so far
    for b in range(low[leaf, k], high[leaf, k]):
        norm, y = 2.0 * squares[b], nums[b]
        s = norm - alphas[b]
        if tau > 0.0:
            rest = tau * (1.0 - betas[b])
            s += rest * (1.0 - betas[b])
            y -= rest * w
        value = y * y * under
        if value >= (1.0 - TIE) * top * s:
            if not s > SPAN * norm:
                if not exact[leaf, k, b]:
                    gain[leaf, k], best[leaf, k], known[leaf, k] = np.inf, b, False
                    return
            elif value > (1.0 + TIE) * top * s:
                top, under = y * y, s
                best[leaf, k], known[leaf, k] = b, exact[leaf, k, b]
            elif not exact[leaf, k, b]:
                known[leaf, k] = False
    if top > 0.0:
        gain[leaf, k] = 0.5 * top / under - (0.5 * tau * w * w + cost)


def _rank(
    leaves: Any,
    tau: Any,
    w: Any,
    cost: float,
    state: Any,
    first: int,
    last: int,
) -> None:
    """Rank some features in some leaves."""
    for j in range(len(leaves)):
        for k in range(first, last):
            rank_feature(leaves[j], k, tau[j], w[j], cost, state)


rank = Loop(_rank, (rank_feature,))

"""Folds by the content of the rows, not by their position.

Equal rows share a fold, so repeating a row or giving it weight two, or shuffling the sample, leaves
every fold as it was: a tuned model keeps the invariances of an untuned one, without a seed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]


def ranked_folds(X: Real, Y: Real, n_folds: int) -> NDArray[np.intp]:
    """Deal the distinct rows of (Y, X), sorted, to the folds in turn: (N,) fold numbers.

    Sorted by label first, so that classes and outcomes are spread evenly; O(N log N).
    """
    _, distinct = np.unique(np.column_stack([Y, X]) + 0.0, axis=0, return_inverse=True)
    return np.asarray(distinct.reshape(-1) % n_folds, dtype=np.intp)


def hashed_folds(X: Real, n_folds: int) -> NDArray[np.intp]:
    """Hash every row to a fold: O(N), the same for a row in whichever block it arrives."""
    bits: NDArray[Any] = (np.ascontiguousarray(X) + 0.0).view(np.uint64)
    state = np.full(len(X), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for k in range(bits.shape[1]):
        state = _mixed(state ^ bits[:, k])
    return np.asarray(state % np.uint64(n_folds), dtype=np.intp)


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64 bits (the finaliser of splitmix64; products wrap around on purpose)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)), dtype=np.uint64)

"""Folds by the content of the rows, not by their position.

Equal rows share a fold, so repeating a row or giving it weight two, or shuffling the sample, leaves
every fold as it was: a tuned model keeps the invariances of an untuned one, without a seed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._array import Array
from .._hashing import row_hash

Real = NDArray[np.float64]


def ranked_folds(X: Real, Y: Real, n_folds: int) -> NDArray[np.intp]:
    """Deal the distinct rows of (Y, X), sorted, to the folds in turn: (N,) fold numbers.

    Sorted by label first, so that classes and outcomes are spread evenly; O(N log N).
    """
    _, distinct = np.unique(np.column_stack([Y, X]) + 0.0, axis=0, return_inverse=True)
    return np.asarray(distinct.reshape(-1) % n_folds, dtype=np.intp)


def hashed_folds(X: Array, n_folds: int) -> NDArray[np.intp]:
    """Hash every row to a fold: O(N), the same for a row in whichever block it arrives."""
    return np.asarray(row_hash(X) % np.uint64(n_folds), dtype=np.intp)

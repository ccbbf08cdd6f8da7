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
    """Deal the distinct rows of (Y, X) to the folds in turn, class by class: (N,) fold numbers.

    Within a class, and over all rows where Y has no classes, the order is a fixed shuffle of the
    rows' ranks. Dealt in the order of X, every fold would have the same share of each class
    wherever one looks, and a rough fit would be right about held-out rows for that reason alone:
    the penalty came out several times too small. Ranks, and not the values themselves, so that
    rounding in the values does not change the folds. O(N log N).
    """
    rows, place = np.unique(np.column_stack([Y, X]) + 0.0, axis=0, return_inverse=True)
    outcomes, classes = np.unique(rows[:, : Y.shape[1]], axis=0, return_inverse=True)
    are_classes = len(outcomes) * n_folds <= len(rows)
    strata = classes.reshape(-1) if are_classes else np.zeros(len(rows), np.intp)
    shuffled = row_hash(np.arange(len(rows), dtype=np.float64)[:, None])
    rank = np.empty(len(rows), dtype=np.intp)
    rank[np.lexsort((shuffled, strata))] = np.arange(len(rows))
    return np.asarray(rank[place.reshape(-1)] % n_folds, dtype=np.intp)


def hashed_folds(X: Array, n_folds: int) -> NDArray[np.intp]:
    """Hash every row to a fold: O(N), the same for a row in whichever block it arrives."""
    return np.asarray(row_hash(X) % np.uint64(n_folds), dtype=np.intp)

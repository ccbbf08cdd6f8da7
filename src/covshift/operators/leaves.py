"""Z'VZ for the indicators Z of a tree's leaves: what couples leaf values under V.

Most V are of one-dimensional views. Then a view at a time: the weight of each leaf that every
threshold sees, and one product of these. Any other V is asked for V Z, T columns.
"""

from __future__ import annotations

import numpy as np

from ..numerics.array import Real, Rows
from .base import VOperator, blocks
from .compose import FactorOperator
from .line_factor import LineFactor

_ENTRIES = 1 << 22  # of Z at a time: 32 MB


def of_lines(V: VOperator) -> bool:
    """Whether V is made of one-dimensional views, or diagonal."""
    return isinstance(V, FactorOperator) and (V.R is None or isinstance(V.R, LineFactor))


def leaf_gram(V: VOperator, place: Rows, T: int) -> Real:
    """Z'VZ (T, T) of the leaves where the rows are, by their ``place`` (N,)."""
    if isinstance(V, FactorOperator) and of_lines(V):
        gram = np.zeros((T, T)) if V.d is None else np.diag(np.bincount(place, V.d, T)) * 1.0
        if isinstance(V.R, LineFactor):
            u = np.ones(len(place)) if V.u is None else V.u
            gram += V.scale * V.R.leaf_gram(place, T, u)
        return np.asarray(gram)
    gram = np.empty((T, T))
    for some in blocks(T, max(1, _ENTRIES // len(place))):
        image = np.asarray(V.matmat((place[:, None] == np.arange(T)[some]).astype(np.float64)))
        for column, values in zip(range(T)[some], image.T, strict=True):
            gram[:, column] = np.bincount(place, values, T)
    return (gram + gram.T) / 2

"""Columns that are one feature, such as the levels of a category.

Where columns are averaged, those of a group share the weight of one feature: the mean is taken over
the columns of a group first, then over the groups,

    (1/G) sum_g (1/L_g) sum_{k in g} v_k = sum_k c_k v_k ,    c_k = 1 / (G L_g(k)) .

``None`` stands for groups of one column each, and then nothing here is called.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._hashing import Keys, mixed_hash, row_hash
from ._row_units import RowUnits
from ._types import Real, Rows
from .exceptions import InputError


def feature_groups(groups: Any, n: int) -> Rows | None:
    """Check the groups of n columns; number them from 0 on, in the order in which they first stand.

    None where every column is a feature by itself.

    >>> feature_groups([7, 3, 3, 3], 4)
    array([0, 1, 1, 1])
    >>> feature_groups([7, 3], 2) is None
    True
    """
    if groups is None:
        return None
    given = np.asarray(groups)
    if given.shape != (n,):
        raise InputError(
            f"groups has shape {given.shape}, expected ({n},): for every column of X the number of "
            "the feature that it belongs to."
        )
    _, first, place = np.unique(given, return_index=True, return_inverse=True)
    if len(first) == n:
        return None
    number = np.empty(len(first), dtype=np.intp)
    number[np.argsort(first)] = np.arange(len(first))
    return number[place.reshape(-1)]


def column_shares(groups: Rows) -> Real:
    """Share of every column in a mean over groups, c_k (n,); they sum to one."""
    sizes = np.bincount(groups)
    return np.asarray(1 / (len(sizes) * sizes[groups]))


def members(groups: Rows) -> list[list[int]]:
    """Columns of every group."""
    return [np.flatnonzero(groups == g).tolist() for g in range(int(groups.max()) + 1)]


def gap_factors(groups: Rows) -> Real:
    """What a column's differences count where they are added without squares: (n,).

    In coordinates two rows of different levels have a squared distance of one, and differences that
    add up to sqrt 2 (`covshift._coordinates`). Divided by it, they too count as those of a column
    of two values do.
    """
    sizes = np.bincount(groups)
    return np.where(sizes[groups] > 1, np.sqrt(0.5), 1.0)


def order_by_content(groups: Rows, X: Real, Y: Real, T: Real) -> Rows:
    """Order of the columns that the names of levels have no part in: (n,) column numbers.

    Features stay where they are; columns of one feature are sorted by a hash of the rows in which
    they are not zero. So what follows the content of rows, such as folds and samples, is the same
    whatever the levels of a category are called. X (N, n) with outcomes Y (N, k),
    and T (M, n). O((N + M) n).
    """
    single = np.bincount(groups)[groups] == 1
    outcomes, units = mixed_hash(row_hash(Y, 1, RowUnits.of(Y))), RowUnits.of(T[:, single])
    rows = mixed_hash(row_hash(X[:, single], units=units) ^ outcomes)
    here, there = _added(rows, X), _added(row_hash(T[:, single], units=units), T)
    here[single] = there[single] = 0
    return np.lexsort((there, here, groups))


def _added(keys: Keys, X: Real) -> Keys:
    """Sum of the keys (N,) of the rows in which each column is not zero, modulo 2^64: (n,)."""
    return np.array([keys[X[:, k] != 0].sum(dtype=np.uint64) for k in range(X.shape[1])])

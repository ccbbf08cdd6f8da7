"""Columns that are one feature, such as the levels of a category.

Where columns are averaged, those of a group share the weight of one feature: the mean is taken over
the columns of a group first, then over the groups,

    (1/G) sum_g (1/L_g) sum_{k in g} v_k = sum_k c_k v_k ,    c_k = 1 / (G L_g(k)) .

``None`` stands for groups of one column each, and then nothing here is called.
"""

from __future__ import annotations

from typing import Any

import numpy as np

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

"""Bins of equal weight, with equal values kept together."""

from __future__ import annotations

import numpy as np

from ._types import Real, Rows


def equal_weight_bins(values: Real, weight: Real, count: int) -> Rows:
    """Number of the bin (n,) of every value, from 0 on without gaps; at most ``count`` bins.

    A value is in bin floor(count F), F the share of the weight below it and half of its own. Equal
    values share the bin of the first of them. Cost O(n log n).

    >>> equal_weight_bins(np.array([5.0, 1.0, 1.0, 9.0]), np.ones(4), 2)
    array([1, 0, 0, 1])
    """
    order = np.argsort(values, kind="stable")
    ranked, w = values[order], weight[order]
    middle = (np.cumsum(w) - w / 2) / w.sum()
    first = np.searchsorted(ranked, ranked, side="left")
    group = np.minimum((middle[first] * count).astype(np.intp), count - 1)
    found = np.empty(len(values), dtype=np.intp)
    found[order] = np.unique(group, return_inverse=True)[1].reshape(-1)
    return found

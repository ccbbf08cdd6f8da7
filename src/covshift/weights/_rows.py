"""Rows as single observations: how many of them a sample holds, and how they are dealt into folds.

A row that comes several times is that many observations: one of them is left out, the others stay.
All of it depends on the
rows as a set, not on their order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._types import Real, Whole

_MOST_DEALT = 1_000_000  # rows that are dealt one by one, where few values stand for many rows


class Distinct(NamedTuple):
    """The distinct rows of a sample, sorted."""

    points: Real  # (m, n)
    share: Real  # (m,), positive, sums to one
    repeats: Whole  # (m,): rows at the value, which have its share in equal parts

    @property
    def row(self) -> Real:
        """Share of one row at each value, (m,): what leaves with it."""
        row = np.asarray(self.share / self.repeats)
        return np.full(len(row), row.mean()) if np.ptp(row) <= 1e-12 * row.max() else row

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.repeats.sum())


def distinct(points: Real, share: Real) -> Distinct:
    """Merge equal rows of positive share."""
    kept = share > 0
    points, share = points[kept], share[kept]
    order, value = _values(points)
    first = np.flatnonzero(np.diff(value, prepend=-1))
    shares = np.bincount(value, weights=share[order]).astype(np.float64)
    return Distinct(points[order][first], shares, np.bincount(value))


def fold_of(X: Real, n_folds: int, rng: np.random.RandomState) -> Whole:
    """Deal the rows of X into folds at random; (N,) fold numbers.

    The rows are sorted, and their ranks shuffled one by one: of equal rows each has a rank of its
    own. Dealt in turn instead, every fold would hold the same share of each value, and a rough fit
    would be right about held-out rows for that reason alone.
    """
    folds = np.empty(len(X), dtype=np.int64)
    folds[np.lexsort(X.T[::-1])] = rng.permutation(len(X)) % min(n_folds, len(X))
    return folds


def held_shares(sample: Distinct, n_folds: int, rng: np.random.RandomState) -> Real:
    """Share of each value's rows in each fold, (m, folds), as `fold_of` deals single rows."""
    total, m = sample.size, len(sample.repeats)
    if total <= max(4 * m, _MOST_DEALT):
        value = np.repeat(np.arange(m), sample.repeats)
        fold = rng.permutation(total) % n_folds
        dealt = np.bincount(value * n_folds + fold, minlength=m * n_folds).reshape(m, n_folds)
    else:  # each row to a fold of its own, by chance
        dealt, left = np.empty((m, n_folds), dtype=np.int64), sample.repeats.copy()
        for k in range(n_folds):
            dealt[:, k] = rng.binomial(left, 1 / (n_folds - k))
            left -= dealt[:, k]
    return np.asarray(sample.share[:, None] * (dealt / sample.repeats[:, None]))


def mean_over_equal(X: Real, values: Real, share: Real) -> Real:
    """Mean of ``values`` (N,) over the rows of X that are equal, by their share: (N,)."""
    order, value = _values(X)
    if value[-1] + 1 == len(X):
        return values
    share = share[order] / share.max()  # ones, where the shares are equal
    sums = np.bincount(value, weights=share * values[order])
    means = sums / np.bincount(value, weights=share)
    found = np.empty(len(X))
    found[order] = means[value]
    return found


def _values(X: Real) -> tuple[Whole, Whole]:
    """Sort the rows; return the order, and for each sorted row the number of its value."""
    order = np.lexsort(X.T[::-1])
    sorted_rows = X[order]
    new = (sorted_rows[1:] != sorted_rows[:-1]).any(axis=1)
    return order, np.concatenate([[0], np.cumsum(new)]).astype(np.int64)

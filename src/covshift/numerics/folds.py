"""Folds of single rows, dealt by what the rows hold and not by where they stand.

Rows are ordered by their content, and equal ones by their occurrence number, so that the order of
the file does not matter; then single rows are shuffled in a fixed way, without a seed. Equal rows
are held out one by one, each on its own: held out together, the ones of a cell would be predicted
from its zeros, and dealt evenly, every fold would know the cell's share.

Repeats of a row in a `RowSample` are dealt one by one: of three, one may be held out while two
stay.
Weights say how much a row counts and part nothing: a row seen once is held out as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .array import Array, Real, Rows, Whole, to_numpy
from .hashing import RowUnits, keys_repeat, mixed_hash, on_host, row_hash, row_keys

_MOST_DEALT = 5_000_000  # repeats; of more, every row is held out as a whole
_ROUNDING = 1e-9  # share of a weight below which nothing is left


@dataclass(frozen=True)
class Fold:
    """Rows that are held out together, and how much of each one's weight."""

    rows: Rows  # (h,), sorted
    weight: Real  # (h,)

    def rest(self, w: Real) -> tuple[Rows, Real]:
        """Rows that stay, and which share of its weight w (N,) each keeps."""
        left = w.copy()
        left[self.rows] -= self.weight
        rows = np.flatnonzero(left > _ROUNDING * w)
        return rows, left[rows] / w[rows]


def ranked_folds(
    X: Real, Y: Real, n_folds: int, w: Real | None = None, repeats: Whole | None = None
) -> list[Fold]:
    """Deal single rows of (Y, X) to the folds in turn, class by class.

    Rows have weights w (N,), of all their ``repeats`` (N,) together; both are one without them.

    Within a class, and over all rows where Y has no classes, the order is a fixed shuffle of the
    rows' ranks. Dealt in the order of X, every fold would have the same share of each class
    wherever one looks, and a rough fit would be right about held-out rows for that reason alone:
    the penalty came out several times too small. Ranks, and not the values themselves, so that
    rounding in the values does not change the folds; columns are ranked in the order of what they
    hold (`covshift.numerics.hashing`). O(N log N), N counting repeats.
    """
    units, weight = _units(len(X), w, repeats)
    cells, cell = np.unique(np.column_stack([Y, X, weight]) + 0.0, axis=0, return_inverse=True)
    cells, cell = _by_content(cells, cell.reshape(-1), Y.shape[1])
    outcomes, classes = np.unique(cells[:, : Y.shape[1]], axis=0, return_inverse=True)
    n_folds = min(n_folds, len(units))
    are_classes = len(outcomes) * n_folds <= len(units)
    # Equal rows are alike, so that any order gives them their occurrence numbers.
    cell = cell[units]
    by_content = np.argsort(cell, kind="stable")
    strata = classes.reshape(-1)[cell[by_content]] if are_classes else np.zeros(len(units))
    shuffled = row_hash(np.arange(len(units), dtype=np.float64)[:, None])
    number = np.empty(len(units), dtype=np.intp)
    number[by_content[np.lexsort((shuffled, strata))]] = np.arange(len(units)) % n_folds
    return list(_collected(units, number, weight, n_folds).values())


def _by_content(cells: Real, cell: Rows, k: int) -> tuple[Real, Rows]:
    """Sort cells, k columns of outcomes, rows and a weight, whatever the order of the columns."""
    rows = cells[:, k:-1]
    columns = [*cells[:, :k].T, *rows[:, RowUnits.of(rows).order].T, cells[:, -1]]
    order = np.lexsort(columns[::-1])
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    return cells[order], place[cell]


def hashed_folds(
    X: Array,
    Y: Array,
    n_folds: int,
    w: Array | None = None,
    repeats: Whole | None = None,
    *,
    units: RowUnits,
) -> dict[int, Fold]:
    """Hash every row, and its occurrence number among rows of equal X, to a fold.

    O(N), and a row that stands alone has the same fold in whichever block it arrives. Rows of equal
    X are numbered within the block, in the order of their outcomes. ``units`` are what the rows are
    measured in.
    """
    dealt, weight = _units(int(X.shape[0]), None if w is None else to_numpy(w), repeats)
    where_X_lies = row_keys(X, units=units)
    every = on_host(where_X_lies)
    keys = every[dealt]
    if not _each_once(dealt, len(every)) or keys_repeat(where_X_lies):
        outcomes = np.column_stack([to_numpy(Y), weight])[dealt]
        order = np.lexsort((*outcomes.T, keys))
        new = np.concatenate([[True], keys[order[1:]] != keys[order[:-1]]])
        first = np.flatnonzero(new)
        occurrence = np.empty(len(dealt), dtype=np.uint64)
        occurrence[order] = np.arange(len(dealt)) - np.repeat(
            first, np.diff(first, append=len(dealt))
        )
        again = occurrence > 0
        keys[again] = mixed_hash(keys[again] ^ mixed_hash(occurrence[again]))
    number = np.asarray(keys % np.uint64(n_folds), dtype=np.intp)
    return _collected(dealt, number, weight, n_folds)


def _units(N: int, w: Real | None, repeats: Whole | None) -> tuple[Rows, Real]:
    """Row of every unit to be dealt: repeats, or whole rows; and the weight (N,) of one unit."""
    w = np.ones(N) if w is None else np.asarray(w, dtype=np.float64)
    if repeats is None or repeats.max() == 1 or repeats.sum() > _MOST_DEALT:
        return np.arange(N), w
    return np.repeat(np.arange(N), repeats), w / repeats


def _collected(units: Rows, number: Rows, weight: Real, n_folds: int) -> dict[int, Fold]:
    """Collect the units of every fold by its number; a fold without any is left out."""
    found = {}
    each_once = _each_once(units, len(weight))
    for fold in range(n_folds):
        inside = units[number == fold]
        if not len(inside):
            continue
        if each_once:
            found[fold] = Fold(inside, weight[inside])
        else:
            rows, counts = np.unique(inside, return_counts=True)
            found[fold] = Fold(rows, counts * weight[rows])
    return found


def _each_once(units: Rows, N: int) -> bool:
    """Whether the units are the rows themselves, in their order."""
    return len(units) == N and bool((np.diff(units) == 1).all())


# Folds that a seed deals: those of weighers, whose fits are compared and not kept.


_MOST_SINGLE = 1_000_000  # rows that are dealt one by one, where few values stand for many rows


def fold_of(X: Real, n_folds: int, rng: np.random.RandomState) -> Whole:
    """Deal the rows of X into folds at random; (N,) fold numbers.

    The rows are sorted, and their ranks shuffled one by one: of equal rows each has a rank of its
    own. Dealt in turn instead, every fold would hold the same share of each value, and a rough fit
    would be right about held-out rows for that reason alone.
    """
    folds = np.empty(len(X), dtype=np.int64)
    folds[np.lexsort(X.T[::-1])] = rng.permutation(len(X)) % min(n_folds, len(X))
    return folds


def held_shares(share: Real, repeats: Whole, n_folds: int, rng: np.random.RandomState) -> Real:
    """Share of each value's rows in each fold, (m, folds), as `fold_of` deals single rows.

    Each of m values has a share, in equal parts of its ``repeats``.
    """
    total, m = int(repeats.sum()), len(repeats)
    if total <= max(4 * m, _MOST_SINGLE):
        value = np.repeat(np.arange(m), repeats)
        fold = rng.permutation(total) % n_folds
        dealt = np.bincount(value * n_folds + fold, minlength=m * n_folds).reshape(m, n_folds)
    else:  # each row to a fold of its own, by chance
        dealt, left = np.empty((m, n_folds), dtype=np.int64), repeats.copy()
        for k in range(n_folds):
            dealt[:, k] = rng.binomial(left, 1 / (n_folds - k))
            left -= dealt[:, k]
    return np.asarray(share[:, None] * (dealt / repeats[:, None]))

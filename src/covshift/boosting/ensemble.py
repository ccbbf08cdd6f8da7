"""A fitted ensemble as plain arrays, and its predictions.

All nodes of all trees lie one after another; ``starts`` tells where each tree begins. Everything is
a NumPy array of numbers, so an ensemble can be written to any format and read without pickle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.array import Real, Rows, Whole
from ..numerics.parallel import over_rows
from ..operators.base import blocks
from .trees import Tree

WORTH_TABLES = 1 << 12
"""Rows to predict at once from which they are looked up in tables."""

_ROWS = 1 << 14  # predicted at a time
_VISITS = 1 << 20  # rows times trees that make a second thread worth while
_MOST_LEAVES = 62  # of a tree whose leaves are bits of a number
_AT_ONCE = 1 << 13  # rows whose places stay in the processor's cache
_FIRST_POWER = 1023  # exponent bits of 1.0


@dataclass(frozen=True)
class Ensemble:
    """f(x) = baseline + the values of the leaves where x ends, tree by tree."""

    feature: NDArray[np.int32]  # (nodes,): column of X, -1 in a leaf
    threshold: Real  # (nodes,): rows with x <= threshold go left
    left: NDArray[np.int32]  # (nodes,): child by its number, -1 in a leaf
    right: NDArray[np.int32]
    value: Real  # (nodes,): of a leaf, learning rate included
    gain: Real  # (nodes,): fall of the objective by the node's split
    starts: NDArray[np.int64]  # (trees + 1,): first node of every tree
    output: NDArray[np.int32]  # (trees,): column of f that the tree adds to
    baseline: Real  # (k,)

    @property
    def n_trees(self) -> int:
        return len(self.output)

    def times(self, factor: float) -> Ensemble:
        """Return the function times a factor; gains, whose shares matter, stay as they are."""
        return replace(self, value=self.value * factor, baseline=self.baseline * factor)

    def check(self, n_features: int) -> None:
        """Refuse trees from a file that lead outside their arrays, or round in circles.

        O(nodes).
        """
        starts, nodes = self.starts, len(self.feature)
        if len(starts) != len(self.output) + 1 or starts[0] != 0 or starts[-1] != nodes:
            raise ValueError("the trees do not cover the nodes")
        if not (np.diff(starts) > 0).all():
            raise ValueError("empty trees")
        inner = np.flatnonzero(self.left >= 0)
        end = np.repeat(starts[1:], np.diff(starts))[inner]
        for child in (self.left[inner], self.right[inner]):  # after their parent, in its tree
            if not ((child > inner) & (child < end)).all():
                raise ValueError("a node leads out of its tree")
        feature = self.feature[inner]
        if not ((feature >= 0) & (feature < n_features)).all():
            raise ValueError("a split on a column that is not there")

    def __call__(self, X: Real) -> Real:
        """Return f at the rows of ``X`` (rows, n): (rows, k)."""
        f = np.tile(self.baseline, (len(X), 1))
        self.add(X, f, range(self.n_trees))
        return f

    def staged(self, X: Real) -> Iterator[Real]:
        """Yield f after every round: (rows, k)."""
        f, k = np.tile(self.baseline, (len(X), 1)), len(self.baseline)
        for first in range(0, self.n_trees, k):
            self.add(X, f, range(first, first + k))
            yield f.copy()

    def add(self, X: Real, f: Real, trees: range) -> None:
        """Add some trees to ``f`` (rows, k), in blocks of rows."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        whole = trees == range(self.n_trees) and len(X) >= WORTH_TABLES
        tables = self._tables if whole else None
        if tables is not None:
            over_rows(lambda chunk: tables.add(X, f, chunk), len(X), at_least=WORTH_TABLES)
            return

        def walk(chunk: slice) -> None:
            for part in blocks(chunk.stop - chunk.start, _ROWS):
                rows = slice(chunk.start + part.start, chunk.start + part.stop)
                for tree in trees:
                    f[rows, self.output[tree]] += self._leaves(X[rows], int(self.starts[tree]))

        over_rows(walk, len(X), at_least=max(1, _VISITS // max(1, len(trees))))

    @cached_property
    def _tables(self) -> LeafTables | None:
        return LeafTables.of(self)

    def importances(self, n_features: int) -> Real:
        """Share of every feature in the total gain: (n,), zero throughout where nothing split."""
        split = self.feature >= 0
        total = np.bincount(self.feature[split], self.gain[split], minlength=n_features)
        return total / total.sum() if total.sum() > 0 else np.zeros(n_features)

    def _leaves(self, X: Real, root: int) -> Real:
        """Value of the leaf where every row ends in one tree: (rows,)."""
        node = _leaf_of(X, root, self.left, self.right, self.feature, self.threshold)
        return np.asarray(self.value[node])


@dataclass(frozen=True)
class LeafTables:
    """An ensemble to predict many rows with: no row walks down a tree.

    The leaves of a tree, from left to right, are the bits of a number. Where a row goes right, the
    leaves on the left are ruled out; so the place of a value among a column's thresholds tells
    which leaves remain, and of those that all columns leave the first is where the row ends.

    Source: Lucchese et al. (2015), *QuickScorer*. O(columns that split) for a row and tree.
    """

    cuts: list[tuple[int, Real]]  # column of X, and its thresholds, ascending
    trees: list[tuple[int, list[tuple[int, Whole]], Real]]  # output, tables by column, leaf values

    @classmethod
    def of(cls, ensemble: Ensemble) -> LeafTables | None:
        """Make the tables; None where a tree has too many leaves. O(nodes thresholds)."""
        left, right = ensemble.left.tolist(), ensemble.right.tolist()
        first, count = [0] * len(left), [1] * len(left)  # leaf, and number of leaves, of every node
        for node in reversed(range(len(left))):  # children come after their parent
            if left[node] >= 0:
                count[node] = count[left[node]] + count[right[node]]
        if max(count, default=1) > _MOST_LEAVES:
            return None
        inner = np.flatnonzero(ensemble.left >= 0)
        columns = np.unique(ensemble.feature[inner])
        cuts = [np.unique(ensemble.threshold[inner[ensemble.feature[inner] == k]]) for k in columns]
        number = {int(k): place for place, k in enumerate(columns)}
        trees = []
        for output, (start, stop) in zip(ensemble.output, pairwise(ensemble.starts), strict=True):
            tables: dict[int, Whole] = {}
            values = np.zeros(_FIRST_POWER + _MOST_LEAVES)
            for node in range(start, stop):
                if left[node] < 0:
                    values[_FIRST_POWER + first[node]] = ensemble.value[node]
                    continue
                k = number[int(ensemble.feature[node])]
                first[left[node]] = first[node]
                first[right[node]] = first[node] + count[left[node]]
                ruled_out = ((1 << count[left[node]]) - 1) << first[node]
                above = 1 + np.searchsorted(cuts[k], ensemble.threshold[node])
                table = tables.setdefault(k, np.full(len(cuts[k]) + 1, -1, dtype=np.int64))
                table[above:] &= ~ruled_out
            trees.append((int(output), list(tables.items()), values))
        return cls(list(zip(columns.tolist(), cuts, strict=True)), trees)

    def add(self, X: Real, f: Real, chunk: slice) -> None:
        """Add the trees to some rows of ``f`` (rows, k)."""
        leaves, read = np.empty((2, _AT_ONCE), dtype=np.int64)
        value = np.empty(_AT_ONCE)
        for part in blocks(chunk.stop - chunk.start, _AT_ONCE):
            rows = slice(chunk.start + part.start, chunk.start + part.stop)
            size = part.stop - part.start
            left, other, found = leaves[:size], read[:size], value[:size]
            places = [_places(cuts, X[rows, k]) for k, cuts in self.cuts]
            for output, tables, values in self.trees:
                left.fill(-1)
                for k, table in tables:
                    left &= np.take(table, places[k], out=other, mode="clip")
                np.negative(left, out=other)
                left &= other  # the lowest bit alone, whose place is the exponent of the number
                found[:] = left
                np.right_shift(found.view(np.int64), 52, out=left)
                f[rows, output] += np.take(values, left, out=found, mode="clip")


def _places(cuts: Real, x: Real) -> Rows:
    """How many of the ascending cuts are below each x (rows,): halves, all rows at once."""
    steps = len(cuts).bit_length()
    padded = np.concatenate([cuts, np.full((1 << steps) - 1 - len(cuts), np.inf)])
    place, here = np.zeros(len(x), dtype=np.intp), np.empty(len(x))
    for step in range(steps):
        half = 1 << (steps - 1 - step)
        np.take(padded, place + (half - 1), out=here, mode="clip")
        place += half * (x > here)
    return place


def mixture(parts: Sequence[tuple[Ensemble, float]]) -> Ensemble:
    """The sum of ensembles times their shares: the trees of one after those of the other.

    Gains under different V have no common unit, so each part's sum to its share.
    """
    nodes = np.cumsum([0, *(len(part.feature) for part, _ in parts)])

    def moved(side: str) -> list[NDArray[np.int32]]:
        children = (
            (getattr(part, side), first) for (part, _), first in zip(parts, nodes, strict=False)
        )
        return [np.where(child >= 0, child + first, -1) for child, first in children]

    starts = [part.starts[:-1] + first for (part, _), first in zip(parts, nodes, strict=False)]
    return Ensemble(
        feature=_join([part.feature for part, _ in parts], np.int32),
        threshold=_join([part.threshold for part, _ in parts], np.float64),
        left=_join(moved("left"), np.int32),
        right=_join(moved("right"), np.int32),
        value=_join([share * part.value for part, share in parts], np.float64),
        gain=_join(
            [share * part.gain / (part.gain.sum() or 1) for part, share in parts], np.float64
        ),
        starts=_join([*starts, nodes[-1:]], np.int64),
        output=_join([part.output for part, _ in parts], np.int32),
        baseline=np.sum([share * part.baseline for part, share in parts], axis=0),
    )


def collect(
    trees: Sequence[tuple[int, Tree]], cuts: Sequence[Real], columns: Rows, rate: float, f0: Real
) -> Ensemble:
    """Lay out trees, each with its output, in arrays.

    ``cuts`` are the thresholds between the bins of every feature, ``columns`` tells which column of
    X a feature is, and ``f0`` is where boosting starts.
    """
    starts = np.cumsum([0, *(len(tree.feature) for _, tree in trees)], dtype=np.int64)
    threshold, feature = [], []
    for _, tree in trees:
        inner = tree.left >= 0
        pairs = zip(tree.feature, tree.cut, inner, strict=True)
        threshold.append(np.array([cuts[k][int(cut)] if split else 0 for k, cut, split in pairs]))
        feature.append(np.where(inner, columns[np.maximum(tree.feature, 0)], -1))

    def children(side: str) -> list[NDArray[np.int32]]:
        every = zip((getattr(tree, side) for _, tree in trees), starts, strict=False)
        return [np.where(child >= 0, child + start, -1) for child, start in every]

    return Ensemble(
        feature=_join(feature, np.int32),
        threshold=_join(threshold, np.float64),
        left=_join(children("left"), np.int32),
        right=_join(children("right"), np.int32),
        value=_join([rate * tree.value for _, tree in trees], np.float64),
        gain=_join([tree.gain for _, tree in trees], np.float64),
        starts=starts,
        output=np.array([output for output, _ in trees], dtype=np.int32),
        baseline=f0,
    )


def _leaf_of(
    X: NDArray[Any],
    root: int,
    left: NDArray[Any],
    right: NDArray[Any],
    feature: NDArray[Any],
    bound: NDArray[Any],
) -> Rows:
    """Node where every row ends that starts at ``root``, left where X <= ``bound``: (rows,)."""
    node = np.full(len(X), root, dtype=np.intp)
    moving = np.arange(len(X))
    while len(moving):
        at = node[moving]
        moving, at = moving[left[at] >= 0], at[left[at] >= 0]
        low = X[moving, feature[at]] <= bound[at]
        node[moving] = np.where(low, left[at], right[at])
    return node


def _join(parts: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype=dtype), *parts]).astype(dtype)


# Features in bins, as scikit-learn's histogram trees cut them.


class Bins:
    """At most ``max_bins`` bins per feature, found once on the training rows.

    A feature with no more distinct values is cut half-way between each two of them; others are cut
    at weighted quantiles, so that integer weights equal repeated rows. A row lies in bin b of a
    feature if thresholds[b - 1] < x <= thresholds[b].
    """

    def __init__(self, X: Real, w: Real, max_bins: int) -> None:
        self.thresholds = [_thresholds(x, w, max_bins) for x in X.T]

    def codes(self, X: Real) -> Real:
        """Return the bins of the rows: (N, n), in the single precision that libraries grow on."""
        codes = np.empty(X.shape, dtype=np.float32)
        for k, cuts in enumerate(self.thresholds):
            codes[:, k] = np.searchsorted(cuts, X[:, k], side="left")
        return np.asarray(codes)


def _thresholds(x: Real, w: Real, max_bins: int) -> Real:
    values, place = np.unique(x, return_inverse=True)
    if len(values) > max_bins:
        below = np.cumsum(np.bincount(place, w), dtype=np.float64)
        return _quantiles(values, below, np.arange(1, max_bins) / max_bins)
    return _between(values[:-1], values[1:])


def _between(low: Real, high: Real) -> Real:
    """Half-way between, and below ``high`` whatever rounding says."""
    middle = low / 2 + high / 2
    return np.asarray(np.where(middle < high, middle, low))


def _quantiles(values: Real, below: Real, levels: NDArray[Any]) -> Real:
    """Quantiles of weighted values; the mean of two neighbours where a level lies on a step."""
    wanted = levels * below[-1]
    low = np.searchsorted(below, wanted * (1 - 1e-12), side="left")
    high = np.searchsorted(below, wanted * (1 + 1e-12), side="right")
    high = np.minimum(high, len(values) - 1)
    return np.unique(np.where(low < high, _between(values[low], values[high]), values[low]))

"""One tree for ``leaf_solve="approximate"``: grown under V's diagonal, solved under V.

Splits are those of ordinary second-order boosting of sum_i V(i, i) r_i^2: one histogram of the
smaller part of each split, and no leaf changes another's gain. Then the values of all leaves are
solved together under V itself, D w = U (theory, eq. 5.1), so a full step still reaches the smallest
V-loss that these leaves allow, and any rate up to 1 lowers it. With a diagonal V the tree is the
exact one. Cost: a product with V, O(n N) histograms for each level, and Z'VZ (`leaf_gram`).

Splits on the gradient V r, with the bound V1 of theory, eq. 5.4, and the same joint values, were
tried on a few seeds. At 4000 rows they were worse with an additive V, in the V-loss and on the
target; with "blended" the two were close.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpotrf

from .._types import Codes, Real, Rows
from ..operators import VOperator
from ..operators.trees.leaf_gram import leaf_gram
from ..operators.trees.line_form import LineForm, line_form
from .cuts import best_cut, divide, moments_by_bin
from .nodes import NOISE, Growth, Nodes, Tree

_SPAN = 1e-10  # share of a leaf's column that must lie outside the span of the others


@dataclass
class _Leaf:
    """A range of rows, and the best way to split it."""

    rows: Rows  # a view of the order of all rows
    start: int
    depth: int
    node: int
    sums: Real | None = None  # moments by bin, while it may still be split
    gain: float = -1.0
    feature: int = -1
    bin: int = -1


class ApproximateGrower:
    """Grows trees on one sample: V, the rows' bins, and their weights (for leaf sizes)."""

    def __init__(self, V: VOperator, codes: Codes, n_bins: int, w: Real, growth: Growth) -> None:
        self._V, self._form = V, line_form(V)
        self._codes, self._B, self._growth = codes, n_bins, growth
        self._diagonal = _diagonal(V, self._form, w)
        self._moments = np.column_stack([np.zeros(len(w)), 2 * self._diagonal, w])
        self._enough = max(growth.min_samples_leaf * (1 - 1e-12), 1e-12 * float(w.sum()))

    def grow(self, g: Real) -> Tree:
        """Grow a tree for the residuals ``g`` = prediction - outcome (N,)."""
        self._moments[:, 0] = 2 * self._diagonal * g
        price = max(NOISE * float(g @ (self._diagonal * g)), self._growth.reg_leaves)
        order, nodes, most = np.arange(len(g)), Nodes(), self._growth.max_leaf_nodes
        leaves = [_Leaf(order, 0, 0, 0)]
        leaves[0].sums = moments_by_bin(self._codes, order, self._moments, self._B)
        self._look_at(leaves[0])
        while len(leaves) < most:
            best = max(range(len(leaves)), key=lambda place: leaves[place].gain)
            if not leaves[best].gain > price:
                break
            parts = self._split(leaves.pop(best), nodes)
            leaves += parts
            if len(leaves) < most:
                for part in parts:
                    self._look_at(part)
        ranges = np.array([(leaf.start, leaf.start + len(leaf.rows)) for leaf in leaves])
        place = np.empty(len(g), dtype=np.intp)
        for number, leaf in enumerate(leaves):
            place[leaf.rows] = number
        values = self._values(g, order, ranges, place)
        return nodes.tree(values, np.array([leaf.node for leaf in leaves]), place)

    def _look_at(self, leaf: _Leaf) -> None:
        deepest = self._growth.max_depth
        if leaf.sums is not None and (deepest is None or leaf.depth < deepest):
            found = best_cut(leaf.sums, self._growth.reg_lambda, self._enough)
            leaf.gain, leaf.feature, leaf.bin = found

    def _split(self, leaf: _Leaf, nodes: Nodes) -> list[_Leaf]:
        middle = divide(leaf.rows, self._codes, leaf.feature, leaf.bin)
        numbers = nodes.split(leaf.node, leaf.feature, leaf.bin, leaf.gain)
        starts, rows = (leaf.start, leaf.start + middle), (leaf.rows[:middle], leaf.rows[middle:])
        parts = [
            _Leaf(some, start, leaf.depth + 1, node)
            for some, start, node in zip(rows, starts, numbers, strict=True)
        ]
        small, large = sorted(parts, key=lambda part: len(part.rows))
        small.sums = moments_by_bin(self._codes, small.rows, self._moments, self._B)
        large.sums, leaf.sums = leaf.sums, None
        assert large.sums is not None
        large.sums -= small.sums
        return parts

    def _values(self, g: Real, order: Rows, ranges: Rows, place: Rows) -> Real:
        """Solve D w = U, D = 2 Z'VZ + lambda I and U = -2 Z'Vg."""
        Vg = np.asarray(self._V.matmat(g[:, None]))[:, 0]
        U = -2 * np.bincount(place, Vg, len(ranges)).astype(np.float64)
        D = 2 * leaf_gram(self._V, self._form, order, ranges)
        return _solve(D + self._growth.reg_lambda * np.eye(len(D)), U)


def _diagonal(V: VOperator, form: LineForm | None, w: Real) -> Real:
    """V(i, i) summed over the repeats of every row, (N,), or ``w`` where V has no `LineForm`.

    A row that counts w times has w^2 V(i, i) in V, as all pairs of its repeats meet there.
    """
    if form is None:
        return w
    paired = np.asarray(V.diagonal(), dtype=np.float64) - form.d
    return np.asarray(form.d + np.divide(paired, w, out=np.zeros(len(w)), where=w > 0))


def _solve(D: Real, U: Real) -> Real:
    """D^-1 U; what lies in the null space of D, such as leaves that V does not see, is left out."""
    size = np.sqrt(np.maximum(np.diag(D), 0))
    scale = np.divide(1, size, out=np.zeros(len(size)), where=size > 0)
    C = scale[:, None] * D * scale
    lower, failed = dpotrf(C, lower=1)
    if not failed and np.diag(lower).min() ** 2 > _SPAN:
        return np.asarray(scale * cho_solve((lower, True), scale * U))
    values, vectors = np.linalg.eigh(C)
    inside = values > _SPAN * max(values[-1], 0)
    along = vectors[:, inside].T @ (scale * U)
    return np.asarray(scale * (vectors[:, inside] @ (along / values[inside])))

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
from typing import Any

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpotrf
from scipy.sparse import csc_array

from ..numerics.array import Codes, Real, Rows
from ..numerics.parallel import Loop, has_numba, over_rows
from ..operators import VOperator
from ..operators.line_form import LineForm, line_form
from ..operators.tree_leaves import leaf_gram
from .ensemble import NOISE, Growth, Nodes, Tree
from .search import TIE

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


# Histograms of moments by bin, and the best cut in them: in NumPy, and as loops for numba.
#
# The moments of a row are three: the gradient and the second derivative of its loss, and its
# weight.


_CELLS = 1 << 17  # additions that make a second thread worth while


def moments_by_bin(codes: Codes, rows: Rows, moments: Real, B: int) -> Real:
    """Sum ``moments`` (N, 3) of some rows in every bin of every feature: (n, B, 3)."""
    n = codes.shape[1]
    if not has_numba():
        cells = (codes[rows] + B * np.arange(n)).ravel()
        entries = (np.ones(len(cells)), cells, np.arange(0, len(cells) + 1, n))
        member = csc_array(entries, shape=(n * B, len(rows)))
        return np.asarray(member @ moments[rows]).reshape(n, B, 3)
    sums = np.zeros((n, B, 3))

    def add(features: slice) -> None:
        add_moments(codes, rows, moments, sums, features.start, features.stop)

    over_rows(add, n, at_least=_CELLS // max(1, len(rows)) + 1)
    return sums


def best_cut(sums: Real, lam: float, enough: float) -> tuple[float, int, int]:
    """Return the largest gain of a split in two, its feature and its bin; of equal ones the first.

    The gain is half of G_1^2 / (H_1 + lam) + G_2^2 / (H_2 + lam) - G^2 / (H + lam); each part must
    have a weight of ``enough``. Without a split: -1, -1, -1.
    """
    if has_numba():
        gain, k, b = find_cut(sums, lam, enough)
        return float(gain), int(k), int(b)
    below = np.cumsum(sums, axis=1)
    whole = below[0, -1]
    above = whole - below
    allowed = (below[..., 2] >= enough) & (above[..., 2] >= enough)
    allowed &= (below[..., 1] + lam > 0) & (above[..., 1] + lam > 0)
    fall = np.zeros(allowed.shape)
    for part in (below[allowed], above[allowed]):
        fall[allowed] += part[:, 0] ** 2 / (part[:, 1] + lam)
    top = float(fall.max())
    least = float(whole[0] ** 2 / (whole[1] + lam)) if allowed.any() else 0.0
    if not top > least * (1 + TIE):
        return -1.0, -1, -1
    k, b = np.argwhere(fall >= top * (1 - TIE))[0]
    return float(fall[k, b] - least) / 2, int(k), int(b)


def divide(order: Rows, codes: Codes, k: int, b: int) -> int:
    """Put the rows up to bin ``b`` of feature ``k`` first, both parts in order; return how many."""
    if has_numba():
        return int(move(order, codes, k, b))
    low = codes[order, k] <= b
    first, last = order[low], order[~low]
    order[: len(first)], order[len(first) :] = first, last
    return len(first)


def _add_moments(codes: Any, rows: Any, moments: Any, sums: Any, first: int, last: int) -> None:
    """Add the moments of some rows to their bins, for features ``first`` to ``last``."""
    B, cells = sums.shape[1], sums.reshape(-1)
    for i in rows:
        gradient, hessian, weight = moments[i, 0], moments[i, 1], moments[i, 2]
        for k in range(first, last):
            cell = 3 * (np.uint32(k * B) + codes[i, k])
            cells[cell] += gradient
            cells[cell + 1] += hessian
            cells[cell + 2] += weight


def _find_cut(sums: Any, lam: float, enough: float) -> tuple[float, int, int]:
    n, B = sums.shape[:2]
    G = H = W = 0.0
    for b in range(B):
        G += sums[0, b, 0]
        H += sums[0, b, 1]
        W += sums[0, b, 2]
    if not H + lam > 0.0:
        return -1.0, -1, -1
    least = G * G / (H + lam)
    top, feature, place = least, -1, -1
    for k in range(n):
        g = h = w = 0.0
        for b in range(B):
            g += sums[k, b, 0]
            h += sums[k, b, 1]
            w += sums[k, b, 2]
            left, right = h + lam, H - h + lam
            if w >= enough and W - w >= enough and left > 0.0 and right > 0.0:
                fall = g * g / left + (G - g) * (G - g) / right
                if fall > top * (1.0 + TIE):
                    top, feature, place = fall, k, b
    if feature < 0:
        return -1.0, -1, -1
    return 0.5 * (top - least), feature, place


def _move(order: Any, codes: Any, k: int, b: int) -> int:
    rest = np.empty_like(order)
    front = back = 0
    for row in order:
        if codes[row, k] <= b:
            order[front] = row
            front += 1
        else:
            rest[back] = row
            back += 1
    for p in range(back):
        order[front + p] = rest[p]
    return front


add_moments, find_cut, move = Loop(_add_moments), Loop(_find_cut), Loop(_move)

"""One tree on the V-loss, grown best first with exact gains (theory, section 5).

All leaves are solved together, D w = U, and every split changes the gain of every candidate. Gains
are kept by a Schur complement: of a candidate's own square z'Vz a lower bound is enough, until its
leaf and feature come to the top; then it is computed. What is split is always the best of all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..operators import VOperator
from ..operators.prefixes import Codes, Real, Rows, nested, prefix_squares
from .candidates import TIE, Candidates, by_bin, sums_up_to

_NOISE = 1e-12  # of the loss: a gain below it is rounding
_MARGIN = 1e-12  # of z'Vz: taken off a lower bound, for its rounding
_KEPT_ROWS = 1 / 16  # of the sample: larger leaves keep their squares for the next trees
_KEPT = 4096  # curves of squares kept at most, 2 KB each


@dataclass(frozen=True)
class Growth:
    """How far a tree grows, and its penalties."""

    max_leaf_nodes: int
    max_depth: int | None
    min_samples_leaf: float
    reg_lambda: float
    reg_leaves: float


@dataclass
class Tree:
    """Nodes as arrays; a leaf has left = -1. Rows go left where their bin is at most ``bin``."""

    feature: NDArray[np.int32]
    bin: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: Real
    gain: Real
    leaf: Rows  # of every training row, the node where it ends


class Grower:
    """Grows trees on one sample: V, the rows' bins, and their weights (for leaf sizes)."""

    def __init__(self, V: VOperator, codes: Codes, n_bins: int, w: Real, growth: Growth) -> None:
        self.V, self.codes, self.B, self.w, self.growth = V, codes, n_bins, w, growth
        self.nested = nested(V, codes, n_bins)
        self.V1 = self.product(np.ones(len(w)))
        self.curves: dict[tuple[bytes, int], Real] = {}

    def grow(self, g: Real) -> Tree:
        """Grow a tree for the residuals ``g`` = prediction - outcome (N,)."""
        return _Growing(self, g).tree()

    def product(self, *columns: Real) -> Real:
        """V times some columns: (N,) for one, else (N, D)."""
        product = np.asarray(self.V.matmat(np.column_stack(columns)))
        return product[:, 0] if len(columns) == 1 else product

    def squares(self, rows: Rows, feature: int, box: bytes) -> Real:
        """z_b'Vz_b for the rows of a leaf up to each bin of a feature: (B,)."""
        kept = self.curves.get((box, feature))
        if kept is not None:
            return kept
        order, ends = by_bin(self.codes[:, feature], rows, self.B)
        squares = prefix_squares(self.V, order, ends, np.ones(len(rows)))
        if len(rows) >= _KEPT_ROWS * len(self.w) and len(self.curves) < _KEPT:
            self.curves[box, feature] = squares
        return squares


class _Growing:
    """A tree while it grows: T leaves, with D, its inverse, U and w in their order."""

    def __init__(self, grower: Grower, g: Real) -> None:
        self.of, growth = grower, grower.growth
        N, n = grower.codes.shape
        L = growth.max_leaf_nodes
        self.lam = growth.reg_lambda
        self.base = 4  # columns of `store` that are no directions
        per_split = 2 if self.lam > 0 else 1
        # By row: 1, w, Vr, (V z_l) of its own leaf, then the directions of all splits so far.
        self.store = np.empty((N, self.base + 1 + per_split * (L - 1)))
        self.signs = np.ones(1)
        Vg = grower.product(g)
        self.Vg, self.loss = Vg, float(g @ Vg)
        total = float(grower.V1.sum())
        self.D = np.array([[2 * total + self.lam]])
        self.U = np.array([-2 * Vg.sum()])
        self.order = np.arange(N)
        self.leaf = np.zeros(N, dtype=np.intp)  # of every row
        self.ranges = np.array([[0, N]])  # of every leaf in `order`
        self.depth, self.box = [0], [np.array([[0, grower.B - 1]] * n, dtype=np.int32)]
        self.node = [0]  # of every leaf
        self.nodes = [_Node()]
        self.candidates = Candidates(L, n, grower.B)
        self.open: list[int] = []
        if self.D[0, 0] > 0:
            self.inverse = 1 / self.D
            self.w = self.U / self.D[0]
            scale = self.D[0, 0] ** 0.5
            self.touched = np.ones((1, 1), dtype=bool)
            self.store[:, 0], self.store[:, 1] = 1, grower.w
            self.store[:, 2] = Vg + self.w[0] * grower.V1
            self.store[:, 3] = grower.V1
            self.store[:, 4] = 2 * grower.V1 / scale
            self._enter(0, lambda along: along[..., 0] / scale)

    def tree(self) -> Tree:
        growth = self.of.growth
        while len(self.node) < growth.max_leaf_nodes and self.open:
            leaf, feature = self._best()
            if leaf < 0:
                break
            self._split(leaf, feature)
        return self._finish()

    def _best(self) -> tuple[int, int]:
        """Return the leaf and feature of the largest gain, computed exactly wherever it matters."""
        state = self.candidates
        while True:
            gains = state.gain[self.open]
            top = float(gains.max())
            if not top > _NOISE * self.loss:
                return -1, -1
            # Of equal gains the first is taken, so that rounding does not choose.
            tied = gains >= (top if np.isinf(top) else top * (1 - TIE))
            known = state.exact[self.open]
            place, feature = np.argwhere(tied & ~known if (tied & ~known).any() else tied)[0]
            leaf, k = self.open[int(place)], int(feature)
            if state.exact[leaf, k]:
                return leaf, k
            start, stop = self.ranges[leaf]
            rows = self.order[start:stop]
            state.square[leaf, k] = self.of.squares(rows, k, self.box[leaf].tobytes())
            state.exact[leaf, k] = True
            self._rank([leaf], slice(k, k + 1))

    def _split(self, m: int, k: int) -> None:
        """Split leaf ``m`` at the best bin of feature ``k``: its right part keeps the number."""
        state, T, lam = self.candidates, len(self.node), self.lam
        b = int(state.bin[m, k])
        gain = float(state.gain[m, k])
        start, stop = self.ranges[m]
        rows = self.order[start:stop]
        left = self.of.codes[rows, k] <= b
        A, B = rows[left], rows[~left]
        self.order[start : start + len(A)], self.order[start + len(A) : stop] = A, B
        self.leaf[A] = T
        self._grow_nodes(m, k, b, gain, start + len(A))
        z = np.zeros(len(self.leaf))
        z[A] = 1
        Vz = self.of.product(z)
        sums: Real = np.bincount(self.leaf, Vz, T + 1).astype(np.float64)
        sums[m] += sums[T]
        c = 2 * sums[:T]  # 2 Z'Vz, of the leaves before the split
        square = 2 * float(state.square[m, k, b])
        beta, num = float(state.beta[m, k, b]), float(state.num[m, k, b])
        kappa, column = self.inverse[m, m], self.inverse[:, m].copy()
        tau = lam / (1 + lam * kappa)
        h = self.inverse @ c + tau * (1 - beta) * column
        s = square - c @ (self.inverse @ c) + tau * (1 - beta) ** 2
        theta = (num - tau * self.w[m] * (1 - beta)) / s
        self._border(m, c, square, -2 * float(self.Vg[A].sum()))
        w_m = self.w[m]
        self.w = np.append(self.w - tau * w_m * column - theta * h, 0.0)
        self.w[T] = self.w[m] + theta
        inverse = np.empty((T + 1, T + 1))
        inverse[:T, :T] = self.inverse - tau * np.outer(column, column) + np.outer(h, h) / s
        inverse[T, :T] = inverse[:T, T] = -h / s
        inverse[T, T] = 1 / s
        inverse[T] += inverse[m]
        inverse[:, T] += inverse[:, m]
        self.inverse = inverse
        if T + 1 == self.of.growth.max_leaf_nodes:
            return
        # The directions that every candidate is to be compared with.
        values = np.append(-h, 1 - h[m])
        if lam > 0:
            old = np.append(column, kappa)
            V12 = self.of.product(values[self.leaf], old[self.leaf])
            new = np.column_stack([2 * tau**0.5 * V12[:, 1], 2 * V12[:, 0] / s**0.5])
            signs = np.array([-1.0, 1.0])
        else:
            new = 2 * self.of.product(values[self.leaf])[:, None] / s**0.5
            signs = np.array([1.0])
        first = self.base + len(self.signs)
        last = first + len(signs)
        self.store[:, first:last] = new
        self.signs = np.append(self.signs, signs)
        step = -0.5 * np.array([*([tau**0.5 * w_m] if lam > 0 else []), -theta * s**0.5])
        self.store[:, 2] += new @ step
        self.store[A, 3], self.store[B, 3] = Vz[A], self.store[B, 3] - Vz[B]
        self.open.remove(m)
        self._follow(m, new, h, s, column, tau, w_m, theta)
        along_old = tau**0.5 / lam if lam > 0 else 0.0  # (D~^-1 c)_m by the first direction

        def beta_of(shift: float) -> Callable[[Real], Real]:
            def value(along: Real) -> Real:
                value: Real = shift / s**0.5 * along[..., -1]
                return value + along_old * along[..., -2] if lam > 0 else value

            return value

        self._enter(m, beta_of(-h[m]))
        self._enter(T, beta_of(1 - h[m]))

    def _follow(
        self,
        m: int,
        new: Real,
        h: Real,
        s: float,
        column: Real,
        tau: float,
        w_m: float,
        theta: float,
    ) -> None:
        """Let the candidates of all other leaves know of the new directions."""
        touched = np.zeros(len(self.node), dtype=bool)
        touched[self.leaf[new.any(axis=1)]] = True
        self.touched = np.vstack([self.touched, self.touched[m]])
        self.touched = np.column_stack([self.touched, *[touched] * new.shape[1]])
        others = np.array([leaf for leaf in self.open if touched[leaf]], dtype=np.intp)
        if len(others) == 0:
            return
        sums = sums_up_to(self.of.codes, self.order, self.ranges[others], new, self.of.B)
        steps = np.empty((len(others), new.shape[1], 3))
        steps[:, -1] = np.column_stack(
            [np.ones(len(others)), -h[others] / s**0.5, np.full(len(others), -theta * s**0.5)]
        )
        if self.lam > 0:
            steps[:, 0, 0] = -1
            steps[:, 0, 1] = -(tau**0.5) * column[others]
            steps[:, 0, 2] = tau**0.5 * w_m
        self.candidates.change(others, sums, steps)
        self._rank(others)

    def _enter(self, leaf: int, beta: Callable[[Real], Real]) -> None:
        """Make the candidates of a new leaf; ``beta`` tells theirs from sums along directions."""
        growth, state = self.of.growth, self.candidates
        start, stop = self.ranges[leaf]
        rows = self.order[start:stop]
        weight = float(self.of.w[rows].sum())
        enough = growth.min_samples_leaf * (1 - 1e-12)
        deep = growth.max_depth is not None and self.depth[leaf] >= growth.max_depth
        if deep or weight < 2 * enough or len(rows) < 2:
            return
        kept = np.append(np.ones(self.base, dtype=bool), self.touched[leaf])
        used = self.base + len(self.signs)
        if kept.all():
            codes, order, place = self.of.codes, self.order, self.ranges[leaf : leaf + 1]
            values = self.store[:, :used]
        else:  # most directions are zero here
            codes, order = self.of.codes[rows], np.arange(len(rows))
            place = np.array([[0, len(rows)]])
            values = self.store[np.ix_(rows, np.flatnonzero(kept))]
        sums = sums_up_to(codes, order, place, values, self.of.B)[0]
        count, below, own = sums[..., 0], sums[..., 1], sums[..., 3]
        state.enter(leaf, sums, self.base, self.signs[self.touched[leaf]])
        if self.lam > 0:
            state.beta[leaf] = beta(sums[..., self.base :])
        total = float(own[0, -1])  # z'Vz of the leaf
        state.allowed[leaf] = (below >= enough) & (weight - below >= enough)
        state.allowed[leaf] &= (count > 0) & (count < len(rows))
        if total > 0 and state.allowed[leaf].any():
            share = own / total
            spread = self.of.nested.spread(rows, np.ones(len(rows)), count, share)
            exact = self.of.nested.whole
            margin = 0.0 if exact else _MARGIN * total
            state.square[leaf] = share * own + spread - margin
            state.exact[leaf] = exact
            self.open.append(leaf)
            self._rank([leaf])

    def _rank(self, leaves: Any, features: slice = slice(None)) -> None:
        leaves = np.asarray(leaves, dtype=np.intp)
        kappa = self.inverse[leaves, leaves]
        tau = self.lam / (1 + self.lam * kappa)
        price = float(self.of.growth.reg_leaves)
        self.candidates.rank(leaves, tau, self.w[leaves], price, features)

    def _border(self, m: int, c: Real, square: float, u: float) -> None:
        """D and U of the new leaves, from those before and c = 2 Z'Vz of the new column."""
        T, lam = len(c), self.lam
        D = np.empty((T + 1, T + 1))
        D[:T, :T] = self.D
        D[T, :T] = D[:T, T] = c
        D[T, T] = square + lam
        D[m, T] = D[T, m] = c[m] - square
        rest = self.D[m] - c
        rest[m] = self.D[m, m] - 2 * c[m] + square
        D[m, :T] = D[:T, m] = rest
        self.D = D
        self.U = np.append(self.U, u)
        self.U[m] -= u

    def _grow_nodes(self, m: int, k: int, b: int, gain: float, middle: int) -> None:
        parent = self.nodes[self.node[m]]
        parent.feature, parent.bin, parent.gain = k, b, gain
        parent.left, parent.right = len(self.nodes), len(self.nodes) + 1
        self.nodes += [_Node(), _Node()]
        self.node[m] = parent.right
        self.node.append(parent.left)
        self.depth[m] += 1
        self.depth.append(self.depth[m])
        box = self.box[m].copy()
        box[k, 1] = b
        self.box[m][k, 0] = b + 1
        self.box.append(box)
        start, stop = self.ranges[m]
        self.ranges[m] = middle, stop
        self.ranges = np.vstack([self.ranges, [start, middle]])

    def _finish(self) -> Tree:
        w = _solve(self.D, self.U)
        for leaf, node in enumerate(self.node):
            self.nodes[node].value = float(w[leaf])
        return Tree(
            feature=np.array([node.feature for node in self.nodes], dtype=np.int32),
            bin=np.array([node.bin for node in self.nodes], dtype=np.int32),
            left=np.array([node.left for node in self.nodes], dtype=np.int32),
            right=np.array([node.right for node in self.nodes], dtype=np.int32),
            value=np.array([node.value for node in self.nodes]),
            gain=np.array([node.gain for node in self.nodes]),
            leaf=np.array(self.node, dtype=np.intp)[self.leaf],
        )


@dataclass
class _Node:
    feature: int = -1
    bin: int = 0
    left: int = -1
    right: int = -1
    value: float = 0.0
    gain: float = 0.0


def _solve(D: Real, U: Real) -> Real:
    """D^-1 U; where D has no inverse, the shortest solution."""
    try:
        return np.asarray(cho_solve(cho_factor(D), U))
    except LinAlgError:
        return np.asarray(np.linalg.lstsq(D, U, rcond=None)[0])

"""One tree on the V-loss, grown best first with exact gains (theory, section 5).

All leaves are solved together, D w = U, and every split changes the gain of every candidate. Gains
are kept by a Schur complement: of a candidate's own square z'Vz a lower bound is enough, until it
comes to the top; then it is computed. What is split is always the best of all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._compiled import has_numba
from ..operators import VOperator
from ..operators.images import ColumnImages, LineImages
from ..operators.lined import lined
from ..operators.prefixes import Codes, Real, Rows
from .candidates import Candidates
from .columns import Columns
from .partition import Partition
from .ranking import TIE
from .squares import Squares

_NOISE = 1e-12  # of the loss: a gain below it is rounding


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
        self.V, self.codes, self.B, self.growth = V, codes, n_bins, growth
        N, n = codes.shape
        form = lined(V)
        self.diagonal = form.d if form is not None and form.lines is None else None
        self.form = form if has_numba() and form is not None and form.lines is not None else None
        self.V1 = self.product(np.ones(N))
        # A split adds one direction, or two; see theory, section 5.2.
        splits = 0 if self.diagonal is not None else growth.max_leaf_nodes - 1
        directions = 0 if not splits else 1 + (2 if growth.reg_lambda > 0 else 1) * splits
        self.columns = Columns(w, form, directions)
        self.squares = Squares(V, self.form, codes, n_bins, self.columns)
        self.candidates = Candidates(growth.max_leaf_nodes, n, n_bins, self.columns)

    def grow(self, g: Real) -> Tree:
        """Grow a tree for the residuals ``g`` = prediction - outcome (N,)."""
        return _Growing(self, g).tree()

    def product(self, a: Real) -> Real:
        """V a: (N,)."""
        return np.asarray(self.V.matmat(a[:, None]))[:, 0]

    def images(self, parts: Partition) -> Any:
        """V times columns that are constant on leaves, of which there is one so far."""
        L = self.growth.max_leaf_nodes
        if self.form is not None and self.form.lines is not None:
            return LineImages(self.form, self.form.lines, parts, L)
        return ColumnImages(self.product, self.V1, L)


class _Growing:
    """A tree while it grows: T leaves, and D^-1 = A diag(signs) A' (theory, section 5.2)."""

    def __init__(self, grower: Grower, g: Real) -> None:
        self.of, self.lam = grower, grower.growth.reg_lambda
        n, L = grower.codes.shape[1], grower.growth.max_leaf_nodes
        self.columns, self.candidates = grower.columns, grower.candidates
        self.Vg = grower.product(g)
        self.loss = float(g @ self.Vg)
        self.parts = Partition(grower.codes, grower.form, L)
        self.depth = [0]
        self.box = [np.array([[0, grower.B - 1]] * n, dtype=np.int32)]
        self.node = [0]  # of every leaf
        self.nodes = _Nodes()
        # Vr = Vg + sum of steps / 2 times directions
        self.A, self.signs, self.steps = np.zeros((1, 0)), np.zeros(0), np.zeros(0)
        self.w = np.zeros(1)
        self.open: list[int] = []
        D = 2 * float(grower.V1.sum()) + self.lam
        if D <= 0:
            return
        self.A, self.signs = np.array([[D**-0.5]]), np.ones(1)
        self.w = np.array([-2 * self.Vg.sum() / D])
        self.steps = self.w * D**0.5
        self.columns.store[self.columns.gradient] = self.Vg
        if grower.diagonal is None:
            self.images = grower.images(self.parts)
            self.columns.store[self.columns.base] = 2 * D**-0.5 * grower.V1
        self.candidates.start(self.parts, self._used)
        self._enter(0)

    def tree(self) -> Tree:
        while len(self.node) < self.of.growth.max_leaf_nodes and self.open:
            leaf, feature = self._best()
            if leaf < 0:
                break
            self._split(leaf, feature)
        return self._finish()

    @property
    def _used(self) -> int:
        """Columns in use."""
        if self.of.diagonal is not None:
            return len(self.columns.store)
        return self.columns.base + len(self.signs)

    def _best(self) -> tuple[int, int]:
        """Return the leaf and feature of the largest gain, computed exactly wherever it matters."""
        state, noise = self.candidates, _NOISE * self.loss
        if self.of.form is not None:
            price, terms = self.of.growth.reg_leaves, self._terms(self.open)
            bins = self.images.totals
            return self.of.squares.search(state, *terms, price, noise, self.parts, bins)
        while True:
            gains, known = state.gain[self.open], state.known[self.open]
            top = float(gains.max())
            if not top > noise:
                return -1, -1
            # Of equal gains the first is taken, so that rounding does not choose.
            tied = gains >= (top if np.isinf(top) else top * (1 - TIE))
            unknown = tied & ~known
            place, feature = np.argwhere(unknown if unknown.any() else tied)[0]
            leaf, k = self.open[int(place)], int(feature)
            if state.known[leaf, k]:
                return leaf, k
            self.of.squares.make_exact(state, leaf, k, self.parts)
            self._rank([leaf], slice(k, k + 1))

    def _split(self, m: int, k: int) -> None:
        """Split leaf ``m`` at the best bin of feature ``k``: its right part keeps the number."""
        state, T = self.candidates, len(self.node)
        b, known = int(state.bin[m, k]), self._used
        square, num = float(state.square[m, k, b]), float(state.num[m, k, b])
        self.of.squares.keep(state, m, self.parts.size(m), self.box[m].tobytes())
        self._part(m, k, b, float(state.gain[m, k]))
        self.open.remove(m)
        last = T + 1 == self.of.growth.max_leaf_nodes
        if self.of.diagonal is not None:
            self._solve_alone(m)
        else:
            along = state.along(m, k, b, self.parts.rows(T), known)
            changes = self._solve(m, square, num, along)
            self.images.split(m, self.parts)
            if not last:
                self._follow(*changes)
        if not last:
            state.divide(m, T, self.parts, known, self._used)
            self._enter(m)
            self._enter(T)

    def _solve(self, m: int, square: float, num: float, y: Real) -> tuple[Real, Real, Real]:
        """Bring A and w up to date with the new leaf; return new directions, signs and steps.

        ``square``, ``num`` and ``y``, the sums 2 z_A'V Z a along the directions, are those of z_A.
        """
        T, w_m, tau = len(self.w), float(self.w[m]), self._terms([m])[1][0]
        Dc = self.A @ (self.signs * y)  # D^-1 c
        beta = float(Dc[m])
        column = self.A @ (self.signs * self.A[m])  # D^-1 e_m
        h = Dc + tau * (1 - beta) * column
        s = 2 * square - float(self.signs @ y**2) + tau * (1 - beta) ** 2
        theta = (num - tau * w_m * (1 - beta)) / s
        self.w = np.append(self.w - tau * w_m * column - theta * h, 0.0)
        self.w[T] = self.w[m] + theta
        directions = [np.append(-h, 1 - h[m]) / s**0.5]
        signs, steps = [1.0], [theta * s**0.5]
        if self.lam > 0:
            directions.insert(0, tau**0.5 * np.append(column, column[m]))
            signs.insert(0, -1.0)
            steps.insert(0, -(tau**0.5) * w_m)
        self.A = np.column_stack([np.vstack([self.A, self.A[m]]), *directions])
        self.signs, self.steps = np.append(self.signs, signs), np.append(self.steps, steps)
        return np.array(directions), np.array(signs), np.array(steps)

    def _follow(self, directions: Real, signs: Real, steps: Real) -> None:
        """Keep the new directions of all rows, and let the candidates of other leaves know."""
        columns = range(self._used - len(signs), self._used)
        for column, values in zip(columns, directions, strict=True):
            self.images.of(2 * values, self.parts.leaf, self.columns.store[column])
        if not self.open:
            return
        others, tau, w = self._terms(self.open)
        changes = np.zeros((len(others), len(signs), 3))
        changes[:, :, 0], changes[:, :, 2] = signs, -steps
        if self.lam > 0:
            changes[:, :, 1] = (signs[:, None] * directions[:, others]).T
        price = self.of.growth.reg_leaves
        self.candidates.follow(others, self.parts, columns, changes, tau, w, price)

    def _solve_alone(self, m: int) -> None:
        """V is diagonal: leaves do not meet, and A is diagonal too."""
        T, d = len(self.w), self.of.diagonal
        assert d is not None
        A = np.zeros((T + 1, T + 1))
        A[:T, :T] = self.A
        self.A, self.w, self.signs = A, np.append(self.w, 0.0), np.ones(T + 1)
        for leaf in (m, T):
            rows = self.parts.rows(leaf)
            D = 2 * float(d[rows].sum()) + self.lam
            A[leaf, leaf] = D**-0.5
            self.w[leaf] = -2 * self.Vg[rows].sum() / D

    def _enter(self, leaf: int) -> None:
        """Make the candidates of a new leaf."""
        growth, state = self.of.growth, self.candidates
        deep = growth.max_depth is not None and self.depth[leaf] >= growth.max_depth
        if deep or self.parts.size(leaf) < 2:
            return
        enough = growth.min_samples_leaf * (1 - 1e-12)
        if self.of.diagonal is None:
            for_beta = self.signs * self.A[leaf] if self.lam > 0 else self.signs[:0]
            terms = (self.signs, for_beta, self.steps)
        else:  # the leaf's own direction is 2 A_ll times the diagonal
            inverse = self.A[leaf, leaf] ** 2
            terms = (np.array([4 * inverse]), np.array([2 * inverse]), 2 * self.w[[leaf]])
        if not state.enter(leaf, *terms, self.lam, enough):
            return
        if not state.own[leaf, 0, -1] > 0:  # z'Vz of the leaf
            return
        if self.of.diagonal is None:
            bins = None if self.of.form is None else self.images.totals[leaf]
            self.of.squares.bound(state, leaf, self.parts, bins, self.box[leaf].tobytes())
        else:
            state.set_squares(leaf, state.own[leaf], exact=True)
        self.open.append(leaf)
        self._rank([leaf])

    def _terms(self, leaves: list[int]) -> tuple[Rows, Real, Real]:
        """Leaves, with tau and w of each."""
        some = np.array(leaves, dtype=np.intp)
        if self.lam == 0:
            return some, np.zeros(len(some)), self.w[some]
        tau = self.lam / (1 + self.lam * (self.A[some] ** 2 @ self.signs))
        return some, tau, self.w[some]

    def _rank(self, leaves: list[int], features: slice | None = None) -> None:
        features = slice(0, self.of.codes.shape[1]) if features is None else features
        self.candidates.rank(*self._terms(leaves), self.of.growth.reg_leaves, features)

    def _part(self, m: int, k: int, b: int, gain: float) -> None:
        """Move the rows of leaf ``m`` up to bin ``b`` of feature ``k`` to a new leaf."""
        self.parts.split(m, k, b, len(self.node))
        left_node, self.node[m] = self.nodes.split(self.node[m], k, b, gain)
        self.node.append(left_node)
        self.depth[m] += 1
        self.depth.append(self.depth[m])
        box = self.box[m].copy()
        box[k, 1] = b
        self.box[m][k, 0] = b + 1
        self.box.append(box)

    def _finish(self) -> Tree:
        """Correct w by D^-1 (U - D w), what rounding has left, and lay out the nodes."""
        T, rows_leaf = len(self.node), self.parts.leaf
        for leaf in self.open:
            size = self.parts.size(leaf)
            self.of.squares.keep(self.candidates, leaf, size, self.box[leaf].tobytes())
        if self.of.diagonal is None and self.A.shape[1]:
            fit = np.empty(len(rows_leaf))
            self.images.of(self.w, rows_leaf, fit)
            left = -2 * np.bincount(rows_leaf, self.Vg + fit, T) - self.lam * self.w
            self.w = self.w + self.A @ (self.signs * (self.A.T @ left))
        return self.nodes.tree(self.w, np.array(self.node, dtype=np.intp), rows_leaf)


@dataclass
class _Nodes:
    feature: list[int] = field(default_factory=lambda: [-1])
    bin: list[int] = field(default_factory=lambda: [0])
    left: list[int] = field(default_factory=lambda: [-1])
    right: list[int] = field(default_factory=lambda: [-1])
    gain: list[float] = field(default_factory=lambda: [0.0])

    def split(self, node: int, k: int, b: int, gain: float) -> tuple[int, int]:
        """Give a node two children, and return them."""
        left = len(self.feature)
        self.feature[node], self.bin[node], self.gain[node] = k, b, gain
        self.left[node], self.right[node] = left, left + 1
        for values, nothing in ((self.feature, -1), (self.bin, 0), (self.left, -1)):
            values += [nothing, nothing]
        self.right += [-1, -1]
        self.gain += [0.0, 0.0]
        return left, left + 1

    def tree(self, w: Real, nodes: Rows, leaf: Rows) -> Tree:
        """Lay out the tree, with the values of its leaves, which are ``nodes`` (T,)."""
        value = np.zeros(len(self.feature))
        value[nodes] = w
        feature, bins, left, right = (
            np.array(values, dtype=np.int32)
            for values in (self.feature, self.bin, self.left, self.right)
        )
        return Tree(feature, bins, left, right, value, np.array(self.gain), nodes[leaf])

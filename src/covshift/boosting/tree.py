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
from .._parallel import over_rows
from ..operators import VOperator
from ..operators.images import ColumnImages, LineImages
from ..operators.lined import lined
from ..operators.prefixes import Codes, Real, Rows
from .candidates import BASE, Candidates
from .loops import move_own, partition, record, sum_rows
from .ranking import TIE
from .squares import Squares

_NOISE = 1e-12  # of the loss: a gain below it is rounding
_ROWS = 20_000  # rows a thread takes at least


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
        N, n = codes.shape
        form = lined(V)
        self.diagonal = form.d if form is not None and form.lines is None else None
        self.form = form if has_numba() and form is not None and form.lines is not None else None
        self.squares = Squares(V, self.form, codes, n_bins)
        self.V1 = self.product(np.ones(N))
        self.every = np.arange(N)
        # Of every row: 1, w, Vr, V z_l of its own leaf, then the directions of all splits so far.
        splits = 0 if self.diagonal is not None else growth.max_leaf_nodes - 1
        columns = BASE + 1 + (2 if growth.reg_lambda > 0 else 1) * splits
        self.store = np.empty((N, columns))
        self.store[:, 0], self.store[:, 1] = 1, w
        self.candidates = Candidates(growth.max_leaf_nodes, n, n_bins)

    def grow(self, g: Real) -> Tree:
        """Grow a tree for the residuals ``g`` = prediction - outcome (N,)."""
        return _Growing(self, g).tree()

    def product(self, a: Real) -> Real:
        """V a: (N,)."""
        return np.asarray(self.V.matmat(a[:, None]))[:, 0]

    def images(self) -> Any:
        """V times columns that are constant on leaves, of which there is one so far."""
        L = self.growth.max_leaf_nodes
        if self.form is not None and self.form.lines is not None:
            return LineImages(self.form, self.form.lines, self.every, L)
        return ColumnImages(self.product, self.V1, L)


class _Growing:
    """A tree while it grows: T leaves, and D^-1 = A diag(signs) A' (theory, section 5.2)."""

    def __init__(self, grower: Grower, g: Real) -> None:
        self.of, self.lam = grower, grower.growth.reg_lambda
        N, n = grower.codes.shape
        L = grower.growth.max_leaf_nodes
        self.store, self.candidates = grower.store, grower.candidates
        self.Vg = grower.product(g)
        self.loss = float(g @ self.Vg)
        self.order = grower.every.copy()
        self.leaf = np.zeros(N, dtype=np.intp)  # of every row
        self.ranges = np.zeros((L, 2), dtype=np.intp)  # of every leaf in `order`
        self.ranges[0] = 0, N
        self.depth = [0]
        self.box = [np.array([[0, grower.B - 1]] * n, dtype=np.int32)]
        self.node = [0]  # of every leaf
        self.nodes = _Nodes()
        self.A, self.signs, self.w = np.zeros((1, 0)), np.zeros(0), np.zeros(1)
        self.open: list[int] = []
        D = 2 * float(grower.V1.sum()) + self.lam
        if D <= 0:
            return
        self.A, self.signs = np.array([[D**-0.5]]), np.ones(1)
        self.w = np.array([-2 * self.Vg.sum() / D])
        self.store[:, 2] = self.Vg + self.w[0] * grower.V1
        self.store[:, 3] = grower.V1
        if grower.diagonal is None:
            self.images = grower.images()
            self.store[:, BASE] = 2 * D**-0.5 * grower.V1
        self._enter(0)

    def tree(self) -> Tree:
        while len(self.node) < self.of.growth.max_leaf_nodes and self.open:
            leaf, feature = self._best()
            if leaf < 0:
                break
            self._split(leaf, feature)
        return self._finish()

    def _rows(self, leaf: int) -> Rows:
        return self.order[self.ranges[leaf, 0] : self.ranges[leaf, 1]]

    def _best(self) -> tuple[int, int]:
        """Return the leaf and feature of the largest gain, computed exactly wherever it matters."""
        state, noise = self.candidates, _NOISE * self.loss
        if self.of.form is not None:
            leaves, tau, w = self._terms(self.open)
            price = self.of.growth.reg_leaves
            places = (self.order, self.ranges)
            return self.of.squares.search(state, leaves, tau, w, price, noise, *places)
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
            self.of.squares.make_exact(state, leaf, k, self._rows(leaf))
            self._rank([leaf], slice(k, k + 1))

    def _tau(self, leaf: int) -> float:
        kappa = float(self.A[leaf] ** 2 @ self.signs)
        return self.lam / (1 + self.lam * kappa)

    def _split(self, m: int, k: int) -> None:
        """Split leaf ``m`` at the best bin of feature ``k``: its right part keeps the number."""
        state, T = self.candidates, len(self.node)
        b, square = int(state.bin[m, k]), float(state.square[m, k, state.bin[m, k]])
        before, tau = self._rows(m).copy(), self._tau(m)
        self.of.squares.keep(state, m, before, self.box[m].tobytes())
        self._part(m, k, b, float(state.gain[m, k]))
        self.open.remove(m)
        sums = self._sums(self._rows(T))
        if self.of.diagonal is not None:
            self._solve_alone(m, sums)
        else:
            self._solve(m, tau, square, sums, before)
        if T + 1 < self.of.growth.max_leaf_nodes:
            self._enter(m)
            self._enter(T)

    def _sums(self, rows: Rows) -> Real:
        """Sums of the used columns of the store over some rows: (BASE + directions,)."""
        used = BASE + (0 if self.of.diagonal is not None else len(self.signs))
        if not has_numba():
            return np.asarray(self.store[rows, :used].sum(axis=0))
        sums = np.zeros(used)
        sum_rows(self.store, rows, sums)
        return sums

    def _solve(self, m: int, tau: float, square: float, sums: Real, before: Rows) -> None:
        """Bring A, w and Vr up to date with the new leaf, and the candidates elsewhere.

        ``sums`` are those of z_A: along a direction, 2 z_A'V Z a; ``before`` the rows of m before.
        """
        T, y, w_m = len(self.w), sums[BASE:], float(self.w[m])
        Dc = self.A @ (self.signs * y)  # D^-1 c
        beta = float(Dc[m])
        column = self.A @ (self.signs * self.A[m])  # D^-1 e_m
        h = Dc + tau * (1 - beta) * column
        s = 2 * square - float(self.signs @ y**2) + tau * (1 - beta) ** 2
        theta = (-2 * float(sums[2]) - tau * w_m * (1 - beta)) / s
        self.w = np.append(self.w - tau * w_m * column - theta * h, 0.0)
        self.w[T] = self.w[m] + theta
        directions = [np.append(-h, 1 - h[m]) / s**0.5]
        signs, steps = [1.0], [theta * s**0.5]
        if self.lam > 0:
            directions.insert(0, tau**0.5 * np.append(column, column[m]))
            signs.insert(0, -1.0)
            steps.insert(0, -(tau**0.5) * w_m)
        first = BASE + len(self.signs)
        self.A = np.column_stack([np.vstack([self.A, self.A[m]]), *directions])
        self.signs = np.append(self.signs, signs)
        self.images.split(m, self._rows(T))
        if T + 1 == self.of.growth.max_leaf_nodes:
            return
        own = np.empty(len(self.leaf))
        self.images.of_newest(self.leaf, before, own)
        A, B = self._rows(T), self._rows(m)
        if has_numba():
            move_own(self.store, own, A, B)
        else:
            self.store[A, 3] = own[A]
            self.store[B, 3] -= own[B]
        new = np.empty((len(signs), len(self.leaf)))
        for d, (values, step) in enumerate(zip(directions, steps, strict=True)):
            self.images.of(2 * values, self.leaf, self.order, new[d])
            self._record(new[d], first + d, 0.5 * step)
        self._follow(new, signs, directions, steps)

    def _record(self, y: Real, column: int, step: float) -> None:
        def keep(rows: slice) -> None:
            if has_numba():
                record(self.store, column, y, step, rows.start, rows.stop)
            else:
                self.store[rows, column] = y[rows]
                self.store[rows, 2] += step * y[rows]

        over_rows(keep, len(y), at_least=_ROWS)

    def _follow(
        self, new: Real, signs: list[float], directions: list[Real], steps: list[float]
    ) -> None:
        """Let the candidates of all other leaves know of the new directions."""
        if not self.open:
            return
        others = np.array(self.open, dtype=np.intp)
        changes = np.empty((len(others), len(new), 3))
        for d, (sign, values, step) in enumerate(zip(signs, directions, steps, strict=True)):
            changes[:, d, 0] = sign
            changes[:, d, 1] = sign * values[others] if self.lam > 0 else 0.0
            changes[:, d, 2] = -step
        self.candidates.follow(others, self.of.codes, self.order, self.ranges, new, changes)
        self._rank(self.open)

    def _solve_alone(self, m: int, sums: Real) -> None:
        """V is diagonal: leaves do not meet, and A is diagonal too."""
        T, d = len(self.w), self.of.diagonal
        assert d is not None
        rows = self._rows(m)
        D_m = 2 * float(d[rows].sum()) + self.lam
        D_T = 2 * float(sums[3]) + self.lam
        parts = [(m, rows, D_m), (T, self._rows(T), D_T)]
        self.w, self.signs = np.append(self.w, 0.0), np.ones(T + 1)
        A = np.zeros((T + 1, T + 1))
        A[:T, :T] = self.A
        for leaf, some, D in parts:
            A[leaf, leaf] = D**-0.5
            self.w[leaf] = -2 * self.Vg[some].sum() / D
            self.store[some, 2] = self.Vg[some] + self.w[leaf] * d[some]
        self.A = A

    def _enter(self, leaf: int) -> None:
        """Make the candidates of a new leaf."""
        growth, state, lam = self.of.growth, self.candidates, self.lam
        rows = self._rows(leaf)
        enough = growth.min_samples_leaf * (1 - 1e-12)
        deep = growth.max_depth is not None and self.depth[leaf] >= growth.max_depth
        if deep or len(rows) < 2:
            return
        alone = self.of.diagonal is not None
        signs = self.signs[:0] if alone else self.signs
        for_beta = self.signs * self.A[leaf] if lam > 0 and not alone else signs[:0]
        if not state.enter(leaf, self.of.codes, rows, self.store, signs, for_beta, enough):
            return
        own = state.own[leaf]
        if not own[0, -1] > 0:  # z'Vz of the leaf
            return
        if alone:  # c has one entry that is not zero, 2 own
            kappa = float(self.A[leaf, leaf]) ** 2
            state.alpha[leaf] = 4 * kappa * own**2
            state.beta[leaf] = 2 * kappa * own
            state.set_squares(leaf, own, exact=True)
        else:
            self.of.squares.bound(state, leaf, rows, self.box[leaf].tobytes())
        self.open.append(leaf)
        self._rank([leaf])

    def _terms(self, leaves: list[int]) -> tuple[Rows, Real, Real]:
        """Leaves, with tau and w of each."""
        some = np.array(leaves, dtype=np.intp)
        tau = self.lam / (1 + self.lam * (self.A[some] ** 2 @ self.signs))
        return some, tau, self.w[some]

    def _rank(self, leaves: list[int], features: slice | None = None) -> None:
        features = slice(0, self.of.codes.shape[1]) if features is None else features
        self.candidates.rank(*self._terms(leaves), self.of.growth.reg_leaves, features)

    def _part(self, m: int, k: int, b: int, gain: float) -> None:
        """Move the rows of leaf ``m`` up to bin ``b`` of feature ``k`` to a new leaf."""
        T, (start, stop) = len(self.node), self.ranges[m]
        code = self.of.codes[:, k]
        if has_numba():
            middle = partition(code, b, self.order, start, stop, self.leaf, T)
        else:
            rows = self.order[start:stop].copy()
            left = code[rows] <= b
            middle = start + int(left.sum())
            self.order[start:middle], self.order[middle:stop] = rows[left], rows[~left]
            self.leaf[rows[left]] = T
        self.ranges[m], self.ranges[T] = (middle, stop), (start, middle)
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
        T = len(self.node)
        for leaf in self.open:
            self.of.squares.keep(self.candidates, leaf, self._rows(leaf), self.box[leaf].tobytes())
        if self.of.diagonal is None and self.A.shape[1]:
            fit = np.empty(len(self.leaf))
            self.images.of(self.w, self.leaf, self.order, fit)
            left = -2 * np.bincount(self.leaf, self.Vg + fit, T) - self.lam * self.w
            self.w = self.w + self.A @ (self.signs * (self.A.T @ left))
        return self.nodes.tree(self.w, np.array(self.node, dtype=np.intp), self.leaf)


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

"""One tree on the V-loss, grown best first with exact gains (theory, section 5).

All leaves are solved together, D w = U, and every split changes the gain of every candidate. Gains
are kept by a Schur complement: of a candidate's own square z'Vz a lower bound is enough, until it
comes to the top; then it is computed. What is split is always the best of all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._compiled import has_numba
from .._types import Codes, Real, Rows
from ..operators import VOperator
from ..operators.trees.leaf_products import ColumnLeafProducts, LineLeafProducts
from ..operators.trees.line_form import line_form
from .candidates import Candidates
from .columns import Columns
from .nodes import NOISE, Growth, Nodes, Tree
from .partition import Partition
from .ranking import TIE
from .solution import Solution
from .squares import Squares


class Grower:
    """Grows trees on one sample: V, the rows' bins, and their weights (for leaf sizes)."""

    def __init__(self, V: VOperator, codes: Codes, n_bins: int, w: Real, growth: Growth) -> None:
        self.V, self.codes, self.B, self.growth = V, codes, n_bins, growth
        N, n = codes.shape
        form = line_form(V)
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
            return LineLeafProducts(self.form, self.form.lines, parts, L)
        return ColumnLeafProducts(self.product, self.V1, L)


class _Growing:
    """A tree while it grows."""

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
        self.nodes = Nodes()
        self.solution = Solution(L, self.lam, float(grower.V1.sum()), float(self.Vg.sum()))
        self.open: list[int] = []
        if not self.solution.n_directions:  # V does not see the rows
            return
        self.columns.store[self.columns.gradient] = self.Vg
        if grower.diagonal is None:
            self.images = grower.images(self.parts)
            self.columns.store[self.columns.base] = 2 * self.solution.A[0, 0] * grower.V1
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
        return self.columns.base + self.solution.n_directions

    def _best(self) -> tuple[int, int]:
        """Return the leaf and feature of the largest gain, computed exactly wherever it matters."""
        state, noise = self.candidates, NOISE * self.loss
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
        new = slice(0, 0)
        if self.of.diagonal is not None:
            self._solve_alone(m)
        else:
            along = state.along(m, k, b, self.parts.rows(T), known)
            new = self.solution.split(m, square, num, along)
            self.images.split(m, self.parts)
        if not last:
            self._read(new)
            large = state.divide(m, T, self.parts, known, self._used)
            self._follow(new, large)
            self._enter(m, T)

    def _read(self, new: slice) -> None:
        """Keep new directions of all rows."""
        for d in range(new.start, new.stop):
            values = 2 * self.solution.A[: self.solution.n_leaves, d]
            self.images.of(values, self.parts.leaf, self.columns.store[self.columns.base + d])

    def _follow(self, new: slice, large: int) -> None:
        """Let the candidates of other leaves know of new directions, and the larger new one."""
        if not new.stop:
            return
        known, base, price = self.solution, self.columns.base, self.of.growth.reg_leaves
        leaves, tau, w = self._terms([*self.open, large])
        changes = np.zeros((len(leaves), new.stop - new.start, 3))
        changes[:-1, :, 0], changes[:-1, :, 2] = known.signs[new], -known.steps[new]
        if self.lam > 0:
            changes[:-1, :, 1] = known.signs[new] * known.A[leaves[:-1], new]
        columns = range(base + new.start, base + new.stop)
        self.candidates.follow(leaves, self.parts, columns, changes, tau, w, price)

    def _solve_alone(self, m: int) -> None:
        """V is diagonal: leaves do not meet, and each is solved by itself."""
        d = self.of.diagonal
        assert d is not None
        for leaf in (m, len(self.node) - 1):
            rows = self.parts.rows(leaf)
            self.solution.set_alone(leaf, float(d[rows].sum()), float(self.Vg[rows].sum()))

    def _enter(self, *leaves: int) -> None:
        """Make the candidates of new leaves."""
        before = len(self.open)
        for leaf in leaves:
            if self._has_candidates(leaf):
                self.open.append(leaf)
        if self.open[before:]:
            self._rank(self.open[before:])

    def _has_candidates(self, leaf: int) -> bool:
        growth, state, known = self.of.growth, self.candidates, self.solution
        deep = growth.max_depth is not None and self.depth[leaf] >= growth.max_depth
        if deep or self.parts.size(leaf) < 2:
            return False
        enough = growth.min_samples_leaf * (1 - 1e-12)
        if self.of.diagonal is None:
            signs, steps = (values[: known.n_directions] for values in (known.signs, known.steps))
            for_beta = signs * known.A[leaf, : len(signs)] if self.lam > 0 else signs[:0]
        else:  # the leaf's own direction is 2 A_ll times the diagonal
            inverse = known.A[leaf, leaf] ** 2
            signs, for_beta = np.array([4 * inverse]), np.array([2 * inverse])
            steps = 2 * known.w[[leaf]]
        if not state.enter(leaf, signs, for_beta, steps, self.lam, enough):
            return False
        if not state.own[leaf, 0, -1] > 0:  # z'Vz of the leaf
            return False
        if self.of.diagonal is None:
            bins = None if self.of.form is None else self.images.totals[leaf]
            self.of.squares.bound(state, leaf, self.parts, bins, self.box[leaf].tobytes())
        else:
            state.set_squares(leaf, state.own[leaf], exact=True)
        return True

    def _terms(self, leaves: list[int]) -> tuple[Rows, Real, Real]:
        """Leaves, with tau and w of each."""
        some = np.array(leaves, dtype=np.intp)
        return some, self.solution.tau(some), self.solution.w[some]

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
        known = self.solution
        if self.of.diagonal is None and known.n_directions:
            fit = np.empty(len(rows_leaf))
            self.images.of(known.w[:T], rows_leaf, fit)
            known.correct(np.asarray(np.bincount(rows_leaf, self.Vg + fit, T), dtype=np.float64))
        return self.nodes.tree(known.w[:T], np.array(self.node, dtype=np.intp), rows_leaf)

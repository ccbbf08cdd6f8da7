"""One tree on the V-loss, grown best first with exact gains (theory, section 5).

All leaves are solved together, D w = U, and every split changes the gain of every candidate. Gains
are kept by a Schur complement: of a candidate's own square z'Vz a lower bound is enough, until it
comes to the top; then it is computed. What is split is always the best of all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.array import Codes, Real, Rows
from ..numerics.parallel import Loop, has_numba, over_rows
from ..operators import VOperator
from ..operators.base import blocks
from ..operators.line_form import LineForm, line_form, nested, prefix_squares
from ..operators.tree_bins import NestedLines
from ..operators.tree_leaves import ColumnLeafProducts, LineLeafProducts
from .candidates import Candidates, Columns, Partition
from .ensemble import NOISE, Growth, Nodes, Tree
from .search import MARGIN, TIE, search


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


# The joint solution of all leaves, D w = U, while leaves are split (theory, section 5.2).


class Solution:
    """Leaf values ``w`` (T,), and D^-1 = A diag(signs) A' by ``n_directions`` columns of A.

    The residuals are r = g + Zw; by the ``steps`` of the directions, 2Vr = 2Vg + sum of steps times
    2V Z a. All arrays are as long as they can become.
    """

    def __init__(self, L: int, lam: float, V_sum: float, Vg_sum: float) -> None:
        most = 1 + (2 if lam > 0 else 1) * (L - 1)
        self.lam, self.n_leaves, self.n_directions = lam, 1, 0
        self.A, self.w = np.zeros((L, max(most, L))), np.zeros(L)
        self.signs, self.steps = np.ones(self.A.shape[1]), np.zeros(self.A.shape[1])
        if 2 * V_sum + lam > 0:
            self.set_alone(0, V_sum, Vg_sum)
            self.steps[0] = self.w[0] / self.A[0, 0]

    def tau(self, leaves: Rows) -> Real:
        """Lambda over 1 + lambda (D^-1)_ll, of some leaves."""
        if self.lam == 0:
            return np.zeros(len(leaves))
        D = self.n_directions
        inverse = self.A[leaves, :D] ** 2 @ self.signs[:D]
        return np.asarray(self.lam / (1 + self.lam * inverse))

    def set_alone(self, leaf: int, V_sum: float, Vg_sum: float) -> None:
        """Solve a leaf that meets no other one: the first, or any under a diagonal V."""
        inverse = 1 / (2 * V_sum + self.lam)
        self.A[leaf, leaf], self.w[leaf] = inverse**0.5, -2 * Vg_sum * inverse
        self.n_leaves = self.n_directions = max(self.n_leaves, leaf + 1)

    def split(self, m: int, square: float, num: float, y: Real) -> slice:
        """Split leaf ``m`` by z, which becomes a new leaf; return the places of new directions.

        ``square``, ``num`` and ``y``, the sums 2 z'V Z a along the directions, are those of z.
        """
        T, D = self.n_leaves, self.n_directions
        A, signs, w = self.A[:T, :D], self.signs[:D], self.w[:T]
        h = A @ (signs * y)  # D^-1 c
        s, step = 2 * square - float(signs @ y**2), num
        self.A[T, :D] = A[m]
        new = D
        if self.lam > 0:
            column = A @ (signs * A[m])  # D^-1 e_m
            tau, w_m = self.lam / (1 + self.lam * float(column[m])), float(w[m])
            rest = tau * (1 - float(h[m]))
            s += rest * (1 - float(h[m]))
            step -= rest * w_m
            h += rest * column
            w -= tau * w_m * column
            self.A[:T, D] = tau**0.5 * column
            self.A[T, D] = self.A[m, D]
            self.signs[D], self.steps[D] = -1.0, -(tau**0.5) * w_m
            new = D + 1
        theta = step / s
        w -= theta * h
        self.w[T] = w[m] + theta
        self.A[:T, new] = -h / s**0.5
        self.A[T, new] = (1 - h[m]) / s**0.5
        self.signs[new], self.steps[new] = 1.0, theta * s**0.5
        self.n_leaves, self.n_directions = T + 1, new + 1
        return slice(D, new + 1)

    def correct(self, Vr_sums: Real) -> None:
        """Correct w by D^-1 (U - D w), what rounding has left, from the sums of Vr over leaves."""
        T, D = self.n_leaves, self.n_directions
        A, signs, w = self.A[:T, :D], self.signs[:D], self.w[:T]
        w += A @ (signs * (A.T @ (-2 * Vr_sums - self.lam * w)))


# Squares z'Vz of candidates, from below and exactly, as far as the best split needs them.


_KEPT_ROWS = 1 / 16  # of the sample: larger leaves keep their squares for the next trees
_KEPT_BYTES = 32 << 20


class Squares:
    """Bounds the squares of a leaf from below, and makes them exact where that is asked for.

    Where V has the form of `LineForm`, bin by bin, in `search`; elsewhere a feature at a time.
    """

    def __init__(
        self, V: VOperator, form: LineForm | None, codes: Codes, n_bins: int, columns: Columns
    ) -> None:
        self._V, self._form, self._codes, self._B = V, form, codes, n_bins
        self._columns = columns
        self._lines = None
        if form is not None and form.lines is not None:
            self._lines = NestedLines(form.lines, codes, n_bins)
            self._sketch = Sketch(form, ~self._lines.growing, n_bins)
        else:
            self._nested = nested(V, codes, n_bins)
        self._kept: dict[bytes, tuple[NDArray[Any], ...]] = {}
        self._most = _KEPT_BYTES // (17 * n_bins * codes.shape[1])

    def bound(
        self, state: Candidates, leaf: int, parts: Partition, bins: Real | None, box: bytes
    ) -> None:
        """Bound the squares of a new leaf (theory, eq. 5.9), or recall them from earlier trees.

        ``bins`` are its totals in the bins of the views, where V is of the form of `LineForm`.
        """
        kept = self._kept.get(box)
        if kept is not None:
            state.square[leaf], state.exact[leaf], state.level[leaf], state.alone[leaf] = kept
            return
        own = state.own[leaf]
        total = own[0, -1]
        share = own / total
        if self._lines is not None and bins is not None:
            exact, spread = self._lines.whole, self._spread(state, leaf, parts, bins, share)
        else:
            exact, rows = self._nested.whole, parts.rows(leaf)
            spread = self._nested.split_squares(
                rows, np.ones(len(rows)), state.sums(leaf, 0), share
            )
        margin = 0.0 if exact else MARGIN * total
        state.set_squares(leaf, share * own + spread - margin, exact=exact)

    def _spread(
        self, state: Candidates, leaf: int, parts: Partition, bins: Real, share: Real
    ) -> Real:
        assert self._form is not None
        assert self._lines is not None
        spread = np.zeros_like(share)
        self._lines.add_spread(bins, state.sums(leaf, self._columns.u), share, spread)
        spread *= self._form.scale
        self._sketch.add_squares(parts, leaf, share, spread)
        if self._columns.d is not None:
            state.alone[leaf] = d = state.sums(leaf, self._columns.d)
            spread += (1 - 2 * share) * d + share**2 * d[:, -1:]
        return spread

    def keep(self, state: Candidates, leaf: int, size: int, box: bytes) -> None:
        """Keep what is known of a large leaf for the next trees."""
        room = len(self._kept) < self._most or box in self._kept
        if room and size >= _KEPT_ROWS * len(self._codes):
            known = (state.square, state.exact, state.level, state.alone)
            self._kept[box] = tuple(values[leaf].copy() for values in known)

    def make_exact(self, state: Candidates, leaf: int, k: int, parts: Partition) -> None:
        """Compute the squares of all bins of a feature."""
        code = parts.codes[slice(*parts.ranges[leaf]), k]
        order = parts.rows(leaf)[np.argsort(code, kind="stable")]
        ends = np.cumsum(np.bincount(code, minlength=self._B))
        curve = prefix_squares(self._V, order, ends, np.ones(len(order)))
        allowed = np.isfinite(state.square[leaf, k])
        state.square[leaf, k] = np.where(allowed, curve, np.inf)
        state.exact[leaf, k] = True

    def search(
        self,
        state: Candidates,
        leaves: Rows,
        tau: Real,
        w: Real,
        cost: float,
        noise: float,
        parts: Partition,
        bins: Real,
    ) -> tuple[int, int]:
        """Find the best leaf and feature, compiled, for V of the form of `LineForm`."""
        form = self._form
        assert form is not None
        assert form.lines is not None
        leaf, feature = search(
            leaves,
            tau,
            w,
            cost,
            noise,
            state.ranked,
            state.level,
            *(state.alone, parts.codes, parts.ranges, parts.views, parts.u),
            *(form.single, form.lines.symmetric, bins, form.lines.offsets),
        )
        return int(leaf), int(feature)


# A few linear forms of every candidate, whose squares bound z'Vz from below (theory, 5.2).
#
# They are those of `LineForm.forms`, a few for every view, summed over the rows of a leaf up to
# every bin of every feature. Compiled, as `search` is, which needs them.


_ROWS = 1000  # rows a thread takes at least
_BYTES = 32 << 20  # of sums that a thread holds


class Sketch:
    """Bounds squares by the forms of views: of those that a feature has ``elsewhere`` (n, G)."""

    def __init__(self, form: LineForm, elsewhere: NDArray[np.bool_], B: int) -> None:
        assert form.lines is not None
        self._offsets, self._table = form.lines.offsets, form.forms()
        self._elsewhere, self._B = elsewhere, B

    def add_squares(self, parts: Partition, leaf: int, share: Real, out: Real) -> None:
        """Add the squares of the forms of z_b - share z, z being a leaf, to ``out`` (n, B)."""
        n, G = self._elsewhere.shape
        forms = G * self._table.shape[1]
        for some in blocks(n, max(1, _BYTES // (8 * self._B * forms))):
            self._add_some(parts, leaf, some, forms, share, out)

    def _add_some(
        self, parts: Partition, leaf: int, features: slice, forms: int, share: Real, out: Real
    ) -> None:
        found: dict[int, Real] = {}
        start, codes = parts.ranges[leaf, 0], parts.codes[:, features]

        def add(rows: slice) -> None:
            found[rows.start] = np.zeros((codes.shape[1], self._B, forms))
            places = (parts.views, parts.u, codes, start + rows.start, start + rows.stop)
            add_forms(*places, self._offsets, self._table, found[rows.start])

        over_rows(add, parts.size(leaf), at_least=_ROWS)
        first, *others = (found[part] for part in sorted(found))
        for other in others:
            first += other
        add_squares(first, self._elsewhere[features], share[features], out[features])


def _add_forms(
    views: Any, u: Any, codes: Any, start: int, stop: int, offsets: Any, table: Any, sums: Any
) -> None:
    """Add the forms of the rows at some positions to their bins: ``sums`` (n, B, G K)."""
    G, K = views.shape[1], table.shape[1]
    forms = np.empty(G * K)
    for p in range(start, stop):
        value = u[p] if len(u) else 1.0
        for g in range(G):
            cell = offsets[g] + views[p, g]
            for i in range(K):
                forms[g * K + i] = value * table[cell, i]
        for k in range(codes.shape[1]):
            here = sums[k, codes[p, k]]
            for f in range(len(forms)):
                here[f] += forms[f]


def _add_squares(sums: Any, elsewhere: Any, share: Any, out: Any) -> None:
    """Sum up to every bin, in place, and add the squares of the forms that count."""
    n, B, size = sums.shape
    K = size // elsewhere.shape[1]
    counts = np.empty(size)
    for k in range(n):
        for f in range(size):
            counts[f] = 1.0 if elsewhere[k, f // K] else 0.0
        for b in range(1, B):
            for f in range(size):
                sums[k, b, f] += sums[k, b - 1, f]
        whole = sums[k, B - 1]
        for b in range(B):
            square = 0.0
            for f in range(size):
                rest = sums[k, b, f] - share[k, b] * whole[f]
                square += counts[f] * rest * rest
            out[k, b] += square


add_forms, add_squares = Loop(_add_forms), Loop(_add_squares)

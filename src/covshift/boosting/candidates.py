"""The candidates of all leaves: one for every leaf, feature and bin, kept up to date by sums.

What a candidate z (the rows of its leaf up to a bin) must know, with D of the present leaves, r the
residuals after the joint solution, and l its own leaf (theory, eqs. 5.6 to 5.9):

    alpha = c'D^-1 c,  beta = (D^-1 c)_l,  num = -2 z'Vr,  own = z'V z_l,  square = z'Vz,

c = 2 Z'Vz. All but the last follow from sums of columns over the rows of z: of 1, the weights, Vg,
and the directions of all splits so far. The sums of a leaf are kept, so that of two parts only the
smaller one is added up, and the other one is what is left. Loops for numba are in `loops`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from ..numerics.array import Codes, Real, Rows
from ..numerics.parallel import Loop, has_numba, over_rows, thread_count
from ..operators.line_form import LineForm
from .search import SPAN, TIE, add_up, derive, follow, rank

_CELLS = 1 << 17  # additions that make a second thread worth while
_KEPT_BYTES = 128 << 20  # of sums; with more, both parts of a leaf are added up


class Candidates:
    """State of the candidates of up to ``L`` leaves with ``n`` features and ``B`` bins."""

    def __init__(self, L: int, n: int, B: int, columns: Columns) -> None:
        shape, C = (L, n, B), len(columns.store)
        self._columns = columns
        self._keeps = 8 * L * C * n * B <= _KEPT_BYTES
        self._sums = np.zeros((L if self._keeps else 2, C, n, B))
        self._slot = np.zeros(L, dtype=np.intp)  # of every leaf in the sums, -1 if not kept
        self.alpha, self.beta, self.num = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.own = np.zeros(shape)
        self.alone = np.zeros(shape)  # the diagonal's part of the square, where it is known
        self.square = np.zeros(shape)  # exact, or a lower bound; infinite where not allowed
        self.exact = np.zeros(shape, dtype=bool)
        # Of a leaf and feature: the first bin that is allowed, and the one after the last.
        self.low, self.high = np.zeros((L, n), dtype=np.intp), np.zeros((L, n), dtype=np.intp)
        self.gain = np.full((L, n), -np.inf)  # the largest of a feature, or an upper bound of it
        self.bin = np.zeros((L, n), dtype=np.intp)
        self.known = np.zeros((L, n), dtype=bool)  # whether that gain is exact
        self.level = np.zeros((L, n), dtype=np.intp)  # how often squares were looked at

    def sums(self, leaf: int, columns: int | slice) -> Real:
        """Sums of columns over a leaf up to every bin, until the next split: (..., n, B)."""
        return np.asarray(self._sums[self._slot[leaf], columns])

    def along(self, leaf: int, k: int, b: int, rows: Rows, used: int) -> Real:
        """Sums of the directions over the candidate of a leaf whose ``rows`` are given."""
        columns = slice(self._columns.base, used)
        if self._keeps:
            return self._sums[self._slot[leaf], columns, k, b].copy()
        return np.asarray(self._columns.store[columns, rows].sum(axis=1))

    def start(self, parts: Partition, used: int) -> None:
        """Add up the first ``used`` columns over the root."""
        self._slot[0] = 0
        self._add_up(0, parts, used)

    def divide(self, m: int, new: int, parts: Partition, known: int, used: int) -> int:
        """Add up the columns of two leaves that were one, ``m``, with ``known`` columns.

        Returns the larger one, whose new columns are still to come, by `follow`.
        """
        small, large = (new, m) if parts.size(new) <= parts.size(m) else (m, new)
        before, fresh = (self._slot[m], new) if self._keeps else (1, 0)
        if not self._keeps:
            self._slot[:] = -1
        self._slot[small], self._slot[large] = fresh, before
        self._add_up(small, parts, used)
        if self._keeps:
            self._sums[before, :known] -= self._sums[fresh, :known]
        else:
            self._add_up(large, parts, known)
        return large

    def _add_up(self, leaf: int, parts: Partition, used: int) -> None:
        out, store = self._sums[self._slot[leaf]], self._columns.store
        if not has_numba():
            out[:used] = _sums_up_to(parts, leaf, store[:used], out.shape[2])
            return

        def add(columns: slice) -> None:
            ends = (columns.start, columns.stop)
            add_up(parts.codes, parts.order, *parts.ranges[leaf], store, out, *ends)

        additions = out.shape[1] * parts.size(leaf)
        over_rows(add, used, at_least=max(4, _CELLS // additions))

    def enter(
        self, leaf: int, signs: Real, for_beta: Real, steps: Real, lam: float, enough: float
    ) -> bool:
        """Make the candidates of a leaf from its sums, and return whether there are any.

        alpha adds up the squares along the directions by their ``signs``, beta the sums themselves
        by ``for_beta``, which may be empty, and num falls by ``steps``. Candidates of weight below
        ``enough``, or with no more rows than the bin before, are ruled out.
        """
        self.level[leaf] = 0
        sums, columns = self._sums[self._slot[leaf]], self._columns
        if has_numba():
            places = np.array([0, columns.gradient, columns.weight, columns.base])
            parts = (self.num, self.own, self.alpha, self.beta, self.exact, self.low, self.high)
            outputs = [part[leaf] for part in parts]
            derive(sums, places, signs, for_beta, steps, lam, enough, *outputs)
        else:
            along = sums[columns.base : columns.base + len(signs)]
            self.num[leaf] = -2 * sums[columns.gradient] - np.tensordot(steps, along, 1)
            self.alpha[leaf] = np.tensordot(signs, along**2, 1)
            self.own[leaf] = np.tensordot(signs * along[:, 0, -1], along, 1)
            if len(for_beta):
                self.beta[leaf] = np.tensordot(for_beta, along, 1)
                self.own[leaf] += lam * self.beta[leaf]
            self.own[leaf] /= 2
            self._allow(leaf, sums[columns.weight], np.rint(sums[0]), enough)
        return bool((self.low[leaf] < self.high[leaf]).any())

    def _allow(self, leaf: int, below: Real, count: Real, enough: float) -> None:
        more = np.diff(count, axis=1, prepend=0) > 0
        allowed = (below >= enough) & (below[:, -1:] - below >= enough) & more
        allowed &= count < count[:, -1:]
        self.exact[leaf] = ~allowed
        self.low[leaf] = allowed.argmax(axis=1)
        last = allowed.shape[1] - allowed[:, ::-1].argmax(axis=1)
        self.high[leaf] = np.where(allowed.any(axis=1), last, self.low[leaf])

    def set_squares(self, leaf: int, square: Real, *, exact: bool) -> None:
        """Set z'Vz, or lower bounds, of a leaf (n, B)."""
        self.square[leaf] = np.where(self.exact[leaf], np.inf, square)
        self.exact[leaf] |= exact

    def follow(
        self,
        leaves: Rows,
        parts: Partition,
        columns: range,
        steps: Real,
        tau: Real,
        w: Real,
        cost: float,
    ) -> None:
        """Follow a split along new directions, in ``columns``, by ``steps`` (leaves, p, 3)."""
        n, B = self.own.shape[1:]
        store = self._columns.store
        if has_numba():
            sizes = parts.ranges[leaves, 1] - parts.ranges[leaves, 0]
            dealt = np.argsort(-sizes, kind="stable")  # by size to threads in turn
            threads = thread_count()
            dealt = np.concatenate([dealt[start::threads] for start in range(threads)])

            def add(some: slice) -> None:
                mine = dealt[some]
                follow(
                    leaves[mine],
                    parts.codes,
                    parts.order,
                    parts.ranges,
                    store,
                    np.array([columns.start, columns.stop]),
                    self._sums,
                    self._slot,
                    steps[mine],
                    *(tau[mine], w[mine], cost),
                    self.ranked,
                )

            additions = n * len(columns) * int((sizes + B).sum())
            over_rows(add, len(leaves), at_least=_CELLS * len(leaves) // additions + 1)
            return
        for leaf, step in zip(leaves, steps, strict=True):
            along = _sums_up_to(parts, leaf, store[columns.start : columns.stop], B)
            if self._slot[leaf] >= 0:
                self._sums[self._slot[leaf], columns.start : columns.stop] = along
            for y, (sign, for_beta, for_num) in zip(along, step, strict=True):
                self.alpha[leaf] += sign * y**2
                self.beta[leaf] += for_beta * y
                self.num[leaf] += for_num * y
        self.rank(leaves, tau, w, cost, slice(0, n))

    def rank(self, leaves: Rows, tau: Real, w: Real, cost: float, features: slice) -> None:
        """Find the best bin of some features in some leaves: gains, or upper bounds of gains.

        ``tau`` (L,) is lambda / (1 + lambda (D^-1)_ll), ``w`` (L,) the present leaf values.
        """
        if has_numba():
            rank(leaves, tau, w, cost, self.ranked, features.start, features.stop)
            return
        for leaf, t, value in zip(leaves, tau, w, strict=True):
            for k in range(features.start, features.stop):
                self._rank_one(leaf, k, t, value, cost)

    @property
    def ranked(self) -> tuple[NDArray[Any], ...]:
        """What ranking reads, and then what it writes."""
        state = (self.alpha, self.beta, self.num, self.square, self.exact, self.low, self.high)
        return (*state, self.gain, self.bin, self.known)

    def _rank_one(self, leaf: int, k: int, tau: float, w: float, cost: float) -> None:
        low, high = self.low[leaf, k], self.high[leaf, k]
        self.gain[leaf, k], self.known[leaf, k] = -np.inf, True
        if low == high:
            return
        gains = self.gains(leaf, k, tau, w, cost)
        top = gains.max()
        tied = gains >= (top if np.isinf(top) else top - TIE * abs(top))
        best = int(tied.argmax())
        self.gain[leaf, k], self.bin[leaf, k] = gains[best], low + best
        self.known[leaf, k] = self.exact[leaf, k, low:high][tied].all()

    def gains(self, leaf: int, k: int, tau: float, w: float, cost: float) -> Real:
        """Gains, or bounds, of the bins from ``low`` to ``high`` of a feature (theory, eq. 5.7)."""
        bins = slice(self.low[leaf, k], self.high[leaf, k])
        rest = tau * (1 - self.beta[leaf, k, bins])
        norm = 2 * self.square[leaf, k, bins]
        s = norm - self.alpha[leaf, k, bins] + rest * (1 - self.beta[leaf, k, bins])
        y = self.num[leaf, k, bins] - rest * w
        gains = np.where(self.exact[leaf, k, bins], -np.inf, np.inf)
        np.divide(0.5 * y**2, s, out=gains, where=s > SPAN * norm)
        return np.asarray(gains - (0.5 * tau * w**2 + cost))


def _sums_up_to(parts: Partition, leaf: int, values: Real, B: int) -> Real:
    """Sum ``values`` (C, N) over the rows of a leaf, up to each bin of each feature: (C, n, B)."""
    codes = parts.codes[slice(*parts.ranges[leaf])]
    n = codes.shape[1]
    cells = (codes + B * np.arange(n)).ravel()
    entries = (np.ones(len(cells)), cells, np.arange(0, len(cells) + 1, n))
    member = csc_array(entries, shape=(n * B, len(codes)))
    sums: Real = (member @ values[:, parts.rows(leaf)].T).reshape(n, B, len(values))
    return np.moveaxis(np.cumsum(sums, axis=1, out=sums), 2, 0)


# The columns that trees add up over rows: fixed ones, and the directions of the splits so far.


class Columns:
    """``store`` (C, N): 1 and Vg, then what is added up of every V, then directions.

    That is the weights of the rows, and u and d of a V that is a `LineForm`. A column of ones is
    the first again, one of zeros is None. If V is diagonal, its diagonal takes the place of a
    direction, and there are no others.
    """

    gradient = 1

    def __init__(self, w: Real, form: LineForm | None, n_directions: int) -> None:
        ones = np.ones(len(w))
        fixed = [ones, ones]  # the second is Vg, of every tree

        def place(values: Real) -> int:
            if (values == 1).all():
                return 0
            fixed.append(values)
            return len(fixed) - 1

        self.weight = place(w)
        alone = form is not None and form.lines is None
        self.u = 0 if form is None or alone else place(form.u)
        self.d = None if form is None or not form.d.any() else place(form.d)
        self.base = self.d or 0 if alone else len(fixed)
        self.store = np.empty((len(fixed) + n_directions, len(w)))
        self.store[: len(fixed)] = fixed


# The training rows by leaf: a leaf is a range of positions, and rows move when it is split.


class Partition:
    """Position p holds row ``order[p]`` and its bins ``codes[p]`` (n,); ``ranges`` are the leaves'.

    Bins move with their rows, so that sums over a leaf read them one after another. Where V is
    a `LineForm`, so do their bins in its views, ``views[p]`` (G,), and ``u`` unless it is 1.
    """

    def __init__(self, codes: Codes, form: LineForm | None, L: int) -> None:
        N = len(codes)
        self.codes, self.order = np.array(codes, order="C"), np.arange(N)
        lines = None if form is None else form.lines
        self.views = codes[:, :0] if lines is None else np.array(lines.codes, order="C")
        self.u = np.array(form.weights) if form is not None and lines is not None else np.zeros(0)
        self.leaf = np.zeros(N, dtype=np.intp)  # of every row
        self.ranges = np.zeros((L, 2), dtype=np.intp)
        self.ranges[0] = 0, N
        self._moved = (self.order, self.codes, self.views, self.u)
        self._rest = tuple(np.empty_like(values) for values in self._moved)

    def rows(self, leaf: int) -> Rows:
        """Rows of a leaf, from the first to the last."""
        return self.order[self.ranges[leaf, 0] : self.ranges[leaf, 1]]

    def size(self, leaf: int) -> int:
        return int(self.ranges[leaf, 1] - self.ranges[leaf, 0])

    def split(self, m: int, k: int, b: int, new: int) -> None:
        """Move the rows of leaf ``m`` up to bin ``b`` of feature ``k`` to leaf ``new``."""
        start, stop = self.ranges[m]
        if has_numba():
            middle = partition(k, b, start, stop, self.leaf, new, *self._moved, *self._rest)
        else:
            here = slice(start, stop)
            left = self.codes[here, k] <= b
            places = np.concatenate([np.flatnonzero(left), np.flatnonzero(~left)])
            for values in self._moved:
                if len(values):
                    values[here] = values[here][places]
            middle = start + int(left.sum())
            self.leaf[self.order[start:middle]] = new
        self.ranges[m], self.ranges[new] = (middle, stop), (start, middle)


def _partition(
    k: int,
    b: int,
    start: int,
    stop: int,
    leaf: Any,
    new: int,
    order: Any,
    codes: Any,
    views: Any,
    u: Any,
    rest: Any,
    rest_codes: Any,
    rest_views: Any,
    rest_u: Any,
) -> int:
    """Move the rows up to bin ``b`` to the front, both parts in order; they are leaf ``new``.

    Written out: a common function for both ways takes half as long again, and arrays that are
    copied by slices take numba six seconds to compile.
    """
    front, back = start, 0
    for p in range(start, stop):
        if codes[p, k] <= b:
            order[front] = order[p]
            leaf[order[p]] = new
            for j in range(codes.shape[1]):
                codes[front, j] = codes[p, j]
            for j in range(views.shape[1]):
                views[front, j] = views[p, j]
            if len(u):
                u[front] = u[p]
            front += 1
        else:
            rest[back] = order[p]
            for j in range(codes.shape[1]):
                rest_codes[back, j] = codes[p, j]
            for j in range(views.shape[1]):
                rest_views[back, j] = views[p, j]
            if len(u):
                rest_u[back] = u[p]
            back += 1
    for p in range(back):
        order[front + p] = rest[p]
        for j in range(codes.shape[1]):
            codes[front + p, j] = rest_codes[p, j]
        for j in range(views.shape[1]):
            views[front + p, j] = rest_views[p, j]
        if len(u):
            u[front + p] = rest_u[p]
    return front


partition = Loop(_partition)

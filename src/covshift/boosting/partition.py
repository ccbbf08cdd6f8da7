"""The training rows by leaf: a leaf is a range of positions, and rows move when it is split."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._compiled import Loop, has_numba
from .._types import Codes, Rows
from ..operators.trees.line_form import LineForm


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

"""One-dimensional views: R for one vector at a time, by sums into bins.

Every row keeps one code a view, the number of the target's thresholds below it. A product
K v = R'R v is then, view by view, a sum into bins, a prefix sum, a suffix sum and a look-up:
O(G (N + M)) for G views, no N x M array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from ..._types import Flags, Real
from .dual_newton import Groups

_MOST_BINS = 128  # of a view, in the preconditioner
_MOST_ROWS = 1024  # of R, in the preconditioner
WORTH_MERGING = 8  # times as many thresholds as wanted, and they are worth merging

TAILS = 1 / 6
"""Factor of phi = 1 / (F (1 - F)): the mean of F (1 - F) phi is then that of phi = 1."""


class LineTarget:
    """The target side of views that map every point to a number.

    ``project`` yields a point set's (rows,) values in each view.
    """

    def __init__(self, project: Callable[[Real], Iterable[Real]], steps: list[Steps]) -> None:
        self.project, self._steps = project, steps
        self.F = np.concatenate([np.sqrt(step.weights) * step.below for step in steps])
        trace = sum(float(step.weights @ step.below) for step in steps)
        self.spread = max(trace - float(self.F @ self.F), 0.0)

    @classmethod
    def of(
        cls,
        project: Callable[[Real], Iterable[Real]],
        T: Real,
        share: Real,
        *,
        even_tails: bool = False,
    ) -> LineTarget:
        """Sort the target T (M, n) in each view."""
        steps = [Steps.of(t, share, even_tails=even_tails) for t in project(T)]
        return cls(project, [replace(step, weights=step.weights / len(steps)) for step in steps])

    def rows(self, X: Real) -> LineRows:
        """R for the rows X (N, n)."""
        values = zip(self._steps, self.project(X), strict=True)
        return LineRows(self._steps, [step.codes(x) for step, x in values])

    @property
    def steps(self) -> list[Steps]:
        """The thresholds of each view."""
        return self._steps

    def groups(self, size: int) -> tuple[Groups, list[NDArray[np.intp]], list[Steps]]:
        """Merge the thresholds of each view to at most ``size``.

        Return which rows of R become one, and for each view the table of new codes and the merged
        thresholds.
        """
        merged = [step.merged(size) for step in self._steps]
        group, share, start = [], [], 0
        for step, (coarse, _) in zip(self._steps, merged, strict=True):
            place = step.group_of(size)
            group.append(place + start)
            share.append(np.sqrt(step.weights / coarse.weights[place]))
            start += len(coarse.weights)
        groups = Groups(np.concatenate(group), np.concatenate(share), start)
        return groups, [table for _, table in merged], [step for step, _ in merged]

    def coarse(self, size: int) -> LineTarget | None:
        """Merge the thresholds of each view to at most ``size``; None where that saves little."""
        if max(len(step.weights) for step in self._steps) < WORTH_MERGING * size:
            return None
        return LineTarget(self.project, [step.merged(size)[0] for step in self._steps])


@dataclass(frozen=True)
class Steps:
    """Thresholds of one view, sorted and distinct; the weight of each, and F there."""

    thresholds: Real  # (U,)
    weights: Real  # (U,)
    below: Real  # (U,): the target's distribution function

    @classmethod
    def of(cls, t: Real, share: Real, *, even_tails: bool) -> Steps:
        """Sort one view of the target, and add the shares of equal values; zeros are dropped."""
        t, share = t[share > 0], share[share > 0]
        if share.min() == share.max():
            t = np.sort(t)
        else:
            order = np.argsort(t, kind="stable")
            t, share = t[order], share[order]
        first = np.flatnonzero(np.concatenate([[True], t[1:] != t[:-1]]))
        weights = np.add.reduceat(share, first)
        below = np.cumsum(weights)
        if even_tails:
            up_to, above = 2 * below - weights, 2 * np.cumsum(weights[::-1])[::-1] - weights
            weights = TAILS * 2 * (weights / up_to + weights / above)
        return cls(t[first], weights, below)

    def codes(self, x: Real) -> NDArray[Any]:
        """Number of thresholds below each x; ties count as dominated (t >= x)."""
        U = len(self.thresholds)
        if len(x) < 1 << 16:
            return self.thresholds.searchsorted(x).astype(np.min_scalar_type(U))
        order = np.argsort(x)  # sorted queries find their neighbours in the cache
        codes = np.empty(len(x), np.min_scalar_type(U))
        codes[order] = self.thresholds.searchsorted(x[order])
        return codes

    def merged(self, size: int) -> tuple[Steps, NDArray[np.intp]]:
        """Merge neighbours to at most ``size`` thresholds of about equal weight.

        Also return the code that each old code becomes.
        """
        U = len(self.thresholds)
        if size >= U:
            return self, np.arange(U + 1)
        first = np.flatnonzero(np.diff(self.group_of(size), prepend=-1))
        last = np.append(first[1:], U) - 1
        chosen = (first + last) // 2
        weights = np.add.reduceat(self.weights, first)
        merged = Steps(self.thresholds[chosen], weights, self.below[chosen])
        return merged, np.searchsorted(chosen, np.arange(U + 1))

    def group_of(self, size: int) -> NDArray[np.intp]:
        """Number the groups of neighbours of about equal weight: (U,), without gaps."""
        U = len(self.thresholds)
        if size >= U:
            return np.arange(U)
        middle = np.cumsum(self.weights) - self.weights / 2
        group = np.minimum((middle * (size / self.weights.sum())).astype(np.intp), size - 1)
        return np.cumsum(np.diff(group, prepend=group[0]) > 0)


class LineRows:
    """R of one-dimensional views: for each, its thresholds in order."""

    def __init__(self, steps: list[Steps], codes: list[NDArray[Any]]) -> None:
        self._steps, self._codes = steps, codes
        ends = np.cumsum([0, *(len(step.weights) for step in steps)])
        self._ranges = [slice(*pair) for pair in pairwise(ends)]
        self._coarse: tuple[int, LineRows] | None = None

    def matvec(self, v: Real) -> Real:
        z = np.empty(self._ranges[-1].stop)
        for step, code, part in self._views():
            z[part] = np.sqrt(step.weights) * self._prefix(code, v, part)
        return z

    def rmatvec(self, z: Real) -> Real:
        total = np.zeros(len(self._codes[0]))
        for step, code, part in self._views():
            total += _suffix(np.sqrt(step.weights) * z[part]).take(code)
        return total

    def product(self, v: Real) -> Real:
        total = np.zeros(len(v))
        for step, code, part in self._views():
            total += _suffix(step.weights * self._prefix(code, v, part)).take(code)
        return total

    def gram(self) -> Real:
        """Within a view the rows seen are nested: K(i, j) = sum over views of min(u_i, u_j)."""
        N = len(self._codes[0])
        K = np.zeros((N, N))
        for step, code, _ in self._views():
            u = _suffix(step.weights).take(code)
            K += np.minimum(u[:, None], u)
        return K

    def preconditioner(self, free: Flags, reg: float) -> Callable[[Real], Real] | None:
        """K is replaced by that of a few thresholds: S'S + reg I, inverted by Woodbury's formula.

        The part of K that B thresholds a view miss has eigenvalues up to N / (G pi^2 B^2).
        """
        G = len(self._steps)
        needed = int(np.ceil(np.sqrt(4 * len(free) / (G * np.pi**2 * reg))))
        size = min(needed, _MOST_BINS, _MOST_ROWS // G)
        if min(needed, size) < 2:
            return None
        if self._coarse is None or not size <= self._coarse[0] <= 2 * size:
            self._coarse = (size, self._merged(size))
        S = self._coarse[1]
        cross = S.cross(free)
        cross[np.diag_indices_from(cross)] += reg
        factor = cho_factor(cross, lower=True, overwrite_a=True, check_finite=False)

        def apply(r: Real) -> Real:
            inner = cho_solve(factor, S.matvec(r), check_finite=False)
            return (r - np.where(free, S.rmatvec(inner), 0.0)) / reg

        return apply

    def regrouped(self, tables: list[NDArray[np.intp]], steps: list[Steps]) -> LineRows:
        """Read new codes from a table a view."""
        most = max(len(step.weights) for step in steps)
        codes = [
            table.astype(np.min_scalar_type(most)).take(code)
            for table, code in zip(tables, self._codes, strict=True)
        ]
        return LineRows(steps, codes)

    def _merged(self, size: int) -> LineRows:
        merged = [step.merged(size) for step in self._steps]
        return self.regrouped([table for _, table in merged], [step for step, _ in merged])

    def cross(self, free: Flags) -> Real:
        """S diag(free) S' (m, m), from the tables of every pair of views."""
        codes = self._codes if free.all() else [code[free] for code in self._codes]
        m = self._ranges[-1].stop
        cross = np.empty((m, m))
        for a, (step, part) in enumerate(zip(self._steps, self._ranges, strict=True)):
            wide = codes[a].astype(np.int32) * (_MOST_BINS + 1)
            for b in range(a, len(codes)):
                other = self._ranges[b]
                keys = wide + codes[b]
                counts = np.bincount(keys, minlength=(len(step.weights) + 1) * (_MOST_BINS + 1))
                table = counts.reshape(-1, _MOST_BINS + 1)[: len(step.weights)]
                table = table[:, : other.stop - other.start].cumsum(axis=0).cumsum(axis=1)
                scale = np.sqrt(np.outer(step.weights, self._steps[b].weights))
                cross[part, other] = table * scale
                cross[other, part] = cross[part, other].T
        return cross

    def cross_and_ones(self, free: Flags) -> Real:
        """S diag(free) S' and S free: (m, m + 1)."""
        return np.column_stack([self.cross(free), self.matvec(free.astype(np.float64))])

    @staticmethod
    def _prefix(code: NDArray[Any], v: Real, part: slice) -> Real:
        size = part.stop - part.start
        return np.bincount(code, weights=v, minlength=size + 1)[:size].cumsum()

    def _views(self) -> Iterator[tuple[Steps, NDArray[Any], slice]]:
        return zip(self._steps, self._codes, self._ranges, strict=True)


def _suffix(values: Real) -> Real:
    """Sums of ``values`` from each place to the end, and a zero behind: (U,) -> (U + 1,)."""
    table = np.zeros(len(values) + 1)
    np.cumsum(values[::-1], out=table[-2::-1])
    return table

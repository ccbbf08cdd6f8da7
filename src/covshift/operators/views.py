"""The target side of a set of views: built once from the target, it makes R for any rows.

Column i of R depends on x_i and the target alone, so blocks of training rows can be factored one by
one against the same views, and their products with R added up (theory, section 4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from sklearn.utils import check_random_state

from ..numerics.array import Array, Real, namespace
from ..numerics.device.arrays import DeviceColumns
from .base import Factor
from .compose import StackedFactor
from .dominance import Dominance
from .line_factor import LineFactor, Lines


class Views(Protocol):
    """A target, ready to look at training rows."""

    def factor(self, X: Array) -> Factor:
        """R for the training rows ``X`` of shape (N, n)."""
        ...

    def totals(self, R: Any, A: Array) -> Array:
        """Sum ``A`` (N, q) over the rows of a factor made here; blocks of rows add up."""
        ...

    def rows_of(self, totals: Array) -> Array:
        """R A (m, q) from the totals over all training rows."""
        ...

    def merged(self, size: int, fewest: int) -> Views:
        """Return lines of about ``size`` thresholds in all, at least ``fewest`` in each view.

        Views of several dimensions stay as they are.
        """
        ...

    def device_totals(self, X: Array, A: DeviceColumns, w: Array) -> tuple[Array, Array]:
        """Sum w times the columns, and w, over rows on a device; and which rows are seen."""
        ...

    def device_trace(self, totals: Array) -> Array:
        """Sum of w_i V(i, i), from the totals of w."""
        ...


class Coordinates:
    """The views of each coordinate by itself."""

    def __call__(self, points: Array) -> Iterator[Array]:
        return (points[:, k] for k in range(points.shape[1]))


def random_directions(count: int, n_features: int, random_state: Any) -> Real:
    """Draw ``count`` unit vectors, uniform on the sphere: (count, n_features)."""
    draws = check_random_state(random_state).normal(size=(count, n_features))
    return np.asarray(draws / np.linalg.norm(draws, axis=1, keepdims=True))


def projected(points: Array, direction: Real) -> Array:
    """Project term by term: equal rows stay ties, which a blocked matrix product would not keep."""
    terms = (points[:, k] * float(a) for k, a in enumerate(direction) if a)
    with np.errstate(over="ignore", invalid="ignore"):
        return sum(terms, start=namespace(points).zeros_like(points[:, 0]))


class LineViews:
    """One-dimensional views: ``project`` yields a point set's (rows,) values in each of them.

    ``shares`` are those of the views in the average; None: equal ones.
    """

    def __init__(
        self,
        project: Callable[[Array], Iterable[Array]],
        T: Array,
        weight: Array,
        *,
        symmetric: bool,
        anderson_darling: bool,
        shares: Real | None = None,
    ) -> None:
        self.project, self.shares, self.symmetric = project, shares, symmetric
        self._target, self._anderson_darling = (T, weight), anderson_darling

    @cached_property
    def _lines(self) -> Lines:
        T, weight = self._target
        return Lines(
            self.project(T),
            weight,
            symmetric=self.symmetric,
            anderson_darling=self._anderson_darling,
            shares=self.shares,
        )

    def factor(self, X: Array) -> LineFactor:
        return self._lines.factor(self.project(X), n_points=int(X.shape[0]))

    def totals(self, R: LineFactor, A: Array) -> Array:
        return R.totals(A)

    def rows_of(self, totals: Array) -> Array:
        return self._lines.rows_of(totals)

    def merged(self, size: int, fewest: int) -> LineViews:
        part = copy(self)
        part._lines = self._lines.merged(size, fewest)
        return part

    def device_totals(self, X: Array, A: DeviceColumns, w: Array) -> tuple[Array, Array]:
        return self._lines.device_totals(self.project(X), A, w)

    def device_trace(self, totals: Array) -> Array:
        return self._lines.trace(totals)


class BoxViews:
    """Views of several coordinates each, given as groups of column numbers, averaged."""

    def __init__(
        self,
        groups: Sequence[Sequence[int]],
        T: Array,
        weight: Array,
        *,
        symmetric: bool,
        anderson_darling: bool,
    ) -> None:
        self._signs = (1, -1) if symmetric else (1,)  # mirrored, t <= x reads -t >= -x
        self._groups = [list(group) for group in groups]
        n_views = len(self._groups) * len(self._signs)
        self._parts = [
            Dominance(
                sign * _columns(T, group),
                weight,
                anderson_darling=anderson_darling,
                n_views=n_views,
            )
            for group in self._groups
            for sign in self._signs
        ]

    def factor(self, X: Array) -> Factor:
        scale = len(self._parts) ** -0.5
        points = (sign * _columns(X, group) for group in self._groups for sign in self._signs)
        return StackedFactor(
            [(scale, part.factor(x)) for part, x in zip(self._parts, points, strict=True)]
        )

    def totals(self, R: Factor, A: Array) -> Array:
        return R.matmat(A)

    def rows_of(self, totals: Array) -> Array:
        return totals

    def merged(self, size: int, fewest: int) -> BoxViews:
        return self

    def device_totals(self, X: Array, A: DeviceColumns, w: Array) -> tuple[Array, Array]:
        xp, scale = namespace(X), len(self._parts) ** -0.5
        points = (sign * _columns(X, group) for group in self._groups for sign in self._signs)
        found = [part.device_totals(x, A, w) for part, x in zip(self._parts, points, strict=True)]
        seen = found[0][1]
        for _, more in found[1:]:
            seen = seen | more
        return xp.concat([scale * totals for totals, _ in found]), seen

    def device_trace(self, totals: Array) -> Array:
        xp = namespace(totals)
        roots = xp.concat([part.roots for part in self._parts])
        return xp.sum(roots * totals) * len(self._parts) ** -0.5


def _columns(X: Array, group: Sequence[int]) -> Array:
    return namespace(X).stack([X[:, k] for k in group], axis=1)

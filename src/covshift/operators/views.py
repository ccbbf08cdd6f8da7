"""The target side of a set of views: built once from the target, it makes R for any rows.

Column i of R depends on x_i and the target alone, so blocks of training rows can be factored one by
one against the same views, and their products with R added up (theory, section 4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from sklearn.utils import check_random_state

from ..numerics.array import Array, Real, namespace
from .base import Factor
from .compose import StackedFactor
from .dominance import Dominance
from .line_factor import LineFactor, Lines
from .line_thresholds import Thresholds


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
    """One-dimensional views: ``project`` yields a point set's (rows,) values in each of them."""

    def __init__(self, project: Callable[[Array], Iterable[Array]], lines: Lines) -> None:
        self.project, self.lines = project, lines

    @classmethod
    def of(
        cls, project: Callable[[Array], Iterable[Array]], T: Array, weight: Array, **options: Any
    ) -> LineViews:
        """Sort the target T (M, n) of weights (M,) in each view; `Lines` has the options."""
        return cls(project, Lines((Thresholds.of(t, weight) for t in project(T)), **options))

    def factor(self, X: Array) -> LineFactor:
        return self.lines.factor(self.project(X), n_points=int(X.shape[0]))

    def totals(self, R: LineFactor, A: Array) -> Array:
        return R.totals(A)

    def rows_of(self, totals: Array) -> Array:
        return self.lines.rows_of(totals)

    def merged(self, size: int, fewest: int) -> LineViews:
        most = max(fewest, size // len(self.lines.lines))
        return LineViews(self.project, self.lines.merged(most))


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


def _columns(X: Array, group: Sequence[int]) -> Array:
    return namespace(X).stack([X[:, k] for k in group], axis=1)

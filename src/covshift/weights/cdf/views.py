"""The views of the CDF weights, by name: the target, ready to look at any rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Protocol

import numpy as np

from ...data.features import column_shares, members
from ...data.fields import FLAG, Kind, Maybe, OrNone, Part, Reals, Wholes
from ...numerics.array import Real, Whole
from ...numerics.array import Rows as FeatureGroups
from ...numerics.statistics import moments
from ...operators import (
    BoxViews,
    Coordinates,
    Factor,
    LineViews,
    Views,
    projected,
    random_directions,
)
from ...operators.line_vectors import Coarse, LineTarget

VIEWS = ("additive", "pairwise", "sliced", "multiplicative")

_MOST_THRESHOLDS = (1 << 16) - 1  # of a view of one dimension: codes of two bytes
_TAILS = 1 / 6  # of phi = 1 / (F (1 - F)): the mean of F (1 - F) phi is then that of phi = 1


class Rows(Protocol):
    """R for some rows."""

    def matvec(self, v: Real) -> Real:
        """R v: (N,) -> (m,)."""
        ...

    def rmatvec(self, z: Real) -> Real:
        """R' z: (m,) -> (N,)."""
        ...

    def tilted(self, u: Real) -> Real:
        """R' u, which may be remembered."""
        ...

    def gram(self) -> Real:
        """R'R as a dense (N, N) array."""
        ...


class Target(Protocol):
    """The target side: makes R for any rows."""

    @property
    def F(self) -> Real:
        """R_T share, the target seen by its own rows: (m,)."""
        ...

    @property
    def spread(self) -> float:
        """Variance of one target row there, E K(t, t) - |F|^2.

        A sample of M rows misses its distribution functions by spread / M, on average.
        """
        ...

    def rows(self, X: Real) -> Rows:
        """R for the rows X (N, n)."""
        ...

    def coarse(self, size: int) -> Coarse | None:
        """Return the same with at most ``size`` rows of R per view; None if that is no use."""
        ...


def make_target(
    views: str,
    T: Real,
    share: Real,
    *,
    even_tails: bool,
    symmetric: bool,
    n_directions: int,
    random_state: Any,
    groups: FeatureGroups | None = None,
) -> Target:
    """Build the views named ``views`` of the target T (M, n).

    ``even_tails`` weights the thresholds by phi = 1 / (F (1 - F)), as Anderson and Darling do.
    Columns of one feature (``groups``) share the weight of one: in the mean over single columns, in
    a pair, which is of all columns of two features, and in a projection. A view of one dimension
    with more than 65 535 distinct values is compared at so many of them, of equal shares: the
    weights changed by 1e-4 or less in trials, and rows keep two bytes per view.
    """
    n, shares = T.shape[1], None
    if views == "sliced":
        project: Any = Projections(_directions(T, share, n_directions, random_state, groups))
    elif views == "additive" or n == 1:
        project = Coordinates()
        shares = None if groups is None else column_shares(groups)
    else:
        boxes = Boxes.of_pairs(groups, n) if views == "pairwise" else Boxes(np.arange(n)[None, :])
        return FactorTarget(boxes, T, share, symmetric=symmetric, even_tails=even_tails)
    if symmetric:
        return FactorTarget(project, T, share, symmetric=True, even_tails=even_tails, shares=shares)
    scale = tails_scale(even_tails)
    return LineTarget.of(
        project,
        T,
        share,
        anderson_darling=even_tails,
        scale=scale,
        shares=shares,
        most=_MOST_THRESHOLDS,
    )


def tails_scale(even_tails: bool) -> float:
    """Return what R'R is multiplied by, so that phi does not change its size."""
    return _TAILS if even_tails else 1.0


@dataclass(frozen=True)
class Boxes:
    """Groups of columns that are looked at together."""

    groups: Whole  # (G, columns in each)

    _saved: ClassVar[dict[str, Kind]] = {"groups": Wholes("views", "columns", below="n")}

    @classmethod
    def of_pairs(cls, groups: FeatureGroups | None, n: int) -> Boxes:
        """Take every pair of features, or the only feature there is, with all their columns.

        A box of fewer columns than others has its first one again, which changes nothing.
        """
        features = [[k] for k in range(n)] if groups is None else members(groups)
        boxes = [one + other for one, other in combinations(features, 2)] or features
        wide = max(map(len, boxes))
        return cls(np.array([box + box[:1] * (wide - len(box)) for box in boxes]))


@dataclass(frozen=True)
class Projections:
    """The points along each of some directions."""

    directions: Real  # (G, n)

    _saved: ClassVar[dict[str, Kind]] = {"directions": Reals("views", "n")}

    def __call__(self, points: Real) -> Iterator[Real]:
        largest = np.finfo(float).max
        for direction in self.directions:
            yield np.nan_to_num(projected(points, direction), posinf=largest, neginf=-largest)


class FactorTarget:
    """Views of several dimensions or two sides, by the products of `covshift.operators`."""

    _saved: ClassVar[dict[str, Kind]] = {
        "T": Reals("M", "n"),
        "share": Reals("M"),
        "project": Part(Boxes, Coordinates, Projections, n="n"),
        "symmetric": FLAG,
        "even_tails": FLAG,
        "shares": Maybe(OrNone(Reals("views"))),  # files from before groups have none
    }

    def __init__(
        self,
        project: Boxes | Coordinates | Projections,
        T: Real,
        share: Real,
        *,
        symmetric: bool,
        even_tails: bool,
        shares: Real | None = None,
    ) -> None:
        if shares is not None and not (shares > 0).all():
            raise ValueError("views without a share in their mean")
        self.project, self.T, self.share = project, T, share
        self.symmetric, self.even_tails, self.shares = symmetric, even_tails, shares
        sides: dict[str, Any] = {"symmetric": symmetric, "anderson_darling": even_tails}
        views: Views
        if isinstance(project, Boxes):
            views = BoxViews(project.groups.tolist(), T, share, **sides)
        else:
            views = LineViews(project, T, share, shares=shares, **sides)
        scale = tails_scale(even_tails)
        self._views, self._scale = views, float(np.sqrt(scale))
        kept = share > 0
        R = views.factor(T[kept])
        self.F: Real = self._scale * R.matmat(share[kept][:, None])[:, 0]
        trace = scale * float(share[kept] @ R.squares())
        self.spread = max(trace - float(self.F @ self.F), 0.0)

    def rows(self, X: Real) -> FactorRows:
        return FactorRows(self._views.factor(X), self._scale)

    def coarse(self, size: int) -> None:
        return None


class FactorRows:
    """R by the products of its factor, times ``scale``."""

    def __init__(self, R: Factor, scale: float) -> None:
        self._R, self._scale = R, scale

    def matvec(self, v: Real) -> Real:
        return np.asarray(self._scale * self._R.matmat(v[:, None])[:, 0])

    def rmatvec(self, z: Real) -> Real:
        return np.asarray(self._scale * self._R.rmatmat(z[:, None])[:, 0])

    def tilted(self, u: Real) -> Real:
        return self.rmatvec(u)

    def gram(self) -> Real:
        return np.asarray(self._scale**2 * self._R.gram())


def _directions(
    T: Real, share: Real, count: int, random_state: Any, groups: FeatureGroups | None
) -> Real:
    """Random unit directions (G, n), for features in units of the target's standard deviation.

    The entries of the L columns of a feature are divided by sqrt(L).
    """
    directions = random_directions(count, T.shape[1], random_state)
    _, std = moments(T, share)
    unit = np.where(std > 0, std, 1.0)
    if groups is not None:
        unit = unit * np.sqrt(np.bincount(groups)[groups])
    return np.asarray(directions / unit)

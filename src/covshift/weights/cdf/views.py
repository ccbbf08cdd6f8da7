"""The views of the CDF weights, by name: the target, ready to look at any rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol

import numpy as np

from ...data.features import column_shares, members
from ...data.parameters import Rule, check_parameters, one_of
from ...exceptions import InputError
from ...numerics.array import Real, Rows, Whole
from ...operators import BoxViews, Coordinates, Factor, LineViews, Views, projected
from ...operators.line_vectors import Coarse, LineTarget
from ...registry import TABLE

VIEWS = ("additive", "pairwise", "sliced", "multiplicative")

_DIRECTIONS = 50  # of the views that "sliced" names
_MOST_THRESHOLDS = (1 << 16) - 1  # of a view of one dimension: codes of two bytes
_TAILS = 1 / 6  # of phi = 1 / (F (1 - F)): the mean of F (1 - F) phi is then that of phi = 1


class RowFactor(Protocol):
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


class TargetSide(Protocol):
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

    def rows(self, X: Real) -> RowFactor:
        """R for the rows X (N, n)."""
        ...

    def coarse(self, size: int) -> Coarse | None:
        """Return the same with at most ``size`` rows of R per view; None if that is no use."""
        ...


def as_views(views: Any) -> Any:
    """Return the correction whose views ``views`` names, or the object itself, once it is checked.

    >>> as_views("sliced")
    Sliced(n_directions=50)
    """
    VIEWS_RULE.check(views, "views")
    if isinstance(views, str):
        return _correction(views)(**({"n_directions": _DIRECTIONS} if views == "sliced" else {}))
    check_parameters(views)
    one_of("anderson-darling", None).check(views.phi, "phi of views")
    used = {
        "normalize": views.normalize,
        "blend": views.blend != 0,
        "weights": views.weights is not None,
    }
    for name in filter(used.get, used):
        raise InputError(f"{name} of views={views!r} is for corrections. Leave it out for weights.")
    return views


def name_of(views: Any) -> str | None:
    """Return the name of a correction's views; None for what has no such views."""
    return next((name for name in VIEWS if type(views) is _correction(name)), None)


def _correction(name: str) -> Any:
    return TABLE[name].load()  # they are made of weights, so that they cannot be imported here


VIEWS_RULE = one_of(*VIEWS) | Rule(
    ("a correction of such a name, such as Sliced(n_directions=200)",),
    lambda value: name_of(value) is not None,
)
"""What the parameter ``views`` may be."""


def make_target(
    views: Any, T: Real, share: Real, *, random_state: Any, groups: Rows | None = None
) -> TargetSide:
    """Build the views of a correction (`as_views`) of the target T (M, n).

    phi="anderson-darling" weights the thresholds by 1 / (6 F (1 - F)).
    ``random_state`` is the seed of directions without their own.
    Columns of one feature (``groups``) share the weight of one: in the mean over single columns, in
    a pair, which is of all columns of two features, and in a projection. A view of one dimension
    with more than 65 535 distinct values is compared at so many of them, of equal shares: the
    weights changed by 1e-4 or less in trials, and rows keep two bytes per view.
    """
    n, shares, name = T.shape[1], None, name_of(views)
    even_tails, symmetric = views.phi is not None, views.symmetric
    if name == "sliced":
        seen = views.of_features(groups)
        if seen.random_state is None:
            seen.random_state = random_state
        project: Any = Projections(seen.directions_for(T, share))
    elif name == "additive" or n == 1:
        project = Coordinates()
        shares = None if groups is None else column_shares(groups)
    else:
        boxes = Boxes.of_pairs(groups, n) if name == "pairwise" else Boxes(np.arange(n)[None, :])
        return FactorTarget(boxes, T, share, symmetric=symmetric, even_tails=even_tails)
    if symmetric:
        return FactorTarget(project, T, share, symmetric=True, even_tails=even_tails, shares=shares)
    return LineTarget.of(
        project,
        T,
        share,
        anderson_darling=even_tails,
        scale=tails_scale(even_tails),
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

    @classmethod
    def of_pairs(cls, groups: Rows | None, n: int) -> Boxes:
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

    def __call__(self, points: Real) -> Iterator[Real]:
        largest = np.finfo(float).max
        for direction in self.directions:
            yield np.nan_to_num(projected(points, direction), posinf=largest, neginf=-largest)


class FactorTarget:
    """Views of several dimensions or two sides, by the products of `covshift.operators`."""

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
        self.remembers = False  # the last R'u
        self._last: tuple[Real, Real] | None = None

    def matvec(self, v: Real) -> Real:
        return np.asarray(self._scale * self._R.matmat(v[:, None])[:, 0])

    def matvecs(self, v: Real, w: Real) -> tuple[Real, Real]:
        """R v and R w, in less time than one after the other."""
        found = self._scale * self._R.matmat(np.column_stack([v, w]))
        return found[:, 0].copy(), found[:, 1].copy()

    def rmatvec(self, z: Real) -> Real:
        return np.asarray(self._scale * self._R.rmatmat(z[:, None])[:, 0])

    def tilted(self, u: Real) -> Real:
        if self._last is None or self._last[0] is not u:
            self._last = u, self.rmatvec(u)
        seen = self._last[1]
        if not self.remembers:
            self._last = None
        return seen

    def gram(self) -> Real:
        return np.asarray(self._scale**2 * self._R.gram())

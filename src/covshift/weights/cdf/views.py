"""The views of the CDF weights, by name: the target, ready to look at any rows."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ...data.parameters import Rule, check_parameters, one_of
from ...exceptions import InputError
from ...numerics.array import Real, Rows
from ...operators import Factor, LineViews, Views
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

    def matvecs(self, v: Real, w: Real) -> tuple[Real, Real]:
        """R v and R w, in less time than one after the other."""
        ...

    def rmatvec(self, z: Real) -> Real:
        """R' z: (m,) -> (N,)."""
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
    seen = views.of_features(groups)
    if name_of(views) == "sliced" and seen.random_state is None:
        seen.random_state = random_state
    even_tails = views.phi is not None
    scale, made = tails_scale(even_tails), seen.views(T, share)
    if not isinstance(made, LineViews) or made.symmetric:
        return FactorTarget(made, T, share, scale)
    options: dict[str, Any] = {
        "anderson_darling": even_tails,
        "scale": scale,
        "shares": made.shares,
    }
    return LineTarget.of(made.project, T, share, most=_MOST_THRESHOLDS, **options)


def tails_scale(even_tails: bool) -> float:
    """Return what R'R is multiplied by, so that phi does not change its size."""
    return _TAILS if even_tails else 1.0


class FactorTarget:
    """Views of several dimensions or two sides, by the products of `covshift.operators`."""

    def __init__(self, views: Views, T: Real, share: Real, scale: float) -> None:
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

    def matvecs(self, v: Real, w: Real) -> tuple[Real, Real]:
        found = self._scale * self._R.matmat(np.column_stack([v, w]))
        return found[:, 0].copy(), found[:, 1].copy()

    def rmatvec(self, z: Real) -> Real:
        return np.asarray(self._scale * self._R.rmatmat(z[:, None])[:, 0])

    def gram(self) -> Real:
        return np.asarray(self._scale**2 * self._R.gram())

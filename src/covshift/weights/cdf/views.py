"""The views of the CDF weights, by name: the target, ready to look at any rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...data.parameters import Rule, check_parameters, one_of
from ...exceptions import InputError
from ...numerics.array import Real, Rows, namespace
from ...operators import Lines, LineViews, Views
from ...operators.line_groups import Coarse, coarse
from ...registry import TABLE

VIEWS = ("additive", "pairwise", "sliced", "multiplicative")

_DIRECTIONS = 50  # of the views that "sliced" names
_MOST_THRESHOLDS = (1 << 16) - 1  # of a view of one dimension: codes of two bytes
_TAILS = 1 / 6  # of phi = 1 / (F (1 - F)): the mean of F (1 - F) phi is then that of phi = 1


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
    scale, made = tails_scale(views.phi is not None), seen.views(T, share)
    if isinstance(made, LineViews) and not made.lines.symmetric:
        lines = made.lines.scaled(scale).merged(_MOST_THRESHOLDS)
        return line_target(LineViews(made.project, lines))
    kept = share > 0
    R = FactorRows(made.factor(T[kept]), float(np.sqrt(scale)))
    trace = scale * float(share[kept] @ R.R.squares())
    return TargetSide(made, R.matvec(share[kept]), trace, R.scale)


def tails_scale(even_tails: bool) -> float:
    """Return what R'R is multiplied by, so that phi does not change its size."""
    return _TAILS if even_tails else 1.0


def line_target(views: LineViews) -> TargetSide:
    """Take views of one dimension with their thresholds as they are."""
    return TargetSide(views, views.lines.F, views.lines.trace)


class TargetSide:
    """The target side: makes R, times ``scale``, for any rows.

    ``F`` (m,) is R_T share, the target seen by its own rows, and ``spread`` the variance of one
    target row there, E K(t, t) - |F|^2: a sample of M rows misses its distribution functions by
    spread / M, on average. ``trace`` is E K(t, t).
    """

    def __init__(self, views: Views, F: Real, trace: float, scale: float = 1.0) -> None:
        self._views, self.F, self._scale = views, F, scale
        self.spread = max(trace - float(F @ F), 0.0)

    @property
    def lines(self) -> Lines | None:
        """Thresholds of the views, where all are of one dimension and one side."""
        views = self._views
        return views.lines if isinstance(views, LineViews) and not views.lines.symmetric else None

    def rows(self, X: Real) -> FactorRows:
        """R for the rows X (N, n)."""
        return FactorRows(self._views.factor(X), self._scale)

    def coarse(self, size: int) -> Coarse | None:
        """Merge the thresholds of each view to at most ``size``; None if that is no use."""
        return None if self.lines is None else coarse(self.lines, size)

    def merged(self, lines: Lines) -> TargetSide:
        """Return the same with other thresholds."""
        assert isinstance(self._views, LineViews)
        return line_target(LineViews(self._views.project, lines))


class FactorRows:
    """R for some rows, one vector at a time: the products of its factor, times ``scale``."""

    def __init__(self, R: Any, scale: float = 1.0) -> None:
        self.R, self.scale = R, scale

    def matvec(self, v: Real) -> Real:
        """R v: (N,) -> (m,)."""
        return self._scaled(self.R.matmat(v[:, None])[:, 0])

    def matvecs(self, v: Real, w: Real) -> tuple[Real, Real]:
        """R v and R w, in less time than one after the other."""
        found = self._scaled(self.R.matmat(namespace(v).stack([v, w], axis=1)))
        return found[:, 0] + 0.0, found[:, 1] + 0.0  # as two arrays

    def rmatvec(self, z: Real) -> Real:
        """R' z: (m,) -> (N,)."""
        return self._scaled(self.R.rmatmat(z[:, None])[:, 0])

    def gram(self) -> Real:
        """R'R as a dense (N, N) array."""
        gram: Real = self.R.gram()
        return gram if self.scale == 1 else self.scale**2 * gram

    def _scaled(self, part: Real) -> Real:
        return part if self.scale == 1 else self.scale * part

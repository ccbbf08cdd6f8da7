"""What weights did to a shift, feature by feature: the facts behind the warnings of a weighter."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.features import column_shares, feature_groups
from ..data.row_weights import kish
from ..exceptions import WeightWarning
from ..numerics.array import Real, Rows
from ..numerics.parallel import one_blas_thread
from ..numerics.row_sample import ENOUGH_ROWS, drawn_rows
from ..numerics.support import Uncovered, uncovered
from ..operators import Coordinates, LineViews
from .problem import Problem

_CLEAR = 20.0  # times the noise: beyond it two samples of one distribution come once in 10^5
_LEFT = 0.8  # share of a clear shift, squared, that weights worth their name do not leave


class Shift(NamedTuple):
    """Mean squared distances between the distribution functions of the samples, by feature."""

    before: Real  # (n,)
    after: Real  # (n,), with the weights
    noise: Real  # (n,): expected of two samples of one distribution
    both: float  # 1 / N + 1 / size of the rows that were looked at

    @property
    def clear(self) -> NDArray[np.intp]:
        """Features in which the samples differ beyond doubt."""
        return np.flatnonzero(self.before > _CLEAR * self.noise)

    @property
    def left(self) -> float:
        """Share of the clear shift that the weights leave; zero where none is clear."""
        clear = self.clear
        return float(self.after[clear].sum() / self.before[clear].sum()) if len(clear) else 0.0


@one_blas_thread(0)
def shift(problem: Problem, final: Real) -> Shift:
    """Compare the rows with the target, without and with the weights: shares times factors (N,).

    |G - F|^2 at the target points, F the target's distribution function of the feature and G the
    training rows'. The noise is H (1 - H) r + r^2 there, H that of both together, r = 1 / N +
    1 / size, N the effective number of training rows; the square is for rare values, whose counts
    are far from normal. A feature of several columns has the means of these. At most 20,000 rows of
    each sample are looked at.
    """
    X, own, T, share, size = problem.X, problem.own, problem.T, problem.share, problem.size
    rng = np.random.default_rng(0)
    rows, target = (drawn_rows(len(part), ENOUGH_ROWS, rng) for part in (X, T))
    if len(rows) < len(X):
        X, own, final = X[rows], own[rows] / own[rows].sum(), final[rows]
    if len(target) < len(T):
        T, share, size = T[target], share[target] / share[target].sum(), len(target)
    sides = problem.sides(X.max(axis=0))
    X, T = (X, T) if sides is None else (sides * X, sides * T)
    columns, counts = np.column_stack([own, final / final.sum()]), (kish(own), size)
    found = [_of_feature(x, columns, t, share, counts) for x, t in zip(X.T, T.T, strict=True)]
    before, after, noise = map(problem.features.mean_of_columns, np.array(found).T)
    return Shift(before, after, noise, 1 / counts[0] + 1 / counts[1])


def warn_of_shift(who: str, problem: Problem, final: Real, *, flat: bool, stacklevel: int) -> None:
    """Tell of weights that move the rows away from the target, or not, unless ``flat`` on purpose.

    ``final`` are the shares of the rows times their weights.
    """
    found = shift(problem, final)
    before, after = float(found.before.mean()), float(found.after.mean())
    text = ""
    if after > before + found.both / 6:  # mean square distance of two samples' CDFs
        text = (
            f"The weights of {who} move the sample away from the target: the mean squared distance "
            f"between the distribution functions grew from {before:.3g} to {after:.3g}. Do not use "
            "them."
        )
    elif found.left > _LEFT and not flat:
        text = (
            f"The weights of {who} do not move the sample towards the target: in "
            f"{problem.features.listed(found.clear)} the samples differ clearly, and "
            f"{found.left:.0%} of the squared distance between their distribution functions is "
            "left. Use fewer features, or another weighter: CDFWeights() also checks whether the "
            "samples overlap."
        )
    if text:
        warnings.warn(text, WeightWarning, stacklevel=stacklevel + 1)


def cdf_mismatch(
    X: Real, T: Real, share: Real, weights: Real, *, groups: Rows | None = None
) -> float:
    """Mean squared distance of the weighted training CDF from the target's, over the features.

    ||R w / N - F||^2 in the additive views (theory, section 7), F the target seen by the same rows.
    Columns of one group are one feature: the mean over these comes first.
    """
    found = feature_groups(groups, X.shape[1])
    shares = None if found is None else column_shares(found)
    views = LineViews.of(Coordinates(), T, share, shares=shares)
    R = views.factor(X)
    residual = R.matmat((weights / weights.sum())[:, None])[:, 0] - views.lines.F
    return float(residual @ residual)


def missing_levels(problem: Problem) -> tuple[Uncovered, ...]:
    """Significant parts of the target with a zero or one that no training row has in the column."""
    X, T = problem.X, problem.T
    levels = np.isin(X, (0, 1)).all(axis=0) & np.isin(T, (0, 1)).all(axis=0)
    columns = np.flatnonzero(levels)
    if not len(columns):
        return ()
    given = X[:, columns], T[:, columns], problem.share, problem.size
    parts = uncovered(*given, own=problem.own)
    return tuple(replace(part, column=int(columns[part.column])) for part in parts)


def _of_feature(x: Real, columns: Real, t: Real, share: Real, rows: tuple[float, float]) -> Real:
    points, place = np.unique(t, return_inverse=True)
    mass = np.bincount(place.reshape(-1), weights=share)
    F = np.cumsum(mass)[:, None]
    order = np.argsort(x)
    sums = np.vstack([np.zeros((1, 2)), np.cumsum(columns[order], axis=0)])
    G = sums[np.searchsorted(x[order], points, side="right")]  # (points, 2)
    N, M = rows
    both = np.clip((N * G[:, 0] + M * F[:, 0]) / (N + M), 0.0, 1.0)
    row = 1 / N + 1 / M
    noise = mass @ (both * (1 - both)) * row + row**2
    return np.append(mass @ (G - F) ** 2, noise)

"""What weights did to a shift, feature by feature: the facts behind the warnings of a weighter."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._groups import column_shares, feature_groups
from .._parallel import one_blas_thread
from .._support import Uncovered, uncovered
from .._types import Real, Rows
from ..operators import Coordinates
from ..operators.lines.vectors import LineTarget
from ._design import kish
from ._features import EACH_COLUMN, Features

_CLEAR = 20.0  # times the noise: beyond it two samples of one distribution come once in 10^5
_LEFT = 0.8  # share of a clear shift, squared, that weights worth their name do not leave


class Shift(NamedTuple):
    """Mean squared distances between the distribution functions of the samples, by feature."""

    before: Real  # (n,)
    after: Real  # (n,), with the weights
    noise: Real  # (n,): expected of two samples of one distribution

    @property
    def clear(self) -> NDArray[np.intp]:
        """Features in which the samples differ beyond doubt."""
        return np.flatnonzero(self.before > _CLEAR * self.noise)

    @property
    def left(self) -> float:
        """Share of the clear shift that the weights leave; zero where none is clear."""
        clear = self.clear
        return float(self.after[clear].sum() / self.before[clear].sum()) if len(clear) else 0.0

    @property
    def stays(self) -> bool:
        """Whether the weights leave nearly all of a clear shift."""
        return self.left > _LEFT


@one_blas_thread(0)
def shift(
    X: Real,
    own: Real,
    final: Real,
    T: Real,
    share: Real,
    size: float,
    features: Features = EACH_COLUMN,
) -> Shift:
    """Compare X (N, n) with the target T (M, n) of ``size`` rows, without and with the weights.

    ``own`` are the shares that the training rows have before the correction, ``final`` after it.
    |G - F|^2 at the target points, F the target's distribution function of the feature and G the
    training rows'. The noise is H (1 - H) r + r^2 there, H that of both together, r = 1 / N +
    1 / size, N the effective number of training rows; the square is for rare values, whose counts
    are far from normal. A feature of several columns has the means of these.
    """
    columns = np.column_stack([own, final / final.sum()])
    rows = kish(own), size
    found = np.array(
        [_of_feature(X[:, k], columns, T[:, k], share, rows) for k in range(X.shape[1])]
    )
    return Shift(*map(features.mean_of_columns, found.T))


def cdf_mismatch(
    X: Real, T: Real, share: Real, weights: Real, *, groups: Rows | None = None
) -> float:
    """Mean squared distance of the weighted training CDF from the target's, over the features.

    ||R w / N - F||^2 in the additive views (theory, section 7), F the target seen by the same rows.
    Columns of one group are one feature: the mean over these comes first.
    """
    found = feature_groups(groups, X.shape[1])
    shares = None if found is None else column_shares(found)
    target = LineTarget.of(Coordinates(), T, share, shares=shares)
    residual = target.rows(X).matvec(weights / weights.sum()) - target.F
    return float(residual @ residual)


def missing_levels(X: Real, own: Real, T: Real, share: Real, size: float) -> tuple[Uncovered, ...]:
    """Significant parts of the target with a zero or one that no training row has in the column."""
    levels = np.isin(X, (0, 1)).all(axis=0) & np.isin(T, (0, 1)).all(axis=0)
    if not levels.any():
        return ()
    found = uncovered(X[:, levels], T[:, levels], share, size, own=own)
    columns = np.flatnonzero(levels)
    return tuple(replace(part, column=int(columns[part.column])) for part in found)


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

"""What weights did to a shift, feature by feature: the facts behind the warnings of a weighter."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._parallel import one_blas_thread
from .._types import Real
from ._design import kish

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
def shift(X: Real, own: Real, final: Real, T: Real, share: Real, size: float) -> Shift:
    """Compare X (N, n) with the target T (M, n) of ``size`` rows, without and with the weights.

    ``own`` are the shares that the training rows have before the correction, ``final`` after it.
    |G - F|^2 at the target points, F the target's distribution function of the feature and G the
    training rows'. The noise is H (1 - H) r + r^2 there, H that of both together, r = 1 / N +
    1 / size, N the effective number of training rows; the square is for rare values, whose counts
    are far from normal.
    """
    columns = np.column_stack([own, final / final.sum()])
    rows = kish(own), size
    found = np.array(
        [_of_feature(X[:, k], columns, T[:, k], share, rows) for k in range(X.shape[1])]
    )
    return Shift(*found.T)


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

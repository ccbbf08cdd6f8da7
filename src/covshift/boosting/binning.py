"""Features in bins, as scikit-learn's histogram trees cut them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Codes, Real


class Bins:
    """At most ``max_bins`` bins per feature, found once on the training rows.

    A feature with no more distinct values is cut half-way between each two of them; others are cut
    at weighted quantiles, so that integer weights equal repeated rows. A row lies in bin b of a
    feature if thresholds[b - 1] < x <= thresholds[b].
    """

    def __init__(self, X: Real, w: Real, max_bins: int) -> None:
        self.thresholds = [_thresholds(x, w, max_bins) for x in X.T]
        self.n_bins = max(len(cuts) for cuts in self.thresholds) + 1

    def codes(self, X: Real) -> Codes:
        """Return the bins of the rows: (N, n), row by row in memory."""
        codes = np.empty(X.shape, dtype=np.min_scalar_type(self.n_bins - 1))
        for k, cuts in enumerate(self.thresholds):
            codes[:, k] = np.searchsorted(cuts, X[:, k], side="left")
        return codes


def _thresholds(x: Real, w: Real, max_bins: int) -> Real:
    values, place = np.unique(x, return_inverse=True)
    if len(values) > max_bins:
        below = np.cumsum(np.bincount(place, w), dtype=np.float64)
        return _quantiles(values, below, np.arange(1, max_bins) / max_bins)
    return _between(values[:-1], values[1:])


def _between(low: Real, high: Real) -> Real:
    """Half-way between, and below ``high`` whatever rounding says."""
    middle = low / 2 + high / 2
    return np.asarray(np.where(middle < high, middle, low))


def _quantiles(values: Real, below: Real, levels: NDArray[Any]) -> Real:
    """Quantiles of weighted values; the mean of two neighbours where a level lies on a step."""
    wanted = levels * below[-1]
    low = np.searchsorted(below, wanted * (1 - 1e-12), side="left")
    high = np.searchsorted(below, wanted * (1 + 1e-12), side="right")
    high = np.minimum(high, len(values) - 1)
    return np.unique(np.where(low < high, _between(values[low], values[high]), values[low]))

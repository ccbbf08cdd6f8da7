"""Bins of the score, of equal mass on the target: for the calibration curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numerics.array import Real, Rows
from ..numerics.statistics import equal_weight_bins

MOST_BINS = 10
_ROWS_PER_BIN = 20  # labelled rows, on average


@dataclass(frozen=True)
class Bins:
    """Bins of the scores of all rows, the labelled ones first."""

    bounds: Real  # (k + 1,): from 0 to 1; a score on a bound is in the bin below
    place: Rows  # (N + M,)

    @property
    def count(self) -> int:
        """Number of bins."""
        return len(self.bounds) - 1

    def written(self, k: int) -> str:
        """Say which scores are in bin k."""
        low, high = self.bounds[k : k + 2]
        return f"{low:.2g} to {high:.2g}"


def score_bins(train: Real, target: Real, share: Real, count: int | None = None) -> Bins:
    """Bin probabilities (N,) and (M,) by the shares (M,) of the target rows.

    Equal scores share a bin. By default there are ten bins, and fewer than 200 labelled rows have
    one for every 20 of them. A bound lies half way between the target scores on its two sides.
    """
    if count is None:
        count = int(np.clip(len(train) // _ROWS_PER_BIN, 1, MOST_BINS))
    there = share > 0
    s, bin_of = target[there], equal_weight_bins(target[there], share[there], count)
    size = int(bin_of.max()) + 1
    top, bottom = np.full(size, -np.inf), np.full(size, np.inf)
    np.maximum.at(top, bin_of, s)
    np.minimum.at(bottom, bin_of, s)
    below, above = top[:-1], bottom[1:]
    middle = below + (above - below) / 2
    inner = np.where(middle < above, middle, below)
    place = np.searchsorted(inner, np.concatenate([train, target]), side="left")
    return Bins(np.concatenate([[0.0], inner, [1.0]]), place.astype(np.intp))

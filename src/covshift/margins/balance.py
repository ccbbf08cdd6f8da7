"""How far a sample, with its weights, is from margins."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._row_weights import row_weights
from .._types import Real
from .features import CELL, SQUARE, moment_features
from .margins import Margins
from .reading import Reading, levels_of


class Balance(NamedTuple):
    """One number that the margins hold, and what it is in the sample."""

    what: str
    target: float
    sample: float
    gap: float  # their difference; of a mean and a standard deviation, in units of the latter


def balance_of(margins: Margins, X: Any, weight: Any = None) -> list[Balance]:
    """Compare all shares, means and standard deviations with those of a weighted sample."""
    names = tuple(margins.columns)
    features, means, labels = moment_features(margins, names)
    levels = tuple(levels_of(margins, name) for name in names)
    Z = Reading(names, levels, features).encode(X)
    w = row_weights(len(Z), weight, name="weight").w
    found: Real = w @ Z / w.sum()
    rows = []
    for k, label in enumerate(labels):
        unit, target, sample = 1.0, float(means[k]), float(found[k])
        if features.form[k] != CELL:
            mean, unit = float(features.low[k, 0]), float(features.high[k, 0])
            if features.form[k] == SQUARE:  # the mean stands before it
                spread = float(np.sqrt(max(sample - float(found[k - 1]) ** 2, 0.0)))
                target, sample = unit, unit * spread
            else:
                target, sample = mean, mean + unit * sample
        rows.append(Balance(label, target, sample, (sample - target) / unit))
    return rows

"""The data sets by name: real ones from the loaders, or generated ones for a trial run."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covshift.numerics.array import Real

from . import generators, loaders
from .loaders import DatasetNotFoundError

LOADERS = {
    "cancer": loaders.load_cancer,
    "diabetes": loaders.load_diabetes,
    "banknote": loaders.load_banknote,
    "ringnorm": loaders.load_ringnorm,
    "twonorm": loaders.load_twonorm,
}
GENERATORS = {"ringnorm": generators.make_ringnorm, "twonorm": generators.make_twonorm}
_GENERATED_ROWS = 3000


def load(name: str, source: str = "real") -> tuple[Real, NDArray[np.int64]]:
    """Return all rows and labels, as they are; ``source`` is "real" or "generated".

    Raises `DatasetNotFoundError` where the data cannot be had.
    """
    return _load(name, source)


@cache
def _load(name: str, source: str) -> tuple[Real, NDArray[np.int64]]:
    if source == "real":
        data: Any = LOADERS[name]()
        return data.X, data.y
    if name not in GENERATORS:
        raise DatasetNotFoundError(f"There is no generator for the {name} data.")
    return GENERATORS[name](_GENERATED_ROWS, random_state=0)


def scaled(X: Real) -> Real:
    """Each feature scaled to [0, 1], as the paper does."""
    low, high = X.min(axis=0), X.max(axis=0)
    return np.asarray((X - low) / np.where(high > low, high - low, 1.0))


def absent(names: set[str], source: str) -> dict[str, str]:
    """Names of the data sets that cannot be had, and why."""
    reasons = {}
    for name in sorted(names):
        try:
            load(name, source)
        except (DatasetNotFoundError, ValueError) as error:
            reasons[name] = str(error)
    return reasons

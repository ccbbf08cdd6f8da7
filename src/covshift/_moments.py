"""Mean and spread of a weighted target sample, exact for constant columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._types import Real


def moments(T: NDArray[Any], share: Real) -> tuple[Real, Real]:
    """Return mean and standard deviation of each column of ``T`` under ``share``, both (n,)."""
    T = T[share > 0].astype(np.float64)
    share = share[share > 0]
    # In units of the largest value, so that squares do not overflow.
    unit = np.abs(T).max(axis=0)
    unit[unit == 0] = 1.0
    mean = share @ (T / unit)
    std = np.sqrt(share @ (T / unit - mean) ** 2)
    constant = T.min(axis=0) == T.max(axis=0)  # rounding must not give it a spread
    return np.where(constant, T[0], mean * unit), np.where(constant, 0.0, std * unit)

"""The root of a rising function of one number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_STEPS = 200  # a bound alone: steps that leave the interval halve it


def rising_root(
    function: Callable[[float], tuple[float, float]],
    start: float,
    *,
    low: float = -np.inf,
    high: float = np.inf,
    unit: float = 1.0,
    tolerance: float = 0.0,
) -> float:
    """Find where ``function``, which returns its value and slope, is zero, up to ``tolerance``.

    Newton's steps inside of the interval that is left, halved where a step leaves it; an open end
    is sought by steps of the size of the number, at least ``unit``. Of a piecewise linear function
    the root is exact, where SciPy's solvers are given a tolerance.

    >>> rising_root(lambda x: (max(x, 0.0) - 3.0, float(x > 0)), -5.0)
    3.0
    """
    x = min(max(start, low), high)
    for _ in range(_STEPS):
        value, slope = function(x)
        if abs(value) <= tolerance:
            break
        low, high = (x, high) if value < 0 else (low, x)
        step = x - value / slope if slope > 0 else np.nan
        if not low <= step <= high:
            if np.isinf(high):
                step = x + max(abs(x), unit)
            else:
                step = x - max(abs(x), unit) if np.isinf(low) else (low + high) / 2
        if step == x:
            break
        x = step
    return x

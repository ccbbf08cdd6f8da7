"""Many tests at once: p-values corrected for their number."""

from __future__ import annotations

import numpy as np

from ._types import Real


def holm(p_values: Real) -> Real:
    """Return p-values corrected for their number by Holm's step-down method.

    Rejecting those below a level keeps the chance of any false alarm below it, whatever the
    dependence between the tests. Source: Holm (1979), *A simple sequentially rejective multiple
    test procedure*.

    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p_values, kind="stable")
    remaining = len(p_values) - np.arange(len(p_values))
    corrected = np.minimum(np.maximum.accumulate(p_values[order] * remaining), 1.0)
    found = np.empty_like(corrected)
    found[order] = corrected
    return found

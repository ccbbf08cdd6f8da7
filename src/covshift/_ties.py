"""The least of several errors, where rounding must not choose among equal ones.

Of two to five rows many penalties predict the same, and their errors differ in the last digits.
"""

from __future__ import annotations

import numpy as np

from ._types import Real

_EQUAL = 1e-9  # relative difference of errors that are alike
_ROUNDING = 1e-14  # part of the mean square of outcomes


def least(errors: Real, rounding: float) -> tuple[int, int]:
    """Row and column of the least of the errors (a, b); of equal ones first row, last column.

    Errors are equal where they differ by one part in 10^9, or by ``rounding``.

    >>> least(np.array([[2.0, 1.0, 1.0 + 1e-12], [3.0, 1.0, 4.0]]), 0.0)
    (0, 2)
    """
    limit = float(errors.min()) * (1 + _EQUAL) + rounding
    row = int(np.argmax(errors.min(axis=1) <= limit))
    return row, int(np.flatnonzero(errors[row] <= limit)[-1])


def rounding_of(Y: Real, w: Real) -> float:
    """Part of the mean square of outcomes Y (N, k), from their mean, that is rounding."""
    share = w / w.sum()
    return _ROUNDING * float(share @ ((Y - share @ Y) ** 2).sum(axis=1))

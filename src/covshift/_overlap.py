"""One alarm for all: parts of the target that lie where a column has no training rows.

Every weighter and every corrected estimator raises it at its door, from the extremes of the
training columns alone: O((N + M) n) time, no array besides. The test is that of
`covshift._support`; so that it says nothing of a shift that can be corrected, a significant part
must also be

- a quarter of the target beyond the 10 / N that N training rows may miss by chance: the outermost
  of 50 rows leaves a tenth outside under a shift that weights correct; or
- a tenth of the target that lies beyond the training values by more than their whole range, which
  few rows tell as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._array import is_numpy, to_numpy
from ._support import NO_OVERLAP, Uncovered, beyond_extremes
from .exceptions import OverlapWarning

_APART = 0.25
_NAMED = 5  # parts that a message names


def parts_apart(X: Any, T: Any, share: Any, size: float, N: float) -> tuple[Uncovered, ...]:
    """Return the parts of the target that no training row is near to, the largest first.

    X (rows, n), T (M, n) and the target's shares (M,), of NumPy or tensors of one device; ``size``
    and ``N`` are the numbers of rows that the target and the training rows stand for.
    """
    low, high = (X.min(axis=0), X.max(axis=0)) if is_numpy(X) else (X.amin(0), X.amax(0))
    return beyond(to_numpy(low), to_numpy(high), T, share, size, N)


def beyond(low: Any, high: Any, T: Any, share: Any, size: float, N: float) -> tuple[Uncovered, ...]:
    """`parts_apart` from the extremes of the training columns, (n,) each."""
    return tuple(
        part
        for part in beyond_extremes(low, high, N, T, share, size)
        if part.excess >= _APART
        or _far(T[:, part.column], share, float(low[part.column]), float(high[part.column]))
    )


def warn_of_apart(
    parts: Sequence[Uncovered], who: str, names: Any = None, *, stacklevel: int
) -> None:
    """Raise the alarm, where there are such parts; ``names`` are those of the columns."""
    if not parts:
        return
    found = "; ".join(part.describe(names) for part in parts[:_NAMED])
    more = f"; and {len(parts) - _NAMED} more such parts" if len(parts) > _NAMED else ""
    warnings.warn(
        f"There is no overlap: {found}{more}. {who} cannot correct for what no training row shows: "
        "restrict the target to where there are training rows, or leave out the column.",
        OverlapWarning,
        stacklevel=stacklevel + 1,
    )


def _far(t: Any, share: Any, low: float, high: float) -> bool:
    """Whether a tenth of the target lies beyond the training values by more than their range."""
    with np.errstate(over="ignore"):
        reach = np.float64(high) - low
        above, below = float(high + reach), float(low - reach)
    return float(share[(t > above) | (t < below)].sum()) >= NO_OVERLAP

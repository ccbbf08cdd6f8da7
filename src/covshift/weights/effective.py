"""How many equally weighted rows a weighted sample is worth."""

from __future__ import annotations

import numpy as np

from .._row_weights import check_weight
from .._types import Real
from .._values import numbers_of_rows


def effective_sample_size(weights: Real) -> float:
    """Kish's effective sample size, (sum w)^2 / sum w^2.

    Parameters
    ----------
    weights : array (n,)
        Of any scale.

    Returns
    -------
    float
        As many equally weighted rows would be as precise.

    References
    ----------
    L. Kish, *Survey Sampling*, Wiley, 1965.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift.weights import effective_sample_size
    >>> effective_sample_size(np.array([3.0, 1.0, 1.0, 1.0]))
    3.0
    """
    w: Real = numbers_of_rows(weights, "weights", "one weight per row")
    w = check_weight(w, w.size, "weights", of="the sample")
    w = np.ldexp(w, -int(np.frexp(w.max())[1]))  # squares neither overflow nor vanish
    return float(w.sum() ** 2 / (w @ w))

"""Outcome models that are linear in published features, cross-fitted.

A ridge regression h(x) = a + b'f(x) on features whose target means m are known has the target mean
a + b'm: no target row is needed, and nothing is assumed about how features go together. On
indicators of cells it is an additive model of the columns, with a step at each published cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._crossfit import CrossFit
from .._ridge import LeaveOneOutRidge
from .._types import Real, Rows

NAME = "ridge on published numbers"


def random_folds(points: Real, y: Real, n_folds: int, random_state: int) -> Rows:
    """Number the fold of each row (N,), at random, but whatever the order of the rows.

    Few cells have many rows each. Dealt in turn, as `_crossfit.deal` does, folds would be more
    alike than chance has it, and their jackknife too sure of itself.
    """
    order = np.lexsort((y, *points.T))
    drawn = np.random.default_rng(random_state).permutation(len(y))
    fold = np.empty(len(y), dtype=np.intp)
    fold[order] = drawn % min(n_folds, len(y))
    return fold


def predict_linear(
    Z: Real,
    means: Real,
    y: NDArray[Any],
    fold: Rows,
    *,
    classes: NDArray[Any] | None,
    weight: Real | None,
) -> CrossFit:
    """Predict y (N,), or the shares of ``classes``, at rows Z (N, p) and at the ``means`` (1, p).

    Predictions are not cut off at the range of the outcomes: their mean would not follow then.
    """
    values = y[:, None].astype(np.float64) if classes is None else (y[:, None] == classes) * 1.0
    K, k = int(fold.max()) + 1, values.shape[1]
    train, folds = np.zeros((len(Z), k)), np.zeros((K, len(means), k))
    first = 0 if classes is None else 1  # shares sum to one
    for number in range(K):
        held = fold == number
        used = ~held if weight is None else ~held & (weight > 0)
        for column in range(first, k):
            own = None if weight is None else weight[used]
            model = LeaveOneOutRidge().fit(Z[used], values[used, column], sample_weight=own)
            train[held, column] = model.intercept_ + Z[held] @ model.coef_
            folds[number, :, column] = model.intercept_ + means @ model.coef_
    if classes is not None:
        train[:, 0], folds[:, :, 0] = 1 - train.sum(axis=1), 1 - folds.sum(axis=2)
    return CrossFit(train, folds)

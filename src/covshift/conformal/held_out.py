"""Calibration of a fitted estimator by rows that were held out of those that trained it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from .base import Conformal
from .data import labelled_rows


def calibrate(
    model: Conformal,
    X: Any,
    y: Any,
    trained: Any,
    X_target: Any,
    *,
    sample_weight: Any = None,
    trained_weight: Any = None,
    target_weight: Any = None,
) -> Conformal:
    """Calibrate ``model``, whose estimator is fitted, by the rows X, and return it.

    As ``fit`` with ``prefit=True``, but that the weighter is fitted to the rows ``trained``, of
    weights ``trained_weight``, as in the split form: weights that have not seen the calibration
    rows suit these and new rows alike.
    """
    of_target = {"X_target": X_target, "target_weight": target_weight}
    rows = model._begin(X, y, sample_weight=sample_weight, **of_target)
    without = np.zeros(_num_samples(trained))  # outcomes, of which weights know nothing
    given = {"sample_weight": trained_weight, **of_target}
    weighed = labelled_rows(trained, without, None, text=model._takes_text(), **given)
    return model._calibrate(rows, weighed)

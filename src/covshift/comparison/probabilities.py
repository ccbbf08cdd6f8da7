"""How well the out-of-fold probabilities of a compared model come true."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from ..numerics.array import Real
from ..plot.curves import calibration_curve
from ..registry import (
    NONE,
)
from ..weights import WEIGHTERS
from .methods import FOLDS, MOST_BINS, ROWS_PER_BIN, learner_entry, out_of_fold, resolve


class Reliability(NamedTuple):
    """Mean prediction, observed share and standard error by bin of every curve, and a caption."""

    curves: dict[str, tuple[Real, Real, Real]]
    caption: str


class Classified(NamedTuple):
    """The rows that a classifier was compared on, in numbers, and their target."""

    X: Real  # (N, n)
    y: NDArray[Any]
    weight: Real | None  # (N,): of the design
    T: Real | None  # (M, n); None: margins
    target_weight: Real | None


def reliability_curves(
    rows: Classified,
    learner: str,
    name: str,
    weights: Real | None,
    random_state: int,
    options: dict[str, Any] | None = None,
) -> Reliability | None:
    """Curves of the method of this name; None where classes or method do not allow them.

    There must be two classes with at least five rows each. Training rows are predicted out of
    fold, at most as many as a comparison takes; with ``weights`` (N,) they stand for the target.
    With margins a method has to be weights, which are then these. ``options`` are what the
    comparison found once for all fits. Cost: five fits.
    """
    classes, counts = np.unique(rows.y, return_counts=True)
    if len(classes) != 2 or counts.min() < FOLDS:
        return None
    method = resolve(learner, name)[1]
    if rows.T is None and method != NONE and method not in WEIGHTERS:
        return None
    limit = learner_entry(learner).max_rows
    there = _some(len(rows.X), limit, random_state)
    X, positive = rows.X[there], (rows.y[there] == classes[1]).astype(np.int64)
    own, w = (None if part is None else part[there] for part in (rows.weight, weights))
    T, share = rows.T, rows.target_weight
    if T is not None:
        drawn = _some(len(T), limit, random_state)
        T, share = T[drawn], None if share is None else share[drawn]
    used, fitted_with = name, own
    if T is None and method in WEIGHTERS:  # margins: with the weights that were found
        used, fitted_with = NONE, w
    scaler = StandardScaler().fit(X, sample_weight=own)
    chances = out_of_fold(
        learner,
        used,
        "classification",
        scaler.transform(X),
        positive,
        None if T is None else scaler.transform(T),
        sample_weight=fitted_with,
        target_weight=share,
        options=options,
        random_state=random_state,
    )
    predicted = chances[:, 1]
    bins = int(np.clip(len(X) // ROWS_PER_BIN, 1, MOST_BINS))
    curves = {"training rows": calibration_curve(positive, predicted, own, bins)}
    if w is not None and w.any():
        curves["weighted to the target"] = calibration_curve(positive, predicted, w, bins)
    shown = learner if name == NONE else f"{learner}, {name}"
    return Reliability(
        curves,
        f"Probability of {classes[1]!s:.40} by the recommended model ({shown}); training rows are "
        "predicted out of fold. On the diagonal, predicted probabilities come true; a weighted "
        "curve away from it shows that the model is wrong where the target lies.",
    )


def _some(count: int, limit: int, random_state: int) -> NDArray[np.intp]:
    if count <= limit:
        return np.arange(count)
    return np.sort(np.random.default_rng(random_state).choice(count, limit, replace=False))

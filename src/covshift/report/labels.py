"""What labels add to the report: how well out-of-fold probabilities come true."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from .._types import Real
from ..exceptions import InputError
from ..plot.reliability import calibration_curve

_FOLDS = 5
_MOST_BINS, _ROWS_PER_BIN = 10, 20


def check_labels(y: Any, rows: int, name: str, of: str) -> NDArray[Any]:
    """Return one label per row."""
    values = np.asarray(y)
    if values.shape != (rows,):
        raise InputError(
            f"{name} has shape {values.shape}, but {of} has {rows} rows. Pass one label per row."
        )
    return values


def reliability_curves(
    X: Real,
    y: NDArray[Any] | None,
    own: Real | None,
    weights: Real | None,
    random_state: int,
    target: tuple[Real, NDArray[Any] | None, Real | None] | None = None,
) -> tuple[dict[str, tuple[Real, Real, Real]], str] | None:
    """Curves of a logistic regression, and the caption; None where the labels do not allow them.

    There must be two classes with at least five rows each. Training rows are predicted out of
    fold, the model fitted with their weights ``own``; with ``weights`` they stand for the target.
    With a ``target`` of rows, labels and weights, this itself is shown too, from a model fitted to
    all training rows.
    """
    if y is None:
        return None
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) != 2 or counts.min() < _FOLDS:
        return None
    positive = (y == classes[1]).astype(np.int64)
    T, y_target, share = (None, None, None) if target is None else target
    unit = np.abs(X).max(axis=0)
    unit = unit if T is None else np.maximum(unit, np.abs(T).max(axis=0))
    unit[unit == 0] = 1.0
    X = X / unit
    predicted = np.empty(len(X))
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=random_state)
    for train, test in folds.split(X, positive):
        fitted = _fitted(X[train], positive[train], None if own is None else own[train])
        predicted[test] = fitted.predict_proba(X[test])[:, 1]
    n_bins = int(np.clip(len(X) // _ROWS_PER_BIN, 1, _MOST_BINS))
    curves = {"training rows": calibration_curve(positive, predicted, own, n_bins)}
    if weights is not None:
        name = "weighted to the target"
        curves[name] = calibration_curve(positive, predicted, weights, n_bins)
    if T is not None and y_target is not None and np.isin(y_target, classes).all():
        on_target = _fitted(X, positive, own).predict_proba(T / unit)[:, 1]
        truth = (y_target == classes[1]).astype(np.int64)
        n_bins = int(np.clip(len(T) // _ROWS_PER_BIN, 1, _MOST_BINS))
        curves["target labels"] = calibration_curve(truth, on_target, share, n_bins)
    caption = (
        f"Probability of {classes[1]!s:.40} by a plain logistic regression; training rows are "
        "predicted out of fold. A curve on the diagonal is calibrated; a weighted curve away from "
        "it shows that the model is wrong where the target lies."
    )
    return curves, caption


def _fitted(X: Real, positive: NDArray[np.int64], own: Real | None) -> Any:
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return model.fit(X, positive, logisticregression__sample_weight=own)

"""What labels add to the report: how well out-of-fold probabilities come true."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ..comparison.methods import fit_method, learner_entry, resolve
from ..exceptions import InputError
from ..numerics.array import Real
from ..plot.curves import calibration_curve
from ..registry import LEARNERS, NONE
from ..weights import WEIGHTERS

_FOLDS = 5
_MOST_BINS, _ROWS_PER_BIN = 10, 20


class Compared(NamedTuple):
    """The model that a comparison recommends."""

    learner: str
    method: str


class Labelled(NamedTuple):
    """Rows, their labels and their weights, where they have some."""

    X: Real
    y: NDArray[Any] | None
    weight: Real | None


def recommended_model(comparison: dict[str, Any] | None) -> Compared | None:
    """Return the learner and the method that a comparison recommends; None without one."""
    if comparison is None:
        return None
    return Compared(comparison["learner"], comparison["recommended"])


def reliability_curves(
    train: Labelled,
    weights: Real | None,
    random_state: int,
    target: Labelled | None = None,
    model: Compared | None = None,
) -> tuple[dict[str, tuple[Real, Real, Real]], str] | None:
    """Curves of a model, and the caption; None where labels or model do not allow them.

    There must be two classes with at least five rows each. Training rows are predicted out of
    fold; with ``weights`` (N,) they stand for the target. A ``target`` with labels is shown too,
    from a model fitted to all training rows. The model is the one that was compared, on as many
    rows at most as a comparison takes; where there was no comparison, a logistic regression.
    """
    if train.y is None:
        return None
    classes, counts = np.unique(train.y, return_counts=True)
    if len(classes) != 2 or counts.min() < _FOLDS:
        return None
    if model is not None and not _can_be_fitted(model, target):
        return None
    positive = (train.y == classes[1]).astype(np.int64)
    T = None if target is None else target.X
    unit = np.abs(train.X).max(axis=0)
    unit = unit if T is None else np.maximum(unit, np.abs(T).max(axis=0))
    unit[unit == 0] = 1.0
    rows = _some(len(train.X), model, random_state)
    X, positive = (train.X / unit)[rows], positive[rows]
    own, w = (None if part is None else part[rows] for part in (train.weight, weights))
    there = None if target is None else target._replace(X=target.X / unit)
    fit = _Fit(X, positive, own, w, there, model, random_state)
    predicted = np.empty(len(X))
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=random_state)
    for rest, held in folds.split(X, positive):
        predicted[held] = fit(rest)(X[held])
    curves = {"training rows": calibration_curve(positive, predicted, own, _bins(X))}
    if w is not None and w.any():
        curves["weighted to the target"] = calibration_curve(positive, predicted, w, _bins(X))
    if there is not None and there.y is not None and np.isin(there.y, classes).all():
        truth = (there.y == classes[1]).astype(np.int64)
        said = fit(np.arange(len(X)))(there.X)
        curves["target labels"] = calibration_curve(truth, said, there.weight, _bins(there.X))
    name = (
        "a plain logistic regression"
        if model is None
        else f"the recommended model ({_name(model)})"
    )
    caption = (
        f"Probability of {classes[1]!s:.40} by {name}; training rows are predicted out of fold. On "
        "the diagonal, predicted probabilities come true; a weighted curve away from it shows that "
        "the model is wrong where the target lies."
    )
    return curves, caption


class _Fit:
    """Fits the model to some of the rows, and returns what gives probabilities."""

    def __init__(
        self,
        X: Real,
        positive: NDArray[np.int64],
        own: Real | None,
        weights: Real | None,
        target: Labelled | None,
        model: Compared | None,
        random_state: int,
    ) -> None:
        self.X, self.positive, self.own, self.weights = X, positive, own, weights
        self.target, self.model, self.random_state = target, model, random_state

    def __call__(self, rows: Any) -> Any:
        own = None if self.own is None else self.own[rows]
        X, positive = self.X[rows], self.positive[rows]
        if self.model is None:
            fitted = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
            fitted.fit(X, positive, logisticregression__sample_weight=own)
            return lambda Z: fitted.predict_proba(Z)[:, 1]
        learner, method = self.model
        scaler = StandardScaler().fit(X, sample_weight=own)
        T, share = None, None
        if self.target is not None:
            there = _some(len(self.target.X), self.model, self.random_state)
            T = scaler.transform(self.target.X[there])
            share = None if self.target.weight is None else self.target.weight[there]
        elif method in WEIGHTERS:  # margins: with the weights that were found
            method, own = NONE, None if self.weights is None else self.weights[rows]
        found = fit_method(
            learner,
            method,
            "classification",
            scaler.transform(X),
            positive,
            T,
            sample_weight=own,
            target_weight=share,
            random_state=self.random_state,
        )
        return lambda Z: found.predict_proba(scaler.transform(Z))[:, 1]


def _can_be_fitted(model: Compared, target: Labelled | None) -> bool:
    if model.learner not in LEARNERS:
        return False
    try:
        method = resolve(*model)[1]
    except InputError:
        return False
    return target is not None or method == NONE or method in WEIGHTERS


def _some(count: int, model: Compared | None, random_state: int) -> NDArray[np.intp]:
    limit = count if model is None else learner_entry(model.learner).max_rows
    if count <= limit:
        return np.arange(count)
    return np.sort(np.random.default_rng(random_state).choice(count, limit, replace=False))


def _bins(X: Real) -> int:
    return int(np.clip(len(X) // _ROWS_PER_BIN, 1, _MOST_BINS))


def _name(model: Compared) -> str:
    return model.learner if model.method == NONE else f"{model.learner}, {model.method}"

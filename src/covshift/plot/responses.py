"""What a fitted classifier of two classes says of some rows, for the displays of its scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._both_samples import takes_tables
from .._labels import class_labels, labels_of_rows
from .._types import Flags, Real
from .._validation import check_given
from ..exceptions import InputError


def model_name(estimator: Any) -> str:
    """Name an estimator by its class, and a pipeline by that of its last step."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return type(estimator).__name__


def positives(y: Any, pos_label: Any) -> Flags:
    """Whether each label is the positive one: by default the larger of two, or one of 0 and 1."""
    labels = labels_of_rows(y, "y", None, "the scores")
    classes = np.unique(labels)
    if pos_label is None:
        if len(classes) > 2:
            raise InputError(f"y has {len(classes)} classes. Name the positive one: pos_label=...")
        if len(classes) == 1 and classes[0] not in (0, 1):
            raise InputError(
                f"y holds {classes[0]!r} alone, so that it does not tell which class is positive. "
                "Name it: pos_label=..."
            )
        pos_label = classes[-1] if len(classes) == 2 else 1
    return np.asarray(labels == pos_label)


def known_positives(estimator: Any, y: Any, label: Any, scores: Real) -> Flags:
    """Whether each label is this class of the estimator; refuse labels that it does not know."""
    labels = class_labels(y, len(scores))
    classes = np.asarray(estimator.classes_).tolist()
    unknown = [one for one in np.unique(labels).tolist() if one not in classes]
    if unknown:
        raise InputError(
            f"y holds {unknown[0]!r}, which is none of the estimator's classes {classes}."
        )
    return np.asarray(labels == label)


def positive_scores(
    estimator: Any, X: Any, pos_label: Any, *, probability: bool = False
) -> tuple[Real, Any]:
    """Return the scores of the positive class (rows,), and that class.

    They are probabilities, or where there are none, and ``probability`` does not ask for them, the
    values of ``decision_function``.
    """
    check_is_fitted(estimator)
    classes = list(getattr(estimator, "classes_", ()))
    if len(classes) != 2:
        raise InputError(
            f"{model_name(estimator)} has {len(classes)} classes in classes_. The picture is of a "
            "classifier of two classes; of others, pass labels y == class and scores to "
            "from_predictions."
        )
    label = classes[1] if pos_label is None else pos_label
    if label not in classes:
        raise InputError(f"pos_label={label!r} is none of the classes {classes}.")
    number = classes.index(label)
    X = check_given(X, "X", text=takes_tables(estimator), frames=True)
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, number], label
    if probability or not hasattr(estimator, "decision_function"):
        needed = "predict_proba" if probability else "predict_proba or decision_function"
        raise InputError(f"{model_name(estimator)} has no {needed}.")
    scores = np.asarray(estimator.decision_function(X), dtype=np.float64).reshape(-1)
    return (scores if number else -scores), label

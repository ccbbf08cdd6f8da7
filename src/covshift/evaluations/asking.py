"""Ask a model about both samples, as it stands or refitted by folds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, cross_val_predict

from ..data import Samples
from ..data.columns import spelled
from ..exceptions import InputError
from ..numerics.array import Flags, Rows, is_array, row_count, take_rows, to_numpy

Task = Literal["classes", "numbers"]


def answers(
    samples: Samples, model: Any, method: str, present: Flags, y: Any, cv: Any
) -> list[Any]:
    """Ask the model about both samples; with cv, clones of it about the labelled rows."""
    assert samples.given is not None
    X, target = samples.given.as_fitted(model)
    ask = getattr(model, method)
    try:
        there = _answer(ask, target)
        if cv is None:
            return [_answer(ask, X), there]
    except NotFittedError as error:
        raise InputError(
            f"{type(model).__name__} is not fitted. Fit it to the rows that it is to be used "
            "with; Predictions(model, cv=5) then refits clones to judge the labelled rows."
        ) from error
    except InputError:
        raise
    except Exception as error:  # whatever a model of the user's may raise
        raise InputError(
            f"{type(model).__name__}.{method} cannot be applied to the rows as given: {error}"
        ) from error
    rows = np.flatnonzero(present)
    groups = None if samples.cluster is None else samples.cluster[rows]
    folds = GroupKFold(cv) if groups is not None and isinstance(cv, int) else cv
    try:
        held = cross_val_predict(
            clone(model), take_rows(X, rows), y[rows], cv=folds, groups=groups, method=method
        )
    except Exception as error:
        raise InputError(
            f"{type(model).__name__} cannot be refitted by folds with cv={cv!r}: "
            f"{str(error).rstrip('.')}. cv= takes an estimator of scikit-learn's kind, and a "
            "number of folds or a splitter that leaves every row out once."
        ) from error
    train = np.repeat(held[:1], len(present), axis=0)  # rows without a label are not judged
    train[rows] = held
    return [train, there]


def task_of(model: Any) -> Task:
    """Say whether a model predicts classes or numbers."""
    if hasattr(model, "predict_proba"):
        return "classes"
    try:
        if is_classifier(model):
            return "classes"
        if is_regressor(model):
            return "numbers"
    except AttributeError:  # not of scikit-learn's kind
        pass
    raise InputError(
        f"{type(model).__name__} is neither a classifier nor a regressor of scikit-learn's "
        'kind. Pass task="classes" or task="numbers".'
    )


def numbered(predicted: Any, classes: tuple[str, ...]) -> Rows:
    """Number the predicted classes."""
    labels, number = np.unique(np.asarray(predicted).reshape(-1), return_inverse=True)
    found = [spelled(label) for label in labels.tolist()]
    place = {label: k for k, label in enumerate(classes)}
    unknown = sorted(set(found) - set(place))
    if unknown:
        raise InputError(
            f"The model predicts {unknown[:5]}, which are not among the classes {list(classes)}."
        )
    return np.array([place[label] for label in found], dtype=np.intp)[number.reshape(-1)]


def _answer(ask: Callable[[Any], Any], rows: Any) -> Any:
    """Ask about rows: (n,) or (n, K)."""
    values = ask(rows)
    found = np.asarray(to_numpy(values) if is_array(values) else values)
    if found.ndim == 0 or len(found) != row_count(rows):
        raise InputError(
            f"The model answers with the shape {found.shape} about {row_count(rows)} rows. It "
            "must give one answer per row."
        )
    return found

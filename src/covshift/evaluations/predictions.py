"""From a model, or from scores that were given, to what is judged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data import Samples
from ..data.columns import LARGEST, Outcome, check_outcomes, row_list, spelled
from ..data.parameters import number, one_of
from ..data.validation import unwrap_target
from ..data.values import numbers_of_rows
from ..exceptions import InputError, InputTypeError
from ..numerics.array import Flags, Real
from .asking import Task, answers, numbered, task_of
from .metrics import Needs
from .scored import Scored

_MOST_CLASSES = 100
_REMEDY = (
    "Turn it into numbers; or, if it holds classes, pass a classifier, or one score per class and "
    "row."
)
_ROUNDED = 0.01  # by so much rounded probabilities may miss a sum of one


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a model predicts, for `covshift.evaluate`: scores, or a model with more said of it.

    Parameters
    ----------
    model : model, name, (N,) or (N, K) array, or dict of these by name
        A fitted model; or (N,) scores, (N, K) probabilities or (N,) predictions of the labelled
        rows, or the name of a column that holds them.
    target : name, (M,) or (M, K) array, or dict of these by name, optional
        Where ``model`` holds scores: those of the target rows.
    threshold : float, optional
        Predict the positive class from this score on. Default: what the model predicts; for scores
        0.5 where they are within 0 and 1, else 0.
    positive : label, optional
        The positive one of two classes, whose scores are given; default the second.
    task : {"classes", "numbers"}, optional
        What y holds, where it cannot be told from the model.
    trained_on : name, (N,) array of booleans, or row numbers, optional
        Rows that trained the model. They do not judge it; outcome models of classes also learn from
        them, and then see the features without the scores.
    cv : int or splitter, optional
        Judge the labelled rows by clones of the model, refitted without the row's fold.

    Examples
    --------
    >>> from covshift import Predictions, evaluate
    >>> from covshift.datasets import make_survey
    >>> survey = make_survey(400, 300, random_state=0)
    >>> scores = Predictions(survey.X[:, 0], survey.X_target[:, 0], threshold=45)
    >>> found = evaluate(scores, survey.X, survey.y, survey.X_target, metrics="roc_auc")
    >>> print(f"{found['roc_auc'].value:.1f}")
    0.7
    """

    model: Any
    target: Any = None
    threshold: float | None = None
    positive: Any = None
    task: Task | None = None
    trained_on: Any = None
    cv: Any = None

    def check(self) -> None:
        """Refuse options that contradict each other."""
        one_of("classes", "numbers", None).check(self.task, "task")
        if self.threshold is not None:
            number().check(self.threshold, "threshold")
        if self.cv is not None and self.trained_on is not None:
            raise InputError(
                "trained_on leaves rows out, cv refits the model without them: pass one of the two."
            )
        models = self.model.values() if isinstance(self.model, dict) else [self.model]
        if any(isinstance(one, Predictions) for one in models):
            raise InputTypeError(
                "Predictions holds Predictions. Pass one Predictions, of a dict for several models."
            )


@dataclass(frozen=True, eq=False)
class Predicted:
    """What a classifier said of the rows of both samples, in place of the classifier itself.

    Parameters
    ----------
    classes : pair of (N,) and (M,) arrays
        Predicted classes of the labelled rows and of the target rows.
    scores : pair of (N,) or (N, K) and (M,) or (M, K) arrays, optional
        Its scores, of the positive class or of every class.
    classes_ : (K,) array, optional
        Classes in the order of the columns of scores; default: sorted.
    """

    classes: tuple[Any, Any]
    scores: tuple[Any, Any] | None = None
    classes_: Any = None


def are_scores(model: Any) -> bool:
    """Whether a model is its scores, or the name of their column."""
    return not isinstance(model, type | Predicted) and not hasattr(model, "predict")


@dataclass(frozen=True)
class Reader:
    """Reads models and scores of the same two samples."""

    sample: Samples
    asked: Predictions

    def _answers(self, model: Any, method: str, present: Flags, y: Any) -> list[Any]:
        if isinstance(model, Predicted):
            return list(model.classes if method == "predict" else model.scores or ())
        return answers(self.sample, model, method, present, y, self.asked.cv)

    def read(self, model: Any, name: str, target_scores: Any) -> tuple[Scored, Outcome]:
        """Return what the model says, and the outcome it is judged by."""
        if isinstance(model, type):
            raise InputTypeError(f"model={model!r} is a class. Pass a fitted model of it.")
        if isinstance(model, Predicted) or hasattr(model, "predict"):
            if target_scores is not None:
                raise InputError(
                    "The target's scores go with those of the labelled rows; this model makes its "
                    "own. Pass either the model, or Predictions(scores, target_scores)."
                )
            return self._of_model(model, name)
        if self.asked.cv is not None:
            raise InputError("cv refits a model, but scores were given. Pass the model itself.")
        if target_scores is None:
            raise InputError(
                "model has no method predict, so it is taken for scores of the labelled rows; then "
                "those of the target rows are needed too: Predictions(scores, target_scores)."
            )
        return self._of_scores(model, name, target_scores)

    def target_labels(self, y_target: Any, scored: Scored) -> Outcome | None:
        """Read the labels of target rows; those without one are not present."""
        if y_target is None:
            return None
        outcomes = check_outcomes(
            unwrap_target(y_target),
            len(self.sample.T),
            numbers=not scored.classes,
            title="y_target",
            of="X_target",
            remedy=_REMEDY,
        )
        if len(outcomes) > 1:
            raise InputError(
                f"y_target has {len(outcomes)} columns. Pass one label per target row."
            )
        if scored.classes:
            self._classes(scored.classes, outcomes[0], "y_target")
        return outcomes[0]

    def _of_model(self, model: Any, name: str) -> tuple[Scored, Outcome]:
        recorded = isinstance(model, Predicted)
        if not recorded and (self.asked.task or task_of(model)) == "numbers":
            outcome = self._outcome(numbers=True)
            asked = self._answers(model, "predict", outcome.present, outcome.y)
            train, target = (_column(part, name) for part in asked)
            return Scored(name, train, target), outcome
        outcome = self._outcome(numbers=False)
        raw = getattr(model, "classes_", None)
        raw = None if raw is None else np.asarray(raw)
        labels = sorted_labels(outcome) if raw is None else [spelled(c) for c in raw.tolist()]
        classes = self._classes(tuple(labels), outcome)
        codes = np.searchsorted(np.sort(classes), outcome.y)
        codes = np.argsort(classes)[np.minimum(codes, len(classes) - 1)]
        y = np.asarray(labels)[codes] if raw is None else raw[codes]
        able = ("scores",) if recorded else ("predict_proba", "decision_function")
        method = next((m for m in able if getattr(model, m, None) is not None), "")
        said = self._answers(model, "predict", outcome.present, y)
        chosen = [numbered(part, classes) for part in said]
        if not method:
            both = [np.eye(len(classes))[part] for part in chosen]
            self._no_threshold(classes)
            found = Scored(name, both[0], both[1], "predictions", classes)
        else:
            asked = self._answers(model, method, outcome.present, y)
            found = self._scored(name, asked[0], asked[1], classes)
        if self.asked.threshold is None:
            found = replace(found, chosen=chosen[0], chosen_target=chosen[1])
        return found, outcome

    def _of_scores(self, scores: Any, name: str, target_scores: Any) -> tuple[Scored, Outcome]:
        train, target = _array(scores, "model"), _array(target_scores, "the target's scores")
        for part, size, title in (
            (train, len(self.sample.X), "model (the scores of the labelled rows)"),
            (target, len(self.sample.T), "The target's scores"),
        ):
            if len(part) != size:
                of = "X" if part is train else "X_target"
                raise InputError(f"{title} has {len(part)} rows, but {of} has {size}.")
        if train.shape[1:] != target.shape[1:]:
            raise InputError(
                f"The labelled rows have scores of the shape {train.shape}, the target rows of "
                f"{target.shape}. Pass the same columns for both."
            )
        outcome = self._outcome(numbers=False)
        labels = sorted_labels(outcome)
        columns = 1 if train.ndim == 1 else train.shape[1]
        if self.asked.task is None and len(labels) == 1 and columns == 1:
            raise InputError(
                f"y has only one class ({labels[0]!r}); evaluating a classifier needs two. For an "
                'outcome of numbers pass task="numbers".'
            )
        task = self.asked.task or ("classes" if columns > 1 or len(labels) == 2 else "numbers")
        if task == "numbers":
            outcome = self._outcome(numbers=True)
            return Scored(name, _column(train, name), _column(target, name)), outcome
        return self._scored(name, train, target, self._classes(tuple(labels), outcome)), outcome

    def _scored(self, name: str, train: Any, target: Any, classes: tuple[str, ...]) -> Scored:
        """Turn one score, or one per class, into columns for every class, and predictions."""
        positive = self._positive(classes)
        parts = []
        for part in (train, target):
            scores = _array(part, name)
            if scores.ndim == 2 and scores.shape[1] == 1:
                scores = scores[:, 0]
            expected = f"one score per row, or {len(classes)} for the classes of y, {list(classes)}"
            if scores.ndim == 1 and len(classes) != 2:
                raise InputError(f"{name} has one score per row; expected {expected}.")
            if scores.ndim == 2 and scores.shape[1] != len(classes):
                raise InputError(
                    f"{name} has {scores.shape[1]} scores per row; expected {expected}."
                )
            parts.append(scores)
        single = parts[0].ndim == 1
        share = all(bool(((part >= 0) & (part <= 1)).all()) for part in parts)
        if single:
            rest = [1 - part if share else -part for part in parts]
            order = (0, 1) if positive == 1 else (1, 0)
            pairs = [np.column_stack([r, s]) for r, s in zip(rest, parts, strict=True)]
            parts = [pair[:, order] for pair in pairs]
        elif share:
            share = all(bool((np.abs(part.sum(axis=1) - 1) < _ROUNDED).all()) for part in parts)
        needs: Needs = "probabilities" if share else "scores"
        if len(classes) == 2 and (single or share or self.asked.threshold is not None):
            cut = (
                self.asked.threshold
                if self.asked.threshold is not None
                else (0.5 if share else 0.0)
            )
            chosen = [np.where(p[:, positive] >= cut, positive, 1 - positive) for p in parts]
        else:
            if len(classes) > 2:
                self._no_threshold(classes)
            chosen = [part.argmax(axis=1) for part in parts]
        return Scored(name, parts[0], parts[1], needs, classes, positive, chosen[0], chosen[1])

    def _outcome(self, *, numbers: bool) -> Outcome:
        outcomes = check_outcomes(
            self.sample.y, len(self.sample.X), numbers=numbers, remedy=_REMEDY
        )
        if len(outcomes) > 1:
            raise InputError(f"y has {len(outcomes)} columns. Pass one outcome per row.")
        size = np.abs(outcomes[0].y[outcomes[0].present]).max(initial=0.0) if numbers else 1.0
        if 0 < size < 1 / LARGEST:
            raise InputError(
                f"y has no number beyond {1 / LARGEST:g}, and the squares of its errors vanish. "
                "Rescale it."
            )
        return outcomes[0]

    def _classes(
        self, classes: tuple[str, ...], outcome: Outcome, title: str = "y"
    ) -> tuple[str, ...]:
        if len(classes) < 2:
            raise InputError(
                f"y holds only the class {', '.join(classes)}. A classifier is judged by two."
            )
        if len(classes) > _MOST_CLASSES:
            raise InputError(
                f"y holds {len(classes)} classes, of which at most {_MOST_CLASSES} can be judged. "
                'For an outcome of numbers pass task="numbers".'
            )
        unknown = sorted(set(outcome.y[outcome.present].tolist()) - set(classes))
        if unknown:
            raise InputError(
                f"{title} holds {unknown[:5]}, but the model knows the classes {list(classes)} "
                "alone. Write the labels as the model's classes_ are written, and leave out rows "
                "of other classes."
            )
        return classes

    def _positive(self, classes: tuple[str, ...]) -> int:
        if self.asked.positive is None:
            return len(classes) - 1 if len(classes) == 2 else 0
        if len(classes) != 2:
            raise InputError("positive names one of two classes, but there are more.")
        if spelled(self.asked.positive) not in classes:
            raise InputError(f"positive={self.asked.positive!r} is not one of {list(classes)}.")
        return classes.index(spelled(self.asked.positive))

    def _no_threshold(self, classes: Sequence[str]) -> None:
        if self.asked.threshold is not None:
            raise InputError(
                "threshold cuts the score of one of two classes; here are "
                + (f"{len(classes)} classes." if len(classes) > 2 else "no scores.")
            )


def sorted_labels(outcome: Outcome) -> list[str]:
    """Labels in the order of their numbers, or of the alphabet."""
    labels = sorted(set(outcome.y[outcome.present].tolist()))
    try:
        numbers = [float(label) for label in labels]
    except ValueError:
        return labels
    return labels if any(map(math.isnan, numbers)) else sorted(labels, key=float)


def _array(values: Any, title: str) -> Real:
    if values is None or isinstance(values, str):
        raise InputTypeError(f"{title}={values!r} is neither a model nor scores.")
    try:
        found = numbers_of_rows(values, title)
    except InputTypeError as error:
        raise InputTypeError(
            f"{title} is neither a fitted model (it has no method predict) nor an array of numbers."
        ) from error
    if found.ndim not in (1, 2):
        raise InputError(f"{title} has {found.ndim} dimensions. Pass one score per row.")
    if not np.isfinite(found).all():
        rows = np.flatnonzero(~np.isfinite(found).reshape(len(found), -1).all(axis=1))
        raise InputError(
            f"{title} has scores of NaN or infinity (rows {row_list(rows)}). Pass a number for "
            "every row, or leave these rows out of X, y and the scores."
        )
    if (np.abs(found) > LARGEST).any():
        raise InputError(f"{title} has scores beyond {LARGEST:g}. Repair or rescale them.")
    return found


def _column(values: Any, title: str) -> Real:
    found = _array(values, title)
    if found.ndim == 2 and found.shape[1] != 1:
        raise InputError(f"{title} has {found.shape[1]} predictions per row. Pass one.")
    return found.reshape(-1, 1)

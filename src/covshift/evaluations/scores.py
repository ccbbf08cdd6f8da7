"""From a model, or from its scores, to the scores and predictions of both samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.utils import _safe_indexing

from .._array import is_array, to_numpy
from .._types import Real, Rows
from .._validation import unwrap_target
from ..estimates.columns import Outcome, check_outcomes, row_list, spelled
from ..estimates.data import Sample
from ..exceptions import InputError, InputTypeError
from .masses import log_odds
from .metrics import Needs

Task = Literal["classes", "numbers"]
_MOST_ODDS = 7.0  # log-odds that an outcome model sees: probabilities of .001 to .999
_MOST_CLASSES = 100


@dataclass(frozen=True)
class Scored:
    """What a model says of the rows of both samples; of numbers, one column of predictions."""

    name: str
    train: Real  # (N, K), or (N, 1)
    target: Real  # (M, K), or (M, 1)
    given: Needs = "predictions"
    classes: tuple[str, ...] = ()
    positive: int = 0
    chosen: Rows | None = None  # (N,): number of the predicted class
    chosen_target: Rows | None = None  # (M,)

    def rows(self, kept: Rows) -> Scored:
        """Keep some of the training rows."""
        chosen = None if self.chosen is None else self.chosen[kept]
        return replace(self, train=self.train[kept], chosen=chosen)

    def target_rows(self, kept: Rows) -> Scored:
        """Keep some of the target rows."""
        chosen = None if self.chosen_target is None else self.chosen_target[kept]
        return replace(self, target=self.target[kept], chosen_target=chosen)

    @property
    def both(self) -> Real:
        """Scores of the training rows, then of the target rows: (N + M, K)."""
        return np.vstack([self.train, self.target])

    def columns(self) -> tuple[Real, Real]:
        """Columns that an outcome model sees beside the features: (N, c), (M, c).

        Log-odds of probabilities, other scores as they are; in units of their spread.
        """
        both = self.both
        if self.given == "probabilities":
            both = np.clip(log_odds(both), -_MOST_ODDS, _MOST_ODDS)
        if len(self.classes) == 2:
            both = both[:, [self.positive]]
        elif self.classes:
            both = both[:, 1:]
        labelled = both[: len(self.train)]
        spread = labelled.std(axis=0)
        both = (both - labelled.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        return both[: len(self.train)], both[len(self.train) :]


@dataclass(frozen=True)
class Reader:
    """Reads models and scores of the same two samples."""

    X: Any
    target: Any
    y: Any
    sample: Sample
    threshold: float | None
    positive: Any
    cv: Any
    task: Task | None

    def read(self, model: Any, name: str, target_scores: Any) -> tuple[Scored, Outcome]:
        """Return what the model says, and the outcome it is judged by."""
        if isinstance(model, type):
            raise InputTypeError(f"model={model!r} is a class. Pass a fitted model of it.")
        if hasattr(model, "predict"):
            if target_scores is not None:
                raise InputError(
                    "target_scores goes with the scores of the labelled rows; this model makes its "
                    "own. Pass either the model or both scores."
                )
            return self._of_model(model, name)
        if self.cv is not None:
            raise InputError("cv refits a model, but scores were given. Pass the model itself.")
        if target_scores is None:
            raise InputError(
                "model has no method predict, so it is taken for scores of the labelled rows; then "
                "target_scores, the scores of the target rows, are needed too."
            )
        return self._of_scores(model, name, target_scores)

    def target_labels(self, y_target: Any, scored: Scored) -> Outcome | None:
        """Read the labels of target rows; those without one are not present."""
        if y_target is None:
            return None
        found = check_outcomes(
            unwrap_target(y_target),
            len(self.sample.T),
            numbers=not scored.classes,
            title="y_target",
            of="X_target",
        )
        if len(found) > 1:
            raise InputError(f"y_target has {len(found)} columns. Pass one label per target row.")
        if scored.classes:
            self._classes(scored.classes, found[0], "y_target")
        return found[0]

    def _of_model(self, model: Any, name: str) -> tuple[Scored, Outcome]:
        if self._task_of(model) == "numbers":
            outcome = self._outcome(numbers=True)
            asked = self._asked(model, "predict", outcome, outcome.y)
            train, target = (_column(part, name) for part in asked)
            return Scored(name, train, target), outcome
        outcome = self._outcome(numbers=False)
        raw = getattr(model, "classes_", None)
        labels = _sorted_labels(outcome) if raw is None else [spelled(c) for c in raw.tolist()]
        classes = self._classes(tuple(labels), outcome)
        codes = np.searchsorted(np.sort(classes), outcome.y)
        codes = np.argsort(classes)[np.minimum(codes, len(classes) - 1)]
        y = np.asarray(labels)[codes] if raw is None else np.asarray(raw)[codes]
        method = next((m for m in ("predict_proba", "decision_function") if hasattr(model, m)), "")
        chosen = [_numbered(part, classes) for part in self._asked(model, "predict", outcome, y)]
        if not method:
            both = [np.eye(len(classes))[part] for part in chosen]
            self._no_threshold(classes)
            found = Scored(name, both[0], both[1], "predictions", classes)
        else:
            asked = self._asked(model, method, outcome, y)
            found = self._scored(name, asked[0], asked[1], classes)
        if self.threshold is None:
            found = replace(found, chosen=chosen[0], chosen_target=chosen[1])
        return found, outcome

    def _of_scores(self, scores: Any, name: str, target_scores: Any) -> tuple[Scored, Outcome]:
        train, target = _array(scores, "model"), _array(target_scores, "target_scores")
        for part, size, title in (
            (train, len(self.sample.Z), "model (the scores of the labelled rows)"),
            (target, len(self.sample.T), "target_scores"),
        ):
            if len(part) != size:
                raise InputError(f"{title} has {len(part)} rows, but its sample has {size}.")
        if train.shape[1:] != target.shape[1:]:
            raise InputError(
                f"The labelled rows have scores of the shape {train.shape}, the target rows of "
                f"{target.shape}. Pass the same columns for both."
            )
        outcome = self._outcome(numbers=False)
        labels = _sorted_labels(outcome)
        columns = 1 if train.ndim == 1 else train.shape[1]
        task = self.task or ("classes" if columns > 1 or len(labels) == 2 else "numbers")
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
            expected = f"one score per row, or {len(classes)} for the classes {list(classes)}"
            if scores.ndim == 1 and len(classes) != 2:
                raise InputError(f"{name} has one score per row; expected {expected}.")
            if scores.ndim == 2 and scores.shape[1] != len(classes):
                raise InputError(f"{name} has {scores.shape[1]} scores per row; {expected}.")
            parts.append(scores)
        share = all(bool(((part >= 0) & (part <= 1)).all()) for part in parts)
        if parts[0].ndim == 1:
            rest = [1 - part if share else -part for part in parts]
            order = (0, 1) if positive == 1 else (1, 0)
            pairs = [np.column_stack([r, s]) for r, s in zip(rest, parts, strict=True)]
            parts = [pair[:, order] for pair in pairs]
        elif share:
            share = all(bool((np.abs(part.sum(axis=1) - 1) < 1e-6).all()) for part in parts)
        given: Needs = "probabilities" if share else "scores"
        if len(classes) == 2:
            cut = self.threshold if self.threshold is not None else (0.5 if share else 0.0)
            chosen = [np.where(p[:, positive] >= cut, positive, 1 - positive) for p in parts]
        else:
            self._no_threshold(classes)
            chosen = [part.argmax(axis=1) for part in parts]
        return Scored(name, parts[0], parts[1], given, classes, positive, chosen[0], chosen[1])

    def _asked(self, model: Any, method: str, outcome: Outcome, y: Any) -> list[Any]:
        """Ask the model about both samples; with cv, clones of it about the labelled rows."""
        ask = getattr(model, method)
        try:
            target = ask(self.target)
            if self.cv is None:
                return [_array_or_labels(ask(self.X)), _array_or_labels(target)]
            kept = np.flatnonzero(outcome.present)
            groups = None if self.sample.cluster is None else self.sample.cluster[kept]
            cv = self.cv
            if groups is not None and isinstance(cv, int):
                cv = GroupKFold(cv)
            held = cross_val_predict(
                clone(model),
                _safe_indexing(self.X, kept),
                y[kept],
                cv=cv,
                groups=groups,
                method=method,
            )
        except NotFittedError as error:
            raise InputError(
                f"{type(model).__name__} is not fitted. Fit it to the rows that it is to be used "
                "with; cv= then refits clones to judge the labelled rows."
            ) from error
        except (TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"{type(model).__name__}.{method} cannot be applied to the rows as given: {error}"
            ) from error
        train = np.repeat(held[:1], len(outcome.y), axis=0)  # rows without a label are not judged
        train[kept] = held
        return [train, _array_or_labels(target)]

    def _task_of(self, model: Any) -> Task:
        if self.task is not None:
            return self.task
        if is_classifier(model) or hasattr(model, "predict_proba"):
            return "classes"
        if is_regressor(model):
            return "numbers"
        raise InputError(
            f"{type(model).__name__} is neither a classifier nor a regressor of scikit-learn's "
            'kind. Pass task="classes" or task="numbers".'
        )

    def _outcome(self, *, numbers: bool) -> Outcome:
        found = check_outcomes(self.y, len(self.sample.Z), numbers=numbers)
        if len(found) > 1:
            raise InputError(f"y has {len(found)} columns. Pass one outcome per row.")
        return found[0]

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
        unknown = sorted(set(outcome.y[outcome.present]) - set(classes))
        if unknown:
            raise InputError(
                f"{title} holds {unknown[:5]}, but the model knows the classes {list(classes)} "
                "alone."
            )
        return classes

    def _positive(self, classes: tuple[str, ...]) -> int:
        if self.positive is None:
            return len(classes) - 1 if len(classes) == 2 else 0
        if len(classes) != 2:
            raise InputError("positive names one of two classes, but there are more.")
        if spelled(self.positive) not in classes:
            raise InputError(f"positive={self.positive!r} is none of {list(classes)}.")
        return classes.index(spelled(self.positive))

    def _no_threshold(self, classes: Sequence[str]) -> None:
        if self.threshold is not None:
            raise InputError(
                "threshold cuts the score of one of two classes; here are "
                + (f"{len(classes)} classes." if len(classes) > 2 else "no scores.")
            )


def losses_of(loss: Callable[..., Any], y: Any, said: Any, name: str) -> Real:
    """Apply a loss(y, score) of one finite number per row."""
    found = np.asarray(loss(y, said), dtype=np.float64)
    if found.shape != (len(y),):
        raise InputError(
            f"The loss {name!r} returned the shape {found.shape} for {len(y)} rows. It must return "
            "one number per row."
        )
    if not np.isfinite(found).all():
        bad = np.flatnonzero(~np.isfinite(found))
        raise InputError(f"The loss {name!r} is NaN or infinite (rows {row_list(bad)}).")
    return found


def _sorted_labels(outcome: Outcome) -> list[str]:
    """Labels in the order of their numbers, or of the alphabet."""
    labels = sorted(set(outcome.y[outcome.present].tolist()))
    try:
        numbers = [float(label) for label in labels]
    except ValueError:
        return labels
    return labels if any(map(math.isnan, numbers)) else sorted(labels, key=float)


def _numbered(predicted: Any, classes: tuple[str, ...]) -> Rows:
    found = [spelled(label) for label in np.asarray(predicted).reshape(-1).tolist()]
    place = {label: k for k, label in enumerate(classes)}
    unknown = sorted(set(found) - set(place))
    if unknown:
        raise InputError(
            f"The model predicts {unknown[:5]}, which are none of the classes {list(classes)}."
        )
    return np.array([place[label] for label in found], dtype=np.intp)


def _array_or_labels(values: Any) -> Any:
    return np.asarray(to_numpy(values) if is_array(values) else values)


def _array(values: Any, title: str) -> Real:
    if values is None or isinstance(values, str):
        raise InputTypeError(f"{title}={values!r} is neither a model nor scores.")
    try:
        found = np.asarray(to_numpy(values) if is_array(values) else values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputTypeError(
            f"{title} is neither a fitted model (it has no method predict) nor an array of numbers."
        ) from error
    if found.ndim not in (1, 2):
        raise InputError(f"{title} has {found.ndim} dimensions. Pass one score per row.")
    if not np.isfinite(found).all():
        rows = np.flatnonzero(~np.isfinite(found).reshape(len(found), -1).all(axis=1))
        raise InputError(f"{title} has scores of NaN or infinity (rows {row_list(rows)}).")
    return found


def _column(values: Any, title: str) -> Real:
    found = _array(values, title)
    if found.ndim == 2 and found.shape[1] != 1:
        raise InputError(f"{title} has {found.shape[1]} predictions per row. Pass one.")
    return found.reshape(-1, 1)

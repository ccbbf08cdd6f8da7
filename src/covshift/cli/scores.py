"""What a model says of the rows of two files: in a column of both, or by a file of covshift fit."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError
from . import console, options
from .predict import check_complete, finite

if TYPE_CHECKING:
    from .._tables import Samples


@dataclass(frozen=True)
class Recorded:
    """A model that says of the rows of both samples what is written about them."""

    X: Any
    said: tuple[Any, Any]  # predictions of the training and of the target rows
    scores: tuple[Any, Any]
    classes_: Any

    def predict(self, X: Any) -> Any:
        """Return the predictions."""
        return self.said[X is not self.X]

    def decision_function(self, X: Any) -> Any:
        """Return the scores."""
        return self.scores[X is not self.X]


class Predicted:
    """The same where there are predictions alone."""

    def __init__(self, X: Any, said: tuple[Any, Any]) -> None:
        self.X, self.said = X, said

    def predict(self, X: Any) -> Any:
        """Return the predictions."""
        return self.said[X is not self.X]


def judged_of(samples: Samples, args: argparse.Namespace, model: Any, X: Any) -> tuple[Any, Any]:
    """What `evaluate` judges: a model, or scores of the training and of the target rows."""
    labels = samples.labels
    assert labels is not None
    if model is not None:
        return _of_file(model, samples, args, X)
    if labels.task == "regression":
        if args.score and args.prediction:
            raise InputError("For a number, --prediction is the score: name one of the two.")
        option = "score" if args.score else "prediction"
        return _numbers(samples, args, option)
    if args.score and len(labels.classes) > 2:
        raise InputError(
            f"The label {labels.name!r} has {len(labels.classes)} classes, for which one column of "
            "scores is not enough. Name predicted classes with --prediction, leave --score out "
            "(and its column with --drop), or judge a file of covshift fit with --model."
        )
    if args.prediction is None:
        return _numbers(samples, args, "score")
    said = _classes(samples, args)
    if args.score is None:
        return Predicted(X, said), None
    return Recorded(X, said, _numbers(samples, args, "score"), _in_order(labels.classes)), None


def _of_file(model: Any, samples: Samples, args: argparse.Namespace, X: Any) -> tuple[Any, Any]:
    """Apply a model of covshift fit to both files."""
    import numpy as np

    from .._tables import ColumnProblems, read_table

    labels = samples.labels
    assert labels is not None
    if model.task != labels.task:
        raise InputError(f"{args.model} is a {model.task}, but --task says {labels.task}.")
    rows = []
    for path, kept in ((args.train, samples.rows), (args.target, samples.target_rows)):
        table = read_table(path, dict(model.encoding.kinds), options.read_options_of(args, model))
        table = table.take(kept)
        check_complete(table.names, model, table.title)
        findings = ColumnProblems()
        rows.append(model.encoding.encode(table, findings))
        for found in findings.notes(table.title):
            console.tell(found)
    if model.task == "regression":
        return finite(model.predict(rows[0])), finite(model.predict(rows[1]))
    chances = [finite(model.predict_proba(part)) for part in rows]
    classes = np.array(model.classes)
    if len(classes) == 2:
        said = [classes[(part[:, 1] >= 0.5).astype(int)] for part in chances]
    else:
        said = [classes[part.argmax(axis=1)] for part in chances]
    return Recorded(X, (said[0], said[1]), (chances[0], chances[1]), classes), None


def _both(samples: Samples, args: argparse.Namespace, option: str) -> tuple[Any, Any]:
    name = getattr(args, option)
    if name not in samples.target_beside:
        raise InputError(
            f"{args.target} has no column {name!r}, which --{option} names. What the model says is "
            "needed for the rows of both files: apply it to this one too."
        )
    return samples.beside[name], samples.target_beside[name]


def _numbers(samples: Samples, args: argparse.Namespace, option: str) -> tuple[Any, Any]:
    import numpy as np

    from .._tables.outcomes import read_numbers

    name, found = getattr(args, option), []
    for cells, title in zip(_both(samples, args, option), (args.train, args.target), strict=True):
        numbers = np.array(read_numbers(cells, name, f"--{option}"), dtype=np.float64)
        lost = int((~np.isfinite(numbers)).sum())
        if lost:
            raise InputError(
                f"{title}: the column {name!r}, which --{option} names, is missing or infinite in "
                f"{lost} of {len(numbers)} rows. Leave these rows out, or score them."
            )
        found.append(numbers)
    return found[0], found[1]


def _classes(samples: Samples, args: argparse.Namespace) -> tuple[Any, Any]:
    """Predicted classes, spelled as the labels are: 1, 1.0 and 01 are one class."""
    import numpy as np

    from .._tables.labels import spelled_alike

    assert samples.labels is not None
    known, found = set(samples.labels.classes), []
    for cells, title in zip(
        _both(samples, args, "prediction"), (args.train, args.target), strict=True
    ):
        said = ["" if cell is None else cell for cell in cells]
        if not set(said) <= known:
            said = spelled_alike(said)
        strange = sorted(set(said) - known)
        if strange:
            raise InputError(
                f"{title}: the column {args.prediction!r}, which --prediction names, holds "
                f"{', '.join(map(repr, strange[:5]))}, none of the classes {sorted(known)}. Name "
                "probabilities and other scores with --score."
            )
        found.append(np.array(said))
    return found[0], found[1]


def _in_order(classes: list[str]) -> Any:
    """Classes in the order of their numbers, or of the alphabet."""
    import numpy as np

    try:
        return np.array(sorted(classes, key=float))
    except ValueError:
        return np.array(classes)


def default_metrics(labels: Any, judged: Any, target_scores: Any) -> list[str] | None:
    """AUC first, where there are scores of two classes; else what the library takes."""
    if len(labels.classes) != 2:
        return None
    scores = judged.scores if isinstance(judged, Recorded) else (judged, target_scores)
    if scores[1] is None:
        return None
    probabilities = all(part.min() >= 0 and part.max() <= 1 for part in scores)
    return ["roc_auc", "accuracy"] + ["brier"] * probabilities


def trained_on(samples: Samples, name: str | None) -> Any:
    """Which training rows the model has seen: (N,) booleans, or None where nobody says."""
    import numpy as np

    from .._tables.outcomes import read_numbers

    if name is None:
        return None
    numbers = read_numbers(samples.beside[name], name, "--trained-on")
    if not set(numbers) <= {0.0, 1.0}:
        raise InputError(
            f"The column {name!r}, which --trained-on names, must be 1 where the row trained the "
            "model and 0 elsewhere, in every row."
        )
    return np.array(numbers) == 1

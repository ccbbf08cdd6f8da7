"""What a model says of the rows of two files: in a column of both, or by a file of covshift fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError
from ..show.notes import Note
from . import console
from .frames import Files
from .target_labels import labels_of_target

if TYPE_CHECKING:
    from ..evaluations import Predictions
    from .labels import Labelled

TASKS: dict[str, Any] = {"classification": "classes", "regression": "numbers"}
LEAST_ROWS = 5  # of a batch, in the mean
LEAST_LABELS = 5  # of the target, as `covshift.evaluate` needs them


@dataclass(frozen=True)
class Said:
    """Scores or numbers of both files, predicted classes, or both."""

    scores: tuple[Any, Any] | None = None
    classes: tuple[Any, Any] | None = None
    names: Any = None  # of the classes, in the order of the scores

    def metrics(self, labels: Any) -> list[str] | None:
        """AUC first, where there are scores of two classes; else what the library takes."""
        if len(labels.classes) != 2 or self.scores is None:
            return None
        probabilities = all(part.min() >= 0 and part.max() <= 1 for part in self.scores)
        return ["roc_auc", "accuracy"] + ["brier"] * probabilities


def predictions_of(
    samples: Labelled, options: Any, said: Said, name: str | None = None
) -> Predictions:
    """Return what a model of this ``name`` said as `covshift.evaluate` takes it."""
    from ..evaluations import Predicted, Predictions

    model: Any
    model, target = said.scores or (None, None)
    if said.classes is not None:
        model, target = Predicted(said.classes, said.scores, said.names), None
    return Predictions(
        model if name is None else {name: model},
        target if name is None or target is None else {name: target},
        threshold=options.threshold,
        positive=options.positive,
        task=TASKS[samples.labels.task],
        trained_on=trained_on(samples, options.trained_on),
    )


def judged_of(samples: Labelled, options: Any, model: Any) -> Said:
    """Read what a column says, or what a ``model`` of covshift fit says of the rows."""
    labels = samples.labels
    if model is not None:
        return _of_file(model, samples, options)
    if labels.task == "regression":
        if options.score and options.prediction:
            raise InputError("For a number, --prediction is the score: name one of the two.")
        return Said(_numbers(samples, options, "score" if options.score else "prediction"))
    if options.score and len(labels.classes) > 2:
        raise InputError(
            f"The label {labels.name!r} has {len(labels.classes)} classes, for which one column of "
            "scores is not enough. Name predicted classes with --prediction, leave --score out "
            "(and its column with --drop), or judge a file of covshift fit with --model."
        )
    scores = _numbers(samples, options, "score") if options.score else None
    return Said(scores, _classes(samples, options) if options.prediction else None)


def _of_file(model: Any, samples: Labelled, options: Any) -> Said:
    """Apply a model of covshift fit to both files."""
    import numpy as np

    from ..files.frame import about, read_frame

    if model.task != samples.labels.task:
        raise InputError(
            f"{options.model} is a {model.task}, but --task says {samples.labels.task}."
        )
    rows = []
    reading = options.reading(model)
    for path, how, kept in (
        (options.train, reading, samples.lines("sample")),
        (options.target, reading.of_target(options.target), samples.lines("target")),
    ):
        frame = read_frame(path, replace(how, kinds=model.kinds))
        title, new = about(frame).title, model.new_rows()
        rows.append(model.encode(frame.take(kept), title, new))
        console.tell(*new.notes(title))
    if model.task == "regression":
        return Said((model.predict(rows[0]), model.predict(rows[1])))
    here, there = (model.predict_proba(part) for part in rows)
    return Said((here, there), (model.decided(here), model.decided(there)), np.array(model.classes))


def _both(samples: Labelled, options: Any, option: str) -> list[Any]:
    """Cells of a column of both files, in the rows that judge."""
    name, files = vars(options)[option], samples.files
    if name not in files.target.column_names:
        raise InputError(
            f"{options.target} has no column {name!r}, which --{option} names. Predictions are "
            "needed for the rows of both files: apply it to this one too."
        )
    return [files.cells("sample", name)[samples.labels.rows], files.cells("target", name)]


def _numbers(samples: Labelled, options: Any, option: str) -> tuple[Any, Any]:
    import numpy as np

    name, found = vars(options)[option], []
    cells = _both(samples, options, option)
    for values, title in zip(cells, samples.files.titles, strict=True):
        if values.dtype == object:
            word = next(cell for cell in values.tolist() if cell is not None)
            raise InputError(
                f"{title}: the column {name!r}, which --{option} names, holds text (such as "
                f"{word!r}). Repair it, or say that it stands for a missing value: --missing "
                f"{word!r}."
            )
        lost = int((~np.isfinite(values)).sum())
        if lost:
            raise InputError(
                f"{title}: the column {name!r}, which --{option} names, is missing or infinite in "
                f"{lost} of {len(values)} rows. Leave these rows out, or score them."
            )
        found.append(values)
    return found[0], found[1]


def _classes(samples: Labelled, options: Any) -> tuple[Any, Any]:
    """Predicted classes, spelled as the labels are: 1, 1.0 and 01 are one class."""
    import numpy as np

    from .labels import spelled_alike

    known, found = set(samples.labels.classes), []
    cells = _both(samples, options, "prediction")
    for values, title in zip(cells, samples.files.titles, strict=True):
        said = spelled_alike(["" if cell is None else cell for cell in values.tolist()])
        strange = sorted(set(said) - known)
        if strange:
            raise InputError(
                f"{title}: the column {options.prediction!r}, which --prediction names, holds "
                f"{', '.join(map(repr, strange[:5]))}, none of the classes {sorted(known)}. Name "
                "probabilities and other scores with --score."
            )
        found.append(np.array(said))
    return found[0], found[1]


def trained_on(samples: Labelled, name: str | None) -> Any:
    """Which training rows the model has seen: (N,) booleans, or None where nobody says."""
    if name is None:
        return None
    numbers = samples.files.cells("sample", name)[samples.labels.rows]
    if not {*numbers.tolist()} <= {0.0, 1.0}:
        raise InputError(
            f"The column {name!r}, which --trained-on names, must be 1 where the row trained the "
            "model and 0 elsewhere, in every row."
        )
    return numbers == 1


def batch_labels(files: Files, options: Any) -> Any:
    """Return the batch of every target row, if a column of them is named; refuse gaps."""
    if options.batch is None:
        return None
    cells = files.cells("target", options.batch).tolist()
    lost = sum(cell is None for cell in cells)
    where = f"{options.target}: the column {options.batch!r}, which --batch names,"
    if lost:
        raise InputError(
            f"{where} is empty in {lost} of {len(cells)} rows. Fill it in, or leave these rows out."
        )
    count = len(set(cells))
    if count > 1 and len(cells) < LEAST_ROWS * count:
        raise InputError(
            f"{where} has {count} different values in {len(cells)} rows: fewer than {LEAST_ROWS} "
            "rows each. Name a column of larger parts, such as months."
        )
    return cells


def scoring_labels(samples: Labelled, notes: list[Note]) -> Any:
    """Return labels of target rows, where there are enough of them, or a file that holds them."""
    from ..engine.labels import Labels

    labels, files = samples.labels, samples.files
    named = vars(files.options).get("target_label")
    if named is not None and "target_label" not in files.roles:
        return labels_of_target(files, [named])
    if labels.y_target is None:
        return None
    if len(labels.scored) < LEAST_LABELS:
        text = (
            f"{files.titles[1]}: {len(labels.scored)} labels of the target are too few (at least "
            f"{LEAST_LABELS}), and were not used."
        )
        notes.append(Note("target labels", text, "warning"))
        console.tell(notes[-1])
        return None
    cells: list[Any] = [None] * len(samples.both.T)
    for row, label in zip(labels.scored.tolist(), labels.y_target.tolist(), strict=True):
        cells[row] = label
    chance = files.roles.get("target_probability")
    return Labels(cells, files.cells("target", chance[0])) if chance else cells

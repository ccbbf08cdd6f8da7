"""What a model says of the rows of two files: in a column of both, or by a file of covshift fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.columns import check_outcomes, spelled
from ..exceptions import InputError
from ..files.frame import about, read_frame
from ..show.notes import Note
from . import console
from .frames import Files, read_files
from .labels import LEAST_LABELS, decided_label, label_of_target, refuse_unknown
from .target_labels import labels_of_target

if TYPE_CHECKING:
    from ..data import Samples
    from ..evaluations import Predictions

TASKS: dict[str, Any] = {"classification": "classes", "regression": "numbers"}
LEAST_ROWS = 5  # of a batch, in the mean
_ROLES = ("score", "prediction")  # columns of both files


@dataclass(frozen=True)
class JudgedRows:
    """Two samples, and what a model says of their rows."""

    files: Files
    both: Samples  # with the columns of the model beside
    task: str
    model: Any = None  # of covshift fit
    y_target: Any = None  # labels of target rows

    @classmethod
    def read(cls, options: Any, label: str, model: Any, **given: Any) -> JudgedRows:
        """Read the files by which a model is judged; ``given`` are arguments of `Files.samples`."""
        if model is not None and options.task is None:
            options = replace(options, task=model.task)
        files, task = decided_label(read_files(options), label, may_lack=True)
        values = vars(options)
        here = {role: name for role in (*_ROLES, "trained_on") if (name := values.get(role))}
        there = {f"target {role}": here[role] for role in _ROLES if role in here}
        for role in (role for role in _ROLES if role in here):
            if here[role] not in files.target.column_names:
                raise InputError(
                    f"{options.target} has no column {here[role]!r}, which --{role} names. "
                    "Predictions are needed for the rows of both files: apply it to this one too."
                )
        own = label_of_target(files, label)[0]
        more = {"y_target": own, "batch": values.get("batch")}
        there |= {key: name for key, name in more.items() if name is not None}
        hidden = () if own == label else (label,)
        given |= {"beside": here, "beside_target": there}
        files, both = files.samples(label, hidden=hidden, by=options.by, **given)
        if (batch := both.beside.get("batch")) is not None:
            check_batches(batch.to_pylist(), options)
        beside = dict(both.beside)
        found = cls(files, both, task, model, beside.pop("y_target", None))
        found._check_labels()
        return replace(found, both=replace(both, beside=beside))

    def _check_labels(self) -> None:
        if self.task == "classification" and self.y_target is not None:
            there = {spelled(cell) for cell in self.y_target.to_pylist() if cell is not None}
            refuse_unknown(there - {*self.classes}, self.files)

    @property
    def options(self) -> Any:
        """The options of the command."""
        return self.files.options

    @property
    def label(self) -> str:
        """Name of the column of the label."""
        return self.files.roles["label" if "label" in self.files.roles else "outcome"][0]

    @property
    def classes(self) -> list[str]:
        """The classes of the label; none for numbers."""
        if self.task == "regression":
            return []
        return sorted({*check_outcomes(self.both.y, len(self.both.X), numbers=False)[0].y.tolist()})

    @property
    def trained_on(self) -> Any:
        """Which training rows the model has seen: (N,) booleans, or None where nobody says."""
        found = self.both.beside.get("trained_on")
        if found is None:
            return None
        numbers = found.to_numpy()
        if not {*numbers.tolist()} <= {0.0, 1.0}:
            raise InputError(
                f"The column {self.options.trained_on!r}, which --trained-on names, must be 1 where"
                " the row trained the model and 0 elsewhere, in every row."
            )
        return numbers == 1

    def predictions(self, *, named: bool = True) -> Predictions:
        """Return what the model said as `covshift.evaluate` takes it, under its name."""
        from ..evaluations import Predicted, Predictions

        options = self.options
        name = options.score or options.prediction or Path(str(options.model)).name
        scores = classes = names = None
        if self.model is not None:
            scores, classes, names = self._of_file()
        elif self.task == "regression":
            if options.score and options.prediction:
                raise InputError("For a number, --prediction is the score: name one of the two.")
            scores = self._pair("score" if options.score else "prediction")
        else:
            if options.score and len(self.classes) > 2:
                raise InputError(
                    f"The label {self.label!r} has {len(self.classes)} classes, for which one "
                    "column of scores is not enough. Name predicted classes with --prediction, "
                    "leave --score out (and its column with --drop), or judge a file of covshift "
                    "fit with --model."
                )
            scores = self._pair("score") if options.score else None
            classes = self._pair("prediction") if options.prediction else None
        model: Any
        model, target = scores or (None, None)
        if classes is not None:
            model, target = Predicted(classes, scores, names), None
        return Predictions(
            {name: model} if named else model,
            {name: target} if named and target is not None else target,
            threshold=options.threshold,
            positive=options.positive,
            task=TASKS[self.task],
            trained_on=self.trained_on,
        )

    def metrics(self) -> list[str] | None:
        """AUC first, where there are scores of two classes; else what the library takes."""
        if len(self.classes) != 2 or not (self.model or self.options.score):
            return None
        pair = self._pair("score") if self.model is None else ()
        probabilities = all(part.min() >= 0 and part.max() <= 1 for part in pair)
        return ["roc_auc", "accuracy"] + ["brier"] * probabilities

    def labels(self, notes: list[Note]) -> Any:
        """Return labels of target rows, where there are enough of them, or a file that has them."""
        from ..engine.labels import Labels

        named, found = vars(self.options).get("target_label"), self.y_target
        if named is not None and "target_label" not in self.files.roles:
            return labels_of_target(self.files, [named])
        if found is None:
            return None
        count = len(found) - found.null_count
        if count < LEAST_LABELS:
            text = (
                f"{self.files.titles[1]}: {count} labels of the target are too few (at least "
                f"{LEAST_LABELS}), and were not used."
            )
            notes.append(Note("target labels", text, "warning"))
            console.tell(notes[-1])
            return None
        cells = [None if cell is None else spelled(cell) for cell in found.to_pylist()]
        y = cells if self.task == "classification" else found
        chance = self.files.roles.get("target_probability")
        return Labels(y, self.files.cells("target", chance[0])) if chance else y

    def _pair(self, role: str) -> tuple[Any, Any]:
        """What a column of both files says: finite numbers, or for "prediction" classes."""
        found = []
        titles, name = self.files.titles, vars(self.options)[role]
        classes = role == "prediction" and self.task == "classification"
        for key, title in zip((role, f"target {role}"), titles, strict=True):
            cells = self.both.beside[key]
            where = f"{title}: the column {name!r}, which --{role} names,"
            if cells.null_count:
                raise InputError(
                    f"{where} is missing in {cells.null_count} of {len(cells)} rows. Leave these "
                    "rows out, or score them."
                )
            values = np.array(cells.to_pylist())
            if not classes and values.dtype.kind not in "fiub":
                raise InputError(
                    f"{where} holds text (such as {values[0]!r}). Repair it, or say that it stands "
                    f"for a missing value: --missing {values[0]!r}."
                )
            strange = sorted({*map(spelled, values.tolist())} - {*self.classes}) if classes else []
            if strange:
                raise InputError(
                    f"{where} holds {', '.join(map(repr, strange[:5]))}, none of the classes "
                    f"{self.classes}. Name probabilities and other scores with --score."
                )
            found.append(values)
        return found[0], found[1]

    def _of_file(self) -> tuple[Any, Any, Any]:
        """Apply the model of covshift fit to both files: its scores, classes and their names."""
        model, options, files = self.model, self.options, self.files
        if model.task != self.task:
            raise InputError(f"{options.model} is a {model.task}, but --task says {self.task}.")
        rows, reading = [], options.reading(model)
        lines = files.rows("sample") if files.kept is None else files.kept[files.rows("sample")]
        for path, how, kept in (
            (options.train, reading, lines),
            (options.target, reading.of_target(options.target), files.rows("target")),
        ):
            frame = read_frame(path, replace(how, kinds=model.kinds))
            title, new = about(frame).title, model.new_rows()
            rows.append(model.encode(frame.take(kept), title, new))
            console.tell(*new.notes(title))
        if model.task == "regression":
            return (model.predict(rows[0]), model.predict(rows[1])), None, None
        here, there = (model.predict_proba(part) for part in rows)
        return (here, there), (model.decided(here), model.decided(there)), np.array(model.classes)


def check_batches(cells: Sequence[Any], options: Any) -> None:
    """Refuse batches of the target that have gaps, or few rows each."""
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

"""The label of two files: classes or a number; in the target it only ever scores."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..data.columns import LARGEST, spelled
from ..data.values import is_gap
from ..encoding import encoded
from ..encoding.cells import read_cells
from ..encoding.decide import taken
from ..encoding.outcomes import label_kind
from ..exceptions import InputError
from ..files.arrays import numbers
from ..numerics.array import Real, Rows
from ..show.notes import Note
from .frames import Files

if TYPE_CHECKING:
    from ..data import Samples

_MOST_CLASSES = 100
LEAST_LABELS = 5  # of the target, as `covshift.evaluate` needs them


@dataclass(frozen=True)
class Labels:
    """Outcomes of the training rows, and those of target rows that have one."""

    name: str
    task: str  # "classification" or "regression"
    y: NDArray[Any]  # text for classes, float64 for numbers
    y_target: NDArray[Any] | None = None  # (M,): None where the row has no label

    @property
    def classes(self) -> list[str]:
        """The classes in order; none for numbers."""
        return [] if self.task == "regression" else [str(c) for c in np.unique(self.y)]

    @property
    def outcomes(self) -> Outcomes:
        """The outcomes under their name, as a data frame has them."""
        return Outcomes({self.name: self.y})

    def take(self, rows: Rows) -> Labels:
        """Keep some of the labelled rows."""
        return replace(self, y=self.y[rows])


class Outcomes(dict[str, Any]):
    """Columns by name, as a data frame has them."""

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self)


@dataclass(frozen=True)
class Labelled:
    """Two samples of which all training rows have a label."""

    files: Files
    both: Samples
    labels: Labels

    @property
    def X(self) -> Any:
        """Training rows as numbers, with the features of their columns."""
        both = self.both.as_given()
        return encoded(both.X, both.one_feature)

    @property
    def T(self) -> Any:
        """Target rows as numbers."""
        both = self.both.as_given()
        return encoded(both.T, both.one_feature)

    @property
    def target_labels(self) -> list[Any] | None:
        """Labels of the target rows, None where one is missing; None where they are few."""
        y = self.labels.y_target
        return None if y is None or len(self.scored) < LEAST_LABELS else list(y.tolist())

    @property
    def scored(self) -> Rows:
        """Target rows with a label."""
        y = self.labels.y_target
        return np.flatnonzero([] if y is None else [label is not None for label in y])

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was found out about the files."""
        return self.files.notes

    @property
    def weight(self) -> Real | None:
        """Design weights of the training rows, where they were named."""
        return self.both.d if self.both.weighted else None

    @property
    def target_weight(self) -> Real | None:
        """Weights of the target rows, where they were named."""
        named = self.files.options.target_weight is not None
        return len(self.both.share) * self.both.share if named else None

    def take(self, rows: Rows) -> Labelled:
        """Keep some of the training rows."""
        labels = self.labels.take(rows)
        return replace(self, both=_of_rows(self.both, rows, labels), labels=labels)

    def take_target(self, rows: Rows) -> Labelled:
        """Keep some of the target rows."""
        y = self.labels.y_target
        labels = replace(self.labels, y_target=None if y is None else y[rows])
        return replace(self, both=self.both.take_target(rows), labels=labels)


def labelled_samples(
    files: Files, name: str | None = None, *, may_lack: bool = False, **given: Any
) -> Labelled:
    """Return the samples of the rows with a label; others ``may lack`` one, or are decided about.

    ``given`` are further arguments of `Files.samples`.
    """
    name = str(vars(files.options)["label"] if name is None else name)
    files, labels = labelled(files, name, may_lack=may_lack)
    files, both = files.samples(name, hidden=(name,), learners=True, **given)
    return Labelled(files, replace(both, y=labels.outcomes), labels)


def _of_rows(both: Samples, rows: Rows, labels: Labels) -> Samples:
    part = both.take(rows)
    d = part.d
    if part is not both and d.any():  # of mean one again
        d = d / d[d > 0].mean()
    return replace(part, d=d, rows=None, y=labels.outcomes)


def decided_label(files: Files, name: str, *, may_lack: bool = False) -> tuple[Files, str]:
    """Decide what kind of label there is, and leave out rows without one, which ``may_lack`` it."""
    options = vars(files.options)
    cells = read_cells(files.sample.select([name]), name)[name]
    lacks = may_lack or bool(options.get("drop_unlabelled"))
    kind = label_kind(cells, options.get("task"), may_lack=lacks)
    files = replace(files, decisions=(*files.decisions, *kind.decisions))
    for decision in kind.decisions:
        if decision.taken.steps[0][0] == "missing":
            files = _without_gaps(files, decision)
    title, notes = files.titles[0], [*kind.notes]
    lost = files.sample[name].null_count
    if lost == len(files.sample):
        raise InputError(f"{title}: the label {name!r} is missing in every row.")
    if lost:
        text = (
            f"{title}: the label {name!r} is missing in {lost} of {len(files.sample)} rows, which "
            "were left out."
        )
        notes.insert(0, Note("missing labels", text))
    notes += label_of_target(files, name)[1]
    there = files.sample[name].is_valid()
    kept = None if not lost else np.flatnonzero(there.to_numpy())
    files = replace(files, sample=files.sample.filter(there), kept=kept)
    return replace(files, notes=(*files.notes, *notes)), kind.task or "classification"


def label_of_target(files: Files, name: str) -> tuple[str | None, list[Note]]:
    """Return the column of the target with its labels, and what is told of it."""
    asked = files.roles.get("target_label")
    own = name if asked is None else asked[0]
    there = () if files.margins is not None or files.alone else files.target.column_names
    if own not in there:
        return None, []
    count, title = len(files.target) - files.target[own].null_count, files.titles[1]
    text = f"{title} has the label {own!r} in {count} of {len(files.target)} rows"
    text += "." if asked else ": used only to score, never to fit or to choose."
    if not count:
        text = f"{title}: its label column {own!r} is empty, and was not used."
    return own if count else None, [Note("target labels", text)]


def refuse_unknown(classes: Collection[str], files: Files) -> None:
    """Refuse labels of the target with classes that the training rows do not have."""
    if classes:
        own = (files.roles.get("target_label") or files.roles.get("label") or ("",))[0]
        raise InputError(
            f"{files.titles[1]}: the label {own!r} has classes that training lacks: "
            f"{', '.join(map(repr, sorted(classes)[:5]))}. Leave the column out of the target, or "
            "spell the classes the same way."
        )


def labelled(files: Files, name: str, *, may_lack: bool = False) -> tuple[Files, Labels]:
    """Decide what kind of label there is, and read it; rows without one ``may`` lack it."""
    files, task = decided_label(files, name, may_lack=may_lack)
    title, other = files.titles
    y = _read(files.cells("sample", name), task, name, title)
    y = y.astype(str if task == "classification" else np.float64)
    _check(y, task, name, title)
    own, y_target = label_of_target(files, name)[0], None
    if own is not None:
        y_target = _read(files.cells("target", own), task, own, other)
        if task == "classification":
            refuse_unknown({*y_target.tolist()} - {*y.tolist(), None}, files)
    return files, Labels(name, task, y, y_target)


def _without_gaps(files: Files, decision: Any) -> Files:
    """Return both files with numbers and gaps in a column that holds a word beside numbers."""
    for whose in ("sample",) if files.margins is not None else ("sample", "target"):
        frame = getattr(files, whose)
        if decision.column in frame.column_names:
            cells = read_cells(frame.select([decision.column]), whose)[decision.column]
            if cells.is_text:
                place = frame.column_names.index(decision.column)
                values = numbers(taken(decision, (cells, cells))[0].values)
                files = replace(files, **{whose: frame.set_column(place, decision.column, values)})
    return files


def _read(cells: Any, task: str, name: str, title: str) -> NDArray[Any]:
    """Return labels as objects: text for classes, or finite numbers; None where one is missing."""
    if task == "classification":
        found = (None if is_gap(cell) else spelled(cell) for cell in cells.tolist())
        return np.array(list(found), dtype=object)
    if cells.dtype == object:
        raise InputError(
            f"{title}: the label {name!r} holds text, so it cannot be a number to predict. Use "
            "--task classification, or repair the column."
        )
    infinite = int(np.isinf(cells).sum())
    if infinite or np.nanmax(np.abs(cells), initial=0.0) > LARGEST:
        what = f"{infinite} infinite values" if infinite else f"numbers beyond {LARGEST:g}"
        raise InputError(f"{title}: the label {name!r} has {what}. Repair or rescale it.")
    values: NDArray[Any] = cells.astype(object)
    values[np.isnan(cells)] = None
    return values


def _check(y: NDArray[Any], task: str, name: str, title: str) -> None:
    """Refuse labels that nothing can be learned of."""
    where = f"{title}: the label {name!r}"
    if task == "regression":
        if y.min() == y.max():
            raise InputError(
                f"{where} is {y[0]:g} in every row. There is nothing to learn; check the column."
            )
        return
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) == 1:
        raise InputError(
            f"{where} holds one class only, {str(classes[0])!r}, in all {len(y)} rows. There is "
            "nothing to tell apart; check the column."
        )
    if len(classes) > _MOST_CLASSES:
        raise InputError(
            f"{where} has {len(classes)} classes. At most {_MOST_CLASSES} are supported; for a "
            "number to predict use --task regression."
        )
    if counts.min() < 2:
        rare = str(classes[counts.argmin()])
        raise InputError(
            f"{title}: the class {rare!r} of the label {name!r} occurs in only one row. Remove it, "
            "or merge it with another class."
        )

"""A fitted function and all that is needed to apply it to a table: what `covshift fit` writes."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..conformal.result import Intervals, Sets, below_zero
from ..encoding import TableEncoder, encoded, groups_of, read_cells
from ..encoding.cells import is_table
from ..exceptions import InputError, OverlapWarning, UnseenLevelWarning
from ..files.reading import checked_reading
from ..files.spelling import Kind
from ..numerics.array import Real
from ..show.notes import Note
from .new_rows import NewRows, TrainingRange

_LARGEST = 1e100  # beyond, squares and their sums would overflow


@dataclass(frozen=True)
class Model:
    """A fitted function, and all that is needed to apply it to a table.

    What `covshift fit` writes and `load` reads. It predicts for data frames that have the columns
    of the fit, and warns of levels, gaps and values that the training rows did not have. With
    ``covshift fit --calibrate`` the estimator is a `covshift.conformal.ConformalRegressor` or
    `ConformalClassifier`, and the model gives intervals (`predict_interval`) or sets
    (`predict_set`); calibration rows are in no file.
    """

    estimator: Any
    encoder: TableEncoder
    center: Real  # (n,), taken from the columns of the encoder, which are then divided by
    scale: Real  # (n,)
    range: TrainingRange
    task: str
    label: str
    learner: str
    method: str
    unit: str = ""  # of the label, where it is a number
    about: dict[str, Any] = field(default_factory=dict)  # versions, rows, command: for people
    reading: dict[str, Any] = field(default_factory=dict)  # how cells are read

    def check(self) -> None:
        """Refuse, by a ValueError, parts that do not fit together."""
        n = len(self.encoder.columns)
        sizes = (len(part) for part in (self.center, self.scale, *self.range.extremes))
        if {n, *sizes} != {self.estimator.n_features_in_}:
            raise ValueError("a scaling of another number of columns")
        if not (np.isfinite(self.center).all() and (self.scale > 0).all()):
            raise ValueError("a scaling that is not finite and positive")
        if (self.task == "classification") != hasattr(self.estimator, "classes_"):
            raise ValueError("a task without its classes")
        words = (self.task, self.label, self.learner, self.method, self.unit, *self.about)
        if not all(isinstance(word, str) for word in words):
            raise ValueError("a name that is not text")
        checked_reading(self.reading)

    @property
    def names(self) -> list[str]:
        """Names of the columns that a table must have."""
        return [feature.name for feature in self.encoder.features_]

    @property
    def kinds(self) -> dict[str, Kind]:
        """What to read each column of a file as."""
        kinds: dict[str, Kind] = {}
        for feature in self.encoder.features_:
            kind = "date" if feature.kind == "season" else feature.kind
            kinds[feature.name] = "category" if kind == "ordered" or feature.spelling else kind
        return kinds

    @property
    def classes(self) -> list[str]:
        """The classes in the order of the probabilities; none for numbers."""
        if self.task == "regression":
            return []
        return [str(label) for label in self.estimator.classes_]

    @property
    def calibrated(self) -> bool:
        """Whether it gives intervals or sets."""
        return hasattr(self.estimator, "predict_interval") or hasattr(self.estimator, "predict_set")

    def check_complete(self, names: Collection[str], title: str) -> None:
        """Refuse a table without some of the columns."""
        lacking = [name for name in self.names if name not in names]
        if lacking:
            raise InputError(
                f"{title} lacks {len(lacking)} of the {len(self.names)} columns that the model "
                f"needs: {', '.join(map(repr, lacking[:12]))}. Add them, under these names."
            )

    def encode(self, X: Any, title: str = "X", new: NewRows | None = None) -> Real:
        """Return the rows of a data frame as numbers, as its encoder does: (rows, n).

        What the training rows did not have is counted in ``new``; without it a warning tells.
        """
        cells = read_cells(X, title)
        self.check_complete(cells, title)
        counted = self.new_rows() if new is None else new
        values, unseen = self.encoder.encode_cells({k: cells[k] for k in self.names}, title)
        size = np.abs(values).max(axis=0, initial=0.0)
        if (size > _LARGEST).any():
            name = self.encoder.columns[int(size.argmax())]
            raise InputError(
                f"{title}: column {name!r} has numbers beyond {_LARGEST:g}. Such numbers often "
                "stand for a missing value: repair or rescale them."
            )
        counted.count(values, unseen)
        for note in counted.notes(title) if new is None else ():
            kind = OverlapWarning if note.kind == "no overlap" else UnseenLevelWarning
            warnings.warn(note.text, kind, stacklevel=3)
        return values

    def scaled(self, X: Any) -> Real:
        """Return the rows of a data frame, or encoded rows, as the estimator takes them."""
        X = self.encode(X) if is_table(X) else X
        return encoded((np.asarray(X) - self.center) / self.scale, groups_of(X))

    def new_rows(self) -> NewRows:
        """Return what counts what is strange about new rows."""
        return NewRows(self.range, self.encoder)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return classes or numbers for a data frame, or for rows that `encode` returned."""
        if self.task == "classification":
            return self.decided(self.predict_proba(X))
        return _finite(self.estimator.predict(self.scaled(X)))

    def predict_proba(self, X: Any) -> Real:
        """Return the probability of every class for such rows."""
        return _finite(self.estimator.predict_proba(self.scaled(X)))

    def decided(self, probability: Real) -> NDArray[Any]:
        """Return the classes: of two the second from one half on, of more the likeliest."""
        of_two = len(self.classes) == 2
        best = probability[:, 1] >= 0.5 if of_two else probability.argmax(axis=1)
        return np.asarray(np.array(self.classes)[best.astype(int)])

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Any:
        """Return the `covshift.conformal.Intervals` of such rows; numbers, calibrated."""
        return self._conformal("predict_interval", X, coverage)

    def predict_set(self, X: Any, coverage: float = 0.9) -> Any:
        """Return the `covshift.conformal.Sets` of such rows; classes, calibrated."""
        return self._conformal("predict_set", X, coverage)

    def _conformal(self, method: str, X: Any, coverage: float) -> Any:
        found = getattr(self.estimator, method, None)
        if found is None:
            kind = "for classes" if method == "predict_set" else "for numbers"
            raise InputError(
                f"This model has no {method}, which is {kind}, and for models that covshift fit "
                "--calibrate 0.5 made."
            )
        answer = found(self.scaled(X), coverage)
        return replace(answer, notes=tuple(self._notes(answer)))

    def _notes(self, answer: Intervals | Sets) -> Iterator[Note]:
        """Notes on intervals or sets, with the names and numbers of the table's columns."""
        yield from (note for note in answer.notes if note.kind not in ("no overlap", "below zero"))
        for gap in () if answer.calibrated_on_target else self.estimator._shift.gaps:
            value = float(gap.value * self.scale[gap.column] + self.center[gap.column])
            where = replace(gap, value=value).describe(self.encoder.columns, self.encoder.dates)
            of_sets = isinstance(answer, Sets)
            there = "sets hold all classes" if of_sets else "intervals are infinite"
            yield Note("no overlap", f"{where}: {there} there.", "warning")
        if isinstance(answer, Intervals) and self.about.get("positive"):
            yield from below_zero(float(((answer.lower < 0) & ~answer.infinite).mean()))


def _finite(values: Any) -> NDArray[Any]:
    """Refuse predictions that are no numbers."""
    lost = int((~np.isfinite(values)).sum())
    if lost:
        raise InputError(
            f"{lost} predictions are not finite: these rows lie too far from the training rows. "
            "Check their numbers."
        )
    return np.asarray(values)

"""What is predicted, with all that says how far it can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..engine.label_shift import LabelShiftTest, of_classes
from ..exceptions import import_extra
from ..numerics.array import Flags, Real
from ..show.answer import ASSUMPTION, OF_LABELS, Answer, few_rows
from ..show.notes import Note, plain
from ..show.table import Column, Record, Table
from ..show.words import readable

_SHOWN = 5  # rows of the table


@dataclass(frozen=True)
class ExpectedCoverage(Record):
    """Share of the target's outcomes inside of their intervals or sets, estimated.

    Every calibration row is a new row to the threshold of all others; `covshift.estimate` carries
    the share that is covered to the target, doubly robust. ``interval`` is its 95% interval.
    """

    value: float
    standard_error: float
    interval: tuple[float, float]
    groups: dict[str, tuple[float, tuple[float, float]]] = field(default_factory=dict)
    note: str = ""

    @classmethod
    def unknown(cls, note: str) -> ExpectedCoverage:
        """Say why there is no estimate."""
        return cls(float("nan"), float("nan"), (0.0, 1.0), note=note)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        groups = {
            name: {"value": value, "interval": interval}
            for name, (value, interval) in self.groups.items()
        }
        found: dict[str, Any] = plain({**vars(self), "groups": groups})
        return found

    def group_lines(self) -> list[str]:
        """Return one line for each group."""
        return [
            f"  {name}: {value:.1%} ({low:.1%} to {high:.1%})"
            for name, (value, (low, high)) in self.groups.items()
        ]

    def __str__(self) -> str:
        if np.isnan(self.value):
            return f"not known: {self.note}"
        low, high = self.interval
        return f"{self.value:.1%} ({low:.1%} to {high:.1%})"


@dataclass(frozen=True, eq=False, repr=False)
class _Result(Answer):
    prediction: NDArray[Any]
    coverage: float
    effective_sample_size: float
    n_calibration: int
    calibrated_on_target: bool
    notes: tuple[Note, ...]
    _expected: Callable[[], ExpectedCoverage] = field(repr=False)

    _facts: ClassVar[tuple[str, ...]] = (
        *("coverage", "expected_coverage", "effective_sample_size", "n_calibration"),
    )

    @cached_property
    def expected_coverage(self) -> ExpectedCoverage:
        """Coverage on the target, estimated when first asked for (seconds)."""
        return self._expected()

    def __getstate__(self) -> dict[str, Any]:
        """Keep the number in place of the model and its rows, which would give it."""
        return {**self.__dict__, "expected_coverage": self.expected_coverage, "_expected": None}

    def __len__(self) -> int:
        return len(self.prediction)

    @property
    def facts(self) -> dict[str, Any]:
        """Coverage, calibration, and how large the intervals or sets are."""
        return {**super().facts, "rows": len(self)}

    @property
    def caution(self) -> str:
        """That few calibration rows carry the weights."""
        return few_rows(self.effective_sample_size, self.n_calibration)

    @property
    def assumption(self) -> str:
        """What the coverage on the target rests on."""
        return OF_LABELS if self.calibrated_on_target else ASSUMPTION

    @property
    def calibrated_by(self) -> str:
        """Which rows have calibrated, in words."""
        return "target rows with an outcome" if self.calibrated_on_target else "rows"

    @property
    def table(self) -> Table:
        """The first rows: prediction, and interval or set; `to_frame` has all."""
        columns = (Column("row", str, words=True), *self._columns())
        return Table(tuple(range(len(self))), columns, most=_SHOWN)

    def _columns(self) -> tuple[Column, ...]:
        raise NotImplementedError

    def _below(self) -> list[str]:
        lines = [
            f"Expected coverage on the target: {self.expected_coverage}",
            f"Calibration: {self.n_calibration} {self.calibrated_by}, effective calibration size "
            f"{self.effective_sample_size:.0f}",
        ]
        return lines + self.expected_coverage.group_lines()


@dataclass(frozen=True, eq=False, repr=False)
class Intervals(_Result):
    """Prediction intervals: ``low, high = intervals``, or ``np.asarray(intervals)`` (rows, 2).

    Attributes
    ----------
    lower, upper : (m,) arrays
        Infinite where no finite interval has the coverage.
    prediction : (m,) array
    coverage : float
        That was asked for.
    infinite : (m,) bool array
    share_infinite, mean_width : float
        The width is that of the finite intervals.
    effective_sample_size, n_calibration
        Kish's number of calibration rows, and their number.
    calibrated_on_target : bool
        Whether these are target rows with an outcome (``y_target``), and not those of the sample.
    expected_coverage : ExpectedCoverage
    notes : tuple of Note
    """

    lower: Real
    upper: Real

    _facts: ClassVar[tuple[str, ...]] = (*_Result._facts, "mean_width", "share_infinite")

    @property
    def infinite(self) -> Flags:
        return ~(np.isfinite(self.lower) & np.isfinite(self.upper))

    @property
    def share_infinite(self) -> float:
        return float(self.infinite.mean())

    @property
    def mean_width(self) -> float:
        finite = ~self.infinite
        return float((self.upper - self.lower)[finite].mean()) if finite.any() else float("inf")

    def __iter__(self) -> Iterator[Real]:
        return iter((self.lower, self.upper))

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return np.column_stack([self.lower, self.upper]).astype(dtype or np.float64)

    def covers(self, y: Any) -> Flags:
        """Whether each outcome lies inside of its interval."""
        values = np.asarray(y, dtype=np.float64)
        return np.asarray((self.lower <= values) & (values <= self.upper))

    def to_frame(self) -> Any:
        """Return a pandas data frame: prediction, lower, upper."""
        pandas = import_extra("pandas", extra="pandas", needed_by="Intervals.to_frame")
        columns = {"prediction": self.prediction, "lower": self.lower, "upper": self.upper}
        return pandas.DataFrame(columns)

    def plot(self, x: Any = None, y: Any = None, *, ax: Any = None) -> Any:
        """Draw the intervals; returns a `covshift.plot.IntervalsDisplay`.

        ``x`` (rows,) are the values of a feature to draw them against, by default in the order of
        the predictions; ``y`` (rows,) are outcomes.
        """
        from ..plot import IntervalsDisplay  # it needs matplotlib: loaded when asked for

        ends = self.prediction, self.lower, self.upper
        return IntervalsDisplay(*ends, x=x, y=y, coverage=self.coverage).plot(ax)

    @property
    def sentence(self) -> str:
        """How many there are, and how large they are."""
        return interval_sentence(len(self), self.coverage, self.mean_width, self.share_infinite)

    def _columns(self) -> tuple[Column, ...]:
        columns = {"prediction": self.prediction, "lower": self.lower, "upper": self.upper}
        return tuple(
            Column(name, lambda k, values=values: readable(float(values[k])))
            for name, values in columns.items()
        )


@dataclass(frozen=True, eq=False, repr=False)
class Sets(_Result):
    """Prediction sets: ``sets.member`` (rows, classes), or ``np.asarray(sets)``.

    Attributes
    ----------
    member : (m, K) bool array
    classes : (K,) array
    labels : list of arrays
        The classes of each set.
    prediction, coverage, effective_sample_size, n_calibration, calibrated_on_target,
    expected_coverage, notes : as of `Intervals`
    mean_size, share_whole, share_empty : float
        Classes in a set; sets of all classes, which carry no information; empty sets.
    label_shift : tuple of LabelShiftTest, or None
        With ``shift="label"``: whether the target is a mixture of the classes.
    """

    member: Flags
    classes: NDArray[Any]
    label_shift: tuple[LabelShiftTest, ...] | None = None

    _facts: ClassVar[tuple[str, ...]] = (
        *(*_Result._facts, "mean_size", "share_whole", "share_empty"),
    )

    @property
    def assumption(self) -> str:
        """What the coverage on the target rests on."""
        if self.label_shift is None or self.calibrated_on_target:
            return super().assumption
        return of_classes(self.label_shift)

    @property
    def labels(self) -> list[NDArray[Any]]:
        return [self.classes[row] for row in self.member]

    @property
    def mean_size(self) -> float:
        return float(self.member.sum(axis=1).mean())

    @property
    def share_whole(self) -> float:
        return float(self.member.all(axis=1).mean())

    @property
    def share_empty(self) -> float:
        return float((~self.member.any(axis=1)).mean())

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return self.member.astype(dtype or bool)

    def covers(self, y: Any) -> Flags:
        """Whether the set of each row holds its class."""
        return np.asarray((self.member & (np.asarray(y)[:, None] == self.classes)).any(axis=1))

    def to_frame(self) -> Any:
        """Return a pandas data frame: the prediction, and whether each class is in the set."""
        pandas = import_extra("pandas", extra="pandas", needed_by="Sets.to_frame")
        columns = {str(name): self.member[:, k] for k, name in enumerate(self.classes)}
        return pandas.DataFrame({"prediction": self.prediction, **columns})

    @property
    def sentence(self) -> str:
        """How many there are, and how large they are."""
        shares = self.share_whole, self.share_empty
        return set_sentence(len(self), self.coverage, self.mean_size, *shares)

    def _columns(self) -> tuple[Column, ...]:
        return (
            Column("prediction", lambda k: str(self.prediction[k])),
            Column("set", lambda k: ", ".join(map(str, self.classes[self.member[k]]))),
        )


def below_zero(share: float) -> list[Note]:
    """Say that a share of the intervals of positive outcomes reach below zero; nothing for none."""
    if not share:
        return []
    text = (
        f"{share:.1%} of the intervals reach below zero, although every outcome is above it. Read "
        "them as intervals from zero: the coverage stays. Intervals of the logarithm of the "
        "outcome never reach below zero."
    )
    return [Note("below zero", text)]


def interval_sentence(rows: int, coverage: float, width: float, infinite: float) -> str:
    """How many intervals there are, their mean width, and the share of infinite ones."""
    return (
        f"{rows} intervals of coverage {coverage:.0%}: mean width {width:.4g}, "
        f"{infinite:.1%} infinite"
    )


def set_sentence(rows: int, coverage: float, size: float, whole: float, empty: float) -> str:
    """How many sets there are, their mean size, and the shares of all classes and of none."""
    return (
        f"{rows} sets of coverage {coverage:.0%}: {size:.2f} classes on average, "
        f"{whole:.1%} hold all classes, {empty:.1%} none"
    )

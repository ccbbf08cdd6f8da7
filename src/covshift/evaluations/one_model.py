"""All that is found out about one model: its lines of the table, checks and notes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._influence import Influence
from .._types import Flags, Real, Rows
from ..estimates.intervals import Number
from ..estimates.problem import Size
from ..estimates.quantities import every_group
from ..exceptions import InputError
from ..show.notes import Note
from . import masses as on
from . import notes
from .bins import Bins
from .curves import Curves, bins_of, curves_of, number_within
from .judged import Judged
from .methods import NUMBER_METHODS, Classified, Method, engine_method
from .metrics import Metric, Range, class_metrics, number_metrics, range_of, title
from .numbers import Regressed
from .result import Performance
from .scores import Scored, losses_of
from .settings import Settings
from .target_labels import Change, Check, Labelled

_PERFECT = 1 - 1e-9

Where = tuple[str, int | None, str | None]  # metric, group


@dataclass
class OneModel:
    """A model that is judged, and what was found so far."""

    problem: Judged
    scored: Scored
    settings: Settings
    few: Labelled | None  # target rows with a label
    rows: list[Performance] = field(default_factory=list)
    influence: dict[Where, Influence] = field(default_factory=dict)  # by the chosen method
    checks: list[Check] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    curves: Curves | None = None
    notes: list[Note] = field(default_factory=list)

    def judge(self, y: Any) -> None:
        """Compute every metric from the labels or numbers y (N,)."""
        if self.scored.classes:
            self._classes(Classified(self.problem, self.scored, codes(y, self.scored.classes)))
        else:
            self._numbers(Regressed(self.problem, y, self.scored.train[:, 0]))

    def _classes(self, judge: Classified) -> None:
        method = self.settings.method
        if method not in judge.methods:
            raise InputError(
                f"method={method!r} calibrates scores, but the model has none: it only predicts "
                "classes."
            )
        bins = bins_of(judge)
        for metric in self._class_metrics(bins):
            for where in every_group(self.problem):
                group, _ = where
                found = {m: judge.influence(metric, m, group) for m in judge.methods}
                numbers = {m: number_within(judge, metric, m, group, found[m]) for m in found}
                self._add(metric.name, where, numbers, metric.within)
                self.influence[metric.name, *where] = found[method]
            if self.few is not None:
                self._check(metric.name, self.few.of_masses(judge, metric), metric.range)
        self.curves = curves_of(judge, method, bins)
        if self.few is not None:
            self._test(self.few.change_of_classes(judge))
        if on.accuracy(judge.masses("none")).value >= _PERFECT:
            self._perfect("every label")

    def _class_metrics(self, bins: Bins | None) -> list[Metric]:
        scored = self.scored
        return class_metrics(
            self.settings.metrics,
            scored.classes,
            scored.positive,
            scored.given,
            self._losses,
            self.settings.cost_matrix,
            bins,
        )

    def _losses(self, function: Any) -> Real:
        """Losses (n, K) of the rows of both samples, if each class were theirs."""
        scored, both = self.scored, self.scored.both
        said = both[:, scored.positive] if len(scored.classes) == 2 else both
        numbers = [float(c) for c in range(len(scored.classes))]
        if len(numbers) == 2:
            numbers = [float(c == scored.positive) for c in range(2)]
        name = title(function)
        parts = [losses_of(function, np.full(len(both), c), said, name) for c in numbers]
        return np.column_stack(parts)

    def _numbers(self, judge: Regressed) -> None:
        method = self.settings.method
        if method not in NUMBER_METHODS:
            raise InputError(
                f"method={method!r} calibrates the scores of classes; for numbers use one of "
                f"{', '.join(NUMBER_METHODS)}."
            )
        if self.settings.cost_matrix is not None:
            raise InputError("cost_matrix is for classes, but y holds numbers.")
        for metric in number_metrics(self.settings.metrics):
            name = title(metric)
            smooth = name != "median_absolute_error"
            for group, label, numbers in judge.numbers(metric):
                self._add(name, (group, label), numbers)
                if smooth:
                    one = judge.influence(metric, engine_method(method), group)
                    self.influence[name, group, label] = one
            if self.few is not None and smooth:
                observed = self.few.of_numbers(self.scored, metric)
                self._check(name, observed, range_of(metric))
        if self.few is not None:
            self._test(self.few.change_of_numbers(judge, self.scored))
        spread = float(np.mean((judge.y - judge.y.mean()) ** 2))
        if float(np.mean((judge.y - judge.f) ** 2)) <= (1 - _PERFECT) * spread:
            self._perfect("every outcome")

    def _add(
        self,
        metric: str,
        where: tuple[int | None, str | None],
        numbers: dict[Method, Number],
        within: Flags | None = None,
    ) -> None:
        """Add the lines of a metric, of all rows or of a group, by all methods."""
        here = None if within is None else within[: len(self.scored.train)]
        size = self.problem.size_of(where[0], here)
        self.rows += _lines(size, self.scored.name, metric, where[1], numbers)
        if where[0] is None and within is None:  # one of ten bins may well be apart by chance
            self.notes += notes.disagreement(self.scored.name, metric, numbers)

    def _check(self, metric: str, observed: Influence, range_: Range) -> None:
        """Set a metric of the labelled target rows beside the expected one."""
        assert self.few is not None
        expected = float(self.influence[metric, None, None].value[0])
        confidence = self.settings.confidence
        check = self.few.check(self.scored.name, metric, observed, expected, confidence, range_)
        self.checks.append(check)

    def _test(self, change: Change) -> None:
        self.changes.append(change)
        self.notes += notes.changed_outcome(change)

    def _perfect(self, what: str) -> None:
        if self.settings.cv is None:
            self.notes.append(notes.perfect_score(self.scored.name, what))


def _lines(
    size: Size, model: str, metric: str, group: str | None, numbers: dict[Method, Number]
) -> Iterator[Performance]:
    for method, number in numbers.items():
        yield Performance(
            model,
            metric,
            group,
            method,
            number.value,
            number.standard_error,
            (number.low, number.high),
            size.rows,
            size.plain if method == "none" else size.effective,
        )


def codes(labels: Any, classes: tuple[str, ...]) -> Rows:
    """Number the labels."""
    place = {label: k for k, label in enumerate(classes)}
    return np.array([place[label] for label in labels], dtype=np.intp)

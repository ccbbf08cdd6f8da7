"""All that is found out about one model: its lines of the table, checks and notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..engine.explanation import LabelledValues, Moved
from ..engine.intervals import Number
from ..engine.label_shift import (
    LabelShiftTest,
    Shares,
    rejection,
    which_shift,
    within_classes,
)
from ..engine.labels import (
    Known,
    combined,
)
from ..engine.problem import Size
from ..engine.sensitivity import Bound
from ..estimates.quantiles import Median
from ..estimates.quantities import every_group
from ..exceptions import InputError
from ..numerics.array import Flags, Real, Rows
from ..numerics.influence import Influence
from ..show.notes import Note
from . import masses as on
from . import notes
from .bins import Bins
from .curves import Curves, bins_of, curves_of, number_within
from .labelled import Change, Labelled
from .methods import NUMBER_METHODS, Classified, Method, Shown, engine_method
from .metrics import Metric, class_metrics, number_metrics, title
from .numbers import Regressed
from .problem import ScoredProblem
from .result import Performance
from .scored import Scored
from .settings import Settings

_PERFECT = 1 - 1e-9

Where = tuple[str, int | None, str | None]  # metric, group


@dataclass
class OneModel:
    """A model that is judged, and what was found so far."""

    problem: ScoredProblem
    scored: Scored
    settings: Settings
    few: Labelled | None  # target rows with a label
    rows: list[Performance] = field(default_factory=list)
    influence: dict[Where, Influence] = field(default_factory=dict)  # by the chosen method
    changes: list[Change] = field(default_factory=list)
    without: list[str] = field(default_factory=list)  # groups of which no target row has a label
    curves: Curves | None = None
    notes: list[Note] = field(default_factory=list)
    judged: Classified | Regressed | None = None
    shares: Shares | None = None  # of the classes, under label shift
    test: LabelShiftTest | None = None
    y: Any = None  # what it is judged by

    def judge(self, y: Any) -> None:
        """Compute every metric from the labels or numbers y (N,)."""
        self.y = y
        if self.scored.classes:
            labels = codes(y, self.scored.classes)
            if self.settings.shift == "label":
                self._find_shares(labels)
            self.judged = Classified(self.problem, self.scored, labels, shares=self.shares)
            self._classes(self.judged)
        else:
            said = self.scored.train[:, 0], self.scored.target[:, 0]
            self.judged = Regressed(self.problem, y, *said)
            self._numbers(self.judged)

    def rows_at(self, confidence: float) -> list[Performance]:
        """Return the metrics with intervals of another level."""
        problem = replace(self.problem, confidence=confidence)
        again = OneModel(problem, self.scored, self.settings, self.few)
        again.judge(self.y)
        return again.rows

    def bounds(self, odds: float) -> dict[tuple[str, str | None, str], tuple[Number, Number]]:
        """Smallest and largest metrics, with errors, by metric, group and method."""
        found: dict[tuple[str, str | None, str], tuple[Number, Number]] = {}
        if isinstance(self.judged, Regressed):
            low, high = (self.judged.bounded(odds, side) for side in (-1, 1))
            for metric in number_metrics(self.settings.metrics):
                ends = zip(low.numbers(metric), high.numbers(metric), strict=True)
                for (_, label, least), (_, _, most) in ends:
                    for method in set(least) - {"none"}:
                        found[title(metric), label, method] = least[method], most[method]
            return found
        assert self.judged is not None
        for metric in self._class_metrics(bins_of(self.judged)):
            if metric.gaps:  # a sum of absolute values, which no derivative bounds
                continue
            for group, label in every_group(self.problem):
                for method in self.judged.methods:
                    if method != "none":
                        bound = Bound(odds, -1)
                        found[metric.name, label, method] = (
                            self.judged.bound(metric, method, group, bound),
                            self.judged.bound(metric, method, group, bound.opposite),
                        )
        return found

    def moved(self, row: Performance) -> Moved | None:
        """Return what explains the change of one metric."""
        groups = {label: group for group, label in every_group(self.problem)}
        group, method = groups[row.group], self.problem.explained_method
        labels = None
        if isinstance(self.judged, Classified):
            judge, N = self.judged, len(self.judged.labels)
            named = {metric.name: metric for metric in self._class_metrics(bins_of(judge))}
            metric: Any = named[row.metric]
            both = [judge.influence(metric, m, group) for m in ("none", method)]
            g = judge.slope(metric, self.settings.method, group)
            values = np.sum(judge.Y * g[:N], axis=1)
            level = both[0].value[0] - self.problem.sample.own @ values
            values = values + level
            if self.few is not None:
                there = g[N + self.few.rows, self.few.y] + level
                labels = there, self.few.of_classes(judge, metric, group)[1]
        else:
            assert self.judged is not None
            of = self.judged
            asked = number_metrics(self.settings.metrics)
            metric = next(one for one in asked if title(one) == row.metric)
            if metric == "median_absolute_error":
                return self._median(of, row.group)
            both = [of.influence(metric, m, group) for m in ("none", method)]
            value = of.values(metric, method, group)
            values = value(of.y, of.f, of.inside(group, target=False))
            if self.few is not None:
                rows = self.few.rows
                there = value(self.few.y, of.f_target[rows], of.inside(group)[rows])
                labels = there, self.few.of_numbers(of, metric, group)[1]
        if not np.isfinite(values).all():
            return None
        errors = {method: self.problem.errors(method, group)}
        moved = self.problem.moved(values, both[0], both[1], errors)
        return moved if labels is None else self._with_labels(moved, *labels)

    def _median(self, of: Regressed, group: str | None) -> Moved | None:
        """Return what explains the change of a median, which labels of the target do not tell."""
        alone = replace(self.problem, made={}, fixed={})
        items = Median().items(alone, np.abs(of.y - of.f), "absolute error")
        return next(item.moved for item in items if item.group == group)

    def _with_labels(self, moved: Moved, values: Real, powered: Known) -> Moved:
        few, influence = self.few, powered.influence
        if few is None or influence is None or self.settings.shown != "both":
            return moved
        target = influence.target.copy()
        np.add.at(target, few.rows, influence.train)
        found = Influence(influence.value, np.zeros_like(moved.plain.train), target)
        return replace(moved, labels=LabelledValues(few.rows, values, few.weight, found))

    def _find_shares(self, labels: Rows) -> None:
        """Find the shares of the classes under label shift, and test whether it holds."""
        names, numbers = self.scored.classes, np.arange(len(self.scored.classes))
        shares = Shares.of(self.problem, labels, numbers, "class", names)
        self.test = replace(shares.test, outcome=self.scored.name)
        self.notes += [*shares.notes(), *rejection(self.test, of_model=True)]
        final = len(labels) * shares.weights
        self.problem = replace(self.problem, weights=replace(self.problem.weights, final=final))
        self.shares = shares

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
                    there = self.few.of_classes(judge, metric, group)
                    self._combine(metric.name, where, there, Known(numbers[method], found[method]))
        self.curves = curves_of(judge, method, bins)
        if self.few is not None:
            rows, there = self.few.rows, self.few.y
            self._test(
                self.few.change_of_classes(judge),
                lambda: which_shift(within_classes(self.problem, judge.labels, rows, there)),
            )
        if on.accuracy(judge.masses("none")).value >= _PERFECT:
            self._perfect("every label")

    def _class_metrics(self, bins: Bins | None) -> list[Metric]:
        scored = self.scored
        return class_metrics(
            self.settings.metrics,
            scored.classes,
            scored.positive,
            scored.given,
            scored.losses,
            bins,
        )

    def _numbers(self, judge: Regressed) -> None:
        method = self.settings.method
        if method not in NUMBER_METHODS:
            raise InputError(
                f"method={method!r} calibrates the scores of classes; for numbers use one of "
                f"{', '.join(NUMBER_METHODS)}."
            )
        for metric in number_metrics(self.settings.metrics):
            name = title(metric)
            smooth = name != "median_absolute_error"
            for group, label, numbers in judge.numbers(metric):
                self._add(name, (group, label), numbers)
                corrected = Known(numbers[method], None)
                if smooth:
                    one = judge.influence(metric, engine_method(method), group)
                    self.influence[name, group, label] = one
                    corrected = Known(numbers[method], one)
                if self.few is not None:
                    there = self.few.of_numbers(judge, metric, group)
                    self._combine(name, (group, label), there, corrected)
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

    def _combine(
        self,
        metric: str,
        where: tuple[int | None, str | None],
        labelled: tuple[Number, Known, Size],
        corrected: Known,
    ) -> None:
        """Add the lines of labels alone, and of labels with the correction."""
        assert self.few is not None
        alone, powered, size = labelled
        if not size.rows and where[1] is not None and where[1] not in self.without:
            self.without.append(where[1])
        both = powered.number
        if self.few.trusted:
            both, _ = combined(powered, corrected, self.few.rows)
        found: dict[Shown, Number] = {"labels": alone, "both": both}
        self.rows += _lines(size, self.scored.name, metric, where[1], found)
        if self.settings.shown == "both" and powered.influence is not None:
            self.influence[metric, *where] = powered.influence

    def inside(self, group: int | None) -> Real:
        """One for the target rows of a group (M,)."""
        groups = self.problem.sample.groups
        if group is None or groups is None:
            return np.ones(len(self.problem.sample.share))
        return groups.indicator(group, target=True)

    def _test(self, change: Change, more: Callable[[], str] = str) -> None:
        self.changes.append(change)
        self.notes += notes.changed_outcome(change, more)

    def _perfect(self, what: str) -> None:
        if self.settings.cv is None:
            self.notes.append(notes.perfect_score(self.scored.name, what))


def _lines(
    size: Size, model: str, metric: str, group: str | None, numbers: Mapping[Any, Number]
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

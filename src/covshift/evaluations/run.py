"""One call of `evaluate`, from checked samples to the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from ..data import Samples
from ..data.columns import Outcome
from ..data.row_weights import check_weight
from ..diagnostics import Diagnosis
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
    LEAST_LABELS,
    Known,
    chances_by_columns,
    check_weight_of_labels,
    combined,
    no_labels_in,
    unlike_the_rest,
)
from ..engine.overlap import Covered
from ..engine.paper import Procedure
from ..engine.problem import Size
from ..engine.sensitivity import Bound, robust
from ..engine.weights import Weights, weigh
from ..estimates.quantiles import Median
from ..estimates.quantities import every_group
from ..exceptions import InputError
from ..numerics.array import Flags, Real, Rows, take_rows
from ..numerics.crossfit import Features
from ..numerics.influence import Influence
from ..show.notes import Note
from ..show.table import Table
from . import masses as on
from . import notes
from .curves import Curves, bins_of, curves_of, number_within
from .labelled import Change, Labelled
from .methods import NUMBER_METHODS, Classified, Method, Scored, Shown, engine_method
from .metrics import Bins, Metric, class_metrics, number_metrics, title
from .numbers import Regressed
from .problem import Learned, ScoredProblem
from .result import Difference, Evaluations, Performance


@dataclass
class Run:
    """Models one after the other, on the same rows and weights."""

    covered: Covered  # its features are the numbers of the rows
    given: Features  # features as they were given
    used: Rows  # numbers of the labelled rows that judge
    trained: Flags  # (N,): rows that trained the model
    settings: Settings
    judged: list[OneModel] = field(default_factory=list)  # for questions about the answer
    chances: bool = False  # whether it is known with which target rows were chosen

    def found(
        self,
        models: list[tuple[Scored, Outcome]],
        known: list[Outcome | None],
        chance: Real | None = None,
    ) -> Evaluations:
        """Judge every model; ``known`` are labels of target rows, where there are some.

        ``chance`` (M,): with which target rows were chosen to have one.
        """
        outcome = models[0][1]
        used = self.used
        sample, weights = self._weighed(used)
        judged = []
        for (scored, answer), labels in zip(models, known, strict=True):
            here = scored.rows(used).target_rows(self.covered.sample.inputs.target)
            problem = self._problem(here, scored, answer, used, sample, weights)
            few = self._labelled(labels, scored, chance)
            one = OneModel(problem, here, self.settings, few)
            one.judge(answer.y[used])
            one.notes += notes.about_scores(scored)
            one.notes += notes.absent_classes(scored, answer.y[used])
            judged.append(one)
        self.judged, self.chances = judged, chance is not None
        table = Table(tuple(row for one in judged for row in one.rows))
        found = [*self.covered.notes, *(note for one in judged for note in one.notes)]
        assert isinstance(self.covered.diagnosis, Diagnosis)
        found += notes.rows_that_judge(outcome, self.trained)
        method = self.settings.shown
        found += notes.without_number(table.where(method=method), self.covered.sample.groups)
        if judged[0].few is not None and chance is None and not self.settings.selected:
            found += unlike_the_rest(self.covered.sample, judged[0].few.rows)
        found += no_labels_in(judged[0].without)
        found += notes.undefined_labels(table.where(method="labels", group=None))
        found += notes.one_target_row(len(sample.T))
        if judged[0].shares is not None:
            weights = judged[0].problem.weights
        final = np.zeros(len(outcome.y))
        final[used] = weights.final
        result = Evaluations(
            table,
            method,
            self.settings.confidence,
            tuple(self._differences(judged)),
            weights.effective_sample_size,
            weights.design_effect,
            weights.largest,
            weights.trimmed,
            len(used),
            len(sample.T),
            int(self.trained.sum()),
            self.covered.share,
            self._weighter(weights),
            final,
            {name: seen for one in judged for name, seen in one.problem.seen.items()},
            self.covered.diagnosis,
            tuple(change for one in judged for change in one.changes),
            tuple(found),
            curves=tuple(one.curves for one in judged if one.curves is not None),
            n_labels=0 if judged[0].few is None else len(judged[0].few.rows),
            _source=self,
            label_shift=tuple(one.test for one in judged if one.test is not None),
        )
        again: Evaluations = robust(result)
        return again

    def moved(self, row: Performance) -> Moved | None:
        """Return what explains the change of one metric."""
        return next(one.moved(row) for one in self.judged if one.scored.name == row.model)

    def bounds(self, odds: float) -> dict[tuple[str, str, str | None, str], tuple[Number, Number]]:
        """Smallest and largest metrics, with errors, by model, metric, group and method."""
        return {
            (one.scored.name, *where): ends
            for one in self.judged
            for where, ends in one.bounds(odds).items()
        }

    def procedure(self) -> Procedure:
        """Return how the numbers were made, for the methods section."""
        first, labels, settings = self.judged[0], "", self.settings
        if first.few is not None:
            labels = "columns" if settings.selected else "chances" if self.chances else "random"
        detail = "" if settings.cv is None else "refitted"
        return Procedure(first.problem, self.covered, settings, labels=labels, detail=detail)

    def _weighter(self, weights: Weights) -> str:
        if self.settings.shift == "label":
            return "class shares"
        return "given" if weights.weighter is None else type(weights.weighter).__name__

    def _weighed(self, used: Rows) -> tuple[Samples, Weights]:
        settings, numbered = self.settings, self.covered.sample
        weighter = settings.weighter
        if hasattr(weighter, "__len__") and not isinstance(weighter, str):
            weighter = check_weight(weighter, len(numbered.X), "weighter", of="X")[used]
        sample = numbered.take(used)
        weights = weigh(
            sample, weighter, max_weight=settings.max_weight, random_state=settings.random_state
        )
        return sample, weights

    def _problem(
        self,
        here: Scored,
        everywhere: Scored,
        outcome: Outcome,
        used: Rows,
        sample: Samples,
        weights: Weights,
    ) -> ScoredProblem:
        settings = self.settings
        features = Features(
            take_rows(self.given.train, used),
            take_rows(self.given.target, self.covered.sample.inputs.target),
        )
        problem = ScoredProblem(
            replace(sample, inputs=features),
            weights,
            engine_method(settings.method),
            settings.confidence,
            settings.n_folds,
            settings.outcome_model,
            settings.finite_population,
            settings.random_state,
            np.unique(outcome.y[used], return_inverse=True)[1].reshape(-1).astype(np.float64),
            scores=here.columns(),
            learned=self._learned(everywhere, outcome, sample),
            of_classes=bool(everywhere.classes),
        )
        if problem.design.units < 2:
            raise InputError(
                "All labelled rows are in one cluster, so that nothing can be learned about the "
                "spread between clusters. Leave out cluster, or pass more of them."
            )
        return problem

    def _learned(self, scored: Scored, outcome: Outcome, sample: Samples) -> Learned | None:
        """Rows that trained a classifier, for the outcome model."""
        whole = self.covered.sample
        rows = np.flatnonzero(self.trained & outcome.present & (whole.d > 0))
        if not scored.classes or not len(rows):
            return None
        scaler = StandardScaler().fit(sample.X, sample_weight=sample.d)
        return Learned(
            scaler.transform(whole.X[rows]),
            take_rows(self.given.train, rows),
            codes(outcome.y[rows], scored.classes),
            whole.d[rows],
        )

    def _labelled(
        self, labels: Outcome | None, scored: Scored, chance: Real | None
    ) -> Labelled | None:
        """Target rows that have a label, of those that the answer is for."""
        if labels is None:
            return None
        kept = self.covered.sample.inputs.target
        rows = np.flatnonzero(labels.present[kept] & (self.covered.sample.share > 0))
        if len(rows) < LEAST_LABELS:
            raise InputError(
                f"y_target has {len(rows)} labels of target rows that the answer is for; an "
                f"interval needs at least {LEAST_LABELS}. Leave it out, or add some."
            )
        y = labels.y[kept][rows]
        if scored.classes:
            y = codes(y, scored.classes)
        sample = self.covered.sample
        weight = sample.share[rows]
        if self.settings.selected:
            weight = weight / chances_by_columns(sample, rows, self.settings.random_state)
        elif chance is not None:
            weight = weight / chance[kept][rows]
            check_weight_of_labels(weight, chance[kept][rows])
        return Labelled(rows, y, weight, self.covered.trusted)

    def _differences(self, models: list[OneModel]) -> Iterator[Difference]:
        first = models[0]
        for one in models[1:]:
            for where in one.influence:
                if where not in first.influence:
                    continue
                number = self._difference(one, first, where)
                yield Difference(
                    one.scored.name,
                    first.scored.name,
                    where[0],
                    where[2],
                    number.value,
                    number.standard_error,
                    (number.low, number.high),
                )

    def _difference(self, one: OneModel, first: OneModel, where: Where) -> Number:
        change = one.influence[where].minus(first.influence[where])
        if one.shares is not None:
            return one.shares.number(change)
        if one.few is not None and self.settings.shown == "both":
            return one.few.errors(one.problem, one.inside(where[1])).number(change)
        errors = one.problem.errors(engine_method(self.settings.method), where[1])
        besides, parts = 0.0, (one.model_parts[where], first.model_parts[where])
        if parts[0] is not None and parts[1] is not None:
            besides = float(np.nan_to_num(one.problem.model_error(parts[0].minus(parts[1]))))
        return errors.number(change, besides=besides)


# All that is found out about one model: its lines of the table, checks and notes.


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
    model_parts: dict[Where, Influence | None] = field(default_factory=dict)  # of their models
    changes: list[Change] = field(default_factory=list)
    without: list[str] = field(default_factory=list)  # groups of which no target row has a label
    curves: Curves | None = None
    notes: list[Note] = field(default_factory=list)
    judged: Classified | Regressed | None = None
    shares: Shares | None = None  # of the classes, under label shift
    test: LabelShiftTest | None = None

    def judge(self, y: Any) -> None:
        """Compute every metric from the labels or numbers y (N,)."""
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
                part = judge.model_part(metric, method, group, found.get("model"))
                self.model_parts[metric.name, *where] = part
                if self.few is not None:
                    there = self.few.of_classes(judge, metric, group)
                    self._combine(metric.name, where, there, Known(numbers["dr"], found["dr"]))
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
                corrected = Known(numbers["dr"], None)
                if smooth:
                    one = judge.influence(metric, engine_method(method), group)
                    self.influence[name, group, label] = one
                    self.model_parts[name, group, label] = judge.model_part(metric, method, group)
                    corrected = Known(numbers["dr"], judge.influence(metric, "dr", group))
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


# How the numbers of an evaluation are made, as the user asked.


@dataclass(frozen=True)
class Settings:
    """What all models, groups and batches share."""

    metrics: Any
    method: Method
    shown: Shown  # the same, or "both"
    selected: bool  # whether target rows with a label were chosen by their columns
    weighter: Any
    outcome_model: Any
    finite_population: bool
    max_weight: float | None
    confidence: float
    n_folds: int
    cv: Any
    random_state: int
    shift: str = "covariate"

"""One call of `evaluate`, from checked samples to the result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing

from .._crossfit import Features
from .._influence import Influence
from .._notes import Note
from .._types import Flags, Real, Rows
from .._validation import check_weight
from ..estimates.columns import Outcome, row_list
from ..estimates.data import Sample
from ..estimates.intervals import Number
from ..estimates.overlap import Covered
from ..estimates.quantities import every_group
from ..estimates.weighing import Weights, weigh
from ..exceptions import InputError
from . import masses as on
from .judged import Judged, Learned
from .methods import NUMBER_METHODS, Classified, Method, engine_method, residual_parts
from .metrics import class_metrics, number_metrics, title, words
from .numbers import Regressed
from .result import Difference, Evaluations, Performance, Performances
from .scores import Scored, losses_of
from .target_labels import Change, Check, Labelled

_DISAGREE = 2.6  # standard errors: one of a hundred by chance
_PERFECT = 1 - 1e-9
_LEAST_LABELS = 5  # of the target
_CHANGED = 0.01  # level of the test of p(y | x)

Where = tuple[str, int | None, str | None]  # metric, group


@dataclass(frozen=True)
class Settings:
    """How the numbers are made."""

    metrics: Any
    cost_matrix: Any
    method: Method
    weighter: Any
    outcome_model: Any
    finite_population: bool
    max_weight: float | None
    confidence: float
    n_folds: int
    cv: Any
    random_state: int


@dataclass
class Run:
    """Models one after the other, on the same rows and weights."""

    covered: Covered  # its features are the numbers of the rows
    given: Features  # features as they were given
    used: Rows  # numbers of the labelled rows that judge
    trained: Flags  # (N,): rows that trained the model
    settings: Settings
    notes: list[Note] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    def found(
        self, models: list[tuple[Scored, Outcome]], known: list[Outcome | None]
    ) -> Evaluations:
        """Judge every model; ``known`` are labels of target rows, where there are some."""
        self.notes += self.covered.notes
        outcome = models[0][1]
        used = self.used
        sample, weights = self._weighed(used)
        rows: list[Performance] = []
        chosen: list[tuple[str, Judged, dict[Where, Influence]]] = []
        seen: dict[str, list[str]] = {}
        for (scored, answer), labels in zip(models, known, strict=True):
            here = scored.rows(used).target_rows(self.covered.sample.features.target)
            problem = self._problem(here, scored, answer, used, sample, weights)
            few = self._labelled(labels, scored)
            judge = self._classes if scored.classes else self._numbers
            part = judge(problem, here, answer.y[used], rows, few)
            chosen.append((scored.name, problem, part))
            seen |= problem.seen
        self._note_rows(outcome, Performances(rows))
        final = np.zeros(len(outcome.y))
        final[used] = weights.final
        assert self.covered.diagnosis is not None
        return Evaluations(
            Performances(rows),
            self.settings.method,
            self.settings.confidence,
            tuple(self._differences(chosen)),
            weights.effective_sample_size,
            weights.design_effect,
            weights.largest,
            weights.trimmed,
            len(used),
            len(sample.T),
            int(self.trained.sum()),
            self.covered.share,
            "given" if weights.weighter is None else type(weights.weighter).__name__,
            final,
            seen,
            self.covered.diagnosis,
            tuple(self.checks),
            tuple(self.changes),
            tuple(self.notes),
        )

    def _weighed(self, used: Rows) -> tuple[Sample, Weights]:
        settings, numbered = self.settings, self.covered.sample
        weighter = settings.weighter
        if hasattr(weighter, "__len__") and not isinstance(weighter, str):
            weighter = check_weight(weighter, len(numbered.Z), "weighter", of="X")[used]
        sample = numbered.rows(used)
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
        sample: Sample,
        weights: Weights,
    ) -> Judged:
        settings = self.settings
        features = Features(
            _safe_indexing(self.given.train, used),
            _safe_indexing(self.given.target, self.covered.sample.features.target),
        )
        learned = self._learned(everywhere, outcome, sample)
        problem = Judged(
            replace(sample, features=features),
            weights,
            engine_method(settings.method),
            settings.confidence,
            settings.n_folds,
            settings.outcome_model,
            settings.finite_population,
            settings.random_state,
            np.unique(outcome.y[used], return_inverse=True)[1].reshape(-1).astype(np.float64),
            scores=None if learned is not None else here.columns(),
            learned=learned,
            weight_of=residual_parts(here)[0] if here.classes else None,
        )
        if problem.design.units < 2:
            raise InputError(
                "All labelled rows are in one cluster, so that nothing can be learned about the "
                "spread between clusters. Leave out cluster, or pass more of them."
            )
        return problem

    def _learned(self, scored: Scored, outcome: Outcome, sample: Sample) -> Learned | None:
        """Rows that trained a classifier, for the outcome model."""
        whole = self.covered.sample
        rows = np.flatnonzero(self.trained & outcome.present & (whole.d > 0))
        if not scored.classes or not len(rows):
            return None
        scaler = StandardScaler().fit(sample.Z, sample_weight=sample.d)
        return Learned(
            scaler.transform(whole.Z[rows]),
            _safe_indexing(self.given.train, rows),
            _codes(outcome.y[rows], scored.classes),
            whole.d[rows],
        )

    def _classes(
        self,
        problem: Judged,
        scored: Scored,
        y: Any,
        rows: list[Performance],
        few: Labelled | None,
    ) -> dict[Where, Influence]:
        judge = Classified(problem, scored, _codes(y, scored.classes))
        if self.settings.method not in judge.methods:
            raise InputError(
                f"method={self.settings.method!r} calibrates scores, but the model has none: it "
                "only predicts classes."
            )

        def loss_of(function: Any) -> Real:
            both = scored.both
            said = both[:, scored.positive] if len(scored.classes) == 2 else both
            numbers = [float(c) for c in range(len(scored.classes))]
            if len(numbers) == 2:
                numbers = [float(c == scored.positive) for c in range(2)]
            name = title(function)
            parts = [losses_of(function, np.full(len(both), c), said, name) for c in numbers]
            return np.column_stack(parts)

        metrics = class_metrics(
            self.settings.metrics,
            scored.classes,
            scored.positive,
            scored.given,
            loss_of,
            self.settings.cost_matrix,
        )
        found: dict[Where, Influence] = {}
        for metric in metrics:
            for group, label in every_group(problem):
                numbers = {m: judge.number(metric, m, group) for m in judge.methods}
                rows += _lines(problem, scored.name, metric.name, (group, label), numbers)
                found[metric.name, group, label] = judge.influence(
                    metric, self.settings.method, group
                )
                if group is None:
                    self._note_disagreement(scored.name, metric.name, numbers)
            if few is not None:
                observed = few.of_masses(judge, metric)
                self._check(few, scored.name, metric.name, observed, found)
        if few is not None:
            self._note_change(few.change_of_classes(judge))
        perfect = on.accuracy(judge.masses("none")).value >= _PERFECT
        self._note_perfect(scored.name, perfect, "every label")
        return found

    def _numbers(
        self,
        problem: Judged,
        scored: Scored,
        y: Any,
        rows: list[Performance],
        few: Labelled | None,
    ) -> dict[Where, Influence]:
        method = self.settings.method
        if method not in NUMBER_METHODS:
            raise InputError(
                f"method={method!r} calibrates the scores of classes; for numbers use one of "
                f"{', '.join(NUMBER_METHODS)}."
            )
        if self.settings.cost_matrix is not None:
            raise InputError("cost_matrix is for classes, but y holds numbers.")
        f = scored.train[:, 0]
        judge = Regressed(problem, y, f)
        found: dict[Where, Influence] = {}
        for metric in number_metrics(self.settings.metrics):
            name = title(metric)
            for group, label, numbers in judge.numbers(metric):
                rows += _lines(problem, scored.name, name, (group, label), numbers)
                if name != "median_absolute_error":
                    found[name, group, label] = judge.influence(
                        metric, engine_method(method), group
                    )
                if group is None:
                    self._note_disagreement(scored.name, name, numbers)
            if few is not None and name != "median_absolute_error":
                self._check(few, scored.name, name, few.of_numbers(scored, metric), found)
        if few is not None:
            self._note_change(few.change_of_numbers(judge, scored))
        spread = float(np.mean((y - y.mean()) ** 2))
        perfect = float(np.mean((y - f) ** 2)) <= (1 - _PERFECT) * spread
        self._note_perfect(scored.name, perfect, "every outcome")
        return found

    def _labelled(self, labels: Outcome | None, scored: Scored) -> Labelled | None:
        """Target rows that have a label, of those that the answer is for."""
        if labels is None:
            return None
        kept = self.covered.sample.features.target
        rows = np.flatnonzero(labels.present[kept] & (self.covered.sample.share > 0))
        if len(rows) < _LEAST_LABELS:
            raise InputError(
                f"y_target holds {len(rows)} labels; at least {_LEAST_LABELS} can check anything."
            )
        y = labels.y[kept][rows]
        if scored.classes:
            y = _codes(y, scored.classes)
        return Labelled(rows, y, self.covered.sample.share[rows])

    def _check(
        self,
        few: Labelled,
        model: str,
        metric: str,
        observed: Influence,
        found: dict[Where, Influence],
    ) -> None:
        expected = float(found[metric, None, None].value[0])
        confidence = self.settings.confidence
        self.checks.append(few.check(model, metric, observed, expected, confidence))

    def _note_change(self, change: Change) -> None:
        self.changes.append(change)
        if change.p_value < _CHANGED:
            text = (
                f"{change.rows} labels of the target say that p(y | x) is another one there than "
                f"on the labelled rows (p = {change.p_value:.2g}; {change.model}): no weights and "
                "no outcome model can correct this. Trust the labels of the target."
            )
            self.notes.append(Note("changed outcome", text, "warning"))

    def _differences(
        self, models: list[tuple[str, Judged, dict[Where, Influence]]]
    ) -> Iterator[Difference]:
        reference, _, first = models[0]
        for name, problem, found in models[1:]:
            for (metric, group, label), influence in found.items():
                if (metric, group, label) not in first:
                    continue
                errors = problem.errors(engine_method(self.settings.method), group)
                number = errors.number(influence.minus(first[metric, group, label]))
                yield Difference(
                    name,
                    reference,
                    metric,
                    label,
                    number.value,
                    number.standard_error,
                    (number.low, number.high),
                )

    def _note_disagreement(self, model: str, metric: str, numbers: dict[Method, Number]) -> None:
        best = numbers["dr"]
        apart = [
            f"{method!r} {number.value:.3g}"
            for method, number in numbers.items()
            if method in ("model", "cbpe", "pape")
            and abs(number.value - best.value)
            > _DISAGREE * np.hypot(number.standard_error, best.standard_error)
        ]
        if apart:
            text = (
                f"{words(metric)} of {model}: the methods disagree by more than their errors: "
                f"'dr' {best.value:.3g}, but {', '.join(apart)}. The scores may be calibrated "
                "otherwise on the target than on the labelled rows, the labelled rows may cover "
                "little of the target, or they may have trained the model (trained_on=, cv=). "
                "Labels of a few target rows would tell whether p(y | x) has changed."
            )
            self.notes.append(Note("disagreement", text, "warning"))

    def _note_perfect(self, model: str, perfect: bool, what: str) -> None:
        if perfect and self.settings.cv is None:
            text = (
                f"{model} gets {what} of the labelled rows right. Perhaps they trained it: then "
                "they cannot judge it. Mark them by trained_on=, or let cv= refit it by folds."
            )
            self.notes.append(Note("perfect score", text, "warning"))

    def _note_rows(self, outcome: Outcome, rows: Performances) -> None:
        if outcome.missing:
            lost = np.flatnonzero(~outcome.present)
            text = (
                f"The label is missing in {len(lost)} of {len(outcome.y)} rows, which were left "
                f"out (rows {row_list(lost)})."
            )
            self.notes.append(Note("missing labels", text))
        if self.trained.any():
            text = (
                f"{self.trained.sum()} rows trained the model and do not judge it. Outcome models "
                "of classes learn from them as well."
            )
            self.notes.append(Note("training rows", text))
        undefined = [row for row in rows if row.method == self.settings.method]
        undefined = [row for row in undefined if np.isnan(row.value)]
        if undefined:
            named = {f"{words(row.metric)} ({row.group or 'all'})" for row in undefined}
            text = (
                f"Not defined here: {', '.join(sorted(named))}. A class is missing, is never "
                "predicted, or is separated by the scores."
            )
            self.notes.append(Note("undefined metrics", text, "warning"))
        groups = self.covered.sample.groups
        if groups is not None and (groups.absent or groups.sample_only):
            named = {*groups.absent, *groups.sample_only}
            text = f"Groups of one sample alone, which have no number: {', '.join(sorted(named))}."
            self.notes.append(Note("absent groups", text, "warning"))


def _lines(
    problem: Judged,
    model: str,
    metric: str,
    where: tuple[int | None, str | None],
    numbers: dict[Method, Number],
) -> Iterator[Performance]:
    group, label = where
    size = problem.size_of(group)
    for method, number in numbers.items():
        yield Performance(
            model,
            metric,
            label,
            method,
            number.value,
            number.standard_error,
            (number.low, number.high),
            size.rows,
            size.plain if method == "none" else size.effective,
        )


def _codes(labels: Any, classes: tuple[str, ...]) -> Rows:
    place = {label: k for k, label in enumerate(classes)}
    return np.array([place[label] for label in labels], dtype=np.intp)

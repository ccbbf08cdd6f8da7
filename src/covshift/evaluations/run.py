"""One call of `evaluate`, from checked samples to the result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from sklearn.preprocessing import StandardScaler

from ..data import Samples
from ..data.columns import Outcome
from ..data.row_weights import check_weight
from ..engine.explanation import Moved
from ..engine.intervals import Number
from ..engine.labels import (
    LEAST_LABELS,
    chances_by_columns,
    check_weight_of_labels,
    no_labels_in,
    unlike_the_rest,
)
from ..engine.overlap import Covered
from ..engine.procedure import Procedure
from ..engine.robustness import robust
from ..engine.weights import Weights, weigh
from ..exceptions import InputError
from ..numerics.array import Flags, Real, Rows, take_rows
from ..numerics.crossfit import Features
from ..show.table import Table
from . import notes
from .labelled import Labelled
from .methods import engine_method
from .one_model import OneModel, Where, codes
from .problem import Learned, ScoredProblem
from .result import Difference, Evaluations, Performance
from .scored import Scored
from .settings import Settings


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
            self.covered.diagnosed,
            self.covered.unlike,
            tuple(change for one in judged for change in one.changes),
            tuple(found),
            curves=tuple(one.curves for one in judged if one.curves is not None),
            n_labels=0 if judged[0].few is None else len(judged[0].few.rows),
            _source=self,
            label_shift=tuple(one.test for one in judged if one.test is not None),
        )
        again: Evaluations = robust(result)
        return again

    def table_at(self, confidence: float) -> Table:
        """Return the metrics with intervals of another level, from the same models and weights."""
        return Table([row for one in self.judged for row in one.rows_at(confidence)])

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
        return sample, replace(weights, flat=None)  # the check by residuals is the plain one

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
        return errors.number(change)

"""One call of `evaluate`, from checked samples to the result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing

from .._crossfit import Features
from .._row_weights import check_weight
from .._types import Flags, Rows
from ..data import Samples
from ..data.columns import Outcome
from ..diagnostics import Diagnosis
from ..estimates.overlap import Covered
from ..estimates.weighing import Weights, weigh
from ..exceptions import InputError
from ..show.table import Table
from . import notes
from .judged import Judged, Learned
from .methods import engine_method
from .one_model import OneModel, codes
from .result import Difference, Evaluations
from .scores import Scored
from .settings import Settings
from .target_labels import Labelled

_LEAST_LABELS = 5  # of the target


@dataclass
class Run:
    """Models one after the other, on the same rows and weights."""

    covered: Covered  # its features are the numbers of the rows
    given: Features  # features as they were given
    used: Rows  # numbers of the labelled rows that judge
    trained: Flags  # (N,): rows that trained the model
    settings: Settings

    def found(
        self, models: list[tuple[Scored, Outcome]], known: list[Outcome | None]
    ) -> Evaluations:
        """Judge every model; ``known`` are labels of target rows, where there are some."""
        outcome = models[0][1]
        used = self.used
        sample, weights = self._weighed(used)
        judged = []
        for (scored, answer), labels in zip(models, known, strict=True):
            here = scored.rows(used).target_rows(self.covered.sample.features.target)
            problem = self._problem(here, scored, answer, used, sample, weights)
            one = OneModel(problem, here, self.settings, self._labelled(labels, scored))
            one.judge(answer.y[used])
            one.notes += notes.about_scores(scored)
            one.notes += notes.absent_classes(scored, answer.y[used])
            judged.append(one)
        table = Table(tuple(row for one in judged for row in one.rows))
        found = [*self.covered.notes, *(note for one in judged for note in one.notes)]
        assert isinstance(self.covered.diagnosis, Diagnosis)
        found += notes.strong_shift(self.covered.diagnosis)
        found += notes.rows_that_judge(outcome, self.trained)
        there = table.where(method=self.settings.method)
        found += notes.without_number(there, self.covered.sample.groups)
        checks = tuple(check for one in judged for check in one.checks)
        found += notes.undefined_checks(checks)
        found += notes.one_target_row(len(sample.T))
        final = np.zeros(len(outcome.y))
        final[used] = weights.final
        return Evaluations(
            table,
            self.settings.method,
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
            "given" if weights.weighter is None else type(weights.weighter).__name__,
            final,
            {name: seen for one in judged for name, seen in one.problem.seen.items()},
            self.covered.diagnosis,
            checks,
            tuple(change for one in judged for change in one.changes),
            tuple(found),
            curves=tuple(one.curves for one in judged if one.curves is not None),
        )

    def _weighed(self, used: Rows) -> tuple[Samples, Weights]:
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
        sample: Samples,
        weights: Weights,
    ) -> Judged:
        settings = self.settings
        features = Features(
            _safe_indexing(self.given.train, used),
            _safe_indexing(self.given.target, self.covered.sample.features.target),
        )
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
        scaler = StandardScaler().fit(sample.Z, sample_weight=sample.d)
        return Learned(
            scaler.transform(whole.Z[rows]),
            _safe_indexing(self.given.train, rows),
            codes(outcome.y[rows], scored.classes),
            whole.d[rows],
        )

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
            y = codes(y, scored.classes)
        return Labelled(rows, y, self.covered.sample.share[rows])

    def _differences(self, models: list[OneModel]) -> Iterator[Difference]:
        first = models[0]
        for one in models[1:]:
            for (metric, group, label), influence in one.influence.items():
                if (metric, group, label) not in first.influence:
                    continue
                errors = one.problem.errors(engine_method(self.settings.method), group)
                number = errors.number(influence.minus(first.influence[metric, group, label]))
                yield Difference(
                    one.scored.name,
                    first.scored.name,
                    metric,
                    label,
                    number.value,
                    number.standard_error,
                    (number.low, number.high),
                )

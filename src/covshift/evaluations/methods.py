"""Six ways to the performance of a classifier on the target: which masses each of them makes.

With the labels y as zeros and ones, cross-fitted q(x, s) = P(y | x, score s), design weights d,
weights w that carry the sample to the target, and the target's shares t,

    none      labelled rows carry d y            the labelled rows as they are
    weights   labelled rows carry w y
    model     target rows carry t q
    dr        target rows carry t q, and labelled rows w (y - q): doubly robust
    cbpe      target rows carry t c(s)           c: the scores calibrated on the labelled rows
    pape      target rows carry t c_w(s)         c_w: calibrated on the weighted labelled rows

where weights sum to one; those of "dr" lean to flatter ones and to the model (`judged`). "cbpe" is
the expected performance of calibrated scores, "pape" the same with a calibration for the target;
both calibrate by a logistic regression on the log-odds (Platt).

A metric T has derivatives g by the masses (`masses`), and so, to first order, it is the mean of the
values L = sum_c y_c g_c with the prediction h = sum_c q_c g_c: errors are those of this mean by
`covshift.estimates.methods.Engine`.

Sources: Białek, Perrakis et al. (2023), *Estimating model performance under covariate shift
without labels* (cbpe, pape); Robins, Rotnitzky and Zhao (1994) (dr).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np

from .._crossfit import CrossFit
from .._influence import Influence
from .._types import Real, Rows
from ..estimates.intervals import Number
from ..estimates.methods import METHODS as ENGINE_METHODS
from ..estimates.methods import Method as EngineMethod
from ..estimates.methods import Signal
from .judged import Judged
from .masses import Masses
from .metrics import Metric, limits
from .scores import Scored

Method = Literal["dr", "weights", "model", "cbpe", "pape", "none"]
METHODS: tuple[Method, ...] = get_args(Method)
NUMBER_METHODS: tuple[Method, ...] = tuple(m for m in METHODS if m in ENGINE_METHODS)
_CAUTION = 1 / 3  # see `judged`


def engine_method(method: Method) -> EngineMethod:
    """Return the method of the engine that has the same influence values."""
    return "model" if method in ("cbpe", "pape") else method  # type: ignore[return-value]


@dataclass
class Classified:
    """A classifier with labelled rows: masses by every method, and metrics with their errors."""

    problem: Judged
    scored: Scored
    labels: Rows  # (N,): numbers of the classes
    kept: dict[str, CrossFit] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.problem = self.problem.about(self._left(), _CAUTION)

    @property
    def upright(self) -> Classified:
        """The same, with the doubly robust form as it is: what the weights leave unbalanced."""
        return replace(self, problem=self.problem.upright)

    def _left(self) -> Real:
        """What the outcome model leaves: residuals, and their products with what metrics use."""
        left = self.Y - self.predicted("dr").train
        assert self.scored.chosen is not None
        if len(self.scored.classes) > 2:
            return np.column_stack([left, left[np.arange(len(left)), self.scored.chosen]])
        return left[:, [self.scored.positive]] * residual_parts(self.scored)[0]

    @property
    def methods(self) -> tuple[Method, ...]:
        """All six; calibration needs scores."""
        if self.scored.given == "predictions":
            return NUMBER_METHODS
        return METHODS

    @property
    def Y(self) -> Real:
        """One in the column of a row's class: (N, K)."""
        return np.asarray(self.labels[:, None] == np.arange(len(self.scored.classes)), float)

    def predicted(self, method: Method) -> CrossFit:
        """Return q, or the calibrated scores, of both samples: (N, K) and (folds, M, K)."""
        numbers = np.arange(len(self.scored.classes))
        if method not in ("cbpe", "pape"):
            return self.problem.classes(self.labels, numbers, "class").h
        if method not in self.kept:
            name = "weighted calibration" if method == "pape" else "calibrated scores"
            assert self.problem.scores is not None
            fit = self.problem.calibration(self.labels, numbers, name)
            self.kept[method] = fit.on(self.problem.scores[1])
        return self.kept[method]

    def masses(self, method: Method, group: int | None = None) -> Masses:
        """Masses of the labelled rows, then of the target rows."""
        problem = self.problem
        train, target = self.Y, np.zeros_like(self.scored.target)
        if method in ("none", "weights"):
            w = problem.sample.d if method == "none" else problem.weights.final
            train = train * (w / w.sum())[:, None]
        else:
            q = self.predicted(method)
            target = q.target * problem.sample.share[:, None]
            if method == "dr":
                share = problem.engine.residual_share(problem.engine.lean)
                train = (train - q.train) * share[:, None]
            else:
                train = np.zeros_like(train)
        inside = self._inside(group)
        assert self.scored.chosen is not None
        assert self.scored.chosen_target is not None
        chosen = np.concatenate([self.scored.chosen, self.scored.chosen_target])
        return Masses(np.vstack([train, target]) * inside[:, None], self.scored.both, chosen)

    def influence(self, metric: Metric, method: Method, group: int | None = None) -> Influence:
        """Estimate a metric, with the influence of every row (or fold) on it."""
        found = metric.of(self.masses(method, group))
        N = len(self.labels)
        g = found.gradient * self._inside(group)[:, None]
        q = self.predicted("model" if method in ("none", "weights") else method)
        h = CrossFit(
            np.sum(q.train * g[:N], axis=1, keepdims=True),
            np.sum(q.folds * g[N:], axis=2, keepdims=True),
        )
        signal = Signal(np.sum(self.Y * g[:N], axis=1, keepdims=True), h)
        linear = self.problem.engine.means(signal, engine_method(method))
        return replace(linear, value=np.array([found.value]))

    def number(
        self,
        metric: Metric,
        method: Method,
        group: int | None = None,
        found: Influence | None = None,
    ) -> Number:
        """Give a metric its interval; ``found`` is its `influence`, where this is known already."""
        found = self.influence(metric, method, group) if found is None else found
        besides = 0.0
        if self.problem.engine.counts_imbalance(engine_method(method)):
            besides = abs(metric.of(self.upright.masses("dr", group)).value - float(found.value[0]))
        errors = self.problem.errors(engine_method(method), group)
        return errors.number(found, **limits(metric.range), besides=besides)

    def _inside(self, group: int | None) -> Real:
        """One for the rows of a group, labelled rows first."""
        groups = self.problem.sample.groups
        if group is None or groups is None:
            return np.ones(len(self.labels) + len(self.scored.target))
        return np.concatenate([groups.indicator(group), groups.indicator(group, target=True)])


def residual_parts(scored: Scored) -> tuple[Real, Real]:
    """What metrics multiply the residuals y - q with, of both samples: (N, k), (M, k).

    One, the prediction, and the score; for numbers and for three and more classes less of these.
    """
    score, target = scored.columns()
    if not scored.classes:
        return _beside_ones(np.tanh(score / 2)), _beside_ones(np.tanh(target / 2))
    if len(scored.classes) > 2:
        return np.ones((len(score), 1)), np.ones((len(target), 1))
    parts = []
    for chosen, place in ((scored.chosen, score), (scored.chosen_target, target)):
        side = np.where(chosen == scored.positive, 1.0, -1.0)
        parts.append(_beside_ones(side[:, None], np.tanh(place / 2)))
    return parts[0], parts[1]


def _beside_ones(*columns: Real) -> Real:
    return np.column_stack([np.ones(len(columns[0])), *columns])

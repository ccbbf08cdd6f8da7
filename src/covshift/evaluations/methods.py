"""Ways to the performance of a classifier on the target: which masses each of them makes.

With the labels y as zeros and ones, cross-fitted q(x, s) = P(y | x, score s), design weights d,
weights w that carry the sample to the target, and the target's shares t,

    none      labelled rows carry d y            the labelled rows as they are
    weights   labelled rows carry w y
    model     target rows carry t q
    dr        target rows carry t q, and labelled rows w (y - q): doubly robust
    cbpe      target rows carry t c(s)           c: the scores calibrated on the labelled rows
    pape      target rows carry t c_w(s)         c_w: calibrated on the weighted labelled rows
    label     labelled rows carry d r_c y        r_c: by class shares, under label shift alone

where weights sum to one. The default is "model", whose error was the least on real tables; "dr" is
a check of it that rests on the labelled rows themselves. "cbpe"
is the expected performance of calibrated scores, "pape" the same with a calibration for the target;
both calibrate by a logistic regression on the log-odds (Platt).

A metric T has derivatives g by the masses (`masses`), and so, to first order, it is the mean of the
values L = sum_c y_c g_c with the prediction h = sum_c q_c g_c: errors are those of this mean by
`covshift.engine.measures`.

Sources: Białek, Perrakis et al. (2023), *Estimating model performance under covariate shift
without labels* (cbpe, pape); Robins, Rotnitzky and Zhao (1994) (dr).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np

from ..engine.intervals import Errors, Number, sum_of_gaps
from ..engine.label_shift import Shares
from ..engine.measures import METHODS as ENGINE_METHODS
from ..engine.measures import Method as EngineMethod
from ..engine.measures import Signal
from ..engine.sensitivity import Bound
from ..numerics.array import Flags, Real, Rows
from ..numerics.crossfit import CrossFit
from ..numerics.influence import Influence
from .masses import Masses
from .metrics import Metric, limits
from .problem import ScoredProblem
from .scored import Scored

CovariateMethod = Literal["dr", "weights", "model", "cbpe", "pape", "none"]
Method = Literal[CovariateMethod, "label"]  # the last by class shares (`engine.label_shift`)
METHODS: tuple[Method, ...] = get_args(CovariateMethod)
Shown = Literal[Method, "labels", "both"]  # the last two with labels of target rows
NUMBER_METHODS: tuple[Method, ...] = tuple(m for m in METHODS if m in ENGINE_METHODS)
_NODES = 5  # of an integral between two sets of masses


def engine_method(method: Method) -> EngineMethod:
    """Return the method of the engine that has the same influence values."""
    return "model" if method in ("cbpe", "pape") else method  # type: ignore[return-value]


@dataclass
class Classified:
    """A classifier with labelled rows: masses by every method, and metrics with their errors."""

    problem: ScoredProblem
    scored: Scored
    labels: Rows  # (N,): numbers of the classes
    kept: dict[str, CrossFit] = field(default_factory=dict)
    shares: Shares | None = None  # of the classes, under label shift

    @property
    def methods(self) -> tuple[Method, ...]:
        """All six; calibration needs scores. Under label shift by class shares alone."""
        if self.shares is not None:
            return ("label", "none")
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
        if method in ("none", "weights", "label"):
            w = problem.sample.d if method == "none" else problem.weights.final
            w = w if method != "label" or self.shares is None else self.shares.weights
            train = train * (w / w.sum())[:, None]
        else:
            q = self.predicted(method)
            target = q.target * problem.sample.share[:, None]
            if method == "dr":
                w = problem.weights.final
                train = (train - q.train) * (w / w.sum())[:, None]
            else:
                train = np.zeros_like(train)
        inside = self.inside(group)
        assert self.scored.chosen is not None
        assert self.scored.chosen_target is not None
        chosen = np.concatenate([self.scored.chosen, self.scored.chosen_target])
        return Masses(np.vstack([train, target]) * inside[:, None], self.scored.both, chosen)

    def influence(self, metric: Metric, method: Method, group: int | None = None) -> Influence:
        """Estimate a metric, with the influence of every row (or fold) on it."""
        found = metric.of(self.masses(method, group))
        N = len(self.labels)
        g = found.gradient * self.inside(group)[:, None]
        if method == "label":
            return self.by_shares(found.value, np.sum(self.Y * g[:N], axis=1))
        q = self.predicted("model" if method in ("none", "weights") else method)
        h = CrossFit(
            np.sum(q.train * g[:N], axis=1, keepdims=True),
            np.sum(q.folds * g[N:], axis=2, keepdims=True),
        )
        signal = Signal(np.sum(self.Y * g[:N], axis=1, keepdims=True), h)
        linear = self.problem.measures.means(signal, engine_method(method))
        return replace(linear, value=np.array([found.value]))

    def by_shares(self, value: float, g: Real) -> Influence:
        """Influence on a number of labelled rows that weigh as their classes do, of slopes g."""
        assert self.shares is not None
        return self.shares.mean(value, g)

    def errors(
        self, method: Method, group: int | None, found: Influence, within: Flags | None = None
    ) -> Errors:
        """What the interval of a number needs, which may be ``within`` some rows (N + M,) alone."""
        if method == "label" and self.shares is not None:
            return self.shares.errors(found)
        if within is None:
            return self.problem.errors(engine_method(method), group)
        both = within * self.inside(group)
        return self.problem.errors_within(
            engine_method(method), both[: len(self.labels)], both[len(self.labels) :]
        )

    def number(
        self,
        metric: Metric,
        method: Method,
        group: int | None = None,
        found: Influence | None = None,
    ) -> Number:
        """Give a metric its interval; ``found`` is its `influence`, where this is known already."""
        found = self.influence(metric, method, group) if found is None else found
        errors = self.errors(method, group, found)
        if metric.gaps and np.isfinite(found.value[0]):
            return self._sum_of_gaps(metric, method, group, errors.error(found))
        return errors.number(found, **limits(metric.range))

    def bound(self, metric: Metric, method: Method, group: int | None, bound: Bound) -> Number:
        """Bound a metric: exactly where it is a mean of losses, else to first order."""
        plain = self.influence(metric, method, group)
        g = metric.of(self.masses(method, group)).gradient * self.inside(group)[:, None]
        N, q = len(self.labels), self.predicted(method)
        Q, train = bound.of_classes(g[:N], np.maximum(q.train, 0.0))
        _, folds = bound.of_classes(g[N:], np.maximum(q.folds, 0.0))
        phi = bound.tilted(np.sum(self.Y * g[:N], axis=1), Q)
        signal = Signal(phi[:, None], CrossFit(train[:, None], folds[:, :, None]))
        linear = self.problem.measures.means(signal, engine_method(method))
        found = replace(linear, value=plain.value + linear.value)
        errors = self.problem.errors(engine_method(method), group)
        return errors.number(found, **limits(metric.range))

    def _sum_of_gaps(
        self, metric: Metric, method: Method, group: int | None, error: tuple[float, float]
    ) -> Number:
        """Give a sum of absolute gaps its interval; ``error`` is its standard error, and t."""
        gaps, sizes = [], []
        masses = self.masses(method, group)
        for gap in metric.gaps:
            if not gap.of(masses).gradient.any():  # of another class, or of an empty bin
                continue
            found = self.influence(gap, method, group)
            gaps.append(float(found.value[0]))
            errors = self.errors(method, group, found)
            sizes.append(errors.error(found)[0])
        return sum_of_gaps(np.array(gaps), np.array(sizes), *error)

    def slope(self, metric: Metric, method: Method, group: int | None) -> Real:
        """Derivatives (N + M, K) of a metric by the masses, between the plain and a method's.

        Their mean along the straight line: with the masses m_0 and m_1 of the two, the metric
        changes by sum (m_1 - m_0) times it. By nodes of Gauss and Legendre.
        """
        plain, other = self.masses("none", group), self.masses(method, group)
        inside = self.inside(group)[:, None]
        found = np.zeros_like(plain.mass)
        for t, weight in path():
            mass = (1 - t) * plain.mass + t * other.mass
            found += weight * metric.of(replace(plain, mass=mass)).gradient * inside
        return found

    def inside(self, group: int | None) -> Real:
        """One for the rows of a group, labelled rows first."""
        groups = self.problem.sample.groups
        if group is None or groups is None:
            return np.ones(len(self.labels) + len(self.scored.target))
        return np.concatenate([groups.indicator(group), groups.indicator(group, target=True)])


def path() -> Iterator[tuple[float, float]]:
    """Return places between zero and one, and their weights, for an integral."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return zip((nodes + 1) / 2, weights / 2, strict=True)


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

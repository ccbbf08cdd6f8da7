"""The few labels that the target has: they check what was expected, and test p(y | x).

The residuals y - q of labelled rows, times a few functions z of the row (one, the prediction, the
score), must have the same mean on both sides if p(y | x) is the same:

    D = mean_T z (y - q) - sum_i w_i z_i (y_i - q_i) ,   D' Cov(D)^-1 D ,

against the F distribution. A change that neither the prediction nor the score shows is found only
by its effect on the mean: the test answers for the metrics, not for every p(y | x). An error of q
cancels where the weights balance it. For numbers, the error of the prediction takes the place of y,
and its expectation that of q.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import fdtrc

from .._crossfit import CrossFit
from .._influence import Design, Influence, mean_influence
from .._types import Real, Rows
from ..estimates.intervals import Errors
from ..estimates.methods import Signal
from ..show.table import Record
from ..weights._design import kish
from .judged import Judged
from .masses import Masses
from .methods import Classified, residual_parts
from .metrics import Metric, Range, limits
from .numbers import Regressed, plain
from .scores import Scored


@dataclass(frozen=True)
class Check(Record):
    """A metric of the target rows that have labels, beside the expected one."""

    proportion: ClassVar[bool] = False  # numbers are written as decimals

    model: str
    metric: str
    rows: int
    value: float
    standard_error: float
    interval: tuple[float, float]
    expected: float


@dataclass(frozen=True)
class Change(Record):
    """Whether p(y | x) differs between the labelled rows and the target: a test."""

    model: str
    rows: int  # target rows with a label
    statistic: float
    p_value: float


@dataclass(frozen=True)
class Labelled:
    """Target rows that have a label."""

    rows: Rows  # (n,): of the target
    y: Any  # (n,): numbers of the classes, or numbers
    weight: Real  # (n,): shares of the target

    def check(
        self, model: str, metric: str, found: Influence, expected: float, c: float, range_: Range
    ) -> Check:
        """Set a metric beside the expected one, with an interval of coverage c."""
        n = len(self.rows)
        size = kish(self.weight)
        number = Errors(Design.simple(n), n - 1, size, size, c).number(found, **limits(range_))
        interval = (number.low, number.high)
        return Check(model, metric, n, number.value, number.standard_error, interval, expected)

    def of_masses(self, judge: Classified, metric: Metric) -> Influence:
        """Compute a metric of classes on these rows."""
        N, M = len(judge.labels), len(judge.scored.target)
        Y = np.zeros((N + M, len(judge.scored.classes)))
        share = self.weight / self.weight.sum()
        Y[N + self.rows, self.y] = 1.0
        mass = np.zeros_like(Y)
        mass[N + self.rows] = share[:, None] * Y[N + self.rows]
        found = judge.masses("none")
        slope = metric.of(Masses(mass, found.scores, found.chosen))
        values = np.sum(Y * slope.gradient, axis=1)[N + self.rows]
        _, train = mean_influence(values[:, None], self.weight)
        return Influence(np.array([slope.value]), train, np.zeros((0, 1)))

    def of_numbers(self, scored: Scored, metric: Any) -> Influence:
        """Compute a metric of numbers on these rows."""
        return plain(metric, self.y, scored.target[self.rows, 0], self.weight)

    def change_of_classes(self, judge: Classified) -> Change:
        """Test whether p(y | x) has changed, by the residuals of the classes."""
        kept = [judge.scored.positive]
        if len(judge.scored.classes) > 2:
            kept = list(range(1, len(judge.scored.classes)))
        q = judge.predicted("model").columns(kept)
        y = np.asarray(self.y[:, None] == np.array(kept), dtype=np.float64)
        return self._change(judge.problem, judge.scored, Signal(judge.Y[:, kept], q), y)

    def change_of_numbers(self, judge: Regressed, scored: Scored) -> Change:
        """Test whether p(y | x) has changed, by the errors of the predictions."""
        signal = judge.problem.numbers(judge.f - judge.y, "error")
        rest = _products(signal.values - signal.h.train, residual_parts(scored)[0])
        error = scored.target[self.rows, 0] - self.y
        return self._change(judge.problem.about(rest), scored, signal, error[:, None])

    def _change(self, problem: Judged, scored: Scored, signal: Signal, y: Real) -> Change:
        here, there = residual_parts(scored)
        h = signal.h
        products = Signal(
            _products(signal.values, here),
            CrossFit(_products(h.train, here), _products(h.folds, there)),
        )
        rest = products.values - products.h.train
        train = problem.engine.means(products, "dr").train
        residual = _products(y - h.target[self.rows], there[self.rows])
        mean, target = mean_influence(residual, self.weight)
        engine = replace(problem.engine, trust=1.0)
        D = mean - engine.residual_share(engine.lean) @ rest
        covariance = problem.design.covariance(train)
        covariance = covariance + Design.simple(len(self.rows)).covariance(target)
        k = int(np.linalg.matrix_rank(covariance, hermitian=True))
        if k == 0:
            return Change(scored.name, len(self.rows), 0.0, 1.0)
        statistic = float(D @ np.linalg.pinv(covariance, hermitian=True) @ D) / k
        freedom = max(1.0, min(kish(self.weight), problem.weights.effective_sample_size) - k)
        p = float(fdtrc(k, freedom, statistic))
        return Change(scored.name, len(self.rows), statistic, p)


def _products(values: Real, parts: Real) -> Real:
    """All products of columns (..., n, a) and (n, b): (..., n, a b)."""
    found = values[..., :, None] * parts[:, None, :]
    return np.asarray(found.reshape(*values.shape[:-1], -1))

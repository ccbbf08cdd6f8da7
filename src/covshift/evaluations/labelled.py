"""Labels of some target rows: metrics by prediction-powered inference, and a test of p(y | x).

The L labelled rows, drawn with known chances, are the target by design. With q the sample's outcome
model, which has not seen them, shares u_i of these rows (by 1 / chance) and t of all target rows,
both summing to one, the masses (`masses`) of class c are

    target row:    t lambda q_c ,        labelled row, besides:    u (y_c - lambda q_c) ,

which is right whatever p(y | x) is in the sample. The power lambda of a metric with the derivatives
g by the masses is the slope of sum_c y_c g_c on sum_c q_c g_c among the labelled rows, g taken at
the masses t q, within 0 and 1. Metrics of numbers: the same for the losses. Labels alone: lambda =
0. A few labels rarely show the long tail of losses: their spread counts as at least that of the
sample, weighted (where chances were unequal, shared among the rows as the models say). How this
number and the corrected one are combined: `engine.labels`.

The test. The residuals y - q of labelled rows, times a few functions z of the row (one, the
prediction, the score), must have the same mean on both sides if p(y | x) is the same:

    D = mean_T z (y - q) - sum_i w_i z_i (y_i - q_i) ,   D' Cov(D)^-1 D ,

against the F distribution. A change that neither the prediction nor the score shows is found only
by its effect on the mean: the test answers for the metrics, not for every p(y | x). An error of q
cancels where the weights balance it. For numbers, the error of the prediction takes the place of
y, and its expectation that of q.

Source: Angelopoulos, Duchi and Zrnic (2023), *PPI++: efficient prediction-powered inference*. Cost:
O(M K) for every metric.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import fdtrc

from ..data.row_weights import kish
from ..engine.intervals import Errors, Number, sum_of_gaps
from ..engine.labels import Known, slopes
from ..engine.measures import Signal
from ..engine.problem import Size
from ..numerics.array import Real, Rows
from ..numerics.influence import Design, Influence, mean_influence
from ..show.table import Record
from .masses import Masses
from .methods import Classified, residual_parts
from .metrics import Metric, limits, range_of
from .numbers import Regressed, of_means
from .problem import ScoredProblem
from .scored import Scored

_UNEQUAL = 1e-9  # of the largest weight
Squares = tuple[Real, Real]  # (N, k), (L, k): expected by models, up to a factor


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

    rows: Rows  # (L,): of the target
    y: Any  # (L,): numbers of the classes, or numbers
    weight: Real  # (L,): shares of the target, over the chances to be labelled
    trusted: bool = True  # whether the sample shows the whole target: else labels alone answer

    def size(self, inside: Real) -> Size:
        """Labelled rows of a part of the target (M,)."""
        here = inside[self.rows] > 0
        effective = kish(self.weight * here)
        return Size(int(here.sum()), effective, effective)

    def of_classes(
        self, judge: Classified, metric: Metric, group: int | None
    ) -> tuple[Number, Known, Size]:
        """Estimate a metric by labels alone, and with the model's help; of how many labels."""
        N = len(judge.labels)
        part = judge.inside(group)[N:] * (1.0 if metric.within is None else metric.within[N:])
        errors, found = self.errors(judge.problem, part), []
        for power in (0.0, self._power(judge, metric, group)):
            one = self.by_masses(judge, metric, group, power)
            number = errors.number(one, **limits(metric.range))
            if metric.gaps and np.isfinite(number.value):
                gaps = [self.by_masses(judge, gap, group, power) for gap in metric.gaps]
                values = np.array([float(gap.value[0]) for gap in gaps])
                sizes = np.array([errors.error(gap)[0] for gap in gaps])
                seen = np.isfinite(values)
                number = sum_of_gaps(values[seen], sizes[seen], *errors.error(one))
            found.append(Known(number, one))
        return found[0].number, found[1], self.size(part)

    def of_numbers(
        self, judge: Regressed, metric: Any, group: int | None
    ) -> tuple[Number, Known, Size]:
        """Estimate a metric of numbers, in the same way."""
        part, found = judge.inside(group), []
        errors = self.errors(judge.problem, part)
        if metric == "median_absolute_error":
            number = self._median(np.abs(self.y - judge.f_target[self.rows]), part, errors)
            return number, Known(number, None), self.size(part)
        for powered in (False, True):
            one = self.by_losses(judge, metric, group, powered=powered)
            found.append(Known(errors.number(one, **limits(range_of(metric))), one))
        return found[0].number, found[1], self.size(part)

    def by_masses(
        self, judge: Classified, metric: Metric, group: int | None, power: float
    ) -> Influence:
        """Compute a metric of classes from the masses above."""
        share, rows = judge.problem.sample.share, self.rows
        chances, Y = judge.predicted("model").target, self._shares(judge)
        q = power * chances
        u = self.weight / self.weight.sum()
        mass = share[:, None] * q
        mass[rows] += u[:, None] * (Y - q[rows])
        value, here, g = _slope(judge, metric, group, mass)
        _, train = mean_influence(np.sum((Y - q[rows]) * g[rows], axis=1, keepdims=True), u)
        rest = np.sum((judge.Y - power * judge.predicted("model").train) * here, axis=1)
        of = (
            _squares(judge.predicted("model").train, here, 1 - power),
            _squares(chances, g, 1 - power)[rows],
        )
        train = self._spread(train, rest[:, None], judge.problem, of)
        h = np.sum(q * g, axis=1, keepdims=True)
        found = Influence(np.array([value]), train, share[:, None] * (h - share @ h))
        return found.known_target() if judge.problem.finite_population else found

    def by_losses(
        self, judge: Regressed, metric: Any, group: int | None, *, powered: bool
    ) -> Influence:
        """Compute a metric of numbers from means of losses."""
        rows, share = self.rows, judge.problem.sample.share
        inside = judge.inside(group)[:, None]
        values = judge.columns(metric, self.y, judge.f_target[rows]) * inside[rows]
        sample, h = judge.parts(metric)
        q, power = h.target * inside, np.zeros(values.shape[1])
        if powered:
            power = slopes(values, q[rows], self.weight * inside[rows, 0])
        value, train = mean_influence(values - power * q[rows], self.weight)
        rest = (sample - power * h.train) * judge.inside(group, target=False)[:, None]
        of = (h.train * judge.inside(group, target=False)[:, None]) ** 2, q[rows] ** 2
        train, q = self._spread(train, rest, judge.problem, of), power * q  # loss of any scale
        top = Influence(share @ q + value, train, share[:, None] * (q - share @ q))
        bottom = Influence(
            share @ inside, np.zeros((len(rows), 1)), share[:, None] * (inside - share @ inside)
        )
        if not powered:  # labels alone also have to tell how large the group is
            bottom = Influence(*mean_influence(inside[rows], self.weight), np.zeros_like(inside))
        found = of_means(metric, top.over(bottom))
        return found.known_target() if judge.problem.finite_population else found

    def _power(self, judge: Classified, metric: Metric, group: int | None) -> float:
        q = judge.predicted("model").target
        _, _, g = _slope(judge, metric, group, judge.problem.sample.share[:, None] * q)
        g = np.where(np.isfinite(g), g, 0.0)[self.rows]
        parts = self._shares(judge), q[self.rows]
        values, predicted = (np.sum(part * g, axis=1, keepdims=True) for part in parts)
        return float(slopes(values, predicted, self.weight)[0])

    def _spread(self, train: Real, rest: Real, problem: ScoredProblem, of: Squares) -> Real:
        """Influence (L, k) of labels, of at least the spread that the sample's ``rest`` has.

        Of rows that were drawn with unequal chances, as those of a plan are where the spread is,
        models say how it is shared among them: squares ``of`` the sample's rows and of these.
        """
        u, w = self.weight / self.weight.sum(), problem.weights.final / problem.weights.final.sum()
        seen, expected = np.sum(train**2, axis=0), w @ (rest - w @ rest) ** 2
        if np.ptp(u) <= _UNEQUAL * u.max():
            expected = expected * (u @ u)
        else:
            here, there = of
            level = w @ here
            expected = expected * (u**2 @ there) / np.where(level > 0, level, np.inf)
        factor = np.sqrt(np.maximum(1.0, expected / np.where(seen > 0, seen, np.inf)))
        return np.asarray(train * np.where(np.isfinite(factor), factor, 1.0))

    def _median(self, values: Real, part: Real, errors: Errors) -> Number:
        """Median of the labels alone, its ends by the error of the share below (Woodruff)."""
        order = np.argsort(values)
        share = (self.weight * part[self.rows])[order]
        if not share.sum() > 0:
            return Number(np.nan, np.nan, -np.inf, np.inf)
        below = np.cumsum(share) / share.sum()
        reach = errors.quantile(1.0, 0.0) / np.sqrt(4 * errors.rows)
        at = np.searchsorted(below, [0.5, 0.5 - reach, 0.5 + reach])
        value, low, high = (float(values[order[min(k, len(order) - 1)]]) for k in at)
        high = np.inf if reach >= 0.5 else high
        error = (min(high, float(values.max())) - low) / 4
        return Number(value, error, 0.0 if reach >= 0.5 else low, high)

    def _shares(self, judge: Classified) -> Real:
        """One in the column of a row's class: (L, K)."""
        return np.asarray(self.y[:, None] == np.arange(len(judge.scored.classes)), dtype=float)

    def errors(self, problem: ScoredProblem, inside: Real) -> Errors:
        """What intervals need, for a part of the target (M,)."""
        size = self.size(inside).effective
        there = kish(problem.sample.share * inside)
        design = Design.simple(len(self.rows))
        return Errors(design, max(0.0, size - 1), size, there, problem.confidence)

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
        error = scored.target[self.rows, 0] - self.y
        return self._change(judge.problem, scored, signal, error[:, None])

    def _change(self, problem: ScoredProblem, scored: Scored, signal: Signal, y: Real) -> Change:
        here, there = residual_parts(scored)
        rest = _products(signal.values - signal.h.train, here)
        moved, train = mean_influence(rest, problem.weights.final)
        residual = _products(y - signal.h.target[self.rows], there[self.rows])
        mean, target = mean_influence(residual, self.weight)
        D = mean - moved
        covariance = problem.design.covariance(train)
        covariance = covariance + Design.simple(len(self.rows)).covariance(target)
        k = int(np.linalg.matrix_rank(covariance, hermitian=True))
        if k == 0:
            return Change(scored.name, len(self.rows), 0.0, 1.0)
        statistic = float(D @ np.linalg.pinv(covariance, hermitian=True) @ D) / k
        freedom = max(1.0, min(kish(self.weight), problem.weights.effective_sample_size) - k)
        p = float(fdtrc(k, freedom, statistic))
        return Change(scored.name, len(self.rows), statistic, p)


def _slope(
    judge: Classified, metric: Metric, group: int | None, mass: Real
) -> tuple[float, Real, Real]:
    """Value of a metric of the masses (M, K) of target rows; derivatives of both samples' rows."""
    N, known = len(judge.labels), judge.masses("none")
    inside = judge.inside(group)[:, None]
    whole = np.vstack([np.zeros((N, mass.shape[1])), mass]) * inside
    found = metric.of(Masses(whole, known.scores, known.chosen))
    g = found.gradient * inside
    return found.value, g[:N], g[N:]


def _squares(q: Real, g: Real, left: float) -> Real:
    """Expected squares (n, 1) of what is ``left`` of g (n, K), by the chances q of the classes."""
    h = np.sum(q * g, axis=1, keepdims=True)
    inside = np.sum(q * (g - h) ** 2, axis=1, keepdims=True)
    return np.asarray(inside + (left * (h - h.mean())) ** 2)


def _products(values: Real, parts: Real) -> Real:
    """All products of columns (..., n, a) and (n, b): (..., n, a b)."""
    found = values[..., :, None] * parts[:, None, :]
    return np.asarray(found.reshape(*values.shape[:-1], -1))

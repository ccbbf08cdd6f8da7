"""The performance of a regression: means of losses, and what follows from them.

With the error e = y - f(x), the loss L is e, |e| or e^2, or what the user's function says; its
expectation h given the features and the prediction is the outcome model's, as for any outcome of
`estimate`. The others follow by the delta method:

    RMSE = MSE^(1/2) ,   R^2 = 1 - MSE / (E y^2 - (E y)^2) ,

and the median absolute error is a quantile. Bias is the mean of f(x) - y.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..engine.intervals import Number
from ..engine.measures import METHODS as ENGINE_METHODS
from ..engine.measures import Method as EngineMethod
from ..engine.measures import Signal
from ..estimates.quantiles import Median
from ..estimates.quantities import every_group
from ..numerics.array import Real
from ..numerics.crossfit import CrossFit
from ..numerics.influence import Influence
from ..registry import METRICS
from .methods import Method, path
from .metrics import limits, range_of, title
from .problem import ScoredProblem
from .scored import losses_of

_ROUNDING = 1e-12  # of a mean of squares


@dataclass(frozen=True)
class Regressed:
    """A regression with labelled rows."""

    problem: ScoredProblem
    y: Real  # (N,)
    f: Real  # (N,): predictions
    f_target: Real  # (M,)

    def bounded(self, odds: float, side: int) -> Regressed:
        """Return the same, whose metrics are bounds; R^2 to first order."""
        return replace(self, problem=self.problem.bounded(odds, side))

    def influence(self, metric: Any, method: EngineMethod, group: int | None = None) -> Influence:
        """Estimate a metric, with the influence of every row (or fold) on it."""
        if metric == "r2" and self.problem.bound is not None:
            return self._bound_of_r2(method, group)
        return of_means(metric, self._means(self._parts(metric), method, group))

    def parts(self, metric: Any) -> tuple[Real, CrossFit]:
        """The `columns` of the labelled rows (N, k), and what is predicted of them."""
        found = self._parts(metric)
        values = np.hstack([signal.values for signal in found])
        return values, CrossFit.side_by_side([signal.h for signal in found])

    def columns(self, metric: Any, y: Real, f: Real) -> Real:
        """Columns (n, k) of whose means a metric is made, of outcomes and predictions."""
        if metric != "r2":
            return losses("mse" if metric == "rmse" else metric, y, f)[:, None]
        center = float(self.y.mean())  # R^2 does not depend on it, rounding does
        return np.column_stack([losses("mse", y, f), y - center, (y - center) ** 2])

    def inside(self, group: int | None, *, target: bool = True) -> Real:
        """One for the target rows of a group (M,), or the labelled rows (N,)."""
        groups = self.problem.sample.groups
        if group is None or groups is None:
            return np.ones(len(self.f_target if target else self.f))
        return groups.indicator(group, target=target)

    def numbers(self, metric: Any) -> Iterator[tuple[int | None, str | None, dict[Method, Number]]]:
        """Estimate a metric by all methods, of all and of every group."""
        if metric == "median_absolute_error":
            size = np.abs(self.y - self.f)
            groups = every_group(self.problem)
            found = Median().items(self.problem, size, "absolute error")
            for (group, label), item in zip(groups, found, strict=True):
                yield group, label, {method: item.numbers[method] for method in ENGINE_METHODS}
            return
        for group, label in every_group(self.problem):
            numbers: dict[Method, Number] = {}
            for method in ENGINE_METHODS:
                one = self.influence(metric, method, group)
                errors = self.problem.errors(method, group)
                numbers[method] = errors.number(one, **limits(range_of(metric)))
            yield group, label, numbers

    def values(
        self, metric: Any, method: EngineMethod, group: int | None
    ) -> Callable[[Real, Real, Real], Real]:
        """Return a function of outcomes, predictions and rows inside of a group: values of rows.

        Their mean changes as the metric does from the plain to another method: columns times the
        derivative, which is that between the two, over the size of the group in the latter.
        """
        signals = self._parts(metric)
        here, there = (self._means(signals, m, group) for m in ("none", method))
        unit, nothing = np.eye(len(here.value)), np.zeros((0, len(here.value)))
        slope = np.zeros(len(here.value))
        for t, weight in path():
            at = (1 - t) * here.value + t * there.value
            slope += weight * of_means(metric, Influence(at, unit, nothing)).train[:, 0]
        _, bottom = self.problem.in_group(signals[0], group, "loss")
        size = 1.0
        if bottom is not None:
            size = float(self.problem.measures.means(bottom, method).value[0])
        plain = float(of_means(metric, here).value[0])

        def of(y: Real, f: Real, inside: Real) -> Real:
            columns = self.columns(metric, y, f) - here.value
            return np.asarray(plain + inside * (columns @ slope) / size)

        return of

    def _parts(self, metric: Any) -> list[Signal]:
        """What a metric is made of."""
        names = ["error" if metric == "bias" else title("mse" if metric == "rmse" else metric)]
        if metric == "r2":
            names = ["mse", "y", "squared y"]
        elif callable(metric):
            names = [f"function {names[0]}"]  # which may be called like a metric
        columns = self.columns(metric, self.y, self.f).T
        problem = self.problem.unbounded if metric == "r2" else self.problem
        return [problem.numbers(y, name) for y, name in zip(columns, names, strict=True)]

    def _bound_of_r2(self, method: EngineMethod, group: int | None) -> Influence:
        """Bound the linear part of R^2 at the corrected means."""
        means = self._means(self._parts("r2"), method, group)
        slope = _slope_of_r2(means.value).T  # (3, 1)
        if not np.isfinite(slope).all():
            return explained(means)
        values, h = self.parts("r2")
        linear = Signal(values @ slope, CrossFit(h.train @ slope, h.folds @ slope))
        bound = self.problem.bound_of(linear, "linear part of r2")
        found = self.problem.ratio(*self.problem.in_group(bound, group, "loss"), method)
        moved = found.value - means.value @ slope[:, 0]
        return replace(found, value=explained(means).value + moved)

    def _means(self, signals: list[Signal], method: EngineMethod, group: int | None) -> Influence:
        values = np.hstack([signal.values for signal in signals])
        joined = Signal(values, CrossFit.side_by_side([signal.h for signal in signals]))
        top, bottom = self.problem.in_group(joined, group, "loss")
        return self.problem.ratio(top, bottom, method)


def losses(metric: Any, y: Real, f: Real) -> Real:
    """Losses (N,) whose mean is the metric, of outcomes and predictions."""
    loss = METRICS[metric].load() if isinstance(metric, str) else metric
    return losses_of(loss, y, f, title(metric))


def squared(y: Real, f: Real) -> Real:
    """Squared errors."""
    return np.asarray((f - y) ** 2)


def absolute(y: Real, f: Real) -> Real:
    """Absolute errors."""
    return np.abs(f - y)


def excess(y: Real, f: Real) -> Real:
    """Prediction less outcome."""
    return f - y


def of_means(metric: Any, means: Influence) -> Influence:
    """Return a metric from the means of its columns."""
    if metric == "r2":
        return explained(means)
    return root(means) if metric == "rmse" else means


def explained(influence: Influence) -> Influence:
    """R^2 from the means of e^2, y and y^2."""
    mse, mean, square = influence.value
    spread = square - mean**2
    if not spread > _ROUNDING * abs(square):
        return influence.column(0).times(np.nan)
    slope = _slope_of_r2(influence.value)
    if not np.isfinite(slope).all():  # errors beyond all comparison with the outcomes
        return influence.column(0).times(np.nan)
    return replace(influence.linear(slope), value=np.array([1 - mse / spread]))


def _slope_of_r2(means: Real) -> Real:
    """Derivative (1, 3) by the means of e^2, y and y^2."""
    mse, mean, square = means
    spread = square - mean**2
    with np.errstate(over="ignore"):
        ratio = mse / spread / spread  # a fourth power of y would overflow or vanish
    return np.array([[-1 / spread, -2 * mean * ratio, ratio]])


def root(influence: Influence) -> Influence:
    """Square root of a mean; a negative estimate counts as zero."""
    value = float(np.sqrt(max(0.0, influence.value[0])))
    slope = 1 / (2 * value) if value > 0 else 0.0
    return replace(influence.times(slope), value=np.array([value]))

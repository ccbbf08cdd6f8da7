"""Quantiles, by a distribution function of weighted rows; intervals by Woodruff's method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.parameters import number
from ..engine.explanation import Moved
from ..engine.intervals import Errors, Number
from ..engine.measures import METHODS, Method, Signal
from ..engine.problem import Item, Problem
from ..numerics.array import Flags, Real, Rows
from ..numerics.crossfit import CrossFit
from ..numerics.influence import Influence
from .quantities import Quantity, every_group, numbers_of

_BOUND_STEPS = 5  # at most, until the share is bounded at the bound of the quantile


@dataclass(frozen=True)
class Steps:
    """A distribution function that steps at sorted values, and is lifted by a constant."""

    values: Real  # (m,), sorted
    height: Real  # (m,): its height at each value
    count: Rows  # (m,): rows that have the value
    lift: float = 0.0

    def at(self, value: float) -> float:
        """Return the height at one of the values."""
        return float(self.height[np.searchsorted(self.values, value)] + self.lift)

    def first_row(self, value: float) -> float:
        """Return the height at the first of the rows that share one of the values."""
        k = int(np.searchsorted(self.values, value))
        before = float(self.height[k - 1]) if k else 0.0
        return before + (float(self.height[k]) - before) / int(self.count[k]) + self.lift

    def inverse(self, p: float) -> float:
        """Return the smallest value at which the function reaches p."""
        if not len(self.values):  # no row of a positive weight
            return np.nan
        k = int(np.searchsorted(self.height, p - self.lift - 1e-12))
        return float(self.values[min(k, len(self.values) - 1)])


@dataclass(frozen=True)
class Quantile(Quantity):
    """Quantiles with Woodruff's intervals.

    Parameters
    ----------
    q : float or list of floats
        Levels between 0 and 1.

    Notes
    -----
    The distribution function is that of the weighted rows, F_w, lifted by what the outcome model
    adds at the weighted quantile c_0 = F_w^-1(p):

        F(c) = F_w(c) + [sum_q s_q g(t_q) - sum w g(x) / sum w] ,   g(x) = P(y <= c_0 | x) ,

    a doubly robust value at c_0, monotone everywhere. The interval is that of F at the quantile,
    carried back: F^-1(F(c) - t se) to F^-1(F(c) + t se); its half width over t is the standard
    error. Where several rows share the quantile, F(c) lies far above p, and p stands for it: else
    the interval would miss outcomes just below, which may well be the quantile.

    Sources: Woodruff (1952), *Confidence intervals for medians and other position measures*;
    Kallus, Mao and Uehara (2024), *Localized debiased machine learning*.

    Examples
    --------
    >>> from covshift import Quantile, estimate
    >>> from covshift.datasets import make_survey
    >>> survey = make_survey(300, 400, random_state=0)
    >>> found = estimate(survey.X, survey.X[:, 0], survey.X_target, what=Quantile([0.25, 0.75]))
    >>> [row.what for row in found]
    ['quantile 0.25', 'quantile 0.75']
    """

    q: Any = field(metadata={"example": "0.9"})

    has_bounds: ClassVar[bool] = True

    def check(self, by: Any) -> None:
        for level in numbers_of(self.q, "q"):
            number(above=0, below=1).check(level, "q")

    def items(self, problem: Problem, y: NDArray[Any], name: str) -> Iterator[Item]:
        for group, label in every_group(problem):
            for p in numbers_of(self.q, "q"):
                numbers = {}
                all_errors = {method: problem.errors(method, group) for method in METHODS}
                parts, below = self._parts(problem.opposite, y, (group, label), p, name)
                plain = _steps(problem, y, group, problem.sample.d)
                for method in METHODS:
                    steps = _steps(problem, y, group, problem.weights.final)
                    if method == "none":
                        steps = plain
                        found = _plain_share(problem, y <= plain.inverse(p), group)
                    else:
                        found = problem.ratio(*parts, method)
                    if method in ("dr", "model") or (method == "weights" and problem.bound):
                        steps = replace(steps, lift=float(found.value[0]) - below)
                    errors = all_errors[method]
                    error, t = errors.error(found)
                    numbers[method] = _woodruff(steps, p, error, t, errors)
                word = "median" if p == 0.5 else f"quantile {p:g}"
                size, moved = problem.size_of(group), None
                if problem.fixed is not None:
                    moved = _moved(problem, y, (group, label, word), numbers, all_errors, parts)
                yield Item(word, label, numbers, False, size, all_errors, moved=moved)

    def _parts(
        self, problem: Problem, y: Real, where: tuple[int | None, str | None], p: float, name: str
    ) -> tuple[tuple[Signal, Signal | None], float]:
        """Parts of the share of outcomes up to some value, and this share of the weighted rows.

        The value is the quantile of the weighted rows; of bounds, one where they are near p.
        """
        group, label = where
        title = f"{name}, quantile {p:g} of {label or 'all'}"
        steps, bound = _steps(problem, y, group, problem.weights.final), problem.bound
        if bound is None or not len(steps.values):
            flags = np.asarray(y <= steps.inverse(p), dtype=np.float64)
            parts = problem.in_group(problem.indicator(flags, title), group, title)
            return parts, float(problem.ratio(*parts, "weights").value[0])
        start, least, most = steps.inverse(bound.start(p)), -np.inf, np.inf
        for _ in range(_BOUND_STEPS):
            title, below = f"{name} <= {start!r}", steps.at(start)
            flags = np.asarray(y <= start, dtype=np.float64)
            parts = problem.in_group(problem.indicator(flags, title), group, title)
            reached = float(problem.ratio(*parts, "dr").value[0])
            least, most = (least, start) if reached >= p else (start, most)
            again = replace(steps, lift=reached - below).inverse(p)
            inside = steps.values[(steps.values > least) & (steps.values < most)]
            if again == start or not len(inside):
                break
            start = again if least < again < most else float(inside[len(inside) // 2])
        return parts, below


@dataclass(frozen=True)
class Median(Quantile):
    """The quantile at one half."""

    q: Any = field(default=0.5, init=False)


def _moved(
    problem: Problem,
    y: Real,
    where: tuple[int | None, str | None, str],
    numbers: Mapping[Method, Number],
    errors: Mapping[Method, Errors],
    parts: tuple[Signal, Signal | None],
) -> Moved | None:
    """What explains the change of a quantile: that of the share up to the plain one, over f.

    f is the mean density between the plain and the corrected quantile, of the weighted rows; where
    these are the same, what the errors of the share and of the quantile say.
    """
    group, label, word = where
    assert problem.fixed is not None
    inside = np.ones(len(y))
    if group is not None and problem.sample.groups is not None:
        inside = problem.sample.groups.indicator(group)
    method = problem.explained_method
    corrected = problem.ratio(*parts, method)
    if (word, label) not in problem.fixed:
        here, there = numbers["none"].value, numbers[method].value
        steps = _steps(problem, y, group, problem.weights.final)
        density = np.nan
        if here != there:
            density = (steps.at(there) - steps.at(here)) / (there - here)
        if not density > 0:
            error = numbers[method].standard_error
            density = errors[method].error(corrected)[0] / error if error > 0 else np.nan
        size = problem.weights.final @ inside / problem.weights.final.sum()
        problem.fixed[word, label] = here, density, size
    here, density, size = problem.fixed[word, label]
    if not 0 < density < np.inf:
        return None
    share = _plain_share(problem, y <= here, group)
    values = here - inside * ((y <= here) - share.value[0]) / (density * size)
    plain = replace(share.times(-1 / density), value=np.array([numbers["none"].value]))
    found = replace(corrected.times(-1 / density), value=np.array([numbers[method].value]))
    return problem.moved(values, plain, found, errors)


def _steps(problem: Problem, y: Real, group: int | None, w: Real) -> Steps:
    if group is not None and problem.sample.groups is not None:
        w = w * problem.sample.groups.indicator(group)
    kept = w > 0
    values, inverse, count = np.unique(y[kept], return_inverse=True, return_counts=True)
    mass = np.bincount(inverse.reshape(-1), weights=w[kept])
    return Steps(values, np.cumsum(mass) / mass.sum(), count)


def _plain_share(problem: Problem, flags: Flags, group: int | None) -> Influence:
    """Share of the sample as it is, of all rows or of a group's."""
    inside = np.ones(len(flags))
    if group is not None and problem.sample.groups is not None:
        inside = problem.sample.groups.indicator(group)
    parts = np.column_stack([flags * inside, inside])
    nothing = CrossFit.known(0 * parts, np.zeros((len(problem.sample.share), 2)), 1)
    means = problem.measures.means(Signal(parts, nothing), "none")
    return means.column(0).over(means.column(1))


def _woodruff(steps: Steps, p: float, error: float, t: float, errors: Errors) -> Number:
    """Carry an interval of F back; beyond the data there is none.

    Where rows share the value, the share of outcomes of at most that may have little or no error,
    though p lies well below it: the error is then at least that of a share p of the rows. Where the
    interval of F reaches zero or one, the smallest or largest outcome is the end if n rows tell
    that less than p, or 1 - p, lies beyond: at most u = 1 - (alpha / 2)^(1 / n) does.
    """
    rows = max(1.0, errors.rows)
    unseen = 1 - ((1 - errors.confidence) / 2) ** (1 / rows)
    value = steps.inverse(p)
    if np.isnan(value):
        return Number(np.nan, np.nan, -np.inf, np.inf)
    if not np.isfinite(t * error):
        return Number(value, np.inf, -np.inf, np.inf)
    least = max(error, np.sqrt(p * (1 - p) / rows))
    at, first = steps.at(value), steps.first_row(value)
    if first < at - 1e-12:  # rows share the value
        at, error = max(p, first), least
    low = steps.inverse(at - t * error)
    if at - t * error <= 0 and unseen >= p:
        low = -np.inf
    high = steps.inverse(at + t * error)
    if min(at + t * error, p + t * least) >= 1 and unseen >= 1 - p:
        high = np.inf
    return Number(value, (high - low) / (2 * t), low, high)

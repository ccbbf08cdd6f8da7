"""What can be asked: means, shares, totals, ratios, quantiles, distribution functions, differences.

All are means, or follow from means by their influence values; a group is a ratio with its
indicator, never a cut sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..data.columns import spelled
from ..exceptions import InputError
from ..numerics.array import Flags, Real, Rows
from ..numerics.crossfit import CrossFit
from ..numerics.influence import Influence
from .intervals import Errors, Number
from .methods import METHODS, Method, Signal, leaning
from .problem import Item, Problem

Groups = list[tuple[int | None, str | None]]


def every_group(problem: Problem) -> Groups:
    """All rows first, then the groups."""
    return [(None, None), *problem.groups()]


def means(problem: Problem, y: Real, name: str) -> Iterator[Item]:
    """Means; of zeros and ones they are shares."""
    binary = bool(np.isin(y, (0.0, 1.0)).all())
    signal = problem.indicator(y, name) if binary else problem.numbers(y, name)
    for group, label in every_group(problem):
        top, bottom = problem.in_group(signal, group, name)
        yield item(problem, "", (group, label), top, bottom, proportion=binary)


def totals(problem: Problem, y: Real, name: str, population_size: float) -> Iterator[Item]:
    """Sums over the population; that of a group is the sum of what its members have."""
    signal = problem.numbers(y, name)
    for group, label in every_group(problem):
        top, _ = problem.in_group(signal, group, name)
        slack = 1.0 if group is None else None
        yield item(problem, "total", (group, label), top, None, factor=population_size, slack=slack)


def proportions(
    problem: Problem, labels: NDArray[Any], name: str, category: Any = None
) -> Iterator[Item]:
    """Shares of all categories, or of those in ``category``."""
    classes = np.unique(labels)
    wanted = _wanted(category, classes)
    signal = problem.classes(labels, classes, name)
    for group, label in every_group(problem):
        for kind in wanted:
            column = [int(np.flatnonzero(classes == kind)[0])]
            one = Signal(signal.values[:, column], signal.h.columns(column))
            top, bottom = problem.in_group(one, group, f"{name}={kind}")
            yield item(problem, kind, (group, label), top, bottom, proportion=True)


def _wanted(category: Any, classes: NDArray[Any]) -> list[str]:
    if category is None:
        return [str(c) for c in classes]
    given = category if isinstance(category, list | tuple) else [category]
    wanted = [spelled(c) for c in given]
    if not wanted:
        raise InputError(f"category={category!r} names no category. Leave it out for all.")
    unknown = [c for c in wanted if c not in classes]
    if unknown:
        raise InputError(
            f"category={category!r}: no row has the outcome {unknown[0]!r}. There are "
            f"{', '.join(map(repr, classes[:12].tolist()))}."
        )
    return wanted


def ratios(problem: Problem, y: Real, name: str, denominator: Real) -> Iterator[Item]:
    """Ratio of two means."""
    under_name = f"denominator of {name}"  # not "denominator", which may name the outcome
    over, under = problem.numbers(y, name), problem.numbers(denominator, under_name)
    for group, label in every_group(problem):
        top, _ = problem.in_group(over, group, name)
        bottom, _ = problem.in_group(under, group, under_name)
        at = problem.ratio(bottom, None, problem.method).value[0]
        if not abs(at) > 0:
            raise InputError(
                "The mean of the denominator is zero, so that there is no ratio"
                + (f" in the group {label!r}." if label else ".")
            )
        slack = None if group is not None else float(1 / abs(at))
        yield item(problem, "ratio", (group, label), top, bottom, slack=slack)


def distribution(problem: Problem, y: Real, name: str, at: Real) -> Iterator[Item]:
    """Shares of outcomes of at most each point in ``at``."""
    titles = {c: f"{name} <= {c!r}" for c in at.tolist()}
    signals = {c: problem.indicator((y <= c) * 1.0, title) for c, title in titles.items()}
    for group, label in every_group(problem):
        for c in at.tolist():
            title, signal = titles[c], signals[c]
            top, bottom = problem.in_group(signal, group, title)
            yield item(problem, f"<= {c:g}", (group, label), top, bottom, proportion=True)


def differences(problem: Problem, y: Real, name: str, reference: Any = None) -> Iterator[Item]:
    """Means of the groups, and how far they are from that of one of them."""
    reference = None if reference is None else spelled(reference)
    groups = problem.groups()
    labels = [label for _, label in groups]
    if len(groups) < 2:
        raise InputError(
            f"what='difference' compares groups, but by has {len(groups)} with rows in both "
            "samples."
        )
    if reference is None:
        reference = labels[0]
    if reference not in labels:
        raise InputError(f"reference={reference!r} is none of the groups {labels}.")
    binary = bool(np.isin(y, (0.0, 1.0)).all())
    signal = problem.indicator(y, name) if binary else problem.numbers(y, name)
    base = next(k for k, label in groups if label == reference)
    first = {m: problem.ratio(*problem.in_group(signal, base, name), m) for m in METHODS}
    for group, label in groups:
        if group == base:
            continue
        parts = problem.in_group(signal, group, name)
        found = {m: problem.ratio(*parts, m).minus(first[m]) for m in METHODS}
        numbers, errors = {}, {}
        for method in METHODS:
            both = (problem.errors(method, k) for k in (group, base))
            errors[method] = min(both, key=_freedom)
            left = 0.0
            if problem.engine.counts_imbalance(method):
                left = float(abs(found["dr"].value[0] - found["weights"].value[0]))
            numbers[method] = errors[method].number(found[method], besides=left)
        size = problem.size_of(group)
        yield Item(f"{label} - {reference}", None, numbers, False, 2.0, size, errors)


def _freedom(errors: Errors) -> float:
    return errors.freedom


def item(
    problem: Problem,
    label: str,
    where: tuple[int | None, str | None],
    top: Signal,
    bottom: Signal | None,
    *,
    proportion: bool = False,
    factor: float = 1.0,
    slack: float | None = 1.0,
) -> Item:
    """Estimate one mean or ratio by all methods."""
    group, name = where
    numbers: dict[Method, Number] = {}
    found: dict[Method, Influence] = {}
    errors = {method: problem.errors(method, group) for method in METHODS}
    for method in METHODS:
        found[method] = problem.ratio(top, bottom, method).times(factor)
        besides = factor * problem.imbalance(top, bottom, method)
        numbers[method] = errors[method].number(
            found[method], proportion=proportion, besides=besides
        )
    change = None
    if problem.method in ("dr", "weights"):
        difference = found[problem.method].minus(found["none"])
        change = errors[problem.method].number(difference)
    scaled = None if slack is None else slack * factor
    size = problem.size_of(group)
    return Item(label, name, numbers, proportion, scaled, size, errors, change)


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


def medians(problem: Problem, y: Real, name: str) -> Iterator[Item]:
    """Medians: quantiles at one half."""
    return quantiles(problem, y, name, np.array([0.5]))


def quantiles(problem: Problem, y: Real, name: str, q: Real) -> Iterator[Item]:
    """Quantiles with Woodruff's intervals.

    The distribution function is that of the weighted rows, F_w, lifted by what the outcome model
    adds at the weighted quantile c_0 = F_w^-1(p):

        F(c) = F_w(c) + [sum_q s_q g(t_q) - sum w g(x) / sum w] ,   g(x) = P(y <= c_0 | x) ,

    a doubly robust value at c_0, monotone everywhere. The interval is that of F at the quantile,
    carried back: F^-1(F(c) - t se) to F^-1(F(c) + t se); its half width over t is the standard
    error. Where several rows share the quantile, F(c) lies far above p, and p stands for it: else
    the interval would miss outcomes just below, which may well be the quantile.

    Sources: Woodruff (1952), *Confidence intervals for medians and other position measures*;
    Kallus, Mao and Uehara (2024), *Localized debiased machine learning*.
    """
    for group, label in every_group(problem):
        for p in q.tolist():
            numbers = {}
            all_errors = {method: problem.errors(method, group) for method in METHODS}
            start = _steps(problem, y, group, problem.weights.final).inverse(p)
            title = f"{name}, quantile {p:g} of {label or 'all'}"
            signal = problem.indicator(np.asarray(y <= start, dtype=np.float64), title)
            parts = problem.in_group(signal, group, title)
            plain = _steps(problem, y, group, problem.sample.d)
            for method in METHODS:
                steps = _steps(problem, y, group, problem.weights.final)
                if method == "none":
                    steps = plain
                    found = _plain_share(problem, y <= plain.inverse(p), group)
                else:
                    found = problem.ratio(*parts, method)
                if method in ("dr", "model"):
                    lift = float(found.value[0] - problem.ratio(*parts, "weights").value[0])
                    steps = replace(steps, lift=lift)
                besides = problem.imbalance(*parts, method)
                errors = all_errors[method]
                error, t = errors.error(found, besides)
                numbers[method] = _woodruff(steps, p, error, t, errors.rows)
            word = "median" if p == 0.5 else f"quantile {p:g}"
            size = problem.size_of(group)
            yield Item(word, label, numbers, False, 1.0, size, all_errors)


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
    found = problem.engine.means(Signal(parts, nothing), "none")
    return found.column(0).over(found.column(1))


def _woodruff(steps: Steps, p: float, error: float, t: float, rows: float) -> Number:
    """Carry an interval of F back; beyond the data there is none.

    Where rows share the value, the share of outcomes of at most that may have little or no error,
    though p lies well below it: the error is then at least that of a share p of the rows.
    """
    value = steps.inverse(p)
    if np.isnan(value):
        return Number(np.nan, np.nan, -np.inf, np.inf)
    if not np.isfinite(t * error):
        return Number(value, np.inf, -np.inf, np.inf)
    least = max(error, np.sqrt(p * (1 - p) / max(1.0, rows)))
    at, first = steps.at(value), steps.first_row(value)
    if first < at - 1e-12:  # rows share the value
        at, error = max(p, first), least
    low = -np.inf if at - t * error <= 0 else steps.inverse(at - t * error)
    reach = p + t * least
    high = np.inf if min(at + t * error, reach) >= 1 else steps.inverse(at + t * error)
    return Number(value, (high - low) / (2 * t), low, high)


# Regression coefficients for the target: linear or logistic.
#
# With the regressors x' = (1, x), the mean function mu (identity, or the logistic function), and
# the cross-fitted prediction h of the outcome, the coefficients solve the doubly robust score
#
#     sum_q s_q x'(t_q) [h(t_q) - mu(x'(t_q)'b)] + sum w x'(x_i) [y_i - h(x_i)] / sum w = 0 .
#
# "weights" solves sum w x' (y - mu) = 0 on the training rows, "none" the same with the design
# weights alone, "model" the first sum alone. Errors are sandwiches: the influence of a row on b is
# A^-1 times its influence on the mean score, A = mean of mu' x' x'' where the score is summed. Each
# slope takes one of the degrees of freedom.
#
# Source: Robins, Rotnitzky and Zhao (1994). Cost: O((N + M) p^2) per step of Newton's method.


Family = Literal["linear", "logistic"]
_STEPS = 100


def coefficients(
    problem: Problem,
    y: Real,
    outcome: str,
    family: Family | None,
    regressors: tuple[tuple[Real, Real], tuple[str, ...]],
) -> Iterator[Item]:
    """Estimate the intercept and the coefficients of columns ((N, p) and (M, p)) with names."""
    columns, names = regressors
    family = family or "linear"
    binary = bool(np.isin(y, (0.0, 1.0)).all())
    if family == "logistic" and not binary:
        raise InputError(
            f"family='logistic' needs an outcome of zeros and ones, but {outcome!r} has others."
        )
    signal = problem.indicator(y, outcome) if binary else problem.numbers(y, outcome)
    X, T = (np.column_stack([np.ones(len(part)), part]) for part in columns)
    _check_rank(X[problem.sample.d > 0], names)
    found = {m: _solve(problem, signal, X, T, family, m) for m in METHODS}
    size = problem.size_of(None)
    errors = {m: _errors(problem, m, len(names)) for m in METHODS}
    left = np.zeros(X.shape[1])
    if problem.engine.counts_imbalance("weights"):
        left = np.abs(found["dr"].value - found["weights"].value)
    for k, name in enumerate(("intercept", *names)):
        besides = {m: float(left[k]) if m == "weights" else 0.0 for m in METHODS}
        numbers = {m: errors[m].number(found[m].column(k), besides=besides[m]) for m in METHODS}
        change = None
        if problem.method in ("dr", "weights"):
            difference = found[problem.method].minus(found["none"]).column(k)
            change = errors[problem.method].number(difference)
        yield Item(name, None, numbers, False, None, size, errors, change)


def _solve(
    problem: Problem, signal: Signal, X: Real, T: Real, family: Family, method: Method
) -> Influence:
    share, h, y = problem.sample.share, signal.h, signal.values[:, 0]
    no_target = np.zeros((len(T), X.shape[1]))
    if method in ("none", "weights"):
        w = problem.sample.d if method == "none" else problem.weights.final
        w = w / w.sum()
        b, A = _newton(X, w, X.T @ (w * y), family)
        fitted, fitted_target = _mean(X @ b, family), _mean(T @ b, family)
        scores = X * (y - fitted)[:, None]
        known = X * (h.train[:, 0] - fitted)[:, None]
        known_target = T * (h.folds[:, :, 0] - fitted_target)[:, :, None]
        found = problem.engine.means(Signal(scores, CrossFit(known, known_target)), method)
        return Influence(b, found.train @ A, found.target @ A)
    means = [share * column for column in h.folds[:, :, 0]]
    if method == "model":
        by_fold = np.array([_newton(T, share, T.T @ part, family)[0] for part in means])
        b, A = _newton(T, share, T.T @ (share * h.target[:, 0]), family)
        K = len(by_fold)
        train = (K - 1) / K * (by_fold.mean(axis=0) - by_fold)
    else:
        residual = X * (y - h.train[:, 0])[:, None]
        lean = max(problem.engine.lean, leaning(residual, problem.weights))
        left, train = problem.engine.residuals(residual, lean)
        b, A = _newton(T, share, T.T @ (share * h.target[:, 0]) + left, family)
        train = train @ A
    score = T * (h.target[:, 0] - _mean(T @ b, family))[:, None]
    target = (share[:, None] * (score - share @ score)) @ A
    return Influence(b, train, no_target if problem.finite_population else target)


def _newton(X: Real, w: Real, moment: Real, family: Family) -> tuple[Real, Real]:
    """Solve sum w x' mu(x'b) = moment for b; also the inverse of the derivative, (p, p)."""
    b = np.zeros(X.shape[1])
    if family == "linear":
        inverse = np.linalg.pinv((w[:, None] * X).T @ X, hermitian=True)
        return inverse @ moment, np.asarray(inverse)
    for _ in range(_STEPS):
        mu = expit(X @ b)
        gradient = moment - X.T @ (w * mu)
        inverse = np.linalg.pinv(((w * mu * (1 - mu))[:, None] * X).T @ X, hermitian=True)
        step = inverse @ gradient
        if np.abs(X @ step).max() > 5:  # far from the solution a full step overshoots
            step *= 5 / np.abs(X @ step).max()
        b = b + step
        if np.abs(gradient).max() < 1e-12:
            return b, np.asarray(inverse)
        if np.abs(X @ b).max() > 500:
            break
    if np.abs(gradient).max() < 1e-8:
        return b, np.asarray(inverse)
    raise InputError(
        "The logistic regression has no finite coefficients: the regressors tell the two classes "
        "apart, or a corrected share lies outside of zero to one. Use fewer regressors, or "
        "family='linear'."
    )


def _errors(problem: Problem, method: Method, slopes: int) -> Errors:
    """Errors of a regression: every slope takes a degree of freedom."""
    errors = problem.errors(method)
    if method == "model":
        return errors
    return replace(errors, freedom=max(0.0, errors.freedom - slopes))


def _mean(linear: Real, family: Family) -> Real:
    return np.asarray(expit(linear) if family == "logistic" else linear)


def _check_rank(X: Real, names: tuple[str, ...]) -> None:
    units = np.abs(X).max(axis=0)
    rank = np.linalg.matrix_rank(X / np.where(units > 0, units, 1.0))
    if rank < X.shape[1]:
        raise InputError(
            f"The {len(names)} regressors are linearly dependent on the training rows, so that "
            "their coefficients are not determined. Leave out columns, such as one level of every "
            "category, with regressors=[...]."
        )

"""What can be asked: means, shares, totals, ratios, quantiles, distribution functions, differences.

All are means, or follow from means by their influence values; a group is a ratio with its
indicator, never a cut sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..data import Samples
from ..data.columns import check_outcomes, spelled
from ..data.parameters import number, one_of
from ..engine.intervals import Errors, Number
from ..engine.methods import METHODS, Method, Signal, share_of_full_weights
from ..engine.problem import Item, Problem
from ..exceptions import InputError, InputTypeError
from ..numerics.array import Flags, Real, Rows
from ..numerics.crossfit import CrossFit
from ..numerics.influence import Influence
from ..registry import QUANTITIES

Groups = list[tuple[int | None, str | None]]


@dataclass(frozen=True)
class Quantity:
    """What `estimate` is asked for: ``what=Quantile(0.9)``, or a plain name such as "median".

    A subclass is a dataclass whose fields are the options of the quantity. `items` yields what
    stands in the table; `check` refuses options before anything is computed.
    """

    of_categories: ClassVar[bool] = False  # whether the outcome is categories, not numbers
    row_options: ClassVar[tuple[str, ...]] = ()  # fields with one value per training row

    @property
    def name(self) -> str:
        """The plain name."""
        return type(self).__name__.lower()

    def check(self, by: Any) -> None:
        """Refuse options that make no sense; ``by`` holds the groups, or None."""

    def with_rows(self, values: Mapping[str, Any], size: int) -> Quantity:
        """Return the quantity with its `row_options` checked: numbers (N,), NaN where missing."""
        checked = {name: _one_number_per_row(values[name], size, name) for name in self.row_options}
        return replace(self, **checked)

    def rows(self, kept: Rows) -> Quantity:
        """Keep the `row_options` of some training rows."""
        return replace(self, **{name: getattr(self, name)[kept] for name in self.row_options})

    def items(self, problem: Problem, y: NDArray[Any], name: str) -> Iterator[Item]:
        """Estimate the quantity of the outcome y (N,), called ``name``."""
        raise NotImplementedError


def as_quantity(what: Any) -> Quantity:
    """Return the quantity that an object or a plain name stands for."""
    if isinstance(what, Quantity):
        return what
    if isinstance(what, type) and issubclass(what, Quantity):
        raise InputTypeError(f"what={what.__name__} is a class. Pass what={what.__name__}(...).")
    one_of(*QUANTITIES).check(what, "what")
    made: type[Quantity] = QUANTITIES[what].load()
    for option in fields(made):
        if option.default is MISSING and option.default_factory is MISSING:
            example = option.metadata.get("example", "...")
            raise InputError(
                f"what={what!r} needs {option.name}: pass what={made.__name__}({example})."
            )
    return made()


def _one_number_per_row(values: Any, size: int, name: str) -> Real:
    found = check_outcomes(values, size, numbers=True, title=name)
    if len(found) != 1:
        raise InputError(f"{name} has {len(found)} columns. Pass one.")
    return np.where(found[0].present, found[0].y, np.nan)


def _numbers(values: Any, name: str) -> list[float]:
    try:
        found = np.atleast_1d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.ndim != 1 or not len(found) or np.isnan(found).any():
        raise InputError(f"{name}={values!r} must be a number, or several in a list.")
    return [float(value) for value in found]


def every_group(problem: Problem) -> Groups:
    """All rows first, then the groups."""
    return [(None, None), *problem.groups()]


@dataclass(frozen=True)
class Mean(Quantity):
    """Mean of the outcome; of zeros and ones it is a share."""

    def items(self, problem: Problem, y: NDArray[Any], name: str) -> Iterator[Item]:
        binary = bool(np.isin(y, (0.0, 1.0)).all())
        signal = problem.indicator(y, name) if binary else problem.numbers(y, name)
        for group, label in every_group(problem):
            top, bottom = problem.in_group(signal, group, name)
            yield item(problem, "", (group, label), top, bottom, proportion=binary)


@dataclass(frozen=True)
class Total(Quantity):
    """Sum over the population; that of a group is what its members have together.

    Parameters
    ----------
    size : float, optional
        People in the population. Default: the size of the margins that are the target, which then
        are taken as exact.

    Examples
    --------
    >>> from covshift import Total, estimate
    >>> from covshift.datasets import make_survey
    >>> survey = make_survey(300, 400, random_state=0)
    >>> found = estimate(survey.X, survey.y, survey.X_target, what=Total(5000))
    >>> print(f"{found.value / 1000:.1f} thousand")
    1.8 thousand
    """

    size: float | None = None

    def check(self, by: Any) -> None:
        if self.size is None:
            raise InputError(
                "A total needs the size of the population: pass what=Total(5000), with your number."
            )
        number(above=0).check(self.size, "size")

    def items(self, problem: Problem, y: NDArray[Any], name: str) -> Iterator[Item]:
        assert self.size is not None  # `check` has refused it
        signal = problem.numbers(y, name)
        for group, label in every_group(problem):
            top, _ = problem.in_group(signal, group, name)
            slack = 1.0 if group is None else None
            yield item(problem, "total", (group, label), top, None, factor=self.size, slack=slack)


@dataclass(frozen=True)
class Proportion(Quantity):
    """Share of every category of the outcome, or of some.

    Parameters
    ----------
    category : value or list of values, optional
        Which ones; default: all.

    Examples
    --------
    >>> from covshift import Proportion, estimate
    >>> from covshift.datasets import make_survey
    >>> survey = make_survey(300, 400, random_state=0)
    >>> answer = ["yes" if one else "no" for one in survey.y]
    >>> found = estimate(survey.X, answer, survey.X_target, what=Proportion("yes"))
    >>> print(f"{found.value:.2f}")
    0.37
    """

    category: Any = None

    of_categories: ClassVar[bool] = True

    def items(self, problem: Problem, y: NDArray[Any], name: str) -> Iterator[Item]:
        classes = np.unique(y)
        wanted = _wanted(self.category, classes)
        signal = problem.classes(y, classes, name)
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


@dataclass(frozen=True)
class Ratio(Quantity):
    """Ratio of the means of the outcome and of a denominator.

    Parameters
    ----------
    denominator : name of a column, or (N,) array
        One number per training row; rows without it are left out.

    Examples
    --------
    >>> from covshift import Ratio, estimate
    >>> from covshift.datasets import make_survey
    >>> survey = make_survey(300, 400, random_state=0)
    >>> heads = survey.X[:, 0]
    >>> found = estimate(survey.X, 2 * heads, survey.X_target, what=Ratio(heads))
    >>> print(f"{found.value:.3f}")
    2.000
    """

    denominator: Any = field(metadata={"example": '"income"'})

    row_options: ClassVar[tuple[str, ...]] = ("denominator",)

    def check(self, by: Any) -> None:
        if self.denominator is None:
            raise InputError(
                "A ratio needs a denominator: the name of a column, or one number per training row."
            )

    def items(self, problem: Problem, y: NDArray[Any], name: str) -> Iterator[Item]:
        under_name = f"denominator of {name}"  # not "denominator", which may name the outcome
        over, under = problem.numbers(y, name), problem.numbers(self.denominator, under_name)
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


@dataclass(frozen=True)
class CDF(Quantity):
    """Share of outcomes of at most a value.

    Parameters
    ----------
    at : float or list of floats
        The values.

    Examples
    --------
    >>> from covshift import CDF, estimate
    >>> from covshift.datasets import make_survey
    >>> survey = make_survey(300, 400, random_state=0)
    >>> found = estimate(survey.X, survey.X[:, 0], survey.X_target, what=CDF([30, 60]))
    >>> print(found.value.round(1))
    [0.2 0.7]
    """

    at: Any = field(metadata={"example": "[10, 20]"})

    def check(self, by: Any) -> None:
        _numbers(self.at, "at")

    def items(self, problem: Problem, y: NDArray[Any], name: str) -> Iterator[Item]:
        points = _numbers(self.at, "at")
        titles = {c: f"{name} <= {c!r}" for c in points}
        signals = {
            c: problem.indicator(np.where(y <= c, 1.0, 0.0), title) for c, title in titles.items()
        }
        for group, label in every_group(problem):
            for c in points:
                title, signal = titles[c], signals[c]
                top, bottom = problem.in_group(signal, group, title)
                yield item(problem, f"<= {c:g}", (group, label), top, bottom, proportion=True)


@dataclass(frozen=True)
class Difference(Quantity):
    """How far the groups' means are from that of one of them.

    Parameters
    ----------
    reference : label, optional
        The group that others are compared with; default: the first.

    Examples
    --------
    >>> from covshift import Difference, estimate
    >>> from covshift.datasets import make_survey
    >>> survey = make_survey(300, 400, random_state=0)
    >>> group = ["old" if age > 50 else "young" for age in survey.X[:, 0]]
    >>> what = Difference("young")
    >>> found = estimate(survey.X, survey.y, survey.X_target, what=what, by=group)
    >>> [row.what for row in found]
    ['old - young']
    """

    reference: Any = None

    def check(self, by: Any) -> None:
        if by is None:
            raise InputError("what='difference' compares groups: name them with by.")

    def items(self, problem: Problem, y: NDArray[Any], name: str) -> Iterator[Item]:
        reference = None if self.reference is None else spelled(self.reference)
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
            raise InputError(f"reference={reference!r} is not one of the groups {labels}.")
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

    def check(self, by: Any) -> None:
        for level in _numbers(self.q, "q"):
            number(above=0, below=1).check(level, "q")

    def items(self, problem: Problem, y: NDArray[Any], name: str) -> Iterator[Item]:
        for group, label in every_group(problem):
            for p in _numbers(self.q, "q"):
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


@dataclass(frozen=True)
class Median(Quantile):
    """The quantile at one half."""

    q: Any = field(default=0.5, init=False)


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


@dataclass(frozen=True)
class Coefficients(Quantity):
    """Intercept and coefficients of a regression of the outcome, for the target.

    Parameters
    ----------
    regressors : name, number or list of these, optional
        Features; default: all.
    family : {"linear", "logistic"}

    Examples
    --------
    >>> from covshift import Coefficients, estimate
    >>> from covshift.datasets import make_survey
    >>> survey = make_survey(300, 400, random_state=0)
    >>> found = estimate(survey.X, survey.y, survey.X_target, what=Coefficients([0]))
    >>> [row.what for row in found]
    ['intercept', 'x0']
    """

    regressors: Any = None
    family: Family = "linear"

    def check(self, by: Any) -> None:
        one_of("linear", "logistic").check(self.family, "family")
        if by is not None:
            raise InputError("what='coefficients' has no groups: leave out by.")

    def items(self, problem: Problem, y: NDArray[Any], name: str) -> Iterator[Item]:
        columns, names = self._columns(problem.sample)
        binary = bool(np.isin(y, (0.0, 1.0)).all())
        if self.family == "logistic" and not binary:
            raise InputError(
                f"family='logistic' needs an outcome of zeros and ones, but {name!r} has others."
            )
        signal = problem.indicator(y, name) if binary else problem.numbers(y, name)
        X, T = (np.column_stack([np.ones(len(part)), part]) for part in columns)
        _check_rank(X[problem.sample.d > 0], names)
        found = {m: _solve(problem, signal, X, T, self.family, m) for m in METHODS}
        size = problem.size_of(None)
        errors = {m: _errors(problem, m, len(names)) for m in METHODS}
        left = np.zeros(X.shape[1])
        if problem.engine.counts_imbalance("weights"):
            left = np.abs(found["dr"].value - found["weights"].value)
        for k, column in enumerate(("intercept", *names)):
            besides = {m: float(left[k]) if m == "weights" else 0.0 for m in METHODS}
            numbers = {m: errors[m].number(found[m].column(k), besides=besides[m]) for m in METHODS}
            change = None
            if problem.method in ("dr", "weights"):
                difference = found[problem.method].minus(found["none"]).column(k)
                change = errors[problem.method].number(difference)
            yield Item(column, None, numbers, False, None, size, errors, change)

    def _columns(self, sample: Samples) -> tuple[tuple[Real, Real], tuple[str, ...]]:
        """Return the columns of the regressors, (N, p) and (M, p), and their names."""
        if self.regressors is None:
            return (sample.X, sample.T), sample.names
        given = self.regressors
        given = [given] if isinstance(given, str) or not hasattr(given, "__iter__") else list(given)
        places = []
        for column in given:
            if isinstance(column, str) and column in sample.names:
                places.append(sample.names.index(column))
            elif isinstance(column, int | np.integer) and 0 <= column < len(sample.names):
                places.append(int(column))
            else:
                raise InputError(
                    f"regressors: {column!r} is not one of the columns "
                    f"{', '.join(map(repr, sample.names[:20]))}."
                )
        names = tuple(sample.names[k] for k in places)
        return (sample.X[:, places], sample.T[:, places]), names


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
        full = max(
            problem.engine.full_weight_share, share_of_full_weights(residual, problem.weights)
        )
        left, train = problem.engine.residuals(residual, full)
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

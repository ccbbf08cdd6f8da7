"""What can be asked: means, shares, totals, ratios, quantiles, distribution functions, differences.

All are means, or follow from means by their influence values; a group is a ratio with its
indicator, never a cut sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from ..data import Samples
from ..data.columns import Outcome, check_outcomes, outcomes_as_they_are, spelled
from ..data.parameters import number, one_of
from ..data.row_weights import kish
from ..engine.intervals import Errors, Number
from ..engine.label_shift import Shares, nearest_shares
from ..engine.measures import METHODS, Method, Signal
from ..engine.problem import Item, Problem, Size
from ..exceptions import InputError, InputTypeError
from ..numerics.array import Real, Rows
from ..numerics.crossfit import CrossFit
from ..numerics.influence import Influence, mean_influence
from ..registry import QUANTITIES

Groups = list[tuple[int | None, str | None]]


@dataclass(frozen=True)
class Quantity:
    """What `estimate` is asked for: ``what=Quantile(0.9)``, or a plain name such as "median".

    A subclass is a dataclass whose fields are the options of the quantity. `items` yields what
    stands in the table; `check` refuses options before anything is computed.
    """

    of_categories: ClassVar[bool] = False  # whether the outcome is categories, not numbers
    has_bounds: ClassVar[bool] = False  # whether `items` of a bounded problem are bounds
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

    def rows(self, rows: Rows) -> Quantity:
        """Keep the `row_options` of some training rows."""
        return replace(self, **{name: getattr(self, name)[rows] for name in self.row_options})

    def items(self, problem: Problem, y: NDArray[Any], name: str) -> Iterator[Item]:
        """Estimate the quantity of the outcome y (N,), called ``name``."""
        raise NotImplementedError

    def from_shares(self, shares: Shares, classes: NDArray[Any]) -> Iterator[Item]:
        """Estimate the quantity from the shares of the classes (K,), under label shift."""
        raise InputError(
            f"{self.name!r} cannot be computed from class shares: under label shift ask for the "
            "mean of zeros and ones, proportions, or a total of zeros and ones."
        )


def outcomes_of(
    sample: Samples, quantity: Quantity, *, known: bool
) -> tuple[list[Outcome], Quantity]:
    """Read the outcomes as the quantity needs them; without a ``known`` one, text has shares."""
    if known:
        return check_outcomes(sample.y, len(sample.X), numbers=not quantity.of_categories), quantity
    outcomes, categories = outcomes_as_they_are(sample.y, len(sample.X))
    return outcomes, Proportion() if categories else quantity


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
    outcomes = check_outcomes(values, size, numbers=True, title=name)
    if len(outcomes) != 1:
        raise InputError(f"{name} has {len(outcomes)} columns. Pass one.")
    return np.where(outcomes[0].present, outcomes[0].y, np.nan)


def numbers_of(values: Any, name: str) -> list[float]:
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

    has_bounds: ClassVar[bool] = True

    def items(self, problem: Problem, y: NDArray[Any], name: str) -> Iterator[Item]:
        binary = bool(np.isin(y, (0.0, 1.0)).all())
        signal = problem.indicator(y, name) if binary else problem.numbers(y, name)
        for group, label in every_group(problem):
            top, bottom = problem.in_group(signal, group, name)
            yield item(problem, "", (group, label), top, bottom, proportion=binary)

    def from_shares(self, shares: Shares, classes: NDArray[Any]) -> Iterator[Item]:
        yield share_item(shares, int(np.flatnonzero(classes == 1)[0]), "")


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

    has_bounds: ClassVar[bool] = True

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
            yield item(problem, "total", (group, label), top, None, factor=self.size)

    def from_shares(self, shares: Shares, classes: NDArray[Any]) -> Iterator[Item]:
        yield share_item(shares, int(np.flatnonzero(classes == 1)[0]), "total", self.size)


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
    has_bounds: ClassVar[bool] = True

    def items(self, problem: Problem, y: NDArray[Any], name: str) -> Iterator[Item]:
        classes = np.unique(y)
        wanted = _wanted(self.category, classes)
        signal = problem.classes(y, classes, name)
        for group, label in every_group(problem):
            parts = {}
            for k, kind in enumerate(classes.tolist()):
                one = Signal(signal.values[:, [k]], signal.h.columns([k]))
                parts[kind] = problem.in_group(one, group, f"{name}={kind}")
            shares = {} if problem.bound else _summing_to_one(problem, list(parts.values()))
            for kind in wanted:
                at = {method: part[list(parts).index(kind)] for method, part in shares.items()}
                where = (group, label)
                yield item(problem, kind, where, *parts[kind], proportion=True, at=at)

    def from_shares(self, shares: Shares, classes: NDArray[Any]) -> Iterator[Item]:
        for kind in _wanted(self.category, classes):
            yield share_item(shares, int(np.flatnonzero(classes == kind)[0]), kind)


def _summing_to_one(
    problem: Problem, parts: list[tuple[Signal, Signal | None]]
) -> dict[Method, Real]:
    """Shares of all classes by method: where one is below zero, the nearest that sum to one."""
    found = {}
    for method in METHODS:
        raw = np.array([problem.ratio(*part, method).value[0] for part in parts])
        outside = raw.min() < 0 or abs(raw.sum() - 1) > 1e-9
        if np.isfinite(raw).all() and outside:
            found[method] = nearest_shares(raw)
    return found


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
    has_bounds: ClassVar[bool] = True

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
            if problem.bound is None:
                yield item(problem, "ratio", (group, label), top, bottom)
            else:
                plain = problem.unbounded
                parts = plain.numbers(y, name), plain.numbers(self.denominator, under_name)
                yield _bound_of_ratio(problem, *parts, (group, label), f"ratio of {name}")


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

    has_bounds: ClassVar[bool] = True

    def check(self, by: Any) -> None:
        numbers_of(self.at, "at")

    def items(self, problem: Problem, y: NDArray[Any], name: str) -> Iterator[Item]:
        points = numbers_of(self.at, "at")
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

    has_bounds: ClassVar[bool] = True

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
        other = problem.opposite  # the largest difference is from the smallest mean
        of_base = other.in_group(
            other.indicator(y, name) if binary else other.numbers(y, name), base, name
        )
        first = {m: problem.ratio(*of_base, m) for m in METHODS}
        for group, label in groups:
            if group == base:
                continue
            parts = problem.in_group(signal, group, name)
            found = {m: problem.ratio(*parts, m).minus(first[m]) for m in METHODS}
            numbers, errors = {}, {}
            for method in METHODS:
                both = (problem.errors(method, k) for k in (group, base))
                errors[method] = min(both, key=_freedom)
                numbers[method] = errors[method].number(found[method])
            size = problem.size_of(group)
            about, moved = f"{label} - {reference}", None
            if problem.fixed is not None:
                values = _values(problem, *parts, (about, label))
                values = values - _values(problem, *of_base, (about, reference))
                own = found[problem.explained_method]
                moved = problem.moved(values, found["none"], own, errors)
            yield Item(
                about, None, numbers, False, size, errors, influence=found["dr"], moved=moved
            )


def _bound_of_ratio(
    problem: Problem, over: Signal, under: Signal, where: tuple[int | None, str | None], name: str
) -> Item:
    """Bound a ratio: the R at which the bound of the mean of y - R z is zero (Dinkelbach).

    Groups that are known of the sample alone have none.
    """
    group, label = where
    numbers: dict[Method, Number] = {}
    errors = {method: problem.errors(method, group) for method in METHODS}
    groups, plain = problem.sample.groups, problem.unbounded
    known = group is None or (groups is not None and groups.target is not None)
    for method in METHODS:
        numbers[method] = Number(np.nan, np.nan, -np.inf, np.inf)
        if not known:
            continue
        parts = [plain.in_group(signal, group, name)[0] for signal in (over, under)]
        top, bottom = (plain.measures.means(part, method).value[0] for part in parts)
        sign = np.sign(bottom)

        def mean(R: float, method: Method = method, sign: float = sign) -> Influence:
            h = CrossFit(
                sign * (over.h.train - R * under.h.train), sign * (over.h.folds - R * under.h.folds)
            )
            rest = Signal(sign * (over.values - R * under.values), h)
            of, _ = problem.in_group(problem.bound_of(rest, name), group, name)
            return problem.ratio(of, None, method)

        def height(R: float, mean: Any = mean) -> float:
            return float(mean(R).value[0])

        start = float(top / bottom)
        step = height(start) / abs(bottom)
        ends = next((e for k in range(12) if height(e := start + step * 2**k) * step <= 0), None)
        if ends is None:
            continue
        R = float(brentq(height, start, ends)) if ends != start else start
        slope = (height(start) - height(R)) / (R - start) if R != start else abs(bottom)
        found = replace(mean(R).times(1 / slope), value=np.array([R]))
        numbers[method] = errors[method].number(found)
    return Item("ratio", label, numbers, False, problem.size_of(group), errors)


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
    at: Mapping[Method, float] = MappingProxyType({}),
) -> Item:
    """Estimate one mean or ratio by all methods; ``at`` are values that replace some of theirs."""
    group, name = where
    numbers: dict[Method, Number] = {}
    found: dict[Method, Influence] = {}
    errors = {method: problem.errors(method, group) for method in METHODS}
    for method in METHODS:
        found[method] = problem.ratio(top, bottom, method).times(factor)
        if method in at:
            found[method] = replace(found[method], value=np.array([at[method]]))
        numbers[method] = errors[method].number(found[method], proportion=proportion)
    change = None
    if problem.method in ("dr", "weights"):
        difference = found[problem.method].minus(found["none"])
        change = errors[problem.method].number(difference)
    moved = None
    if problem.fixed is not None:
        values = factor * _values(problem, top, bottom, (label, name))
        moved = problem.moved(values, found["none"], found[problem.explained_method], errors)
    size = problem.size_of(group)
    return Item(label, name, numbers, proportion, size, errors, change, found["dr"], moved)


def _values(
    problem: Problem, top: Signal, bottom: Signal | None, key: tuple[str, str | None]
) -> Real:
    """Values (N,) whose mean changes as a mean, or as a ratio, does.

    a_1 / b_1 - R_0 = [(a_1 - a_0) - R_0 (b_1 - b_0)] / b_1 with R_0 = a_0 / b_0 is exact.
    """
    if bottom is None:
        return top.values[:, 0]
    assert problem.fixed is not None
    if key not in problem.fixed:
        means = problem.measures.means
        at = means(bottom, problem.explained_method).value[0]
        problem.fixed[key] = problem.ratio(top, bottom, "none").value[0], at
    ratio, at = problem.fixed[key]
    return np.asarray(ratio + (top.values[:, 0] - ratio * bottom.values[:, 0]) / at)


def share_item(shares: Shares, c: int, label: str, size: float | None = None) -> Item:
    """Estimate the share of class c under label shift, or the total in a population of a size."""
    problem, factor = shares.problem, 1.0 if size is None else size
    d = problem.sample.d
    there = shares.share(c).times(factor)
    values = np.asarray(shares.labels == c, dtype=np.float64)[:, None]
    value, train = mean_influence(values, d)
    here = Influence(value, train, np.zeros_like(there.target)).times(factor)
    errors: dict[Method, Errors] = {"label": shares.errors(there), "none": problem.errors("none")}
    found: dict[Method, Influence] = {"label": there, "none": here}
    numbers = {
        method: errors[method].number(one, proportion=size is None) for method, one in found.items()
    }
    change = errors["label"].number(there.minus(here))
    rows = Size(len(d), kish(shares.weights), kish(d))
    return Item(label, None, numbers, size is None, rows, errors, change)

"""The metrics that were asked for, made from their entries in `covshift.registry`.

A metric of one class is that of the positive class where there are two, and else the plain mean
over the classes ("macro"). Its name with ``_weighted`` is the mean by the classes' shares, and with
``_per_class`` one number for every class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ..exceptions import InputError, InputTypeError
from ..numerics.array import Flags, Real
from ..registry import METRICS, MetricEntry
from ..show.words import meant
from . import masses as on
from .bins import Bins
from .masses import Masses, Slope

Needs = Literal["predictions", "scores", "probabilities"]
Range = Literal["share", "positive", "any"]  # from 0 to 1, from 0 on, or anywhere
_LEVELS: tuple[Needs, ...] = ("predictions", "scores", "probabilities")
_AVERAGES = ("_weighted", "_per_class")


@dataclass(frozen=True, eq=False)
class Cost:
    """The mean cost of a prediction, as a metric of `covshift.evaluate`.

    Parameters
    ----------
    costs : (K, K) array
        One for every true class (line) and predicted class (column), in the order of the model's
        classes.

    Examples
    --------
    >>> from covshift import Cost, Predictions, evaluate
    >>> from covshift.datasets import make_survey
    >>> survey = make_survey(400, 300, random_state=0)
    >>> age = Predictions(survey.X[:, 0], survey.X_target[:, 0], threshold=45)
    >>> missed_ones_cost_five = Cost([[0, 1], [5, 0]])
    >>> found = evaluate(age, survey.X, survey.y, survey.X_target, metrics=missed_ones_cost_five)
    >>> print(f"{found['cost'].value:.1f}")
    0.7
    """

    costs: Any


@dataclass(frozen=True)
class Metric:
    """One line of the table: a function of masses, with its name."""

    name: str
    of: Callable[[Masses], Slope]
    needs: Needs = "predictions"
    range: Range = "share"
    within: Flags | None = None  # (N + M,): the rows that it is about, where these are not all
    gaps: tuple[Metric, ...] = ()  # with signs: it is the sum of their absolute values


def limits(range_: Range) -> dict[str, bool]:
    """Say on which scale an interval is made, for `engine.intervals.Errors.number`."""
    return {"proportion": range_ == "share", "positive": range_ == "positive"}


def words(name: str) -> str:
    """Write a metric's name for people.

    >>> words("roc_auc"), words("f1_weighted"), words("average_precision")
    ('AUC', 'F1 weighted', 'average precision')
    """
    for start, written in ((key, entry.word) for key, entry in METRICS.items() if entry.word):
        if name == start or name.startswith((f"{start}_", f"{start} ")):
            return (written + name[len(start) :]).replace("_", " ", 1)
    return name.replace("_", " ") if " of " not in name else name


def class_metrics(
    asked: Any,
    classes: tuple[str, ...],
    positive: int,
    given: Needs,
    loss_of: Any,
    bins: Bins | None = None,
) -> list[Metric]:
    """Return the metrics asked for; ``given`` tells whether there are scores or probabilities.

    ``loss_of`` turns a callable into its losses (n, K) of all atoms, if each class were theirs;
    ``bins`` are those of the calibration curve, where there are two classes with probabilities.
    """
    every = _of_task("classes")
    names = _asked(asked, [n for n in every if every[n].in_default and _enough(every[n], given)])
    found: list[Metric] = []
    for name in names:
        if callable(name):
            found.append(Metric(title(name), _losses(loss_of(name)), range="any"))
        elif name == "confusion_matrix":
            found += list(cells(classes))
        elif name == "calibration_curve":
            found += bin_metrics(bins, positive)
        elif name == "cost":
            raise InputError(
                "The metric cost needs the costs of all mistakes: pass Cost([[0, 1], [5, 0]]), one "
                "for every true class (line) and predicted class (column)."
            )
        elif isinstance(name, Cost):
            table = _checked_costs(name.costs, len(classes))
            found.append(Metric("cost", lambda m, C=table: on.cost(m, C), range="any"))  # type: ignore[misc]
        else:
            found += list(_named(name, classes, positive, given, loss_of))
    return found


def number_metrics(asked: Any) -> list[Any]:
    """Return the names and callables asked for, of a regression."""
    every = _of_task("numbers")
    names = _asked(asked, [name for name, entry in every.items() if entry.in_default])
    for name in names:
        if isinstance(name, Cost):
            raise InputError("Cost is for classes, but y holds numbers.")
        if not callable(name) and name not in every:
            raise InputError(
                f"metrics holds {name!r}, which is not a metric for numbers.{meant(name, every)} "
                f"Those are {', '.join(every)}, or a function loss(y, prediction) of one number "
                "per row."
            )
    return names


def range_of(metric: Any) -> Range:
    """Where the values of a metric may lie, whose name may end in the class that it is of.

    >>> range_of("recall_weighted"), range_of("rmse"), range_of(abs)
    ('share', 'positive', 'any')
    """
    for key, entry in METRICS.items() if isinstance(metric, str) else ():
        if metric == key or metric.startswith((f"{key}_", f"{key} ")):
            return entry.range  # type: ignore[return-value]
    return "any"


def _of_task(task: str) -> dict[str, MetricEntry]:
    return {name: entry for name, entry in METRICS.items() if entry.task in (None, task)}


def _asked(asked: Any, default: list[str]) -> list[Any]:
    if asked is None:
        return default
    if isinstance(asked, str | Cost) or callable(asked):
        asked = [asked]
    try:
        names = list(asked)
    except TypeError as error:
        raise InputTypeError(
            f"metrics={asked!r} is neither a name nor a list of names and functions."
        ) from error
    if not names:
        raise InputError("metrics is empty. Name at least one, such as 'accuracy'.")
    kept: list[Any] = []
    for name in names:
        if not (isinstance(name, str | Cost) or callable(name)):
            raise InputTypeError(f"metrics holds {name!r}, which is neither a name nor a function.")
        if name not in kept:
            kept.append(name)
    twice = {title(a) for a in kept for b in kept if a is not b and title(a) == title(b)}
    if twice:
        raise InputError(
            f"Several metrics are called {sorted(twice)}. Give every function a name of its own."
        )
    return kept


def _needs(entry: MetricEntry) -> Needs:
    return next((level for level in reversed(_LEVELS) if level in entry.needs), "predictions")


def _enough(entry: MetricEntry, needs: Needs) -> bool:
    return _LEVELS.index(_needs(entry)) <= _LEVELS.index(needs)


def _named(
    name: str, classes: tuple[str, ...], positive: int, given: Needs, loss_of: Any
) -> Iterator[Metric]:
    every = _of_task("classes")
    ends = [] if name in every else [end for end in _AVERAGES if name.endswith(end)]
    base = name.removesuffix(ends[0]) if ends else name
    entry = every.get(base)
    if entry is None or (base != name and entry.of != "one class"):
        raise InputError(
            f"metrics holds {name!r}, which is not a metric for classes.{meant(name, every)} Those "
            f"are {', '.join(every)}, and those of one class also with _weighted or _per_class; "
            "or a function loss(y, score)."
        )
    needs = _needs(entry)
    if not _enough(entry, given):
        have = (
            "only predicted classes"
            if given == "predictions"
            else "scores that are not probabilities"
        )
        raise InputError(
            f"The metric {name!r} needs {needs}, but there are {have}. Pass a model with "
            f"predict_proba, or {needs} of both samples, or leave this metric out."
        )

    # The Brier score of three and more classes may be as large as two.
    beyond = base == "brier" and len(classes) > 2

    def made(title: str, of: Callable[[Masses], Slope]) -> Metric:
        return Metric(title, of, needs, "positive" if beyond else entry.range)  # type: ignore[arg-type]

    one = entry.load()
    if entry.of == "losses":
        yield made(name, _losses(loss_of(one)))
    elif entry.of == "classes":
        yield made(name, one)
    else:
        for k, (title, of) in enumerate(_of_classes(name, base, one, classes, positive)):
            gaps = []
            for gap in _gaps(len(classes)) if base == "calibration_error" else ():
                part = list(_of_classes(name, base, gap, classes, positive))[k]
                gaps.append(Metric("gap", part[1]))
            yield replace(made(title, of), gaps=tuple(gaps))


OfClass = Callable[[Masses, int], Slope]


def _of_classes(
    name: str, base: str, one: OfClass, classes: tuple[str, ...], positive: int
) -> Iterator[tuple[str, Callable[[Masses], Slope]]]:
    """Names and functions of a metric of one class: of each, a mean, or the positive one's."""
    if name != base and name.endswith("_per_class"):
        for c, label in enumerate(classes):
            yield f"{base} of {label}", lambda m, c=c: one(m, c)  # type: ignore[misc]
    elif name != base:
        yield name, lambda m: on.weighted_mean(m, [one(m, c) for c in m.classes])
    elif len(classes) == 2:
        yield name, lambda m: one(m, positive)
    else:
        yield name, lambda m: on.mean([one(m, c) for c in m.classes])


def _gaps(K: int) -> Iterator[OfClass]:
    """What each bin of each class adds to the calibration error, with its sign."""
    for own in range(K):
        for k in range(on.BINS):

            def gap(m: Masses, c: int, own: int = own, k: int = k) -> Slope:
                found = on.calibration_gap(m, own, k)
                return found if c == own else found.times(0.0)

            yield gap


def cells(classes: tuple[str, ...]) -> Iterator[Metric]:
    """Shares of all pairs of a true and a predicted class."""
    for true, label in enumerate(classes):
        for predicted, other in enumerate(classes):
            yield Metric(
                f"share of {label} predicted {other}",
                lambda m, a=true, b=predicted: on.share(m, a, b),  # type: ignore[misc]
            )


def bin_metrics(bins: Bins | None, positive: int) -> list[Metric]:
    """Share of the positive class in every bin of its score."""
    if bins is None:
        raise InputError(
            "The metric 'calibration_curve' needs probabilities of two classes. Pass a model with "
            "predict_proba, or probabilities of both samples, or leave this metric out."
        )
    found = []
    for k in range(bins.count):
        inside = bins.place == k
        found.append(
            Metric(
                f"calibration {k + 1} ({bins.written(k)})",
                lambda m, inside=inside: on.share_within(m, positive, inside),  # type: ignore[misc]
                "probabilities",
                within=inside,
            )
        )
    return found


def _losses(values: Real) -> Callable[[Masses], Slope]:
    return lambda m: on.ratio(m, values, np.ones_like(m.mass))


def _checked_costs(costs: Any, K: int) -> Real:
    try:
        found = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (K, K) or not np.isfinite(found).all():
        raise InputError(
            f"Cost({costs!r}) is not a table of costs. Pass {K} lines of {K} finite costs: of "
            "every true class (line) and predicted class (column)."
        )
    return found


def title(metric: Any) -> str:
    """Name a metric: a function by its own name."""
    if isinstance(metric, str):
        return metric
    if isinstance(metric, Cost):
        return "cost"
    name = getattr(metric, "__name__", type(metric).__name__)
    return "loss" if name == "<lambda>" else str(name)

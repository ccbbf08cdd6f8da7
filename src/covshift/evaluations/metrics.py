"""The metrics by name: what each is called, what it needs, and how it is computed.

A metric of one class is that of the positive class where there are two, and else the plain mean
over the classes ("macro"). Its name with ``_weighted`` is the mean by the classes' shares, and with
``_per_class`` one number for every class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._types import Flags, Real
from ..exceptions import InputError, InputTypeError
from . import masses as on
from .bins import Bins
from .masses import Masses, Slope

Needs = Literal["predictions", "scores", "probabilities"]
Range = Literal["share", "positive", "any"]  # from 0 to 1, from 0 on, or anywhere
_LEVELS: tuple[Needs, ...] = ("predictions", "scores", "probabilities")


@dataclass(frozen=True)
class Metric:
    """One line of the table: a function of masses, with its name."""

    name: str
    of: Callable[[Masses], Slope]
    needs: Needs = "predictions"
    range: Range = "share"
    within: Flags | None = None  # (N + M,): the rows that it is about, where these are not all


@dataclass(frozen=True)
class Kind:
    """A metric before it is known how many classes there are."""

    whole: on.Whole | None = None
    of_class: on.OfClass | None = None
    needs: Needs = "predictions"
    range: Range = "share"


CLASS_METRICS: dict[str, Kind] = {
    "accuracy": Kind(whole=on.accuracy),
    "balanced_accuracy": Kind(whole=on.balanced_accuracy),
    "precision": Kind(of_class=on.precision),
    "recall": Kind(of_class=on.recall),
    "specificity": Kind(of_class=on.specificity),
    "f1": Kind(of_class=on.f1),
    "roc_auc": Kind(of_class=on.roc_auc, needs="scores"),
    "average_precision": Kind(of_class=on.average_precision, needs="scores"),
    "brier": Kind(whole=on.brier, needs="probabilities"),
    "log_loss": Kind(whole=on.log_loss, needs="probabilities", range="positive"),
    "calibration_intercept": Kind(
        of_class=on.calibration_intercept, needs="probabilities", range="any"
    ),
    "calibration_slope": Kind(of_class=on.calibration_slope, needs="probabilities", range="any"),
    "calibration_error": Kind(of_class=on.calibration_error, needs="probabilities"),
}
POSITIVE = ("mse", "rmse", "mae")
NUMBER_METRICS = ("mse", "rmse", "mae", "median_absolute_error", "r2", "bias")

WORDS = {
    "roc_auc": "AUC",
    "f1": "F1",
    "brier": "Brier score",
    "log_loss": "log-loss",
    "mse": "MSE",
    "rmse": "RMSE",
    "mae": "MAE",
    "r2": "R²",
}
_DEFAULT_CLASS = ("accuracy", "roc_auc", "brier")
_DEFAULT_NUMBER = ("rmse", "mae", "r2")
_AVERAGES = ("_weighted", "_per_class")


def limits(range_: Range) -> dict[str, bool]:
    """Say on which scale an interval is made, for `estimates.intervals.Errors.number`."""
    return {"proportion": range_ == "share", "positive": range_ == "positive"}


def words(name: str) -> str:
    """Write a metric's name for people.

    >>> words("roc_auc"), words("f1_weighted"), words("average_precision")
    ('AUC', 'F1 weighted', 'average precision')
    """
    for start, written in WORDS.items():
        if name == start or name.startswith((f"{start}_", f"{start} ")):
            return (written + name[len(start) :]).replace("_", " ", 1)
    return name.replace("_", " ") if " of " not in name else name


def class_metrics(
    asked: Any,
    classes: tuple[str, ...],
    positive: int,
    given: Needs,
    loss_of: Any,
    costs: Any,
    bins: Bins | None = None,
) -> list[Metric]:
    """Return the metrics asked for; ``given`` tells whether there are scores or probabilities.

    ``loss_of`` turns a callable into its losses (n, K) of all atoms, if each class were theirs;
    ``bins`` are those of the calibration curve, where there are two classes with probabilities.
    """
    names = _asked(asked, tuple(n for n in _DEFAULT_CLASS if _enough(CLASS_METRICS[n], given)))
    found: list[Metric] = []
    for name in names:
        if callable(name):
            found.append(Metric(title(name), _losses(loss_of(name)), range="any"))
        elif name == "confusion_matrix":
            found += list(_cells(classes))
        elif name == "calibration_curve":
            found += bin_metrics(bins, positive)
        elif name == "cost":
            table = _checked_costs(costs, len(classes))
            found.append(Metric("cost", lambda m, C=table: on.cost(m, C), range="any"))  # type: ignore[misc]
        else:
            found += list(_named(name, classes, positive, given))
    if costs is not None and "cost" not in names:
        raise InputError('cost_matrix was given, but metrics does not name "cost". Add it.')
    return found


def number_metrics(asked: Any) -> list[Any]:
    """Return the names and callables asked for, of a regression."""
    names = _asked(asked, _DEFAULT_NUMBER)
    for name in names:
        if not callable(name) and name not in NUMBER_METRICS:
            raise InputError(
                f"metrics holds {name!r}, which is no metric of numbers. Those are "
                f"{', '.join(NUMBER_METRICS)}, or a function loss(y, prediction) of one number per "
                "row."
            )
    return names


def _asked(asked: Any, default: tuple[str, ...]) -> list[Any]:
    if asked is None:
        return list(default)
    if isinstance(asked, str) or callable(asked):
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
        if not (isinstance(name, str) or callable(name)):
            raise InputTypeError(f"metrics holds {name!r}, which is neither a name nor a function.")
        if name not in kept:
            kept.append(name)
    twice = {title(a) for a in kept for b in kept if a is not b and title(a) == title(b)}
    if twice:
        raise InputError(
            f"Several metrics are called {sorted(twice)}. Give every function a name of its own."
        )
    return kept


def _enough(kind: Kind, given: Needs) -> bool:
    return _LEVELS.index(kind.needs) <= _LEVELS.index(given)


def _named(name: str, classes: tuple[str, ...], positive: int, given: Needs) -> Iterator[Metric]:
    base = next((name.removesuffix(end) for end in _AVERAGES if name.endswith(end)), name)
    kind = CLASS_METRICS.get(base)
    if kind is None or (base != name and kind.of_class is None):
        raise InputError(
            f"metrics holds {name!r}, which is no metric of classes. Those are "
            f"{', '.join(CLASS_METRICS)}, calibration_curve, confusion_matrix, cost (with "
            "cost_matrix), and those of one class also with _weighted or _per_class; or a function "
            "loss(y, score)."
        )
    if not _enough(kind, given):
        have = (
            "only predicted classes"
            if given == "predictions"
            else "scores that are no probabilities"
        )
        raise InputError(
            f"The metric {name!r} needs {kind.needs}, but there are {have}. Pass a model with "
            f"predict_proba, or {kind.needs} of both samples, or leave this metric out."
        )

    # The Brier score of three and more classes may be as large as two.
    beyond = base == "brier" and len(classes) > 2

    def made(title: str, of: Callable[[Masses], Slope]) -> Metric:
        return Metric(title, of, kind.needs, "positive" if beyond else kind.range)

    if kind.whole is not None:
        yield made(name, kind.whole)
        return
    one = kind.of_class
    assert one is not None
    if name.endswith("_per_class"):
        for c, label in enumerate(classes):
            yield made(f"{base} of {label}", lambda m, c=c: one(m, c))  # type: ignore[misc]
    elif name.endswith("_weighted"):
        yield made(name, lambda m: on.weighted_mean(m, [one(m, c) for c in m.classes]))
    elif len(classes) == 2:
        yield made(name, lambda m: one(m, positive))
    else:
        yield made(name, lambda m: on.mean([one(m, c) for c in m.classes]))


def _cells(classes: tuple[str, ...]) -> Iterator[Metric]:
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
    if costs is None:
        raise InputError(
            'metrics names "cost", but cost_matrix is None. Pass the cost of every true class '
            "(line) and predicted class (column)."
        )
    try:
        found = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (K, K) or not np.isfinite(found).all():
        raise InputError(
            f"cost_matrix={costs!r} is no table of costs. Pass {K} lines of {K} finite costs: of "
            "every true class (line) and predicted class (column)."
        )
    return found


def title(metric: Any) -> str:
    """Name a metric: a function by its own name."""
    if isinstance(metric, str):
        return metric
    name = getattr(metric, "__name__", type(metric).__name__)
    return "loss" if name == "<lambda>" else str(name)

"""What a fitted classifier of two classes says of some rows, for the displays of its scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..data.labels import class_labels, labels_of_rows
from ..data.validation import check_given
from ..encoding.samples import takes_tables
from ..exceptions import InputError
from ..numerics.array import Flags, Real
from . import style


def model_name(estimator: Any) -> str:
    """Name an estimator by its class, and a pipeline by that of its last step."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return type(estimator).__name__


def positives(y: Any, pos_label: Any) -> Flags:
    """Whether each label is the positive one: by default the larger of two, or one of 0 and 1."""
    labels = labels_of_rows(y, "y", None, "the scores")
    classes = np.unique(labels)
    if pos_label is None:
        if len(classes) > 2:
            raise InputError(f"y has {len(classes)} classes. Name the positive one: pos_label=...")
        if len(classes) == 1 and classes[0] not in (0, 1):
            raise InputError(
                f"y holds {classes[0]!r} alone, so that it does not tell which class is positive. "
                "Name it: pos_label=..."
            )
        pos_label = classes[-1] if len(classes) == 2 else 1
    return np.asarray(labels == pos_label)


def known_positives(estimator: Any, y: Any, label: Any, scores: Real) -> Flags:
    """Whether each label is this class of the estimator; refuse labels that it does not know."""
    labels = class_labels(y, len(scores))
    classes = np.asarray(estimator.classes_).tolist()
    unknown = [one for one in np.unique(labels).tolist() if one not in classes]
    if unknown:
        raise InputError(
            f"y holds {unknown[0]!r}, which is not one of the estimator's classes {classes}."
        )
    return np.asarray(labels == label)


def positive_scores(
    estimator: Any, X: Any, pos_label: Any, *, probability: bool = False
) -> tuple[Real, Any]:
    """Return the scores of the positive class (rows,), and that class.

    They are probabilities, or where there are none, and ``probability`` does not ask for them, the
    values of ``decision_function``.
    """
    check_is_fitted(estimator)
    classes = list(getattr(estimator, "classes_", ()))
    if len(classes) != 2:
        raise InputError(
            f"{model_name(estimator)} has {len(classes)} classes in classes_. The picture is of a "
            "classifier of two classes; of others, pass labels y == class and scores to "
            "from_predictions."
        )
    label = classes[1] if pos_label is None else pos_label
    if label not in classes:
        raise InputError(f"pos_label={label!r} is not one of the classes {classes}.")
    number = classes.index(label)
    X = check_given(X, "X", text=takes_tables(estimator), frames=True)
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, number], label
    if probability or not hasattr(estimator, "decision_function"):
        needed = "predict_proba" if probability else "predict_proba or decision_function"
        raise InputError(f"{model_name(estimator)} has no {needed}.")
    scores = np.asarray(estimator.decision_function(X), dtype=np.float64).reshape(-1)
    return (scores if number else -scores), label


class SensitivityDisplay:
    """Bounds of a number, and their interval, against how far unobserved factors change the odds.

    Parameters
    ----------
    odds : (k,) array
        Factors of the odds of being in the target, ascending.
    bounds, intervals : (k, 2) arrays
        Smallest and largest number at each of them, and ends of the interval around these.
    lines : dict of str to float, optional
        Numbers to compare with, such as the uncorrected one. Where the interval first reaches one
        of them is marked.
    ylabel : str
    percent : bool
        Show shares in per cent.

    Attributes
    ----------
    reached : dict of str to float
        The odds from which the interval holds a line; those it does not reach are left out.
    ax_, figure_ : matplotlib axes and figure, once drawn

    Examples
    --------
    >>> from covshift.plot import SensitivityDisplay
    >>> ends = [[2.0, 2.0], [1.0, 3.0]]
    >>> display = SensitivityDisplay([1, 3], ends, ends, lines={"uncorrected": 2.5}).plot()
    >>> display.reached
    {'uncorrected': 2.0}
    """

    def __init__(
        self,
        odds: Any,
        bounds: Any,
        intervals: Any,
        *,
        lines: Mapping[str, float] | None = None,
        ylabel: str = "",
        percent: bool = False,
    ) -> None:
        self.odds = np.asarray(odds, dtype=np.float64).reshape(-1)
        self.bounds = _widening(bounds)
        self.intervals = _widening(intervals)
        self.lines = dict(lines or {})
        self.ylabel = ylabel
        self.percent = percent

    @classmethod
    def from_answer(
        cls,
        answer: Any,
        row: Any = None,
        *,
        odds: Any = None,
        null: float | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw how an estimate or an evaluation depends on its assumption.

        ``row`` is one of its `table`, by default the first number; ``odds`` the factors, by default
        1 to 5; ``null`` a value to compare with, besides the uncorrected number.
        """
        row = answer.headline if row is None else row
        row = answer.same(row, answer.method)
        factors = np.linspace(1.0, 5.0, 17) if odds is None else np.sort(np.ravel(odds))
        found = [
            (many := answer.with_sensitivity(float(L))).same(row, many.method) for L in factors
        ]
        if any(one.sensitivity_interval is None for one in found):
            raise InputError("The sensitivity of this number is not known.")
        lines = {"uncorrected": answer.same(row, "none").value}
        lines |= {} if null is None else {"null": float(null)}
        return cls(
            factors,
            [one.sensitivity_bounds for one in found],
            [one.sensitivity_interval for one in found],
            lines=lines,
            ylabel=answer.headline_name if row.group is None else f"group {row.group}",
            percent=row.proportion,
        ).plot(ax)

    @property
    def reached(self) -> dict[str, float]:
        """The odds from which the interval holds each line, between the factors by a line."""
        found = {}
        for name, value in self.lines.items():
            beyond = np.maximum(self.intervals[:, 0] - value, value - self.intervals[:, 1])
            inside = np.flatnonzero(beyond <= 0)
            if not len(inside):
                continue
            k = int(inside[0])
            place = self.odds[k]
            if k and np.isfinite(beyond[k]):
                share = beyond[k - 1] / (beyond[k - 1] - beyond[k])
                place = self.odds[k - 1] + share * (self.odds[k] - self.odds[k - 1])
            found[name] = float(place)
        return found

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        ax = style.axes(ax, (5.6, 3.8))
        unit = 100.0 if self.percent else 1.0
        bounds, intervals = (style.drawable(unit * ends) for ends in (self.bounds, self.intervals))
        look: dict[str, Any] = {"color": style.CORRECTED, "alpha": 0.15, "linewidth": 0}
        ax.fill_between(self.odds, *intervals.T, label="interval", **look)
        for k, ends in enumerate(bounds.T):
            label = "bounds" if k == 0 else None
            ax.plot(self.odds, ends, color=style.CORRECTED, linewidth=1.6, label=label)
        looks = {"uncorrected": (style.TRAIN, "--")}
        for name, value in self.lines.items():
            color, dashes = looks.get(name, (style.TARGET, ":"))
            ax.axhline(unit * value, color=color, linestyle=dashes, linewidth=1.2, label=name)
            if name in self.reached and self.reached[name] > self.odds[0]:
                at, low = self.reached[name], value < bounds[0].mean() / unit
                ax.plot([at], [unit * value], "o", color=color, markersize=5)
                ax.annotate(
                    f"{at:.2g}-fold",
                    (at, unit * value),
                    (4, -4) if low else (4, 5),
                    va="top" if low else "baseline",
                    textcoords="offset points",
                    fontsize=style.small(ax),
                )
        ax.set_xlim(self.odds[0], self.odds[-1])
        ax.set_xlabel("odds differ up to so many-fold")
        ax.set_ylabel(style.label(self.ylabel, 60) + (" (%)" if self.percent else ""))
        style.legend(ax)
        style.tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _widening(ends: Any) -> Real:
    """Return intervals (k, 2) of which each holds those before: their noise may say otherwise."""
    low, high = np.asarray(ends, dtype=np.float64).reshape(-1, 2).T
    return np.column_stack([np.minimum.accumulate(low), np.maximum.accumulate(high)])

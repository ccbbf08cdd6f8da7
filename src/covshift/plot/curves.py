"""Reliability diagram: do predicted probabilities come true, on the target?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.metrics import auc, roc_curve
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..data.labels import class_labels, labels_of_rows
from ..data.parameters import whole
from ..data.row_weights import check_weight
from ..data.validation import check_given
from ..data.values import numbers_of_rows
from ..encoding.samples import takes_tables
from ..exceptions import InputError
from ..numerics.array import Flags, Real
from ..numerics.statistics import equal_weight_bins
from . import style


class ReliabilityDisplay:
    """Share of positives against the predicted probability, in bins of equal weight.

    Parameters
    ----------
    curves : dict of str to (predicted, observed, error)
        Per name, for every bin: mean prediction, share of positives, and its standard error.
    intervals : dict of str to (k, 2) arrays, optional
        Ends of the bars of a curve; where given, curves without them have no bars. By default bars
        are 1.96 standard errors long on either side.
    looks : dict of str to dict, optional
        Options of matplotlib's lines, such as ``color``, by name.
    confidence : float
        What the bars are said to cover.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure, once drawn

    Examples
    --------
    >>> from covshift.plot import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], n_bins=2)
    >>> display.curves["model"][1]
    array([0., 1.])
    """

    def __init__(
        self,
        curves: dict[str, tuple[Real, Real, Real]],
        *,
        intervals: Mapping[str, Any] | None = None,
        looks: Mapping[str, Mapping[str, Any]] | None = None,
        confidence: float = 0.95,
    ) -> None:
        self.curves = curves
        self.intervals = None if intervals is None else dict(intervals)
        self.looks = dict(looks or {})
        self.confidence = confidence

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        weights: Any = None,
        *,
        n_bins: int = 10,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Let a fitted classifier of two classes predict the rows X, bin and draw.

        ``pos_label`` is the class whose probability is drawn, by default the second of
        ``estimator.classes_``; ``name`` by default that of the estimator's class. The rest is as in
        `from_predictions`.
        """
        p, label = positive_scores(estimator, X, pos_label, probability=True)
        given: dict[str, Any] = {"n_bins": n_bins, "name": name or model_name(estimator), "ax": ax}
        truth = known_positives(estimator, y, label, p)
        return cls.from_predictions(truth, p, weights, **given)

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        probability: Any,
        weights: Any = None,
        *,
        n_bins: int = 10,
        name: str = "model",
        ax: Any = None,
    ) -> Self:
        """Bin the predictions and draw.

        ``y`` is 0 or 1; ``weights`` make the rows stand for the target: the errors are those of
        weighted shares, the weights taken as known.
        """
        return cls({name: calibration_curve(y, probability, weights, n_bins)}).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        ax = style.axes(ax, (4.6, 4.2))
        ax.plot([0, 1], [0, 1], color=style.NEUTRAL, linewidth=0.8, linestyle="--")
        looks = [(style.TRAIN, "o"), (style.CORRECTED, "s"), (style.TARGET, "^")]
        for k, (name, (predicted, observed, _)) in enumerate(self.curves.items()):
            color, marker = looks[k % 3]
            look = {"color": color, "marker": marker, "markersize": 5, "linewidth": 1.4}
            look |= self.looks.get(name, {})
            ax.errorbar(
                predicted,
                observed,
                yerr=self._bars(name),
                elinewidth=0.9,
                label=style.label(name, 60),
                **look,
            )
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.set_xlabel("predicted probability")
        ax.set_ylabel(f"share of positives (bars: {100 * self.confidence:g}%)")
        ax.set_aspect("equal")
        style.legend(ax, 2)
        style.tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _bars(self, name: str) -> Any:
        """Lengths of the bars below and above the points."""
        _, observed, error = self.curves[name]
        if self.intervals is None:
            return 1.96 * error
        if name not in self.intervals:
            return None
        ends = np.asarray(self.intervals[name], dtype=np.float64).reshape(-1, 2)
        return np.maximum(0.0, [observed - ends[:, 0], ends[:, 1] - observed])


def calibration_curve(
    y: Any, probability: Any, weights: Any = None, n_bins: int = 10
) -> tuple[Real, Real, Real]:
    """Return mean prediction, share of positives and its standard error, per bin."""
    p, truth = numbers_of_rows(probability, "probability"), numbers_of_rows(y, "y")
    truth = truth.ravel() if truth.ndim == 2 and truth.shape[1] == 1 else truth
    if p.ndim != 1 or p.shape != truth.shape or not len(p):
        raise InputError(
            f"y has shape {truth.shape} and probability {p.shape}. Pass one of each per row."
        )
    lost = int((~np.isfinite(truth)).sum())
    if lost:
        raise InputError(f"y is NaN, inf or missing in {lost} rows. Leave these rows out.")
    if not np.isin(truth, (0, 1)).all():
        raise InputError("y must hold 0 and 1 only. Pass y == positive_class.")
    if not ((p >= 0) & (p <= 1)).all():
        raise InputError("probability must lie between 0 and 1.")
    whole(1).check(n_bins, "n_bins")
    w = np.ones(len(p)) if weights is None else check_weight(weights, len(p), "weights", of="y")
    p, truth, w = p[w > 0], truth[w > 0], w[w > 0] / w.max()
    group = equal_weight_bins(p, w, n_bins)
    mass = np.bincount(group, weights=w)
    predicted = np.bincount(group, weights=w * p) / mass
    observed = np.bincount(group, weights=w * truth) / mass
    residual = np.bincount(group, weights=(w * (truth - observed[group])) ** 2)
    return predicted, observed, np.sqrt(residual) / mass


# ROC curves: how well scores tell two classes apart, on the target and on the labelled rows.


class ROCDisplay:
    """True against false positive rates.

    Parameters
    ----------
    curves : dict of str to (false_positive_rate, true_positive_rate)
        Per name, which the legend shows: two (p,) arrays that rise from 0 to 1.
    looks : dict of str to dict, optional
        Options of matplotlib's lines, such as ``color``, by name.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure, once drawn

    Examples
    --------
    >>> from covshift.plot import ROCDisplay
    >>> display = ROCDisplay({"model": ([0, 0.2, 1], [0, 0.7, 1])}).plot()
    >>> display.ax_.get_xlabel()
    'false positive rate'
    """

    def __init__(
        self,
        curves: Mapping[str, tuple[Any, Any]],
        *,
        looks: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self.curves: dict[str, tuple[Real, Real]] = {
            name: (np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64))
            for name, (x, y) in curves.items()
        }
        self.looks = dict(looks or {})

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        weights: Any = None,
        *,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Let a fitted classifier of two classes score the rows X, and draw.

        ``pos_label`` is the positive class, by default the second of ``estimator.classes_``;
        ``name`` by default that of the estimator's class. The rest is as in `from_predictions`.
        """
        scores, label = positive_scores(estimator, X, pos_label)
        name = name or model_name(estimator)
        return cls.from_predictions(
            known_positives(estimator, y, label, scores), scores, weights, name=name, ax=ax
        )

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        scores: Any,
        weights: Any = None,
        *,
        pos_label: Any = None,
        name: str = "model",
        ax: Any = None,
    ) -> Self:
        """Compute the curve of ``scores`` (rows,), larger for the positive class, and draw.

        ``weights`` make the rows stand for the target, such as those of a weighter;
        ``pos_label`` names the positive class where y is not 0 and 1. The legend shows the area.
        """
        truth, s = positives(y, pos_label), numbers_of_rows(scores, "scores")
        if s.ndim != 1 or s.shape != truth.shape or not np.isfinite(s).all():
            raise InputError(
                f"y has shape {truth.shape} and scores {s.shape}. Pass one number of each per row."
            )
        w = None if weights is None else check_weight(weights, len(s), "weights", of="y")
        kept = np.ones(len(s), dtype=bool) if w is None else w > 0
        if len(np.unique(truth[kept])) < 2:
            raise InputError("All rows of y are of one class: a ROC curve needs both.")
        x, y_, _ = roc_curve(truth, s, sample_weight=w)
        return cls({f"{name}: AUC {auc(x, y_):.3f}": (x, y_)}).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        ax = style.axes(ax, (4.8, 4.6))
        ax.plot([0, 1], [0, 1], color=style.NEUTRAL, linewidth=0.8, linestyle="--")
        for k, (name, (x, y)) in enumerate(self.curves.items()):
            number = k % len(style.SERIES)
            look: dict[str, Any] = {"color": style.SERIES[number], "linewidth": 1.6}
            look["linestyle"] = style.DASHES[number]
            look |= self.looks.get(name, {})
            ax.plot(x, y, label=style.label(name, 60), **look)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.set_aspect("equal")
        ax.set_xlabel("false positive rate")
        ax.set_ylabel("true positive rate")
        style.legend(ax, 1)
        style.tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


# What a fitted classifier of two classes says of some rows, for the displays of its scores.


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

"""Forest plot: numbers of the population and of its groups, before and after the correction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np

from ..data.validation import column_names
from ..engine.explanation import shortened
from ..exceptions import InputError
from ..numerics.array import Real, Rows, is_array, to_numpy
from . import style


class ForestPlotDisplay:
    """Estimates with their intervals, one line per group, the plain and the corrected ones.

    Parameters
    ----------
    labels : sequence of str
        One per line, from the top.
    plain, corrected : (k, 3) arrays
        Value, lower and upper end of each interval; infinite ends reach to the edge.
    xlabel : str
    percent : bool
        Show shares in per cent.
    most : int
        Number of lines shown.
    names : pair of str
        What the legend calls the two.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure, once drawn

    Examples
    --------
    >>> from covshift.plot import ForestPlotDisplay
    >>> display = ForestPlotDisplay(["all"], [[0.4, 0.36, 0.44]], [[0.3, 0.26, 0.34]]).plot()
    >>> len(display.ax_.get_yticks())
    1
    """

    def __init__(
        self,
        labels: Sequence[str],
        plain: Any,
        corrected: Any,
        *,
        xlabel: str = "",
        percent: bool = False,
        most: int = 60,
        names: tuple[str, str] = ("as sampled", "corrected"),
    ) -> None:
        self.labels = tuple(map(str, labels))
        self.plain = np.asarray(plain, dtype=np.float64).reshape(-1, 3)
        self.corrected = np.asarray(corrected, dtype=np.float64).reshape(-1, 3)
        self.xlabel = xlabel
        self.percent = percent
        self.most = most
        self.names = names

    @classmethod
    def from_estimates(cls, found: Any, *, ax: Any = None) -> Self:
        """Draw what `covshift.estimate` found."""
        rows = list(found.estimates)
        plain = {
            (row.outcome, row.what, row.group): row for row in found.table.where(method="none")
        }
        several = len({row.outcome for row in rows}) > 1
        labels, before, after = [], [], []
        for row in rows:
            parts = [row.outcome] if several else []
            parts += [row.what] if row.what else []
            labels.append(": ".join([*parts, "all" if row.group is None else row.group]))
            other = plain[row.outcome, row.what, row.group]
            before.append((other.value, *other.interval))
            after.append((row.value, *row.interval))
        percent = all(row.proportion for row in rows)
        names = {row.outcome for row in rows}
        xlabel = names.pop() if len(names) == 1 else "estimate"
        return cls(labels, before, after, xlabel=xlabel, percent=percent).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        count = min(len(self.labels), self.most)
        ax = style.axes(ax, (6.4, 1.4 + 0.36 * count), rows=True)
        factor = 100.0 if self.percent else 1.0
        place = np.arange(count)[::-1].astype(float)
        drawn = style.drawable(factor * self._finite())
        looks = ((style.TRAIN, "o", 0.13), (style.CORRECTED, "s", -0.13))
        for k, (colour, marker, lift) in enumerate(looks):
            some = ~np.isnan(drawn[k, :count]).any(axis=1)  # what has no value is not drawn
            values, at = drawn[k, :count][some], place[some] + lift
            ax.hlines(at, values[:, 1], values[:, 2], color=colour, linewidth=1.6)
            ax.plot(values[:, 0], at, marker, color=colour, markersize=5, label=self.names[k])
        ax.set_ylim(-0.6, count - 0.4)
        style.name_rows(ax, place, [style.label(text, 60) for text in self.labels[:count]])
        unit = " (%)" if self.percent else ""
        ax.set_xlabel(style.label(self.xlabel, 60) + unit)
        style.legend(ax)
        style.tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _finite(self) -> Any:
        """Both tables (2, k, 3), infinite ends cut off at the ends of all others."""
        both = np.stack([self.plain, self.corrected])
        finite = both[np.isfinite(both)]
        low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
        room = 0.05 * (high - low)
        return np.clip(both, low - room, high + room)


class WaterfallDisplay:
    """The way from one number to another, a step for each part of the change.

    Parameters
    ----------
    labels : sequence of str
        One per step, from the top.
    steps : (k, 3) array
        Size of each step, lower and upper end of its interval; NaN where there is none.
    start, end : float
        The number of the sample, and that of the target.
    xlabel : str
    percent : bool
        Show shares in per cent.
    names : pair of str
        What the two numbers are called.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure, once drawn

    Examples
    --------
    >>> from covshift.plot import WaterfallDisplay
    >>> display = WaterfallDisplay(["age"], [[-0.1, -0.13, -0.07]], 0.4, 0.3).plot()
    >>> len(display.ax_.get_yticks())
    3
    """

    def __init__(
        self,
        labels: Sequence[str],
        steps: Any,
        start: float,
        end: float,
        *,
        xlabel: str = "",
        percent: bool = False,
        names: tuple[str, str] = ("sample", "target"),
    ) -> None:
        self.labels = tuple(map(str, labels))
        self.steps = np.asarray(steps, dtype=np.float64).reshape(-1, 3)
        self.start, self.end = float(start), float(end)
        self.xlabel = xlabel
        self.percent = percent
        self.names = names

    @classmethod
    def from_explanation(cls, found: Any, *, ax: Any = None) -> Self:
        """Draw an explanation, of an estimate or an evaluation; many columns are one step."""
        rows = shortened(found.table)
        steps = [(row.value, *row.interval) for row in rows]
        return cls(
            [row.column for row in rows],
            steps,
            found.plain,
            found.value,
            xlabel=found.name,
            percent=found.change.proportion,
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        count = len(self.labels) + 2
        ax = style.axes(ax, (6.4, 1.2 + 0.34 * count), rows=True)
        factor = 100.0 if self.percent else 1.0
        steps = style.drawable(factor * self.steps)
        start, end = factor * self.start, factor * self.end
        place = np.arange(count)[::-1].astype(float)
        after = start + np.cumsum(steps[:, 0])
        before = np.concatenate([[start], after[:-1]])
        middle, falls = place[1:-1], steps[:, 0] < 0
        for some, colour, full in ((~falls, style.CORRECTED, 0.8), (falls, style.TARGET, 0.25)):
            # A step down is hollow, so that it needs no colour to be told from one up.
            ax.barh(
                middle[some],
                steps[some, 0],
                left=before[some],
                height=0.55,
                facecolor=(colour, full),
                edgecolor=colour,
                linewidth=1.2,
            )
        known = np.isfinite(steps).all(axis=1)
        low, high = before + steps[:, 1], before + steps[:, 2]
        ax.hlines(middle[known], low[known], high[known], color=style.NEUTRAL, linewidth=1.2)
        ends = np.concatenate([[start], after])  # what a step starts from
        ax.vlines(ends, place[1:] - 0.3, place[:-1] + 0.3, color=style.FAINT, linewidth=0.8)
        ax.use_sticky_edges = False  # else a bar would end at the edge
        ax.plot([start, end], place[[0, -1]], "D", color=style.TRAIN, markersize=6)
        ax.set_ylim(-0.7, count - 0.3)
        names = [self.names[0], *self.labels, self.names[1]]
        style.name_rows(ax, place, [style.label(text, 36) for text in names])
        unit = " (%)" if self.percent else ""
        ax.set_xlabel(style.label(self.xlabel, 60) + unit)
        style.tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


# Prediction intervals against a feature, or in the order of the predictions.


_INFINITE = style.SERIES[4]
_ORDER = "rows, in the order of their prediction"


class IntervalsDisplay:
    """A bar from the lower to the upper end of each interval, with prediction and outcome.

    Infinite ends reach to the edge of the picture, in another colour.

    Parameters
    ----------
    prediction, lower, upper : (m,) arrays
    x : (m,) array, optional
        Where to draw each row. Default: in the order of the predictions.
    y : (m,) array, optional
        Outcomes; those outside of their interval stand out.
    coverage : float, optional
        That was asked for, for the legend.
    xlabel, ylabel : str
    most : int
        Rows shown, evenly spaced in the order of x.

    Attributes
    ----------
    share_infinite : float
    share_covered : float or None
        Of all outcomes given.
    ax_, figure_ : matplotlib axes and figure, once drawn

    Examples
    --------
    >>> from covshift.plot import IntervalsDisplay
    >>> display = IntervalsDisplay([1, 2], [0, 1], [2, 3], x=[5, 6], y=[1.5, 4]).plot()
    >>> display.share_covered
    0.5
    """

    def __init__(
        self,
        prediction: Any,
        lower: Any,
        upper: Any,
        *,
        x: Any = None,
        y: Any = None,
        coverage: float | None = None,
        xlabel: str = "",
        ylabel: str = "outcome",
        most: int = 400,
    ) -> None:
        self.prediction = np.asarray(prediction, dtype=np.float64).reshape(-1)
        self.lower = self._column(lower, "lower")
        self.upper = self._column(upper, "upper")
        self.x = None if x is None else self._column(x, "x")
        self.y = None if y is None else self._column(y, "y")
        self.coverage = coverage
        self.xlabel = xlabel or (_ORDER if x is None else "x")
        self.ylabel = ylabel
        self.most = most

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        coverage: float = 0.9,
        feature: int | str | None = 0,
        ax: Any = None,
    ) -> Self:
        """Let a fitted `covshift.ConformalRegressor` predict intervals for the rows X, and draw.

        ``feature`` is the number or the name of the column to draw them against; None: in the order
        of the predictions.
        """
        found = model.predict_interval(X, coverage=coverage)
        x, name = (None, "") if feature is None else _feature(X, feature)
        ends = found.prediction, found.lower, found.upper
        return cls(*ends, x=x, y=y, coverage=coverage, xlabel=name).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        intervals: Any,
        y: Any = None,
        *,
        prediction: Any = None,
        x: Any = None,
        coverage: float | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw intervals that are there already: an array (rows, 2) of lower and upper ends.

        What ``predict_interval`` returns brings its predictions and its coverage. Of others the
        prediction is by default the middle of the interval.
        """
        ends = np.asarray(intervals, dtype=np.float64)
        if ends.ndim != 2 or ends.shape[1] != 2:
            raise InputError(
                f"intervals has shape {ends.shape}. Pass lower and upper ends (rows, 2)."
            )
        if prediction is None:
            prediction = getattr(intervals, "prediction", _middle(ends))
        if coverage is None:
            coverage = getattr(intervals, "coverage", None)
        return cls(prediction, *ends.T, x=x, y=y, coverage=coverage).plot(ax)

    @property
    def share_infinite(self) -> float:
        return float(self._infinite.mean())

    @property
    def share_covered(self) -> float | None:
        if self.y is None:
            return None
        return float(((self.lower <= self.y) & (self.y <= self.upper)).mean())

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        ax = style.axes(ax, (6.4, 3.8))
        rows = self._shown()
        x = style.drawable(self._places()[rows])
        bottom, top = self._edges()
        low, high = (np.clip(ends[rows], bottom, top) for ends in (self.lower, self.upper))
        infinite = self._infinite[rows]
        name = "interval" if self.coverage is None else f"{100 * self.coverage:g}% interval"
        share = f"infinite ({self.share_infinite:.1%})"
        finite = {"color": style.CORRECTED, "linestyle": "-", "alpha": 0.45, "label": name}
        endless = {"color": _INFINITE, "linestyle": (0, (1, 1)), "alpha": 0.9, "label": share}
        for some, look in ((~infinite, finite), (infinite, endless)):
            if some.any():
                ax.vlines(x[some], low[some], high[some], linewidth=1.6, **look)
        middle = np.clip(self.prediction[rows], bottom, top)
        ax.plot(x, middle, ".", color=style.NEUTRAL, markersize=2.5, label="prediction")
        if self.y is not None:
            self._draw_outcomes(ax, x, rows)
        ax.set_ylim(bottom, top)
        ax.set_xlabel(style.label(self.xlabel, 60))
        ax.set_ylabel(style.label(self.ylabel, 60))
        style.legend(ax, 2)
        style.tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_outcomes(self, ax: Any, x: Real, rows: Rows) -> None:
        y: Any = self.y[rows]  # type: ignore[index]
        inside = (self.lower[rows] <= y) & (y <= self.upper[rows])
        covered = f"outcome, {self.share_covered:.1%} inside"
        ax.plot(x[inside], y[inside], "o", color=style.TRAIN, markersize=3, label=covered)
        if not inside.all():
            look: Any = {"color": style.TARGET, "markersize": 5, "label": "outcome outside"}
            ax.plot(x[~inside], style.drawable(y[~inside]), "x", **look)

    @property
    def _infinite(self) -> Any:
        return ~(np.isfinite(self.lower) & np.isfinite(self.upper))

    def _shown(self) -> Rows:
        """Return the rows to draw, in the order of x, or of the predictions."""
        order = np.argsort(self.prediction if self.x is None else self.x, kind="stable")
        if len(order) > self.most:
            order = order[np.linspace(0, len(order) - 1, self.most).round().astype(np.intp)]
        return np.asarray(order)

    def _places(self) -> Real:
        """Where each row is drawn: at x, or at the rank of its prediction."""
        if self.x is not None:
            return self.x
        rank = np.empty(len(self.prediction))
        rank[np.argsort(self.prediction, kind="stable")] = np.arange(1.0, len(rank) + 1)
        return rank

    def _edges(self) -> tuple[float, float]:
        """Ends of the axis: of all that is finite, with some room."""
        values = [self.prediction, self.lower, self.upper, *([] if self.y is None else [self.y])]
        whole = np.concatenate(values)
        whole = style.drawable(whole[np.isfinite(whole)])
        low, high = (float(whole.min()), float(whole.max())) if whole.size else (0.0, 1.0)
        room = 0.05 * (high - low) or 0.5
        return low - room, high + room

    def _column(self, values: Any, name: str) -> Real:
        found = np.asarray(values, dtype=np.float64).reshape(-1)
        if len(found) != len(self.prediction):
            raise InputError(
                f"{name} has {len(found)} values, but there are {len(self.prediction)} intervals. "
                "Pass one per row."
            )
        if name in ("x", "y") and not np.isfinite(found).all():
            raise InputError(f"{name} contains NaN or inf values, which have no place to be drawn.")
        return found


def _middle(ends: Real) -> Real:
    """Middle of every interval; of one that is infinite on one side, its finite end."""
    finite = np.isfinite(ends)
    count = finite.sum(axis=1)
    return np.asarray(np.where(finite, ends, 0.0).sum(axis=1) / np.maximum(count, 1))


def _feature(X: Any, feature: int | str) -> tuple[Any, str]:
    """Return the values of one column, and its name."""
    names = column_names(X)
    if names is None:
        X = np.asarray(X)
        names = [f"x{k}" for k in range(X.shape[1])]
    number = names.index(feature) if isinstance(feature, str) and feature in names else feature
    if isinstance(number, str) or not -len(names) <= number < len(names):
        raise InputError(
            f"feature={feature!r} is not one of the columns: {', '.join(map(repr, names[:8]))}."
        )
    column = X[:, number] if is_array(X) else nw.from_native(X, eager_only=True)[:, number]
    values = to_numpy(column)
    try:
        return values.astype(np.float64), names[number]
    except (TypeError, ValueError):
        raise InputError(
            f"feature={feature!r} does not hold numbers. Choose another column, or None: the order "
            "of the predictions."
        ) from None


# A number over batches, such as months, with its intervals.


_MOST_NAMES = 14  # below the axis


class BatchesDisplay:
    """One point with its interval per batch, beside what it was on the labelled rows.

    Parameters
    ----------
    labels : sequence of str
        One per batch, in order.
    values : (k, 3) array
        Value, lower and upper end of each interval; infinite ends reach to the edge, and a batch
        without a value is left empty.
    reference : float, optional
        On the labelled rows: a horizontal line.
    observed : dict of str to float, optional
        What labels said later, by batch.
    ylabel : str
    legend : two str
        What the line and the points are called.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure, once drawn

    Examples
    --------
    >>> from covshift.plot import BatchesDisplay
    >>> values = [[0.80, 0.76, 0.84], [0.74, 0.70, 0.78]]
    >>> display = BatchesDisplay(["May", "June"], values, reference=0.81, ylabel="accuracy").plot()
    >>> [text.get_text() for text in display.ax_.get_xticklabels()]
    ['May', 'June']
    """

    def __init__(
        self,
        labels: Sequence[str],
        values: Any,
        *,
        reference: float | None = None,
        observed: Mapping[str, float] | None = None,
        ylabel: str = "",
        legend: tuple[str, str] = ("labelled rows", "expected on the batch"),
    ) -> None:
        self.labels = tuple(map(str, labels))
        self.values = np.asarray(values, dtype=np.float64).reshape(-1, 3)
        self.reference = reference
        self.observed = {str(name): float(value) for name, value in (observed or {}).items()}
        self.ylabel = ylabel
        self.legend = legend

    @classmethod
    def from_diagnosis(cls, diagnosis: Any, *, ax: Any = None) -> Self:
        """Draw the two-sample AUC of every target that `diagnose_batches` compared."""
        none = (np.nan, np.nan, np.nan)
        parts = [found.auc for found in diagnosis.batches.values()]
        values = [none if auc is None else (auc.value, *auc.interval) for auc in parts]
        return cls(
            list(diagnosis.batches),
            values,
            reference=0.5,
            ylabel="two-sample AUC",
            legend=("no shift", "target against training rows"),
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        count = len(self.labels)
        ax = style.axes(ax, (min(11.0, max(4.6, 2.0 + 0.5 * count)), 3.4))
        place = np.arange(count, dtype=float)
        if self.reference is not None and np.isfinite(self.reference):
            ax.axhline(
                style.drawable(self.reference),
                color=style.TRAIN,
                linestyle="--",
                linewidth=1.2,
                label=self.legend[0],
            )
        shown = np.isfinite(self.values[:, 0])
        drawn = style.drawable(self._finite()[shown])
        ax.plot(place[shown], drawn[:, 0], color=style.CORRECTED, linewidth=1.0, alpha=0.5)
        ax.vlines(place[shown], drawn[:, 1], drawn[:, 2], color=style.CORRECTED, linewidth=1.6)
        ax.plot(
            place[shown],
            drawn[:, 0],
            "s",
            color=style.CORRECTED,
            markersize=5,
            label=self.legend[1],
        )
        self._draw_observed(ax, place)
        step = -(-count // _MOST_NAMES)
        names = [style.label(name, 16) for name in self.labels[::step]]
        style.name_columns(ax, place[::step], names)
        ax.set_xlim(-0.6, count - 0.4)
        ax.set_ylabel(style.label(self.ylabel, 60))
        style.legend(ax)
        style.tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_observed(self, ax: Any, place: Any) -> None:
        known = [k for k, name in enumerate(self.labels) if name in self.observed]
        seen = np.array([self.observed[self.labels[k]] for k in known])
        there = np.isfinite(seen)
        if there.any():
            ax.plot(
                place[known][there],
                style.drawable(seen[there]),
                "o",
                markersize=6.5,
                markerfacecolor="none",
                markeredgewidth=1.4,
                color=style.TARGET,
                zorder=3,
                label="observed",
            )

    def _finite(self) -> Any:
        """The values (k, 3), infinite ends cut off at the ends of all others."""
        finite = self.values[np.isfinite(self.values)]
        low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
        room = 0.05 * (high - low)
        return np.clip(self.values, low - room, high + room)

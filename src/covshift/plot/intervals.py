"""Prediction intervals against a feature, or in the order of the predictions."""

from __future__ import annotations

from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np

from ..data.validation import column_names
from ..exceptions import InputError
from ..numerics.array import Real, Rows, is_array, to_numpy
from . import style

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

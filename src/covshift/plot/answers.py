"""Forest plot: numbers of the population and of its groups, before and after the correction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..engine.explanation import shortened
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

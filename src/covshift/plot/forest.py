"""Forest plot: numbers of the population and of its groups, before and after the correction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

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
        ax = style.axes(ax, (6.4, 1.4 + 0.36 * count))
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
        ax.set_yticks(place, [style.label(text) for text in self.labels[:count]])
        ax.tick_params(axis="y", length=0)
        unit = " (%)" if self.percent else ""
        ax.set_xlabel(style.label(self.xlabel, 60) + unit, fontsize=9)
        ax.legend(frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=9)
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

"""A number over batches, such as months, with its intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from . import style

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

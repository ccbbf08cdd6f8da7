"""Published numbers of a target beside those of a sample, before and after weighting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..numerics.array import Real
from . import style

_WIDTH = 40  # of what a number is called


class MarginsDisplay:
    """One line per published number: the target's, the sample's, and the weighted sample's.

    The lines follow the margins, with a rule where a new one begins.

    Parameters
    ----------
    names : sequence of str
    target, sample : (k,) arrays
    corrected : (k,) array or None
        Of the weighted sample.
    xlabel : str
    percent : bool
        Show shares in per cent.
    most : int
        Number of lines shown: those in which sample and target differ most.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure, once drawn

    Examples
    --------
    >>> from covshift.plot import MarginsDisplay
    >>> display = MarginsDisplay(["'sex' in f", "'sex' in m"], [0.51, 0.49], [0.7, 0.3]).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ["'sex' in m", "'sex' in f"]
    """

    def __init__(
        self,
        names: Sequence[str],
        target: Any,
        sample: Any,
        corrected: Any = None,
        *,
        xlabel: str = "share of the population",
        percent: bool = True,
        most: int = 40,
    ) -> None:
        self.names = tuple(map(str, names))
        self.target = np.asarray(target, dtype=np.float64)
        self.sample = np.asarray(sample, dtype=np.float64)
        self.corrected = None if corrected is None else np.asarray(corrected, dtype=np.float64)
        self.xlabel, self.percent, self.most = xlabel, percent, most

    @classmethod
    def from_diagnosis(cls, diagnosis: Any, *, ax: Any = None) -> Self:
        """Draw what `covshift.diagnose` found about margins.

        Shares are drawn as they are. Where there are means as well, which have other units,
        differences from the target are drawn, of means in standard deviations.
        """
        return cls.of(diagnosis).plot(ax)

    @classmethod
    def of(cls, diagnosis: Any) -> Self:
        """Return the display of a diagnosis, not drawn yet."""
        numbers = diagnosis.numbers
        names = [number.what for number in numbers]
        weighted = all(number.corrected is not None for number in numbers)
        if all(number.is_share for number in numbers):
            after = [number.corrected for number in numbers] if weighted else None
            target, sample = zip(*((row.target, row.sample) for row in numbers), strict=True)
            return cls(names, target, sample, after)
        after = [number.gap_corrected for number in numbers] if weighted else None
        xlabel = "off the target: shares, and means in standard deviations"
        gaps = [number.gap for number in numbers]
        return cls(names, np.zeros(len(gaps)), gaps, after, xlabel=xlabel, percent=False)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        chosen = np.argsort(-np.abs(self.sample - self.target), kind="stable")[: self.most]
        order = np.sort(chosen)[::-1]
        ax = style.axes(ax, (6.4, 1.4 + 0.27 * len(order)), rows=True)
        factor, rows = 100.0 if self.percent else 1.0, np.arange(len(order))
        target, sample = (
            style.drawable(factor * values[order]) for values in (self.target, self.sample)
        )
        self._rules(ax, order)
        ax.hlines(rows, sample, target, color=style.FAINT, linewidth=1.5, zorder=2)
        drawn = [(target, "|", style.TARGET, "target", 13.0, 2.2)]
        drawn.append((sample, "o", style.TRAIN, "as sampled", 5.5, 1.0))
        if self.corrected is not None:
            after: Real = style.drawable(factor * self.corrected[order])
            drawn.append((after, "s", style.CORRECTED, "corrected", 4.5, 1.0))
        for values, marker, colour, label, size, edge in drawn:
            ax.plot(
                values,
                rows,
                marker,
                color=colour,
                markersize=size,
                markeredgewidth=edge,
                label=label,
                zorder=3,
            )
        ax.set_ylim(-0.7, len(order) - 0.3)
        style.name_rows(ax, rows, [style.label(self.names[k], _WIDTH) for k in order])
        unit = " (%)" if self.percent else ""
        ax.set_xlabel(style.label(self.xlabel, 80) + unit)
        style.legend(ax)
        style.tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _rules(self, ax: Any, order: Any) -> None:
        """Draw a line between one margin and the next."""
        margins = [self.names[k].partition(" in ")[0].rpartition(" of ")[2] for k in order]
        if len(set(margins)) == len(margins):
            return
        for place in range(1, len(margins)):
            if margins[place] != margins[place - 1]:
                ax.axhline(place - 0.5, color=style.FAINT, linewidth=0.6, zorder=0)

"""What the pictures share: colours, axes, and names that matplotlib must not read as formulas."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numerics.progress import import_extra
from ..show.words import as_date

TRAIN = "#0072B2"  # blue, vermilion and green of Okabe and Ito: told apart by most eyes
TARGET = "#D55E00"
CORRECTED = "#009E73"
NEUTRAL = "#595959"
FAINT = "#c8c8c8"
SERIES = (CORRECTED, TARGET, TRAIN, "#CC79A7", "#E69F00")  # several models


def axes(ax: Any, size: tuple[float, float]) -> Any:
    """Return ``ax``, or the axes of a new figure of pyplot, ``size`` in inches."""
    if ax is not None:
        return ax
    pyplot = import_extra("matplotlib.pyplot", extra="plot", needed_by="covshift.plot")
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def drawable(values: Any) -> Any:
    """Cut numbers beyond 1e150, with which matplotlib's own arithmetic would overflow."""
    return np.clip(values, -1e150, 1e150)


def tidy(ax: Any) -> None:
    """Keep the left and bottom spine only."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def slant(ax: Any) -> None:
    """Turn names below the axis, so that long ones do not meet."""
    ax.tick_params(axis="x", labelrotation=45)
    for text in ax.get_xticklabels():
        text.set_horizontalalignment("right")
        text.set_rotation_mode("anchor")


def write_dates(axis: Any) -> None:
    """Write days since 1970-01-01 as dates along an axis."""
    ticker = import_extra("matplotlib.ticker", extra="plot", needed_by="covshift.plot")
    axis.set_major_locator(ticker.MaxNLocator(3, integer=True))
    axis.set_major_formatter(ticker.FuncFormatter(lambda day, _: as_date(day)))


def label(name: str, width: int = 28) -> str:
    """Make a name safe to draw: no formula, no control characters, not too long.

    >>> label("$x_{")
    '\\\\$x_{'
    """
    text = "".join(c if c.isprintable() else "�" for c in name)
    if len(text) > width:
        text = text[: width - 1] + "…"
    return text.replace("$", r"\$")

"""ROC curves: how well scores tell two classes apart, on the target and on the labelled rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from .._types import Real
from . import style


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

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        ax = style.axes(ax, (4.8, 4.6))
        ax.plot([0, 1], [0, 1], color=style.NEUTRAL, linewidth=0.8, linestyle="--")
        for k, (name, (x, y)) in enumerate(self.curves.items()):
            look = {"color": style.SERIES[k % len(style.SERIES)], "linewidth": 1.6}
            look |= self.looks.get(name, {})
            ax.plot(x, y, label=style.label(name, 60), **look)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.set_aspect("equal")
        ax.set_xlabel("false positive rate")
        ax.set_ylabel("true positive rate")
        ax.legend(frameon=False, fontsize=9, loc="lower right")
        style.tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

"""Histogram of the weights, with their effective sample size."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..data.row_weights import check_weight
from ..data.values import numbers_of_rows
from ..exceptions import InputError
from ..weights import effective_sample_size
from . import style


def fitted_weights(estimator: Any) -> Any:
    """Return the weights that a weighter gave the rows it was fitted to."""
    check_is_fitted(estimator)
    if not hasattr(estimator, "weights_"):
        raise InputError(
            f"{type(estimator).__name__} has no weights_. Pass a fitted weighter of "
            "covshift.weights, or a covshift.Reweighted."
        )
    return estimator.weights_


class WeightsDisplay:
    """How evenly the training rows are weighted.

    Parameters
    ----------
    weights : (N,) array
        Non-negative, on any scale; drawn with mean one.

    Attributes
    ----------
    effective_sample_size : float
        Kish's (sum w)^2 / sum w^2.
    ax_, figure_ : matplotlib axes and figure, once drawn

    Examples
    --------
    >>> from covshift.plot import WeightsDisplay
    >>> WeightsDisplay.from_weights([1, 1, 1, 3]).effective_sample_size
    3.0
    """

    def __init__(self, weights: Any) -> None:
        w = numbers_of_rows(weights, "weights", "one weight per row")
        w = check_weight(w, w.size, "weights", of="the training sample")
        w = w / w.max()
        self.weights = w / w.mean()
        self.effective_sample_size = effective_sample_size(self.weights)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the weights of a fitted weighter, or of a `covshift.Reweighted`: ``weights_``."""
        return cls.from_weights(fitted_weights(estimator), ax)

    @classmethod
    def from_weights(cls, weights: Any, ax: Any = None) -> Self:
        """Draw the histogram of ``weights``."""
        return cls(weights).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        ax = style.axes(ax, (5.0, 3.2))
        N, size = len(self.weights), self.effective_sample_size
        top = float(self.weights.max())
        spread = top - float(self.weights.min()) > 1e-9
        edges = np.linspace(0.0, top, 31) if spread else np.linspace(0.5, 1.5, 12)
        ax.hist(self.weights, bins=edges, color=style.CORRECTED, edgecolor="white", linewidth=0.5)
        ax.axvline(1.0, color=style.NEUTRAL, linestyle="--", linewidth=1)
        note = f"effective sample size {size:,.0f} of {N:,} ({size / N:.0%})"
        note = style.wrapped(note, style.small(ax), style.room(ax)[0] - 8.0)
        ax.text(
            1.0,
            1.0,
            f"{note}\nlargest weight {top:.3g}",
            transform=style.above(ax),
            ha="right",
            va="bottom",
            fontsize=style.small(ax),
        )
        ax.set_xlabel("weight (mean one: dashed)")
        ax.set_ylabel("training rows")
        style.tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

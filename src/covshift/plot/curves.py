"""Reliability diagram: do predicted probabilities come true, on the target?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from ..data.parameters import whole
from ..data.row_weights import check_weight
from ..data.values import numbers_of_rows
from ..exceptions import InputError
from ..numerics.array import Real
from ..numerics.statistics import equal_weight_bins
from . import style
from .scores import known_positives, model_name, positive_scores


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

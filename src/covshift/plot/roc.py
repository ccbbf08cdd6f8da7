"""ROC curves: how well scores tell two classes apart, on the target and on the labelled rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.metrics import auc, roc_curve

from ..data.row_weights import check_weight
from ..data.values import numbers_of_rows
from ..exceptions import InputError
from ..numerics.array import Real
from . import style
from .scores import known_positives, model_name, positive_scores, positives


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

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        weights: Any = None,
        *,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Let a fitted classifier of two classes score the rows X, and draw.

        ``pos_label`` is the positive class, by default the second of ``estimator.classes_``;
        ``name`` by default that of the estimator's class. The rest is as in `from_predictions`.
        """
        scores, label = positive_scores(estimator, X, pos_label)
        name = name or model_name(estimator)
        return cls.from_predictions(
            known_positives(estimator, y, label, scores), scores, weights, name=name, ax=ax
        )

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        scores: Any,
        weights: Any = None,
        *,
        pos_label: Any = None,
        name: str = "model",
        ax: Any = None,
    ) -> Self:
        """Compute the curve of ``scores`` (rows,), larger for the positive class, and draw.

        ``weights`` make the rows stand for the target, such as those of a weighter;
        ``pos_label`` names the positive class where y is not 0 and 1. The legend shows the area.
        """
        truth, s = positives(y, pos_label), numbers_of_rows(scores, "scores")
        if s.ndim != 1 or s.shape != truth.shape or not np.isfinite(s).all():
            raise InputError(
                f"y has shape {truth.shape} and scores {s.shape}. Pass one number of each per row."
            )
        w = None if weights is None else check_weight(weights, len(s), "weights", of="y")
        kept = np.ones(len(s), dtype=bool) if w is None else w > 0
        if len(np.unique(truth[kept])) < 2:
            raise InputError("All rows of y are of one class: a ROC curve needs both.")
        x, y_, _ = roc_curve(truth, s, sample_weight=w)
        return cls({f"{name}: AUC {auc(x, y_):.3f}": (x, y_)}).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        ax = style.axes(ax, (4.8, 4.6))
        ax.plot([0, 1], [0, 1], color=style.NEUTRAL, linewidth=0.8, linestyle="--")
        for k, (name, (x, y)) in enumerate(self.curves.items()):
            number = k % len(style.SERIES)
            look: dict[str, Any] = {"color": style.SERIES[number], "linewidth": 1.6}
            look["linestyle"] = style.DASHES[number]
            look |= self.looks.get(name, {})
            ax.plot(x, y, label=style.label(name, 60), **look)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.set_aspect("equal")
        ax.set_xlabel("false positive rate")
        ax.set_ylabel("true positive rate")
        style.legend(ax, 1)
        style.tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

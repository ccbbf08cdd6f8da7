"""Love plot: how far the means of the features are apart, before and after a correction."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ..data import Samples
from ..data.row_weights import check_weight
from ..diagnostics.distances import feature_differences
from ..numerics.array import row_count
from . import style
from .weights import fitted_weights

_BALANCED = 0.1  # Austin (2009): below it, a difference is usually taken as negligible


class LovePlotDisplay:
    """Standardised mean differences, target minus training, the largest on top.

    Parameters
    ----------
    names : sequence of str
    before : (n,) array
        Differences of the samples as they are; infinite ones are drawn at the edge.
    after : (n,) array or None
        Differences with the training rows weighted.
    most : int
        Number of features shown.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure, once drawn

    Examples
    --------
    >>> import numpy as np
    >>> from covshift.plot import LovePlotDisplay
    >>> rng = np.random.default_rng(0)
    >>> X, T = rng.normal(size=(100, 3)), rng.normal(0.5, 1.0, size=(100, 3))
    >>> display = LovePlotDisplay.from_samples(X, T)
    >>> display.ax_.get_xlabel()
    'standardised mean difference, target minus training'
    """

    def __init__(self, names: Any, before: Any, after: Any = None, *, most: int = 30) -> None:
        self.names = tuple(map(str, names))
        self.before = np.asarray(before, dtype=np.float64)
        self.after = None if after is None else np.asarray(after, dtype=np.float64)
        self.most = most

    @classmethod
    def from_samples(
        cls,
        X: Any,
        X_target: Any,
        weights: Any = None,
        *,
        sample_weight: Any = None,
        target_weight: Any = None,
        ax: Any = None,
    ) -> Self:
        """Compute the differences, with ``weights`` (N,) also the corrected ones, and draw them.

        ``sample_weight`` and ``target_weight`` are probability weights of the rows; ``weights`` are
        final ones, in place of the former. Data frames as in `covshift.diagnose`: a category has
        one line, for the level that differs most.
        """
        samples = Samples.of_rows(
            X,
            X_target,
            sample_weight=sample_weight,
            target_weight=target_weight,
            ordered=False,
        )
        after = None
        if weights is not None:
            w = samples.of_these(check_weight(weights, row_count(X), "weights", of="X"))
            after = feature_differences(samples, w)
        names = [feature.name for feature in samples.features]
        return cls(names, feature_differences(samples), after).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        X_target: Any,
        *,
        target_weight: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw what a fitted weighter did: ``X`` are the rows that it was fitted to.

        Fitted with ``sample_weight`` its weights are factors on them: pass the products to
        `from_samples`.
        """
        weights = fitted_weights(estimator)
        return cls.from_samples(X, X_target, weights, target_weight=target_weight, ax=ax)

    @classmethod
    def from_diagnosis(cls, diagnosis: Any, *, ax: Any = None) -> Self:
        """Draw the differences that `covshift.diagnose` found."""
        features = diagnosis.features
        after = [feature.smd_corrected for feature in features]
        return cls(
            [feature.name for feature in features],
            [feature.smd for feature in features],
            None if None in after else after,
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        order = np.argsort(-np.abs(self.before), kind="stable")[: self.most][::-1]
        ax = style.axes(ax, (6.4, 1.3 + 0.26 * len(order)), rows=True)
        rows = np.arange(len(order))
        shown = [self.before[order], *([] if self.after is None else [self.after[order]])]
        limit = 1.12 * max((np.abs(v[np.isfinite(v)]).max(initial=0.0) for v in shown), default=0.0)
        limit = max(limit, 2 * _BALANCED)
        ax.axvspan(-_BALANCED, _BALANCED, color="#eeeeee", zorder=0, linewidth=0)
        ax.axvline(0, color=style.NEUTRAL, linewidth=0.8, zorder=1)
        before = np.clip(self.before[order], -limit, limit)
        ax.plot(before, rows, "o", color=style.TRAIN, markersize=5.5, label="as sampled", zorder=3)
        if self.after is not None:
            after = np.clip(self.after[order], -limit, limit)
            ax.hlines(rows, before, after, color=style.FAINT, linewidth=1.5, zorder=2)
            ax.plot(
                after, rows, "s", color=style.CORRECTED, markersize=5, label="corrected", zorder=4
            )
        ax.set_xlim(-limit, limit)
        ax.set_ylim(-0.6, len(order) - 0.4)
        style.name_rows(ax, rows, [style.label(self.names[k], 60) for k in order])
        ax.set_xlabel("standardised mean difference, target minus training")
        if self.after is not None:
            style.legend(ax)
        style.tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

"""Overlap map: both samples as clouds in a plane, to see where the target has no training rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ..data import Samples
from ..data.parameters import one_of
from ..diagnostics.summary import (
    most_shifted,
    some_rows,
)
from ..numerics.array import Real
from ..weights.points import pooled_units
from . import style


class OverlapDisplay:
    """Training and target rows in two dimensions.

    Parameters
    ----------
    train, target : (N, 2) and (M, 2) arrays
    labels : two str
        Labels of the axes.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure, once drawn

    Examples
    --------
    >>> import numpy as np
    >>> from covshift.plot import OverlapDisplay
    >>> rng = np.random.default_rng(0)
    >>> X, T = rng.normal(size=(100, 3)), rng.normal(size=(100, 3)) + [0.0, 2.0, 1.0]
    >>> OverlapDisplay.from_samples(X, T).labels
    ('x1', 'x2')
    """

    def __init__(self, train: Real, target: Real, labels: tuple[str, str]) -> None:
        self.train, self.target, self.labels = train, target, labels

    @classmethod
    def from_samples(
        cls,
        X: Any,
        X_target: Any,
        *,
        plane: str = "shifted",
        target_weight: Any = None,
        groups: Any = None,
        most: int = 600,
        random_state: int = 0,
        ax: Any = None,
    ) -> Self:
        """Draw at most ``most`` rows of each sample.

        ``plane="shifted"``: the two features of largest Kolmogorov-Smirnov distance.
        ``plane="principal"``: the first two principal directions of both samples together, in
        units of the pooled standard deviation. Weighted target rows are drawn by their weights.
        Data frames and ``groups`` as in `covshift.diagnose`.
        """
        samples = Samples.of_rows(
            X, X_target, target_weight=target_weight, groups=groups, ordered=False
        )
        one_of("shifted", "principal").check(plane, "plane")
        project, labels = most_shifted(samples) if plane == "shifted" else _principal(samples)
        return cls(*some_rows(samples, project, most, random_state), labels).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        ax = style.axes(ax, (5.0, 4.2))
        looks = (
            ("training", self.train, style.TRAIN, "o", 0.45),
            ("target", self.target, style.TARGET, "^", 0.65),
        )
        clouds = [
            ax.scatter(
                *style.drawable(points.T),
                s=13,
                color=color,
                marker=marker,
                alpha=opacity,
                linewidths=0,
                label=name,
            )
            for name, points, color, marker, opacity in looks
        ]
        ax.set_xlabel(style.label(self.labels[0], 48))
        ax.set_ylabel(style.label(self.labels[1], 36))
        legend = style.legend(ax, handles=clouds)
        for handle in legend.legend_handles:
            handle.set(alpha=1.0, sizes=[30.0])
        style.tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _principal(samples: Samples) -> tuple[Any, tuple[str, str]]:
    units = pooled_units(samples.X, samples.T, samples.share, groups=samples.one_feature)
    cut = samples.cut(5000, 0)
    if samples.X.shape[1] == 1:
        return most_shifted(samples)
    both = np.concatenate([units(cut.X), units(cut.T)])
    directions = np.linalg.svd(both - both.mean(axis=0), full_matrices=False)[2][:2]
    # Signs are arbitrary: the largest entry is made positive, so that pictures can be repeated.
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1)
    directions = directions * np.where(largest < 0, -1.0, 1.0)
    return lambda rows: units(rows) @ directions.T, (
        "first principal direction",
        "second principal direction",
    )

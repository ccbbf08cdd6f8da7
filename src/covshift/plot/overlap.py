"""Overlap map: both samples as clouds in a plane, to see where the target has no training rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .._distances import distances
from .._parameters import one_of
from .._two_samples import TwoSamples, two_samples
from .._types import Real
from ..weights._points import pooled_units
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
    >>> OverlapDisplay.from_samples(X, T, feature_names=["a", "b", "c"]).labels
    ('b', 'c')
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
        feature_names: Any = None,
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
        samples = two_samples(X, X_target, target_weight, feature_names, groups=groups)
        one_of("shifted", "principal").check(plane, "plane")
        project, labels = _shifted(samples) if plane == "shifted" else _principal(samples)
        rng = np.random.default_rng(random_state)
        rows = rng.permutation(len(samples.X))[:most]
        share = samples.share
        count = min(most, len(share))
        chosen = rng.choice(len(share), count, replace=samples.weight is not None, p=share)
        return cls(project(samples.X[rows]), project(samples.T[chosen]), labels).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        ax = style.axes(ax, (5.0, 4.2))
        looks = (
            ("training", self.train, style.TRAIN, "o"),
            ("target", self.target, style.TARGET, "^"),
        )
        clouds = [
            ax.scatter(
                *style.drawable(points.T),
                s=13,
                color=color,
                marker=marker,
                alpha=0.45,
                linewidths=0,
                label=name,
            )
            for name, points, color, marker in looks
        ]
        ax.set_xlabel(style.label(self.labels[0], 48))
        ax.set_ylabel(style.label(self.labels[1], 36))
        legend = ax.legend(
            handles=clouds,
            frameon=False,
            ncols=2,
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            fontsize=9,
        )
        for handle in legend.legend_handles:
            handle.set(alpha=1.0, sizes=[30.0])
        style.tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _shifted(samples: TwoSamples) -> tuple[Any, tuple[str, str]]:
    share = samples.share
    n = samples.X.shape[1]
    apart = np.array([distances(samples.X[:, k], samples.T[:, k], share).ks for k in range(n)])
    # One column of each feature: of a category the level that differs most.
    each = [
        feature.columns[int(np.argmax(apart[[*feature.columns]]))] for feature in samples.features
    ]
    first, *rest = np.array(each)[np.argsort(-apart[each], kind="stable")]
    if not rest:  # one feature: against a scatter that only separates the points
        return _jittered(int(first)), (samples.names[first], "(scattered at random)")
    pair = [int(first), int(rest[0])]
    return lambda rows: rows[:, pair], (samples.names[pair[0]], samples.names[pair[1]])


def _jittered(column: int) -> Any:
    rng = np.random.default_rng(0)
    return lambda rows: np.column_stack([rows[:, column], rng.uniform(size=len(rows))])


def _principal(samples: TwoSamples) -> tuple[Any, tuple[str, str]]:
    units = pooled_units(samples.X, samples.T, samples.share, groups=samples.groups)
    cut = samples.cut(5000, 0)
    if samples.X.shape[1] == 1:
        return _shifted(samples)
    both = np.concatenate([units(cut.X), units(cut.T)])
    directions = np.linalg.svd(both - both.mean(axis=0), full_matrices=False)[2][:2]
    # Signs are arbitrary: the largest entry is made positive, so that pictures can be repeated.
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1)
    directions = directions * np.where(largest < 0, -1.0, 1.0)
    return lambda rows: units(rows) @ directions.T, (
        "first principal direction",
        "second principal direction",
    )

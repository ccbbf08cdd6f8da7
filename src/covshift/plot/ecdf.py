"""Distribution functions of one feature: training, target, corrected training."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import _num_samples

from .._row_weights import check_weight
from .._two_samples import two_samples
from .._types import Real
from ..exceptions import InputError
from . import style

_MOST_STEPS = 400  # of a drawn curve: finer steps cannot be seen


class ECDFDisplay:
    """Empirical distribution functions, which is also how the method sees the samples.

    Parameters
    ----------
    curves : dict of str to (values, heights)
        "training", "target" and, with weights, "corrected": distinct values and the share of the
        sample up to and including each.
    name : str
        Name of the feature.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure, once drawn

    Examples
    --------
    >>> from covshift.plot import ECDFDisplay
    >>> display = ECDFDisplay.from_samples([[0.0], [1.0]], [[1.0], [2.0]], weights=[1.0, 3.0])
    >>> display.curves["corrected"][1]
    array([0.25, 1.  ])
    """

    def __init__(self, curves: dict[str, tuple[Real, Real]], name: str) -> None:
        self.curves = curves
        self.name = name

    @classmethod
    def from_samples(
        cls,
        X: Any,
        X_target: Any,
        weights: Any = None,
        *,
        feature: int | str = 0,
        feature_names: Any = None,
        sample_weight: Any = None,
        target_weight: Any = None,
        ax: Any = None,
    ) -> Self:
        """Compute the curves of one ``feature``, a number or a name, and draw them.

        ``sample_weight`` and ``target_weight`` are probability weights of the rows; ``weights`` are
        final ones, in place of the former.
        """
        samples = two_samples(
            X, X_target, target_weight, feature_names, sample_weight=sample_weight
        )
        k = _column(feature, samples.names)
        curves = {
            "training": _curve(samples.X[:, k], samples.own),
            "target": _curve(samples.T[:, k], samples.share),
        }
        if weights is not None:
            w = check_weight(weights, _num_samples(X), "weights", of="X")[samples.rows]
            w = w / w.max()
            curves["corrected"] = _curve(samples.X[:, k], w / w.sum())
        return cls(curves, samples.names[k]).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        ax = style.axes(ax, (5.0, 3.4))
        looks: dict[str, dict[str, Any]] = {
            "training": {"color": style.TRAIN, "linestyle": "--", "linewidth": 1.6},
            # Wide and pale, so that a corrected curve that lies on it leaves it in sight.
            "target": {"color": style.TARGET, "linewidth": 5.0, "alpha": 0.4},
            "corrected": {"color": style.CORRECTED, "linewidth": 1.6},
        }
        for kind, (values, heights) in self.curves.items():
            values, heights = _thin(style.drawable(values), heights)
            ax.step(
                np.concatenate([values[:1], values]),
                np.concatenate([[0.0], heights]),
                where="post",
                label=kind,
                solid_capstyle="butt",
                **looks[kind],
            )
        ax.set_ylim(-0.02, 1.02)
        ax.set_xlabel(style.label(self.name, 48))
        ax.set_ylabel("share of rows up to x")
        ax.legend(frameon=False, fontsize=9, loc="lower right")
        style.tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _column(feature: int | str, names: tuple[str, ...]) -> int:
    if isinstance(feature, str):
        if feature not in names:
            raise InputError(
                f"feature={feature!r} is not a column. The columns are {', '.join(names[:20])}."
            )
        return names.index(feature)
    if not 0 <= feature < len(names):
        raise InputError(f"feature={feature!r} is not between 0 and {len(names) - 1}.")
    return int(feature)


def _curve(values: Real, share: Real) -> tuple[Real, Real]:
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    last = np.append(ordered[1:] != ordered[:-1], True)
    return ordered[last], np.minimum(np.cumsum(share[order])[last], 1.0)


def _thin(values: Real, heights: Real) -> tuple[Real, Real]:
    """Leave steps out that are too small to be seen."""
    if len(values) <= _MOST_STEPS:
        return values, heights
    at = np.searchsorted(heights, np.linspace(heights[0], heights[-1], _MOST_STEPS))
    keep = np.unique(np.concatenate([[0], np.minimum(at, len(values) - 1), [len(values) - 1]]))
    return values[keep], heights[keep]

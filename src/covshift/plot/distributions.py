"""Distribution functions of one feature: training, target, corrected training."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ..data import Samples
from ..data.row_weights import check_weight
from ..diagnostics.summary import (
    Distribution,
    distribution_of,
    thinned,
)
from ..exceptions import InputError
from ..numerics.array import Real, row_count
from . import style
from .weights import fitted_weights

_MOST_LEVELS = 12  # of a category that are drawn


class ECDFDisplay:
    """Empirical distribution functions, which is also how the method sees the samples.

    Parameters
    ----------
    curves : dict of str to (values, heights)
        "training", "target" and, with weights, "corrected": distinct values and the share of the
        sample up to and including each.
    name : str
        Name of the feature.
    levels : tuple of str, optional
        Of a category or a column of two values, in place of a curve: ``curves`` then hold the
        numbers of the levels and their shares, which are drawn as bars.
    dates : bool
        Whether the values are days since 1970-01-01, which are written as dates.

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

    def __init__(
        self,
        curves: dict[str, tuple[Real, Real]],
        name: str,
        levels: tuple[str, ...] = (),
        *,
        dates: bool = False,
    ) -> None:
        self.curves = curves
        self.name = name
        self.levels = levels
        self.dates = dates

    @classmethod
    def from_samples(
        cls,
        X: Any,
        X_target: Any,
        weights: Any = None,
        *,
        feature: int | str = 0,
        sample_weight: Any = None,
        target_weight: Any = None,
        ax: Any = None,
    ) -> Self:
        """Compute the curves of one ``feature``, a number or a name, and draw them.

        ``sample_weight`` and ``target_weight`` are probability weights of the rows; ``weights`` are
        final ones, in place of the former. Data frames as in `covshift.diagnose`; of a category
        the shares of its levels are drawn.
        """
        samples = Samples.of_rows(
            X,
            X_target,
            sample_weight=sample_weight,
            target_weight=target_weight,
            ordered=False,
        )
        w = None
        if weights is not None:
            w = samples.of_these(check_weight(weights, row_count(X), "weights", of="X"))
        names = tuple(part.name for part in samples.features)
        return cls.of(distribution_of(samples, _column(feature, names), w)).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        X_target: Any,
        *,
        feature: int | str = 0,
        target_weight: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw what a fitted weighter did: ``X`` are the rows that it was fitted to.

        Fitted with ``sample_weight`` its weights are factors on them: pass the products to
        `from_samples`.
        """
        weights = fitted_weights(estimator)
        return cls.from_samples(
            X, X_target, weights, feature=feature, target_weight=target_weight, ax=ax
        )

    @classmethod
    def of(cls, distribution: Distribution) -> Self:
        """Return the display of one feature of a diagnosis, not drawn yet."""
        return cls(
            distribution.curves, distribution.name, distribution.levels, dates=distribution.dates
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        ax = style.axes(ax, (5.0, 3.4))
        if self.levels:
            self._draw_bars(ax)
            self.ax_, self.figure_ = ax, ax.figure
            return self
        looks: dict[str, dict[str, Any]] = {
            "training": {"color": style.TRAIN, "linestyle": "--", "linewidth": 1.6},
            # Wide and pale, so that a corrected curve that lies on it leaves it in sight.
            "target": {"color": style.TARGET, "linewidth": 5.0, "alpha": 0.4},
            "corrected": {"color": style.CORRECTED, "linewidth": 1.6},
        }
        for kind, (values, heights) in self.curves.items():
            values, heights = thinned(style.drawable(values), heights)
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
        if self.dates:
            style.write_dates(ax.xaxis)
        style.legend(ax)
        style.tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_bars(self, ax: Any) -> None:
        """Draw the shares of the levels, the most frequent of the target first; two in order."""
        heights = self.curves["target"][1]
        order = np.argsort(-heights if len(heights) > 2 else heights * 0, kind="stable")
        order = order[:_MOST_LEVELS]
        colors = {"training": style.TRAIN, "target": style.TARGET, "corrected": style.CORRECTED}
        width = 0.8 / len(self.curves)
        for number, (kind, (_, heights)) in enumerate(self.curves.items()):
            at = np.arange(len(order)) + (number - (len(self.curves) - 1) / 2) * width
            ax.bar(at, heights[order], 0.9 * width, color=colors[kind], label=kind)
        names = [style.label(self.levels[k], 14) for k in order]
        style.name_columns(ax, np.arange(len(order)), names)
        more = len(self.levels) - len(order)
        ax.set_xlabel(style.label(self.name, 48) + (f" ({more} more levels)" if more else ""))
        ax.set_ylabel("share of rows")
        style.legend(ax)
        style.tidy(ax)


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

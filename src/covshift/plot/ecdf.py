"""Distribution functions of one feature: training, target, corrected training."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import _num_samples

from .._distances import Known, known_rows
from .._row_weights import check_weight
from .._two_samples import TwoSamples, two_samples
from .._types import Real
from ..exceptions import InputError
from ..show.words import readable
from . import style
from .weights import fitted_weights

_MOST_LEVELS = 12  # of a category that are drawn
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
        feature_names: Any = None,
        sample_weight: Any = None,
        target_weight: Any = None,
        ax: Any = None,
    ) -> Self:
        """Compute the curves of one ``feature``, a number or a name, and draw them.

        ``sample_weight`` and ``target_weight`` are probability weights of the rows; ``weights`` are
        final ones, in place of the former. Data frames as in `covshift.diagnose`; of a category
        the shares of its levels are drawn.
        """
        samples = two_samples(
            X, X_target, target_weight, feature_names, sample_weight=sample_weight
        )
        w = None
        if weights is not None:
            w = check_weight(weights, _num_samples(X), "weights", of="X")[samples.rows]
        names = tuple(part.name for part in samples.features)
        return cls.of_feature(samples, _column(feature, names), w).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        X_target: Any,
        *,
        feature: int | str = 0,
        feature_names: Any = None,
        target_weight: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw what a fitted weighter did: ``X`` are the rows that it was fitted to.

        Fitted with ``sample_weight`` its weights are factors on them: pass the products to
        `from_samples`.
        """
        names: dict[str, Any] = {"feature_names": feature_names, "target_weight": target_weight}
        weights = fitted_weights(estimator)
        return cls.from_samples(X, X_target, weights, feature=feature, **names, ax=ax)

    @classmethod
    def of_feature(cls, samples: TwoSamples, number: int, weights: Real | None) -> Self:
        """Compute the curves of the feature of this number, or the shares of its levels."""
        feature = samples.features[number]
        part = known_rows(feature, samples)
        if part is None:  # never known in one of the samples: as it was filled
            k = [feature.columns[0]]
            part = Known(samples.X[:, k], samples.T[:, k], samples.own, samples.share, slice(None))
        rows = {"training": (part.X, part.own), "target": (part.T, part.share)}
        if weights is not None:
            w = weights[part.rows]
            if w.any():
                rows["corrected"] = (part.X, w / w.max() / (w / w.max()).sum())
        both = two_values(part)
        if feature.kind != "category" and both is not None:
            bars = {kind: _two(values[:, 0], share, both) for kind, (values, share) in rows.items()}
            return cls(bars, feature.name, (readable(both[0]), readable(both[1])))
        if feature.kind != "category":
            curves = {kind: _curve(values[:, 0], share) for kind, (values, share) in rows.items()}
            return cls(curves, feature.name, dates=feature.columns[0] in samples.dates)
        bars = {kind: _shares(values, share) for kind, (values, share) in rows.items()}
        others = max(float(heights[-1]) for _, heights in bars.values()) > 1e-12
        last = "others" if len(feature.levels) > 1 else f"not {feature.levels[0]}"
        levels = (*feature.levels, *([last] if others else []))
        shown = {kind: (at[: len(levels)], h[: len(levels)]) for kind, (at, h) in bars.items()}
        return cls(shown, feature.name, levels)

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
        if self.dates:
            style.write_dates(ax.xaxis)
        ax.legend(frameon=False, fontsize=9, loc="lower right")
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
        ax.set_xticks(range(len(order)), names)
        if max(map(len, names)) * len(names) > 45:
            style.slant(ax)
        more = len(self.levels) - len(order)
        ax.set_xlabel(style.label(self.name, 48) + (f" ({more} more levels)" if more else ""))
        ax.set_ylabel("share of rows")
        ax.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=9)
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


def two_values(part: Known) -> tuple[float, float] | None:
    """Return the two values of a single column, such as 0 and 1; None where it has more, or one."""
    if part.X.shape[1] != 1:
        return None
    low = min(float(part.X.min()), float(part.T.min()))
    high = max(float(part.X.max()), float(part.T.max()))
    if low == high or any(((rows != low) & (rows != high)).any() for rows in (part.X, part.T)):
        return None
    return low, high


def _two(values: Real, share: Real, both: tuple[float, float]) -> tuple[Real, Real]:
    """Numbers of the two values and their shares."""
    return np.arange(2.0), np.array([float(share @ (values == value)) for value in both])


def _curve(values: Real, share: Real) -> tuple[Real, Real]:
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    last = np.append(ordered[1:] != ordered[:-1], True)
    return ordered[last], np.minimum(np.cumsum(share[order])[last], 1.0)


def _shares(columns: Real, share: Real) -> tuple[Real, Real]:
    """Numbers of the levels and their shares; last, of rows in none of them."""
    found = share @ columns
    return np.arange(len(found) + 1.0), np.append(found, max(0.0, 1.0 - float(found.sum())))


def _thin(values: Real, heights: Real) -> tuple[Real, Real]:
    """Leave steps out that are too small to be seen."""
    if len(values) <= _MOST_STEPS:
        return values, heights
    at = np.searchsorted(heights, np.linspace(heights[0], heights[-1], _MOST_STEPS))
    keep = np.unique(np.concatenate([[0], np.minimum(at, len(values) - 1), [len(values) - 1]]))
    return values[keep], heights[keep]

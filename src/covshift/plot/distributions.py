"""Distribution functions of one feature: training, target, corrected training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..data import Samples
from ..data.parameters import one_of
from ..data.row_weights import check_weight
from ..data.values import numbers_of_rows
from ..diagnostics.distances import feature_differences
from ..diagnostics.summary import (
    Distribution,
    distribution_of,
    most_shifted,
    some_rows,
    thinned,
)
from ..exceptions import InputError
from ..numerics.array import Real, row_count
from ..weights import effective_sample_size
from ..weights.points import pooled_units
from . import style

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


# Love plot: how far the means of the features are apart, before and after a correction.


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


# Overlap map: both samples as clouds in a plane, to see where the target has no training rows.


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


# Histogram of the weights, with their effective sample size.


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


# Published numbers of a target beside those of a sample, before and after weighting.


_WIDTH = 40  # of what a number is called


class MarginsDisplay:
    """One line per published number: the target's, the sample's, and the weighted sample's.

    The lines follow the margins, with a rule where a new one begins.

    Parameters
    ----------
    names : sequence of str
    target, sample : (k,) arrays
    corrected : (k,) array or None
        Of the weighted sample.
    xlabel : str
    percent : bool
        Show shares in per cent.
    most : int
        Number of lines shown: those in which sample and target differ most.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure, once drawn

    Examples
    --------
    >>> from covshift.plot import MarginsDisplay
    >>> display = MarginsDisplay(["'sex' in f", "'sex' in m"], [0.51, 0.49], [0.7, 0.3]).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ["'sex' in m", "'sex' in f"]
    """

    def __init__(
        self,
        names: Sequence[str],
        target: Any,
        sample: Any,
        corrected: Any = None,
        *,
        xlabel: str = "share of the population",
        percent: bool = True,
        most: int = 40,
    ) -> None:
        self.names = tuple(map(str, names))
        self.target = np.asarray(target, dtype=np.float64)
        self.sample = np.asarray(sample, dtype=np.float64)
        self.corrected = None if corrected is None else np.asarray(corrected, dtype=np.float64)
        self.xlabel, self.percent, self.most = xlabel, percent, most

    @classmethod
    def from_diagnosis(cls, diagnosis: Any, *, ax: Any = None) -> Self:
        """Draw what `covshift.diagnose` found about margins.

        Shares are drawn as they are. Where there are means as well, which have other units,
        differences from the target are drawn, of means in standard deviations.
        """
        return cls.of(diagnosis).plot(ax)

    @classmethod
    def of(cls, diagnosis: Any) -> Self:
        """Return the display of a diagnosis, not drawn yet."""
        numbers = diagnosis.numbers
        names = [number.what for number in numbers]
        weighted = all(number.corrected is not None for number in numbers)
        if all(number.is_share for number in numbers):
            after = [number.corrected for number in numbers] if weighted else None
            target, sample = zip(*((row.target, row.sample) for row in numbers), strict=True)
            return cls(names, target, sample, after)
        after = [number.gap_corrected for number in numbers] if weighted else None
        xlabel = "off the target: shares, and means in standard deviations"
        gaps = [number.gap for number in numbers]
        return cls(names, np.zeros(len(gaps)), gaps, after, xlabel=xlabel, percent=False)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        chosen = np.argsort(-np.abs(self.sample - self.target), kind="stable")[: self.most]
        order = np.sort(chosen)[::-1]
        ax = style.axes(ax, (6.4, 1.4 + 0.27 * len(order)), rows=True)
        factor, rows = 100.0 if self.percent else 1.0, np.arange(len(order))
        target, sample = (
            style.drawable(factor * values[order]) for values in (self.target, self.sample)
        )
        self._rules(ax, order)
        ax.hlines(rows, sample, target, color=style.FAINT, linewidth=1.5, zorder=2)
        drawn = [(target, "|", style.TARGET, "target", 13.0, 2.2)]
        drawn.append((sample, "o", style.TRAIN, "as sampled", 5.5, 1.0))
        if self.corrected is not None:
            after: Real = style.drawable(factor * self.corrected[order])
            drawn.append((after, "s", style.CORRECTED, "corrected", 4.5, 1.0))
        for values, marker, colour, label, size, edge in drawn:
            ax.plot(
                values,
                rows,
                marker,
                color=colour,
                markersize=size,
                markeredgewidth=edge,
                label=label,
                zorder=3,
            )
        ax.set_ylim(-0.7, len(order) - 0.3)
        style.name_rows(ax, rows, [style.label(self.names[k], _WIDTH) for k in order])
        unit = " (%)" if self.percent else ""
        ax.set_xlabel(style.label(self.xlabel, 80) + unit)
        style.legend(ax)
        style.tidy(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _rules(self, ax: Any, order: Any) -> None:
        """Draw a line between one margin and the next."""
        margins = [self.names[k].partition(" in ")[0].rpartition(" of ")[2] for k in order]
        if len(set(margins)) == len(margins):
            return
        for place in range(1, len(margins)):
            if margins[place] != margins[place - 1]:
                ax.axhline(place - 0.5, color=style.FAINT, linewidth=0.6, zorder=0)

"""The pictures of the report, each with its caption and its text alternative."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..conformal import Intervals
from ..diagnostics import Diagnosis, FeatureShift, MarginsDiagnosis
from ..diagnostics.summary import Distribution
from ..estimates import Estimates, Explanation
from ..evaluations import Evaluations
from ..evaluations.metrics import words
from ..numerics.array import Real
from ..plot import (
    ECDFDisplay,
    ForestPlotDisplay,
    LovePlotDisplay,
    MarginsDisplay,
    OverlapDisplay,
    WeightsDisplay,
)
from ..plot.style import write_dates
from ..show.words import as_date, joined, printable, readable
from ..show.words import shown as written
from .svg import draw_svg

_WORDS = 8  # features named in a text alternative
_SCALES = dict.fromkeys(("rmse", "mae", "median_absolute_error"), "units of the outcome")
_PANELS = 12  # of metrics, at most
_WHOSE = ("model", "group")


@dataclass(frozen=True)
class Picture:
    """A drawing, and what is said about it."""

    svg: str
    title: str
    caption: str


def forest(answer: Estimates, text: str) -> Picture:
    """Numbers of the population, as sampled and corrected."""
    shown = min(len(answer.estimates), 60)
    title = "As sampled, and corrected"
    svg = draw_svg(
        lambda ax: _same(ForestPlotDisplay.from_estimates(answer, ax=ax)),
        size=(5.0, 1.4 + 0.36 * shown),
        name="forest",
        title=title,
        text=text,
    )
    return Picture(svg, title, f"Points with their {100 * answer.confidence:g}% intervals.")


def waterfall(found: Explanation, text: str) -> Picture:
    """From the sample's number to the target's, part by part."""
    title = "From the sample to the target"
    svg = draw_svg(
        lambda ax: _same(found.plot(ax=ax)),
        size=(5.0, 1.2 + 0.34 * min(len(found.table) + 2, 14)),
        name=f"waterfall-{zlib.crc32(found.sentence.encode()):x}",
        title=title,
        text=f"How much each part contributes to the change. {text}.",
    )
    return Picture(svg, title, f"Bars with their {100 * found.confidence:g}% intervals.")


def metrics(answer: Evaluations) -> tuple[Picture, ...]:
    """Metrics of a model as observed and on the target: a panel for each scale."""
    scales: dict[str, list[Any]] = {}
    for row in answer.performances:
        scales.setdefault(_SCALES.get(row.metric, row.metric), []).append(row)
    parts = list(scales.items())[:_PANELS]
    return tuple(_panel(answer, rows, f"metrics-{k}") for k, (_, rows) in enumerate(parts))


def _panel(answer: Evaluations, rows: list[Any], name: str) -> Picture:
    several = [len({getattr(row, part) for row in answer.performances}) > 1 for part in _WHOSE]
    many = len({row.metric for row in rows}) > 1
    labels, here, there, told = [], [], [], []
    for row in rows:
        own = answer.same(row, "none")
        parts = [row.model if several[0] else "", words(row.metric) if many else ""]
        parts += [(row.group or "all") if several[1] else ""]
        labels.append(": ".join(filter(None, parts)) or words(row.metric))
        here.append((own.value, *own.interval))
        there.append((row.value, *row.interval))
        told.append(f"{labels[-1]}: {written(own.value, own)}, then {written(row.value, row)}")
    title = joined(dict.fromkeys(printable(words(row.metric), width=1000) for row in rows))
    display = ForestPlotDisplay(labels, here, there, names=("labelled rows", "target"))
    svg = draw_svg(
        lambda ax: _draw(display, ax),
        size=(4.2, 1.1 + 0.36 * min(len(rows), display.most)),
        name=name,
        title=title,
        text=f"{title} with intervals. {'; '.join(told[:_WORDS])}.",
    )
    return Picture(svg, title, f"Points with their {100 * answer.confidence:g}% intervals.")


def batches(answer: Evaluations, metric: str, text: str) -> Picture:
    """One metric of every batch of the target, in their order, beside the labelled rows."""
    title = "From batch to batch"
    svg = draw_svg(
        lambda ax: _same(answer.plot("batches", ax=ax)),
        size=(min(9.0, 3.0 + 0.5 * len(answer.batches)), 3.4),
        name="batches",
        title=title,
        text=text,
    )
    return Picture(svg, title, f"{metric[0].upper() + metric[1:]} with its intervals.")


def curves(answer: Evaluations) -> tuple[Picture, ...]:
    """Reliability and ROC curve of the first model, where it scores two classes."""
    if not answer.curves:
        return ()
    first, drawn = answer.curves[0], []
    if first.reliability is not None:
        said = zip(first.reliability.score, first.reliability.share, strict=True)
        text = "; ".join(f"{score:.2f}: {share:.2f}" for score, share in said if share == share)
        drawn.append(
            _curve(
                answer,
                "reliability",
                "Do its probabilities come true there?",
                f"Mean score and share of the class in every bin on the target. {text}.",
                "On the diagonal they do. Points with their intervals.",
            )
        )
    if first.roc is not None:
        title, caption = "How well it ranks", "The area under a curve is its AUC."
        text = f"ROC curve on the target (AUC {first.roc.auc:.3f}) and on your data."
        drawn.append(_curve(answer, "roc", title, text, caption))
    return tuple(drawn)


def _curve(
    answer: Evaluations, kind: Literal["reliability", "roc"], title: str, text: str, caption: str
) -> Picture:
    svg = draw_svg(
        lambda ax: _same(answer.plot(kind, ax=ax, model=answer.curves[0].model)),
        size=(4.4, 4.0),
        name=kind,
        title=title,
        text=text,
    )
    return Picture(svg, title, caption)


def intervals(intervals: Intervals) -> Picture:
    """Draw intervals in the order of the predictions."""
    widths = (intervals.upper - intervals.lower)[~intervals.infinite]
    said = f"quartiles of the finite widths {_quartiles(widths)}" if len(widths) else "none finite"
    title = "Intervals, in the order of the predictions"
    svg = draw_svg(
        lambda ax: _same(intervals.plot(ax=ax)),
        size=(6.4, 3.6),
        name="intervals",
        title=title,
        text=f"{len(intervals):,} prediction intervals of coverage {intervals.coverage:.0%}: "
        f"{said}; {intervals.share_infinite:.1%} are infinite.",
    )
    return Picture(svg, title, "At most 400 of them. Infinite ones reach from edge to edge.")


def love_plot(diagnosis: Diagnosis, *, most: int = 30, prefix: str = "") -> Picture:
    """Mean differences before and after the correction; ``prefix`` is that of the ids."""
    features = diagnosis.features
    before = [feature.smd for feature in features]
    after = None
    if diagnosis.weights is not None:
        after = [feature.smd_corrected for feature in features]
    display = LovePlotDisplay([feature.name for feature in features], before, after, most=most)
    order = np.argsort(-np.abs(np.array(before)), kind="stable")
    said = [f"{features[k].name} {before[k]:+.2f}" for k in order[:_WORDS]]
    if after is not None:
        said = [f"{text}, then {after[k]:+.2f}" for text, k in zip(said, order, strict=False)]
    shown = min(len(features), display.most)
    title = "How far the means are apart"
    return Picture(
        draw_svg(
            lambda ax: _draw(display, ax),
            size=(5.0, 1.4 + 0.27 * shown),
            name=f"{prefix}love",
            title=title,
            text="Love plot. Standardised mean differences, as sampled"
            + ("" if after is None else ", then corrected")
            + f": {'; '.join(said)}"
            + (" and more." if len(order) > _WORDS else "."),
        ),
        title,
        "Difference of the means in units of the pooled standard deviation; within the grey band "
        "(0.1) it is usually considered negligible."
        + (f" The {shown} largest of {len(features)}." if len(features) > shown else ""),
    )


def published_numbers(diagnosis: MarginsDiagnosis) -> Picture:
    """Every number of the margins, in the target, the sample, and the weighted sample."""
    display = MarginsDisplay.of(diagnosis)
    numbers = sorted(diagnosis.numbers, key=lambda number: -abs(number.gap))
    said = []
    for number in numbers[:_WORDS]:
        form = "{:.1%}" if number.is_share else "{:.4g}"
        text = f"{number.what}: target {form.format(number.target)}, sample "
        text += form.format(number.sample)
        if number.corrected is not None:
            text += f", corrected {form.format(number.corrected)}"
        said.append(text)
    shown = min(len(numbers), display.most)
    title = "How far the sample is from the published numbers"
    return Picture(
        draw_svg(
            lambda ax: _draw(display, ax),
            size=(6.6, 1.4 + 0.27 * shown),
            name="published",
            title=title,
            text="Dot plot of the published numbers, the largest differences first. "
            + "; ".join(said)
            + ("; and more." if len(numbers) > _WORDS else "."),
        ),
        title,
        "A correction works where the square lies on the target's mark."
        + (f" The {shown} largest differences of {len(numbers)}." if len(numbers) > shown else ""),
    )


def distribution_functions(
    diagnosis: Diagnosis, *, most: int | None = None, prefix: str = ""
) -> list[Picture]:
    """Training, target and corrected training, for the features that differ most."""
    assert diagnosis.summary is not None
    found = []
    for part in diagnosis.summary.distributions[:most]:
        feature = diagnosis.features[part.feature]
        title, text, caption = _of_feature(part, feature)
        display = ECDFDisplay.of(part)
        svg = draw_svg(
            lambda ax, display=display: _draw(display, ax),  # type: ignore[misc]
            size=(4.6, 3.1),
            name=f"{prefix}ecdf{part.feature}",
            title=title,
            text=text,
        )
        found.append(Picture(svg, feature.name, caption))
    return found


def _of_feature(part: Distribution, feature: FeatureShift) -> tuple[str, str, str]:
    """Title, text and caption of the picture of one feature."""
    energy = f"energy distance {feature.energy:.3f}"
    if feature.kind == "category":
        text = (
            f"Share that differs most: {feature.detail}; total variation distance {feature.ks:.2f}."
        )
        return f"Levels of {feature.name}", text, f"Distance {feature.ks:.3f}, {energy}"
    form = as_date if part.dates else readable
    train, target = (", ".join(map(form, quartiles)) for quartiles in part.quartiles)
    text = (
        f"Quartiles of the training rows {train}, of the target rows {target}; "
        f"largest vertical distance {feature.ks:.2f}."
    )
    return (
        f"Distribution functions of {feature.name}",
        text,
        f"KS distance {feature.ks:.3f}, {energy}",
    )


def weight_histogram(weights: Real) -> Picture:
    """Histogram of the weights."""
    display = WeightsDisplay(weights)
    size, N = display.effective_sample_size, len(weights)
    title = "Weights of the training rows"
    svg = draw_svg(
        lambda ax: _draw(display, ax),
        size=(5.0, 3.3),
        name="weights",
        title=title,
        text=f"Histogram of {N:,} weights of mean one. Effective sample size {size:,.0f} "
        f"({size / N:.0%}); the largest weight is {display.weights.max():.3g}; "
        f"{np.mean(display.weights < 0.01):.0%} of the rows have a weight below 0.01.",
    )
    return Picture(svg, title, f"As precise as {size:,.0f} equally weighted rows.")


def overlap_map(diagnosis: Diagnosis) -> Picture:
    """Both samples in the plane of the two features that differ most."""
    assert diagnosis.summary is not None
    plane = diagnosis.summary.plane
    outside = diagnosis.support.outside
    share = "" if outside is None else f" {outside:.1%} of the target lies outside the support."
    title = "Where the two samples lie"

    def draw(ax: Any) -> None:
        OverlapDisplay(plane.train, plane.target, plane.labels).plot(ax)
        for dates, axis in zip(plane.dates, (ax.xaxis, ax.yaxis), strict=True):
            if dates:
                write_dates(axis)

    svg = draw_svg(
        draw,
        size=(5.0, 4.0),
        name="overlap",
        title=title,
        text="Scatter plot of training and target rows in the two features that differ most: "
        f"{', '.join(feature.name for feature in diagnosis.worst[:2])}.{share}",
    )
    return Picture(
        svg, title, "At most 400 rows of each sample, in the two features that differ most."
    )


def _quartiles(values: Real) -> str:
    return ", ".join(map(readable, np.quantile(values, [0.25, 0.5, 0.75])))


def _draw(display: Any, ax: Any) -> None:
    display.plot(ax)


def _same(display: Any) -> None:
    """Drawn already, by its classmethod."""

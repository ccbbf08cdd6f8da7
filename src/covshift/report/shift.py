"""The shift of two samples as a page shows it: the diagnosis, the weights, and what they leave."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from ..data.features import FeatureColumns
from ..data.row_weights import check_weight
from ..data.two_samples import TwoSamples, two_samples
from ..diagnostics import Diagnosis
from ..diagnostics.measure import diagnose_samples
from ..diagnostics.verdict import Verdict
from ..exceptions import InputTypeError
from ..numerics.array import Real
from ..numerics.distances import Known, feature_differences, known_rows
from ..plot.distributions import two_values
from ..show.table import Cell, Table
from ..show.words import as_date, printable, readable
from ..weights.design import kish
from .sections import of_weights, sizes_of

PLAIN: dict[Verdict, str] = {
    "no shift": "The sample looks like the target: there is nothing to correct.",
    "correctable": "The sample differs from the target, and weights can make up for it: rows of a "
    "kind that is too rare in the sample count more, the others less.",
    "strong": "The sample differs so much from the target that corrected numbers rest on few rows. "
    "Use them with care.",
    "no overlap": "Part of the target is unlike anything in the sample. Nothing that is computed "
    "from this sample can tell what happens there.",
}
"""Verdicts for a reader who knows no statistics."""


@dataclass(frozen=True)
class Shift:
    """Two samples, what `covshift.diagnose` says of them, and weights of the training rows."""

    samples: TwoSamples
    diagnosis: Diagnosis
    weights: Real | None
    weights_name: str | None  # what made them
    after: Real | None  # differences of the means that they leave
    means: Table
    most: int | None = None  # columns shown, those that differ most; None: all

    def facts(self) -> dict[str, Any]:
        """What the templates ask for."""
        found = self.weights
        return {
            "d": self.diagnosis,
            "verdict_words": PLAIN[self.diagnosis.verdict],
            "weights_name": self.weights_name,
            "effective": None if found is None else kish(found),
            "worst_gap": self._worst_gap(),
            "means": self.means,
            "features": self._features(),
            "sizes": sizes_of(self.diagnosis),
        }

    def numbers(self) -> dict[str, Any]:
        """The same as plain data."""
        found, d = self.weights, self.diagnosis
        kept = [k for k, feature in enumerate(d.features) if feature in d.worst[: self.most]]
        return {
            "diagnosis": replace(d, features=tuple(d.features[k] for k in kept)).to_dict(),
            "means": self.means.data(),
            "corrected": None if self.after is None else self.after[kept],
            "weights": None if found is None else {"by": self.weights_name, **of_weights(found)},
        }

    def _features(self) -> Table:
        """The distances of all columns, and what the weights leave of them."""
        d, after = self.diagnosis, self.after
        left = [None] * len(d.features) if after is None else list(after)
        features = tuple(
            replace(feature, smd_corrected=value)
            for feature, value in zip(d.features, left, strict=True)
        )
        category = any(feature.kind == "category" for feature in features)
        return replace(
            replace(d, features=features).table,
            title="Distances",
            about="All columns, the largest Kolmogorov–Smirnov (KS) distance first. p-values are "
            "corrected for the number of columns (Holm). SMD: standardised mean difference, target "
            "minus training"
            + ("" if after is None else f"; corrected: with {self.weights_name}")
            + ". Beyond range: share of the target outside the training values."
            + " Of a category the distance is the total variation of the shares of its levels; "
            "below its name stands the level that differs most, training → target." * category,
            most=None,
        )

    def _worst_gap(self) -> str:
        """Name of the feature that leaves most of the target without training rows."""
        for part in self.diagnosis.support.uncovered[:1]:
            return next(f.name for f in self.samples.features if part.column in f.columns)
        return ""


def shift_of(
    X: Any,
    X_target: Any,
    *,
    weights: Any = None,
    weights_name: str | None = None,
    diagnosis: Any = None,
    feature_names: Any = None,
    sample_weight: Any = None,
    target_weight: Any = None,
    groups: Any = None,
    date_names: Collection[str] | None = None,
    most: int | None = None,
    random_state: int = 0,
) -> Shift:
    """Compare two samples, with the parameters of `build`; ``most`` columns are shown."""
    samples = _with_printable_names(
        two_samples(
            X,
            X_target,
            target_weight,
            feature_names,
            sample_weight=sample_weight,
            groups=groups,
        )
    )
    if date_names is not None:
        days = {printable(name, width=1000) for name in date_names}
        columns = (k for k, name in enumerate(samples.names) if name in days)
        samples = replace(samples, dates=frozenset(columns))
    found: Real | None = None
    if diagnosis is None:
        diagnosis, found = diagnose_samples(samples, random_state=random_state)
    elif not isinstance(diagnosis, Diagnosis):
        raise InputTypeError(
            f"diagnosis={diagnosis!r:.80} is none of rows. Pass what covshift.diagnose found."
        )
    name = "CDFWeights"
    if weights is not None:
        found = check_weight(weights, _num_samples(X), "weights", of="X")[samples.rows]
        name = weights_name or "the given weights"
    after = None if found is None else feature_differences(samples, found)
    means = means_of(samples, diagnosis, found, name, most)
    by = None if found is None else name
    return Shift(samples, diagnosis, found, by, after, means, most)


def _with_printable_names(samples: TwoSamples) -> TwoSamples:
    """Write control characters out, which neither HTML nor SVG can hold."""
    made = [
        (printable(name, width=1000), None if level is None else printable(level, width=1000))
        for name, level in samples.made
    ]
    names = tuple(printable(name, width=1000) for name in samples.names)
    return replace(samples, names=names, made=made)


# The table that needs no statistics: means and shares in the sample, weighted, in the target.


_LEVELS = 12  # of a category that are shown


def means_of(
    samples: TwoSamples,
    diagnosis: Diagnosis,
    weights: Real | None,
    by: str,
    most: int | None = None,
) -> Table:
    """Mean of every number and share of every level, the columns that differ most first.

    Rows in which a value is missing have no part in its mean. ``by`` is what made the weights.
    Cost O((N + M) n).
    """
    index = {id(feature): k for k, feature in enumerate(diagnosis.features)}
    lines: list[tuple[Cell, ...]] = []
    for shift in diagnosis.worst[:most]:
        feature = samples.features[index[id(shift)]]
        part = known_rows(feature, samples)
        if part is None:  # never known in one of the samples
            continue
        w = part.own if weights is None else weights[part.rows]
        if w.any():
            lines += _lines(samples, feature, part, w / w.max() / (w / w.max()).sum())
    head: tuple[str, ...] = ("mean or share", "sample", "weighted", "target")
    about = f"Weighted: with {by}; a correction works where it comes close to the target."
    if most is not None and most < len(diagnosis.features):
        about += f" The {most} columns of {len(diagnosis.features)} that differ most."
    if weights is None:
        head, about = (*head[:2], head[3]), ""
        lines = [(*line[:2], line[3]) for line in lines]
    return Table.of(head, lines, title="Means and shares", about=about)


def _lines(
    samples: TwoSamples, feature: FeatureColumns, part: Known, w: Real
) -> Iterator[tuple[Cell, ...]]:
    def line(
        name: str, k: int, form: Callable[[float], str], of: float = np.nan
    ) -> tuple[Cell, ...]:
        rows = (part.X[:, k], part.own), (part.X[:, k], w), (part.T[:, k], part.share)
        numbers = [
            float(share @ (values if np.isnan(of) else values == of)) for values, share in rows
        ]
        return (Cell(name), *(Cell(form(number), number) for number in numbers))

    if feature.kind == "category":
        lines = [
            line(f"{feature.name} = {level}", k, _share) for k, level in enumerate(feature.levels)
        ]
        yield from _largest(lines)
        if len(lines) > _LEVELS:
            yield Cell(f"{feature.name}: {len(lines) - _LEVELS} more levels"), *[Cell("")] * 3
    elif feature.kind == "missing":
        yield line(feature.name, 0, _share)
    elif (both := two_values(part)) is not None:
        yield line(f"{feature.name} = {readable(both[1])}", 0, _share, both[1])
    else:
        for k, column in enumerate(feature.columns):
            form = as_date if column in samples.dates else readable
            yield line(samples.names[column], k, form)


def _largest(lines: list[tuple[Cell, ...]]) -> list[tuple[Cell, ...]]:
    """The levels that are most frequent in the target, in their order."""
    order = sorted(range(len(lines)), key=lambda k: -(lines[k][3].value or 0.0))
    return [lines[k] for k in sorted(order[:_LEVELS])]


def _share(value: float) -> str:
    return f"{value:.1%}"

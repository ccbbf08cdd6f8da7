"""The table that needs no statistics: means and shares in the sample, weighted, in the target."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from .._distances import Known, known_rows
from .._feature_columns import FeatureColumns
from .._two_samples import TwoSamples
from .._types import Real
from ..diagnostics import Diagnosis
from ..plot.ecdf import two_values
from ..show.table import Cell, Table
from ..show.words import as_date, readable

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

"""What pictures and pages show of two samples: a few numbers of each feature, and a few rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from ..data import Samples
from ..data.features import FeatureColumns
from ..numerics.array import Real
from ..show.words import printable, readable
from .coverage import Support
from .distances import Known, distances, known_rows
from .features import FeatureShift

_DRAWN = 6  # features whose distributions are kept
_POINTS = 400  # rows of each sample in the plane
_LEVELS = 12  # of a category whose shares are kept
_MOST_STEPS = 400  # of a curve: finer steps cannot be seen


class Distribution(NamedTuple):
    """One feature in both samples, and in the weighted training sample.

    ``curves`` holds, of "training", "target" and, with weights, "corrected", distinct values and
    the share of the sample up to and including each. With ``levels``, of a category or a column of
    two values, it holds the numbers of the levels and their shares.
    """

    feature: int  # its number
    name: str
    curves: dict[str, tuple[Real, Real]]
    levels: tuple[str, ...] = ()
    dates: bool = False  # whether the values are days since 1970-01-01
    quartiles: tuple[tuple[float, ...], ...] = ()  # of the training and of the target rows


class Mean(NamedTuple):
    """Mean of a number or share of a level, in the sample, the weighted sample and the target."""

    feature: int
    what: str
    kind: Literal["share", "number", "date", "more levels"]
    sample: float | None = None
    weighted: float | None = None  # with the sample's own weights where there are no others
    target: float | None = None


class Plane(NamedTuple):
    """A few rows of both samples in the two columns that differ most."""

    train: Real  # (at most 400, 2)
    target: Real
    labels: tuple[str, str]
    dates: tuple[bool, bool]


@dataclass(frozen=True, eq=False)
class Summary:
    """What a report shows of two samples beside their distances; its size is not theirs."""

    means: tuple[Mean, ...]  # the features that differ most first
    distributions: tuple[Distribution, ...]  # of those that differ most
    plane: Plane
    uncovered: str  # the feature that leaves most of the target without training rows, or nothing


def summarised(
    samples: Samples,
    features: Sequence[FeatureShift],
    weights: Real | None,
    support: Support,
    random_state: int,
) -> Summary:
    """Summarise both samples; ``weights`` (N,) are final ones. Cost O((N + M) n)."""
    shown = _with_printable_names(samples)
    order = sorted(range(len(features)), key=lambda k: (-features[k].ks, -abs(features[k].smd)))
    drawn = [k for k in order if not features[k].constant][:_DRAWN]
    project, labels = most_shifted(shown, features)
    days = {shown.names[k] for k in shown.dates}
    return Summary(
        tuple(mean for k in order for mean in _means(shown, k, weights)),
        tuple(_small(distribution_of(shown, k, weights)) for k in drawn),
        Plane(
            *some_rows(shown, project, _POINTS, random_state),
            labels,
            (labels[0] in days, labels[1] in days),
        ),
        next(
            (
                feature.name
                for part in support.uncovered[:1]
                for feature in shown.features
                if part.column in feature.columns
            ),
            "",
        ),
    )


def _with_printable_names(samples: Samples) -> Samples:
    """Write control characters out, which neither HTML nor SVG can hold."""
    made = [
        (printable(name, width=1000), None if level is None else printable(level, width=1000))
        for name, level in samples.made
    ]
    names = tuple(printable(name, width=1000) for name in samples.names)
    return replace(samples, names=names, made=made)


# Distribution functions, and shares of levels.


def distribution_of(samples: Samples, number: int, weights: Real | None) -> Distribution:
    """Return the curves of the feature of this number, or the shares of its levels."""
    feature = samples.features[number]
    part = known_rows(feature, samples)
    first = feature.columns[0]
    if part is None:  # never known in one of the samples: as it was filled
        k = [first]
        part = Known(samples.X[:, k], samples.T[:, k], samples.own, samples.share, slice(None))
    rows = {"training": (part.X, part.own), "target": (part.T, part.share)}
    if weights is not None:
        w = weights[part.rows]
        if w.any():
            rows["corrected"] = (part.X, _shares(w))
    if feature.kind == "category":
        bars = {kind: _levels(values, share) for kind, (values, share) in rows.items()}
        others = max(float(heights[-1]) for _, heights in bars.values()) > 1e-12
        last = "others" if len(feature.levels) > 1 else f"not {feature.levels[0]}"
        levels = (*feature.levels, *([last] if others else []))
        bars = {kind: (at[: len(levels)], h[: len(levels)]) for kind, (at, h) in bars.items()}
        return Distribution(number, feature.name, bars, levels)
    quartiles = tuple(
        tuple(np.quantile(values[:, first], [0.25, 0.5, 0.75]).tolist())
        for values in (samples.X, samples.T)
    )
    both, dates = two_values(part), first in samples.dates
    if both is not None:
        bars = {kind: _two(values[:, 0], share, both) for kind, (values, share) in rows.items()}
        levels = readable(both[0]), readable(both[1])
        return Distribution(number, feature.name, bars, levels, dates, quartiles)
    curves = {kind: _curve(values[:, 0], share) for kind, (values, share) in rows.items()}
    return Distribution(number, feature.name, curves, (), dates, quartiles)


def two_values(part: Known) -> tuple[float, float] | None:
    """Return the two values of a single column, such as 0 and 1; None where it has more, or one."""
    if part.X.shape[1] != 1:
        return None
    low = min(float(part.X.min()), float(part.T.min()))
    high = max(float(part.X.max()), float(part.T.max()))
    if low == high or any(((rows != low) & (rows != high)).any() for rows in (part.X, part.T)):
        return None
    return low, high


def _shares(w: Real) -> Real:
    w = w / w.max()
    return np.asarray(w / w.sum())


def _two(values: Real, share: Real, both: tuple[float, float]) -> tuple[Real, Real]:
    """Numbers of the two values and their shares."""
    return np.arange(2.0), np.array([float(share @ (values == value)) for value in both])


def _curve(values: Real, share: Real) -> tuple[Real, Real]:
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    last = np.append(ordered[1:] != ordered[:-1], True)
    return ordered[last], np.minimum(np.cumsum(share[order])[last], 1.0)


def _levels(columns: Real, share: Real) -> tuple[Real, Real]:
    """Numbers of the levels and their shares; last, of rows in none of them."""
    found = share @ columns
    return np.arange(len(found) + 1.0), np.append(found, max(0.0, 1.0 - float(found.sum())))


def _small(distribution: Distribution) -> Distribution:
    if distribution.levels:
        return distribution
    return distribution._replace(
        curves={kind: thinned(*curve) for kind, curve in distribution.curves.items()}
    )


def thinned(values: Real, heights: Real) -> tuple[Real, Real]:
    """Leave steps out that are too small to be seen."""
    if len(values) <= _MOST_STEPS:
        return values, heights
    at = np.searchsorted(heights, np.linspace(heights[0], heights[-1], _MOST_STEPS))
    keep = np.unique(np.concatenate([[0], np.minimum(at, len(values) - 1), [len(values) - 1]]))
    return values[keep], heights[keep]


# Means and shares, for readers who know no statistics.


def _means(samples: Samples, number: int, weights: Real | None) -> Iterator[Mean]:
    """Mean of a number, or share of every level; rows in which a value is missing have no part."""
    feature = samples.features[number]
    part = known_rows(feature, samples)
    if part is None:  # never known in one of the samples
        return
    w = part.own if weights is None else weights[part.rows]
    if not w.any():
        return
    found = list(_lines(samples, number, feature, part, _shares(w)))
    if feature.kind != "category":
        yield from found
        return
    order = sorted(range(len(found)), key=lambda k: -(found[k].target or 0.0))
    yield from (found[k] for k in sorted(order[:_LEVELS]))  # most frequent in the target
    if len(found) > _LEVELS:
        more = f"{feature.name}: {len(found) - _LEVELS} more levels"
        yield Mean(number, more, "more levels")


def _lines(
    samples: Samples, number: int, feature: FeatureColumns, part: Known, w: Real
) -> Iterator[Mean]:
    def line(what: str, k: int, kind: Any, of: float | None = None) -> Mean:
        rows = (part.X[:, k], part.own), (part.X[:, k], w), (part.T[:, k], part.share)
        numbers = (float(share @ (x if of is None else x == of)) for x, share in rows)
        return Mean(number, what, kind, *numbers)

    if feature.kind == "category":
        for k, level in enumerate(feature.levels):
            yield line(f"{feature.name} = {level}", k, "share")
    elif feature.kind == "missing":
        yield line(feature.name, 0, "share")
    elif (both := two_values(part)) is not None:
        yield line(f"{feature.name} = {readable(both[1])}", 0, "share", both[1])
    else:
        for k, column in enumerate(feature.columns):
            kind = "date" if column in samples.dates else "number"
            yield line(samples.names[column], k, kind)


# The plane of the two columns that differ most.


def most_shifted(
    samples: Samples, features: Sequence[FeatureShift] | None = None
) -> tuple[Callable[[Real], Real], tuple[str, str]]:
    """Return what projects rows to the two columns of largest distance, and their names.

    ``features`` are the distances that are known already.
    """
    share = samples.share
    apart = np.full(samples.X.shape[1], np.nan)
    if features is not None and samples.sample_weight is None:
        for feature, found in zip(samples.features, features, strict=True):
            if feature.kind == "number" and feature.gaps is None and len(feature.columns) == 1:
                apart[feature.columns[0]] = found.ks
    for k in np.flatnonzero(np.isnan(apart)):
        apart[k] = distances(samples.X[:, k], samples.T[:, k], share).ks
    # One column of each feature: of a category the level that differs most.
    each = [
        feature.columns[int(np.argmax(apart[[*feature.columns]]))] for feature in samples.features
    ]
    first, *rest = np.array(each)[np.argsort(-apart[each], kind="stable")]
    if not rest:  # one feature: against a scatter that only separates the points
        return _jittered(int(first)), (samples.names[first], "(scattered at random)")
    pair = [int(first), int(rest[0])]
    return lambda rows: rows[:, pair], (samples.names[pair[0]], samples.names[pair[1]])


def _jittered(column: int) -> Callable[[Real], Real]:
    rng = np.random.default_rng(0)
    return lambda rows: np.column_stack([rows[:, column], rng.uniform(size=len(rows))])


def some_rows(
    samples: Samples, project: Callable[[Real], Real], most: int, random_state: int
) -> tuple[Real, Real]:
    """Draw at most ``most`` rows of each sample, target rows by their weights, and project them."""
    rng = np.random.default_rng(random_state)
    rows = rng.permutation(len(samples.X))[:most]
    share = samples.share
    count = min(most, len(share))
    chosen = rng.choice(len(share), count, replace=samples.target_weight is not None, p=share)
    return project(samples.X[rows]), project(samples.T[chosen])

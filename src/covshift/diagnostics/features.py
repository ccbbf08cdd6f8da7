"""One line of the diagnosis for each feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._distances import distances, feature_differences, known_rows
from .._feature_columns import FeatureColumns, Kind
from .._holm import holm
from .._two_samples import TwoSamples
from .._types import Real
from ..show.table import Record
from ..show.words import percent
from ..weights._design import kish
from .categories import chi_square_p_value, level_shares
from .ks import ks_p_value


@dataclass(frozen=True)
class FeatureShift(Record):
    """How one feature differs between the samples.

    ``smd`` is the standardised mean difference, target minus training, and ``smd_corrected`` the
    same with the training rows weighted by `CDFWeights` (None where no weights were found);
    infinite where the feature is constant in each sample, at different values. ``ks`` is the
    Kolmogorov-Smirnov distance and ``p_value`` its p-value, given the ties and corrected by Holm's
    method for the number of features. ``energy`` is the energy distance in units of the pooled
    standard deviation. ``outside_range`` is the share of the target beyond the training values.

    ``kind`` is "number", "category", or "missing" for the share of rows without a value. Of a
    category ``smd`` is the largest over its levels, ``ks`` the total variation distance of the
    shares of the levels (equal to the Kolmogorov-Smirnov distance for two), ``p_value`` that of a
    chi-square test, ``energy`` the root mean square over the levels and ``outside_range`` the share
    of the target in levels without training rows. ``level`` is the one whose share differs most,
    ``level_train`` and ``level_target`` its shares in training and target; also of a mark of
    missing values. A number is compared where it is known.
    """

    name: str
    smd: float
    smd_corrected: float | None
    ks: float
    p_value: float
    energy: float
    outside_range: float
    constant: bool
    kind: Kind = "number"
    level: str | None = None
    level_train: float | None = None
    level_target: float | None = None

    @property
    def detail(self) -> str:
        """The level whose share differs most, in words; empty for a number.

        >>> FeatureShift("town", 1, 0, 0.2, 0, 1, 0, False, "category", "Bern", 0.1, 0.3).detail
        'Bern 10% → 30%'
        """
        if self.level is None or self.level_train is None or self.level_target is None:
            return ""
        return f"{self.level} {percent(self.level_train)} → {percent(self.level_target)}"


def feature_shifts(
    samples: TwoSamples, weights: Real | None, outside_range: Real
) -> tuple[FeatureShift, ...]:
    """Compare every feature; ``weights`` (N,), final ones, give the corrected differences.

    ``outside_range`` (features,) are the shares of the target beyond the training values.
    """
    smd = feature_differences(samples)
    after = None if weights is None else feature_differences(samples, weights)
    found = [_compared(feature, samples) for feature in samples.features]
    p_values = holm(np.array([part.p_value for part in found]))
    return tuple(
        FeatureShift(
            feature.name,
            float(smd[k]),
            None if after is None else float(after[k]),
            found[k].distance,
            float(p_values[k]),
            found[k].energy,
            float(outside_range[k]),
            _is_constant(samples, feature),
            feature.kind,
            found[k].level,
            *found[k].shares,
        )
        for k, feature in enumerate(samples.features)
    )


class _Compared(NamedTuple):
    distance: float
    p_value: float
    energy: float
    level: str | None = None
    shares: tuple[float | None, float | None] = (None, None)


def _compared(feature: FeatureColumns, samples: TwoSamples) -> _Compared:
    part = known_rows(feature, samples)
    if part is None:  # never known in one of the samples: its mark of gaps tells
        return _Compared(0.0, 1.0, 0.0)
    size, columns = kish(part.share), range(part.X.shape[1])
    apart = [distances(part.X[:, k], part.T[:, k], part.share, own=part.own) for k in columns]
    energy = apart[0].energy
    if len(columns) > 1:
        energy = float(np.sqrt(np.mean([one.energy**2 for one in apart])))
    if feature.kind == "category" and len(columns) > 1:
        levels = level_shares(feature.levels, part.X, part.T, part.own, part.share)
        p_value = chi_square_p_value(levels.train, levels.target, kish(part.own), size)
        k = levels.most_shifted
        shares = float(levels.train[k]), float(levels.target[k])
        return _Compared(levels.distance, p_value, energy, levels.names[k], shares)
    own = part.own if samples.sample_weight is not None else None
    single = [ks_p_value(part.X[:, k], part.T[:, k], part.share, size, own) for k in columns]
    p_value = min(1.0, len(columns) * min(single))
    found = _Compared(max(one.ks for one in apart), p_value, energy)
    if feature.kind == "number":
        return found
    level = "missing" if feature.kind == "missing" else feature.levels[0]
    shares = float(part.own @ part.X[:, 0]), float(part.share @ part.T[:, 0])
    return found._replace(level=level, shares=shares)


def _is_constant(samples: TwoSamples, feature: FeatureColumns) -> bool:
    columns = list(feature.columns)
    first = samples.X[0, columns]
    return bool((samples.X[:, columns] == first).all() and (samples.T[:, columns] == first).all())

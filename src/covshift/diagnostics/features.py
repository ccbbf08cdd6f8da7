"""One line of the diagnosis for each feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..data import Samples
from ..data.features import FeatureColumns, Kind
from ..data.row_weights import kish
from ..numerics.array import Real
from ..numerics.statistics import holm
from ..show.table import Record
from ..show.words import percent
from .distances import distances, feature_differences, known_rows
from .levels import chi_square_p_value, level_shares
from .numbers import number_p_value


@dataclass(frozen=True)
class FeatureShift(Record):
    """How one feature differs between the samples.

    ``smd`` is the standardised mean difference, target minus training, and ``smd_corrected`` the
    same with the training rows weighted by `Diagnosis.weights` (None where there are none);
    infinite where the feature is constant in each sample, at different values. ``ks`` is the
    Kolmogorov-Smirnov distance. ``p_value`` is that of two tests, of this distance and of location
    (`number_p_value`), given the ties and corrected by Holm's method for the number of features.
    ``energy`` is the energy distance in units of the pooled
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
    samples: Samples, weights: Real | None, outside_range: Real
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


def _compared(feature: FeatureColumns, samples: Samples) -> _Compared:
    part = known_rows(feature, samples)
    if part is None:  # never known in one of the samples: its mark of gaps tells
        return _Compared(0.0, 1.0, 0.0)
    size, columns = kish(part.share), range(part.X.shape[1])
    pairs = [(part.X[:, k], part.T[:, k], part.share) for k in columns]
    orders = [np.argsort(np.concatenate([x, t]), kind="stable") for x, t, _ in pairs]
    apart = [distances(*pairs[k], own=part.own, order=orders[k]) for k in columns]
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
    single = [number_p_value(*pairs[k], size, own, orders[k]) for k in columns]
    p_value = min(1.0, len(columns) * min(single))
    found = _Compared(max(one.ks for one in apart), p_value, energy)
    if feature.kind == "number":
        return found
    level = "missing" if feature.kind == "missing" else feature.levels[0]
    shares = float(part.own @ part.X[:, 0]), float(part.share @ part.T[:, 0])
    return found._replace(level=level, shares=shares)


def _is_constant(samples: Samples, feature: FeatureColumns) -> bool:
    columns = list(feature.columns)
    first = samples.X[0, columns]
    return bool((samples.X[:, columns] == first).all() and (samples.T[:, columns] == first).all())

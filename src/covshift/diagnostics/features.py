"""One line of the diagnosis for each feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._distances import distances, standardized_mean_differences
from .._holm import holm
from .._two_samples import TwoSamples
from .._types import Real
from .ks import ks_p_value


@dataclass(frozen=True)
class FeatureShift:
    """How one feature differs between the samples.

    ``smd`` is the standardised mean difference, target minus training, and ``smd_corrected`` the
    same with the training rows weighted by `CDFWeights` (None where no weights were found);
    infinite where the feature is constant in each sample, at different values. ``ks`` is the
    Kolmogorov-Smirnov distance and ``p_value`` its p-value, given the ties and corrected by Holm's
    method for the number of features. ``energy`` is the energy distance in units of the pooled
    standard deviation. ``outside_range`` is the share of the target beyond the training values.
    """

    name: str
    smd: float
    smd_corrected: float | None
    ks: float
    p_value: float
    energy: float
    outside_range: float
    constant: bool


def feature_shifts(
    samples: TwoSamples, weights: Real | None, outside_range: Real
) -> tuple[FeatureShift, ...]:
    """Compare every feature; ``weights`` (N,), final ones, give the corrected differences."""
    X, T, share, own = samples.X, samples.T, samples.share, samples.own
    smd = standardized_mean_differences(X, T, share, own=own)
    after = None
    if weights is not None:
        after = standardized_mean_differences(X, T, share, weights, own)
    found = [distances(X[:, k], T[:, k], share, own=own) for k in range(X.shape[1])]
    size, given = samples.target_size, None if samples.sample_weight is None else own
    single = [ks_p_value(X[:, k], T[:, k], share, size, given) for k in range(X.shape[1])]
    p_values = holm(np.array(single))
    constant = (X == X[0]).all(axis=0) & (T == X[0]).all(axis=0)
    return tuple(
        FeatureShift(
            name,
            float(smd[k]),
            None if after is None else float(after[k]),
            found[k].ks,
            float(p_values[k]),
            found[k].energy,
            float(outside_range[k]),
            bool(constant[k]),
        )
        for k, name in enumerate(samples.names)
    )

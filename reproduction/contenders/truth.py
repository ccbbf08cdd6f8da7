"""A reference that no user has: the true density ratio as weights."""

from __future__ import annotations

import numpy as np

from covshift.numerics.array import Real

from .base import ByWeights, Options, Sample


class _Truth(ByWeights):
    def weights(self, sample: Sample, options: Options, seed: int) -> Real:
        return np.asarray(sample.density_ratio / sample.density_ratio.mean())


CONTENDERS = [_Truth("truth", "true density ratio", "known by construction")]

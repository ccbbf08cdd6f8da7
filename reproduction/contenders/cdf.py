"""Ours: weights under which the training rows have the target's distribution functions."""

from __future__ import annotations

from typing import Any

from covshift.weights import CDFWeights

from .base import ByWeights, Options, Sample


class _Cdf(ByWeights):
    def weighter(self, sample: Sample, options: Options, seed: int) -> Any:
        return CDFWeights(reg=options["reg"], allow_no_overlap=True)


CONTENDERS = [_Cdf("cdf", "CDF weights", "ours")]

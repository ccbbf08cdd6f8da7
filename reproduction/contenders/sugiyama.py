"""Sugiyama's flattened weights: the ratio of kernel density estimates to the power tau."""

from __future__ import annotations

from typing import Any

from covshift.weights import KDE

from .base import ByWeights, Options, Sample


class _Sugiyama(ByWeights):
    def weighter(self, sample: Sample, options: Options, seed: int) -> Any:
        return KDE(width=options["bandwidth"], tau=options["tau"])


CONTENDERS = [_Sugiyama("sugiyama", "Sugiyama (KDE ratio, τ = 0.5)", "Sugiyama et al. 2007")]

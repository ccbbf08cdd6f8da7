"""Shimodaira's weights: the ratio of two kernel density estimates of one bandwidth."""

from __future__ import annotations

from typing import Any

from covshift.weights import KDE

from .base import ByWeights, Options, Sample


class _Shimodaira(ByWeights):
    def weighter(self, sample: Sample, options: Options, seed: int) -> Any:
        return KDE(width=options["bandwidth"])


CONTENDERS = [
    _Shimodaira("shimodaira", "Shimodaira (KDE ratio)", "Shimodaira 2000"),
    _Shimodaira("shimodaira_scott", "Shimodaira, Scott's bandwidth", "Shimodaira 2000"),
]

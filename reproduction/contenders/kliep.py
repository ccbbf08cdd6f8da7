"""KLIEP, its width by the library's cross-validated likelihood."""

from __future__ import annotations

from typing import Any

from covshift.weights import KLIEP

from .base import ByWeights, Options, Sample


class _Kliep(ByWeights):
    def weighter(self, sample: Sample, options: Options, seed: int) -> Any:
        return KLIEP(
            options.get("width", "cv"), n_centers=int(options["n_centers"]), random_state=seed
        )


CONTENDERS = [_Kliep("kliep", "KLIEP", "Sugiyama et al. 2008")]

"""uLSIF, width and penalty by the library's leave-one-out criterion."""

from __future__ import annotations

from typing import Any

from covshift.weights import ULSIF

from .base import ByWeights, Options, Sample


class _Ulsif(ByWeights):
    def weighter(self, sample: Sample, options: Options, seed: int) -> Any:
        return ULSIF(
            options.get("width", "cv"), n_centers=int(options["n_centers"]), random_state=seed
        )


CONTENDERS = [_Ulsif("ulsif", "uLSIF", "Kanamori, Hido and Sugiyama 2009")]

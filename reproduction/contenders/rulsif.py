"""RuLSIF, the bounded relative ratio; selection as for uLSIF."""

from __future__ import annotations

from typing import Any

from covshift.weights import RULSIF

from .base import ByWeights, Options, Sample


class _Rulsif(ByWeights):
    def weighter(self, sample: Sample, options: Options, seed: int) -> Any:
        return RULSIF(
            options["alpha"],
            width=options.get("width", "cv"),
            n_centers=int(options["n_centers"]),
            random_state=seed,
        )


CONTENDERS = [_Rulsif("rulsif", "RuLSIF", "Yamada et al. 2013")]

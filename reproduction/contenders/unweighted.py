"""The baseline: V = I, the ordinary squared loss."""

from __future__ import annotations

from typing import Any

from covshift.corrections import Unweighted

from .base import ByV, Options, Sample


class _Unweighted(ByV):
    def correction(self, sample: Sample, options: Options, seed: int) -> Any:
        return Unweighted()


CONTENDERS = [_Unweighted("unweighted", "unweighted, V = I")]

"""Ours, the machines' default: the symmetric V of unit diagonal, mixed with the identity."""

from __future__ import annotations

from typing import Any

from covshift.corrections import Additive

from .base import ByV, Options, Sample


class _Blended(ByV):
    def correction(self, sample: Sample, options: Options, seed: int) -> Any:
        return Additive(symmetric=True, normalize=True, blend=float(options["blend"]))


CONTENDERS = [_Blended("blended", "blended V (half identity)", "ours")]

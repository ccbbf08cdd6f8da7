"""Ours: the additive V averaged with its mirror image, on request of unit diagonal."""

from __future__ import annotations

from typing import Any

from covshift.corrections import Additive

from .base import ByV, Options, Sample


class _Symmetric(ByV):
    def correction(self, sample: Sample, options: Options, seed: int) -> Any:
        return Additive(symmetric=True, normalize=bool(options["normalize"]))


CONTENDERS = [_Symmetric("symmetric", "symmetric V", "ours")]

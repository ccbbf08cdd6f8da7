"""Vapnik's V: the target taken as uniform on the box of the features; it sees no target."""

from __future__ import annotations

from typing import Any

from covshift.corrections import Uniform

from .base import ByV, Options, Sample


class _Uniform(ByV):
    def correction(self, sample: Sample, options: Options, seed: int) -> Any:
        low, high = sample.box
        return Uniform(low=low, high=high)


CONTENDERS = [_Uniform("uniform", "uniform V (Vapnik)", "Vapnik and Izmailov 2015")]

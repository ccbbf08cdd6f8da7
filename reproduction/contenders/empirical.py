"""The paper's method in Experiments 1 and 2: the empirical V of all features together."""

from __future__ import annotations

from typing import Any

from covshift.corrections import Multiplicative

from .base import ByV, Options, Sample


class _Empirical(ByV):
    def correction(self, sample: Sample, options: Options, seed: int) -> Any:
        return Multiplicative()


CONTENDERS = [_Empirical("empirical", "empirical V (the paper)", "Mazaheri, Jain and Bruck 2020")]

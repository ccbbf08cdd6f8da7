"""The paper's method in Experiments 3 to 5: the additive V (Algorithm 2), averaged over features.

The trial multiplies it by the number of features where the setting says "summed".
"""

from __future__ import annotations

from typing import Any

from covshift.corrections import Additive

from .base import ByV, Options, Sample


class _Additive(ByV):
    def correction(self, sample: Sample, options: Options, seed: int) -> Any:
        return Additive()


CONTENDERS = [_Additive("additive", "additive V (the paper)", "Mazaheri, Jain and Bruck 2020")]

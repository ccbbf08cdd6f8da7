"""Huang's kernel mean matching, with the paper's B and epsilon, and two readings of sigma = 0.1.

As a standard deviation, k = exp(-d^2 / (2 0.01)): in many dimensions this is nearly the identity,
and the weights say nothing. As the factor of d^2, k = exp(-0.1 d^2).
"""

from __future__ import annotations

from typing import Any

from ...weights import KMM
from .base import ByWeights, Options, Sample


class _Huang(ByWeights):
    def weighter(self, sample: Sample, options: Options, seed: int) -> Any:
        gamma = options["gamma"] if "gamma" in options else 1 / (2 * options["sigma"] ** 2)
        return KMM(B=options["B"], gamma=gamma, standardize=bool(options.get("standardize")))


_SOURCE = "Huang et al. 2007"
CONTENDERS = [
    _Huang("huang", "Huang (KMM)", _SOURCE),
    _Huang("huang_median", "Huang (KMM), median width", _SOURCE),
    _Huang("huang_narrow", "Huang (KMM), σ a deviation", _SOURCE),
    _Huang("huang_wide", "Huang (KMM), σ a factor", _SOURCE),
]

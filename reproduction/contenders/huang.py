"""Huang's kernel mean matching, with the paper's B and epsilon, and two readings of sigma = 0.1.

As a standard deviation, k = exp(-d^2 / (2 0.01)): in many dimensions this is nearly the identity,
and the weights say nothing. As the factor of d^2, k = exp(-0.1 d^2).
"""

from __future__ import annotations

import math
from typing import Any

from covshift.weights import KMM

from .base import ByWeights, Options, Sample


class _Huang(ByWeights):
    def weighter(self, sample: Sample, options: Options, seed: int) -> Any:
        standardize = bool(options.get("standardize"))
        return KMM(B=options["B"], width=_width(options), standardize=standardize)


def _width(options: Options) -> Any:
    """The library's width: a standard deviation, or that of k = exp(-gamma d^2), or a rule."""
    gamma = options.get("gamma")
    if gamma is None:
        return options["sigma"]
    return gamma if isinstance(gamma, str) else 1 / math.sqrt(2 * gamma)


_SOURCE = "Huang et al. 2007"
CONTENDERS = [
    _Huang("huang", "Huang (KMM)", _SOURCE),
    _Huang("huang_median", "Huang (KMM), median width", _SOURCE),
    _Huang("huang_narrow", "Huang (KMM), σ a deviation", _SOURCE),
    _Huang("huang_wide", "Huang (KMM), σ a factor", _SOURCE),
]

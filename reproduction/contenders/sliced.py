"""Ours: distribution functions along random directions; symmetric, of unit diagonal."""

from __future__ import annotations

from typing import Any

from covshift.corrections import Sliced

from .base import ByV, Options, Sample


class _Sliced(ByV):
    def correction(self, sample: Sample, options: Options, seed: int) -> Any:
        n_directions = int(options["n_directions"])
        return Sliced(n_directions, random_state=seed, symmetric=True, normalize=True)


CONTENDERS = [_Sliced("sliced", "sliced V", "ours")]

"""Seeds from names: the same trial has the same numbers in any run, in any order."""

from __future__ import annotations

import zlib

import numpy as np


def seed_of(root: int, *names: str | int) -> int:
    """A seed from a root and from words or numbers, through `numpy.random.SeedSequence`."""
    words = [name if isinstance(name, int) else zlib.crc32(name.encode()) for name in names]
    return int(np.random.SeedSequence([root, *words]).generate_state(1)[0])

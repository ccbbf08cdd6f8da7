"""Weighters by name."""

from __future__ import annotations

from typing import Any

from .base import Weighter
from .cdf.weighter import CDFWeights
from .discriminative import Discriminative
from .energy import EnergyWeights
from .entropy import EntropyBalancing
from .gaussian import GaussianRatio
from .kde import KDE
from .kliep import KLIEP
from .kmm import KMM
from .neighbors import NearestNeighbors
from .ulsif import RULSIF, ULSIF

WEIGHTERS: dict[str, type[Weighter]] = {
    "kde": KDE,
    "gaussian": GaussianRatio,
    "kmm": KMM,
    "kliep": KLIEP,
    "ulsif": ULSIF,
    "rulsif": RULSIF,
    "discriminative": Discriminative,
    "neighbors": NearestNeighbors,
    "energy": EnergyWeights,
    "entropy": EntropyBalancing,
    "cdf": CDFWeights,
}
"""The weighters that a name stands for."""


def as_weighter(weighter: Any) -> Any:
    """Return the weighter that a name stands for, or the object itself.

    >>> from covshift.weights import as_weighter
    >>> as_weighter("rulsif")
    RULSIF()
    """
    if isinstance(weighter, str):
        if weighter not in WEIGHTERS:
            raise ValueError(
                f"weighter={weighter!r} is unknown. Choose one of "
                f"{', '.join(map(repr, WEIGHTERS))}, or pass an object of covshift.weights."
            )
        return WEIGHTERS[weighter]()
    if isinstance(weighter, type) or not hasattr(weighter, "fit"):
        raise TypeError(
            f"weighter={weighter!r} has no usable fit(X, X_target=...). Pass a name or an instance "
            "such as covshift.weights.KLIEP()."
        )
    return weighter

"""Weights that make a training sample look like the target: by name or as objects."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

from ..exceptions import InputError, InputTypeError
from ..registry import Names, WeighterEntry
from ..show.words import meant
from .base import Weighter, effective_sample_size
from .cdf.weighter import CDFWeights
from .discriminative import Discriminative
from .energy import EnergyWeights
from .entropy import EntropyBalancing
from .gaussian import GaussianRatio
from .kde import KDE
from .kliep import KLIEP
from .kmm import KMM
from .neighbors import NearestNeighbors
from .poststratification import PostStratification
from .raking import Raking
from .shift import cdf_mismatch
from .tilted import TiltedCDFWeights
from .ulsif import RULSIF, ULSIF

__all__ = [
    "KDE",
    "KLIEP",
    "KMM",
    "RULSIF",
    "ULSIF",
    "WEIGHTERS",
    "CDFWeights",
    "Discriminative",
    "EnergyWeights",
    "EntropyBalancing",
    "GaussianRatio",
    "NearestNeighbors",
    "PostStratification",
    "Raking",
    "TiltedCDFWeights",
    "Weighter",
    "as_weighter",
    "cdf_mismatch",
    "effective_sample_size",
]


# Weighters by name, as the registry has them.


WEIGHTERS: Mapping[str, type[Weighter]] = Names(WeighterEntry)
"""The weighters that a name stands for."""


def as_weighter(weighter: Any) -> Any:
    """Return the weighter that a name stands for, or the object itself.

    >>> from covshift.weights import as_weighter
    >>> as_weighter("rulsif")
    RULSIF()
    """
    if isinstance(weighter, str):
        if weighter not in WEIGHTERS:
            raise InputError(
                f"weighter={weighter!r} is unknown.{meant(weighter, WEIGHTERS)} Choose one of "
                f"{', '.join(map(repr, WEIGHTERS))}, or pass an object of covshift.weights."
            )
        return WEIGHTERS[weighter]()
    if isinstance(weighter, type) or not _takes_target(weighter):
        raise InputTypeError(
            f"weighter={weighter!r} has no usable fit(X, X_target=...). Pass a name or an instance "
            "such as covshift.weights.KLIEP()."
        )
    return weighter


def _takes_target(weighter: Any) -> bool:
    """Whether fit takes X_target, by name or among any others."""
    try:
        taken = signature(weighter.fit).parameters.values()
    except (AttributeError, TypeError, ValueError):  # no method, or none that tells
        return callable(getattr(weighter, "fit", None))
    return any(one.name == "X_target" or one.kind is one.VAR_KEYWORD for one in taken)

"""Weighters by name, as the registry has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._registry import Names, WeighterEntry
from ..exceptions import InputError, InputTypeError
from .base import Weighter

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
                f"weighter={weighter!r} is unknown. Choose one of "
                f"{', '.join(map(repr, WEIGHTERS))}, or pass an object of covshift.weights."
            )
        return WEIGHTERS[weighter]()
    if isinstance(weighter, type) or not hasattr(weighter, "fit"):
        raise InputTypeError(
            f"weighter={weighter!r} has no usable fit(X, X_target=...). Pass a name or an instance "
            "such as covshift.weights.KLIEP()."
        )
    return weighter

"""The one door: both samples, checked, aligned and encoded once."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .groups import Groups
    from .samples import Samples

__all__ = ["Groups", "Samples"]


def __getattr__(name: str) -> Any:  # lazily: what is below them needs other modules of this room
    if name in __all__:
        return getattr(import_module(f"{__name__}.{name.lower()}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""What a long computation says before it begins."""

from __future__ import annotations

import warnings

from .exceptions import SlowWarning

LONG = 30.0  # seconds that deserve a word


def warn_if_slow(what: str, seconds: float, instead: str, *, stacklevel: int) -> None:
    """Say how long ``what`` will take, where that is long, and what to use instead.

    ``seconds`` are those of one core of 2024; ``stacklevel`` is that of the caller.
    """
    if seconds > LONG:
        text = f"{what} will take about {_said(seconds)}. {instead}"
        warnings.warn(text, SlowWarning, stacklevel=stacklevel + 1)


def _said(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.0f} h"

"""What a fit says when it makes somebody wait."""

from __future__ import annotations

import warnings

from .._compiled import Loop, has_numba
from .._slow import LONG
from ..exceptions import SlowWarning
from .cuts import add_moments
from .search import search


def label(name: str, *, exact: bool) -> str:
    """Return what the progress bar is called: it stands still while numba compiles."""
    loop: Loop = search if exact else add_moments
    return f"{name} (compiling first, once)" if has_numba() and not loop.is_at_hand() else name


def warn_if_long(name: str, seconds: float, rounds: int, *, exact: bool) -> None:
    """Warn after a first round of ``seconds`` if the fit will take long for want of numba."""
    if has_numba() or not exact or seconds * rounds <= LONG:
        return
    warnings.warn(
        f"{name} runs without numba: {rounds} rounds will take about {seconds * rounds:.0f} s, "
        "some ten times as long as with it. Install it with: pip install numba; or use "
        'leaf_solve="approximate", which takes seconds either way.',
        SlowWarning,
        stacklevel=5,  # whoever called fit
    )

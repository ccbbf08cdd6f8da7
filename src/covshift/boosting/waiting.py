"""What a fit says when it makes somebody wait."""

from __future__ import annotations

import warnings

from .._compiled import Loop, has_numba
from .._slow import LONG
from ..exceptions import SlowWarning
from .cuts import add_moments
from .search import search

_LONG_WITH_NUMBA = 120.0  # seconds: of a busy machine the first rounds say less


def label(name: str, *, exact: bool) -> str:
    """Return what the progress bar is called: it stands still while numba compiles."""
    loop: Loop = search if exact else add_moments
    return f"{name} (compiling first, once)" if has_numba() and not loop.is_at_hand() else name


def judged_after() -> int:
    """Rounds before the one whose time counts: in the first one numba may compile."""
    return 1 if has_numba() else 0


def warn_if_long(name: str, seconds: float, rounds: int, *, exact: bool) -> None:
    """Warn after a round of ``seconds`` if the fit will take long, for want of numba or not."""
    total = seconds * rounds
    if not exact or total <= (_LONG_WITH_NUMBA if has_numba() else LONG):
        return
    takes = f"{rounds} rounds will take about {total:.0f} s"
    other = 'use leaf_solve="approximate", which takes seconds either way'
    if has_numba():
        text = f"{name}: {takes}. To make it short, {other}, or fewer columns."
    else:
        text = (
            f"{name} runs without numba: {takes}, some ten times as long as with it. Install it "
            f"with: pip install numba; or {other}."
        )
    warnings.warn(text, SlowWarning, stacklevel=5)  # whoever called fit

"""Loops that numba compiles where it is installed (the extra "fast").

A loop is plain Python on NumPy arrays, so it can also be run, slowly, without numba: the tests do.
Whoever calls one has a NumPy way as well, and asks `has_numba` which to take. Compiled code is kept
on disk between runs where numba finds a place to write.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

ALLOWED = True
"""Whether numba is used where it is installed; the tests say no to compare."""


def has_numba() -> bool:
    """Whether loops are compiled: numba is installed. Asking does not import it."""
    return ALLOWED and _installed()


@cache
def _installed() -> bool:
    return find_spec("numba") is not None


class Loop:
    """A loop that is compiled when first called; ``python`` is the loop as written.

    Compiled, it leaves the interpreter free, so that threads can share the work.
    """

    def __init__(self, python: Callable[..., Any]) -> None:
        self.python = python
        self._compiled: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        if self._compiled is None:
            self._compiled = _compile(self.python)
        return self._compiled(*arguments)


def _compile(python: Callable[..., Any]) -> Callable[..., Any]:
    njit = import_module("numba").njit
    try:
        compiled: Callable[..., Any] = njit(cache=True, nogil=True, error_model="numpy")(python)
    except RuntimeError:  # numba finds no directory to keep it in
        compiled = njit(nogil=True, error_model="numpy")(python)
    return compiled

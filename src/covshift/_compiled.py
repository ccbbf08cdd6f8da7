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
from pathlib import Path
from types import FunctionType
from typing import Any

ALLOWED = True
"""Whether numba is used where it is installed; the tests say no to compare."""


def has_numba() -> bool:
    """Whether loops are compiled: numba is installed. Asking does not import it."""
    return ALLOWED and _installed()


@cache
def _installed() -> bool:
    return find_spec("numba") is not None


_shared: dict[Callable[..., Any], Callable[..., Any]] = {}  # helpers, once for all loops


class Loop:
    """A loop that is compiled when first called; ``python`` is the loop as written.

    Compiled, it leaves the interpreter free, so that threads can share the work. ``helpers`` are
    the plain functions that it calls, each after those that it calls itself, by the names they have
    in its module; numba does not see when they alone change, so after that clear `__pycache__`.
    """

    def __init__(
        self, python: Callable[..., Any], helpers: tuple[Callable[..., Any], ...] = ()
    ) -> None:
        self.python, self._helpers = python, helpers
        self._compiled: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        return (self._compiled or self._function())(*arguments)

    def is_at_hand(self) -> bool:
        """Whether it was compiled before, by this process or by one that kept it on disk."""
        function: Any = self._function()
        if function.signatures:
            return True
        kept = Path(function.stats.cache_path or "")
        return function.stats.cache_path is not None and any(
            kept.glob(f"*.{self.python.__qualname__}-*.nbi")
        )

    def _function(self) -> Callable[..., Any]:
        if self._compiled is None:
            known: dict[str, Any] = {}
            for helper in self._helpers:
                if helper not in _shared:
                    _shared[helper] = _compile(_with_globals(helper, known))
                known[helper.__name__] = _shared[helper]
            self._compiled = _compile(_with_globals(self.python, known))
        return self._compiled


def _with_globals(python: Callable[..., Any], known: dict[str, Any]) -> Callable[..., Any]:
    """Return the same function, with compiled helpers in the place of plain ones."""
    if not known:
        return python
    assert isinstance(python, FunctionType)
    copied = FunctionType(python.__code__, {**python.__globals__, **known}, python.__name__)
    copied.__qualname__, copied.__module__ = python.__qualname__, python.__module__
    return copied


def _compile(python: Callable[..., Any]) -> Callable[..., Any]:
    njit = import_module("numba").njit
    # Sums may be taken in another order, several numbers at a time.
    options = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract"}}
    try:
        compiled: Callable[..., Any] = njit(cache=True, **options)(python)
    except RuntimeError:  # numba finds no directory to keep it in
        compiled = njit(**options)(python)
    return compiled

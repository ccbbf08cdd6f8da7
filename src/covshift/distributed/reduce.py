"""Rows in parts and one reduce over them: blocks read one by one, or partitions of a cluster.

What a part gives is a plain value or None, and values combine in any order. In turn one sum is held
and one part; in pairs few are held, and errors grow with the depth of the tree alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any, Protocol

from ..exceptions import InputError
from ..machine.primal import combine

Join = Callable[[Iterable[Any]], Any]


class Rows(Protocol):
    """Parts (X, y, weight) of some rows."""

    def total(self, function: Callable[..., Any], *shared: Any, join: Join = ...) -> Any:
        """Join what ``function(X, y, weight, *shared)`` returns for every part; None is nothing."""
        ...


class Blocks:
    """Blocks (X, y) or (X, y, weight) that a function yields."""

    def __init__(self, make: Callable[[], Iterable[Any]], of: str = "") -> None:
        self.make, self._of = make, of

    def total(self, function: Callable[..., Any], *shared: Any, join: Join | None = None) -> Any:
        return (join or in_turn)(self._each(function, shared))

    def _each(self, function: Callable[..., Any], shared: tuple[Any, ...]) -> Iterator[Any]:
        for number, (X, y, *weight) in enumerate(self.make()):
            with named(f"block {number}{self._of}"):
                yield function(X, y, weight[0] if weight else None, *shared)


def combined(one: Any, other: Any) -> Any:
    """Add what two sets of rows give."""
    if isinstance(one, dict):
        return combine(one, other)
    return one.combine(other) if hasattr(one, "combine") else one + other


def in_turn(values: Iterable[Any], add: Callable[[Any, Any], Any] = combined) -> Any:
    """Add values as they come; None of none."""
    there = (value for value in values if value is not None)
    first = next(there, None)
    return None if first is None else reduce(add, there, first)


def in_pairs(values: Iterable[Any]) -> Any:
    """Add values in a binary tree as they come, log2(values) held at most; None of none."""
    levels: list[Any] = []
    for value in values:
        if value is None:
            continue
        carried = value
        for level, held in enumerate(levels):
            if held is None:
                levels[level] = carried
                break
            carried, levels[level] = combined(held, carried), None
        else:
            levels.append(carried)
    return in_turn(levels, lambda one, other: combined(other, one))


@contextmanager
def named(part: str) -> Iterator[None]:
    """Say in which part an error arose."""
    try:
        yield
    except ValueError as error:
        raise InputError(f"In {part}: {error}") from error

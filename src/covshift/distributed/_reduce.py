"""Add up partial results in a tree: few are held at a time, and errors grow with the depth only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from ..exceptions import InputError

Value = TypeVar("Value")


def tree_reduce(
    values: Iterable[Value | None], combine: Callable[[Value, Value], Value], *, what: str
) -> Value:
    """Combine values that arrive one by one in a binary tree; None is nothing.

    At most log2(values) partial results are held. ``what`` has no rows where nothing arrives.
    """
    levels: list[Value | None] = []
    for value in values:
        if value is None:
            continue
        carried = value
        for level, held in enumerate(levels):
            if held is None:
                levels[level] = carried
                break
            carried, levels[level] = combine(held, carried), None
        else:
            levels.append(carried)
    total: Value | None = None
    for held in levels:
        if held is not None:
            total = held if total is None else combine(held, total)
    if total is None:
        raise InputError(f"{what} has no rows of positive weight: sample_weight is zero.")
    return total

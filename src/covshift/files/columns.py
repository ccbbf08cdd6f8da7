"""Columns with a role, and those that margins know, as arrays.

What a feature is that could be read in two ways is decided where both samples are there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.values import days_of, is_iso
from ..encoding.cells import Cells
from ..encoding.words import TRUTHS, are_truths
from ..numerics.array import Real
from .spelling import Kind as Kind

_FALSE, _TRUE = "false", "true"


@dataclass(frozen=True)
class Column:
    """One column: float64 with NaN for missing cells, or objects with None for them.

    Booleans are 0.0 and 1.0, dates days since 1970-01-01; ``levels`` are those of an ordered
    category, lowest first, or the words for 0 and 1 of a boolean.
    """

    name: str
    kind: Kind
    values: NDArray[Any]
    levels: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def cells(self) -> Cells:
        """The column as the encoder takes it."""
        kind: Any = self.kind
        if self.values.dtype == object:
            return Cells.of_text(self.name, kind, self.values.tolist(), self.levels)
        return Cells(self.name, kind, self.values)


def text_column(name: str, values: NDArray[Any]) -> Column:
    """Return a column of text as what all its cells say it is."""
    levels = {value for value in values if value is not None}
    if not levels:
        return Column(name, "category", values)
    if are_truths(levels):
        return _truths(name, values, levels)
    if all(map(is_iso, levels)):
        day = {level: days_of(level) for level in levels}
        return Column(name, "date", floats([day.get(value, np.nan) for value in values]))
    return Column(name, "category", values)


def _truths(name: str, values: NDArray[Any], levels: set[str]) -> Column:
    truth: dict[str | None, float] = {level: TRUTHS[level.lower()] for level in levels}
    numbers = floats([truth.get(value, np.nan) for value in values])
    words = ("no", "yes") if next(iter(levels)).lower() in ("no", "yes") else (_FALSE, _TRUE)
    shown = {truth[level]: level for level in sorted(levels, reverse=True)}
    pair = (shown.get(0.0, words[0]), shown.get(1.0, words[1]))
    return Column(name, "boolean", numbers, levels=pair)


def objects(values: Sequence[Any]) -> NDArray[Any]:
    """Return an array of Python objects."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def floats(values: Sequence[Any]) -> Real:
    """Return an array of numbers."""
    return np.array(values, dtype=np.float64)

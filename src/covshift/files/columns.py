"""What a column is: number, boolean, category, ordered category, date or text (an id).

What a column is must not depend on luck. Numbers are numbers in every row; text is text; whatever
could be read in two ways (dates that are not ISO dates, codes with leading zeros, numbers stored as
text, numbers with a few words among them) keeps a `doubt`, which is decided and told later, or
asked about, unless the user declared the column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..data.values import days_of, is_iso, look_like_dates
from ..data.values import formats_of as formats_of
from ..encoding.cells import Cells
from ..encoding.learning import TRUTHS, are_truths
from ..numerics.array import Real
from .spelling import EXACT as EXACT
from .spelling import Kind as Kind
from .spelling import look_like_numbers
from .spelling import spellings as spellings
from .spelling import too_long as too_long

ID_ROWS = 20  # texts that are all different are ids, from this many on
_FALSE, _TRUE = "false", "true"


@dataclass(frozen=True)
class Doubt:
    """Why the kind of a column is uncertain."""

    kind: Literal["dates", "codes", "identifiers", "mixed", "numbers as text"]
    text: str


@dataclass(frozen=True)
class Column:
    """One column: float64 with NaN for missing cells, or objects with None for them.

    Booleans are 0.0 and 1.0, dates days since 1970-01-01; ``levels`` are those of an ordered
    category, lowest first, or the words for 0 and 1 of a boolean.
    """

    name: str
    kind: Kind
    values: NDArray[Any]
    doubt: Doubt | None = None
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


LONG_NUMBERS = Doubt(
    "identifiers", "holds whole numbers of more than 15 digits, as identifiers have them"
)


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
    doubt = doubt_of_text(levels)
    there = len(values) - sum(value is None for value in values)
    if doubt is None and len(levels) == there >= ID_ROWS:
        return Column(name, "text", values)
    return Column(name, "category", values, doubt)


def doubt_of_text(levels: set[str]) -> Doubt | None:
    """Say why a column of text may be something else than categories, or nothing."""
    if look_like_dates(levels):
        return Doubt("dates", f"holds dates or times (such as {min(levels)!r})")
    if look_like_numbers(levels):
        return Doubt("numbers as text", f"holds numbers written as text (such as {min(levels)!r})")
    return None


def as_category(column: Column) -> Column:
    """Return a column of text or booleans as categories."""
    if column.kind != "boolean":
        return replace(column, kind="category", levels=())
    low, high = column.levels or (_FALSE, _TRUE)
    words = [None if np.isnan(value) else (high if value else low) for value in column.values]
    return Column(column.name, "category", objects(words), column.doubt)


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

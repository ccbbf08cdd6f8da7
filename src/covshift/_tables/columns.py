"""What a column is: number, boolean, category, ordered category, date or text (an id).

What a column is must not depend on luck. Numbers are numbers in every row; text is text; whatever
could be read in two ways (dates that are not ISO dates, codes with leading zeros, numbers stored as
text, numbers with a few words among them) keeps a `doubt`, and is refused later unless the user
declared the column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._types import Real
from ..encoding.words import TRUTHS, are_truths
from . import dates, spelling
from .dates import days_of as days_of

Kind = Literal["number", "boolean", "category", "ordered", "date", "text"]

ID_ROWS = 20  # texts that are all different are ids, from this many on
_FALSE, _TRUE = "false", "true"


@dataclass(frozen=True)
class Doubt:
    """Why the kind of a column is uncertain."""

    kind: Literal["dates", "codes", "identifiers", "mixed", "numbers as text"]
    text: str
    example: str = ""
    remedy: str = ""  # options that read the column as what it seems to be, where there are some


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


LONG_NUMBERS = Doubt(
    "identifiers", "holds whole numbers of more than 15 digits, as identifiers have them"
)
EXACT = 2.0**53  # whole numbers beyond are not all float64


def too_long(values: Real) -> bool:
    """Whether all are whole numbers, some of more digits than a number should have."""
    finite = values[np.isfinite(values)]
    largest = float(np.abs(finite).max(initial=0))
    return EXACT < largest < 1e22 and bool((np.mod(finite, 1) == 0).all())


def text_column(name: str, values: NDArray[Any]) -> Column:
    """Return a column of text as what all its cells say it is."""
    levels = {value for value in values if value is not None}
    if not levels:
        return Column(name, "category", values)
    if are_truths(levels):
        return _truths(name, values, levels)
    if all(map(dates.is_iso, levels)):
        day = {level: dates.days_of(level) for level in levels}
        return Column(name, "date", floats([day.get(value, np.nan) for value in values]))
    doubt = doubt_of_text(name, levels)
    there = len(values) - sum(value is None for value in values)
    if doubt is None and len(levels) == there >= ID_ROWS:
        return Column(name, "text", values)
    return Column(name, "category", values, doubt)


def doubt_of_text(name: str, levels: set[str]) -> Doubt | None:
    """Say why a column of text may be something else than categories, or nothing."""
    some = min(levels, default="")
    if dates.look_like_dates(levels):
        options = [f"--date {f'{name}={form}'!r}" for form in dates.formats_of(levels)]
        remedy = " or ".join(options[:2])
        return Doubt("dates", f"holds dates or times (such as {some!r})", some, remedy)
    if spelling.look_like_numbers(levels):
        text = f"holds numbers written as text (such as {some!r})"
        return Doubt("numbers as text", text, some, spelling.advice(levels))
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

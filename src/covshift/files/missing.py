"""What stands for a missing value: in all columns or in one, and whether any cell was that."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from ..data.values import days_of
from ..numerics.array import Real
from ..show.notes import Note

if TYPE_CHECKING:
    from .reading import ReadOptions

MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None")
"""What stands for a missing value by default."""


class MissingValues:
    """What stands for a missing value in one column, and which of it was met.

    A number stands for every spelling of it: -9 for -9.0 and -9e0 as well.

    >>> missing = MissingValues(["NA", "-9"])
    >>> [cell for cell in ("NA", "-9", "-9.00", "9") if cell in missing]
    ['NA', '-9', '-9.00']
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.words = frozenset(words)
        self.met: set[str] = set()
        self._numbers = {
            float(word): word for word in self.words if is_number(word) and _is_there(word)
        }
        self.texts = self.words - {*self._numbers.values()}  # which are no numbers
        self._days: dict[float, str] = {}
        for word in self.words:
            try:
                self._days[days_of(word)] = word
            except ValueError:
                continue

    def __contains__(self, cell: str) -> bool:
        if cell in self.words:
            self.met.add(cell)
            return True
        if not self._numbers or not is_number(cell):
            return False
        word = self._numbers.get(float(cell))
        if word is not None:
            self.met.add(word)
        return word is not None

    def blank_numbers(self, values: Real) -> Real:
        """Return numbers with NaN where they stand for a missing value."""
        return self._blanked(values, self._numbers)

    def blank_days(self, values: Real) -> Real:
        """Return days with NaN where they stand for a missing value, such as 1900-01-01."""
        return self._blanked(values, self._days)

    def _blanked(self, values: Real, known: dict[float, str]) -> Real:
        copied = False
        for number, word in known.items():
            hit = values == number
            if hit.any():
                values = values if copied else values.copy()
                values[hit] = np.nan
                copied = True
                self.met.add(word)
        return values


def missing_in(name: str, reading: ReadOptions) -> MissingValues:
    """Return what stands for a missing value in the column ``name``."""
    return MissingValues(reading.missing | reading.missing_in.get(name, frozenset()))


def unmet(columns: dict[str, MissingValues], reading: ReadOptions) -> frozenset[str]:
    """Return what the user called missing and no cell was, as the option has it."""
    met = {word for column in columns.values() for word in column.met}
    asked = (reading.missing - {*MISSING}) - met
    of_columns = {
        f"{name}={word}"
        for name, words in reading.missing_in.items()
        for word in words
        if name not in columns or word not in columns[name].met
    }
    return frozenset(asked | of_columns)


def unmet_note(words: Iterable[str], titles: Iterable[str]) -> list[Note]:
    """Say that words for missing values occur nowhere."""
    shown = ", ".join(f"--missing {word!r}" for word in sorted(words))
    if not shown:
        return []
    return [Note("unmet missing values", f"{shown}: no cell of {' or '.join(titles)} is that.")]


def _is_there(word: str) -> bool:
    return not math.isnan(float(word))


def missing_words(given: list[str] | None) -> tuple[frozenset[str], dict[str, frozenset[str]]]:
    """Split what --missing says into values for all columns and values for one.

    Numbers are added to the usual words, other words replace them.

    >>> everywhere, one = missing_words(["-9", "income=0"])
    >>> "NA" in everywhere, "-9" in everywhere, one["income"]
    (True, True, frozenset({'0'}))
    >>> sorted(missing_words(["?"])[0])
    ['', '?']
    """
    everywhere: set[str] = set()
    by_column: dict[str, frozenset[str]] = {}
    for word in given or []:
        name, equals, value = word.partition("=")
        if equals and name:
            by_column[name] = by_column.get(name, frozenset()) | {value}
        else:
            everywhere.add(word)
    usual = {""} if any(not is_number(word) for word in everywhere) else set(MISSING)
    return frozenset(usual | everywhere), by_column


def is_number(text: str) -> bool:
    """Tell whether Python reads a text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text

"""How files are read, as the user or a file of ours says it, and what stands for missing values."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..numerics.array import Real
from ..show.notes import Note
from .columns import Kind, check_format, days_of


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


# How files are read: what the user said about separators, encodings and missing values.


MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None")
"""What stands for a missing value by default."""


@dataclass(frozen=True)
class ReadOptions:
    """How files are read; None: find out."""

    separator: str | None = None
    encoding: str | None = None
    missing: frozenset[str] = field(default_factory=lambda: frozenset(MISSING))
    missing_in: Mapping[str, frozenset[str]] = field(default_factory=dict)  # more, by column
    decimal: str | None = None  # "." or ","
    thousands: str | None = None  # ",", ".", "'" or a space
    dates: Mapping[str, str] = field(default_factory=dict)  # column: strptime format, not ISO
    sheet: str | None = None  # of workbooks
    sheet_option: str = "--sheet"  # that names it
    target_sheet: str | None = None  # of the target's workbook, if another
    kinds: Mapping[str, Kind] = field(default_factory=dict)  # of columns, as the user says

    def of_target(self, source: str) -> ReadOptions:
        """Return how the target is read: as the training file, unless another sheet is named."""
        named = self.target_sheet
        if named is None and book_and_sheet(source)[1] is None:
            named = self.sheet
        return replace(self, sheet=named, sheet_option="--target-sheet")


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


_SHEET = re.compile(r"(.+\.xls[xm]):([^:]+)", re.IGNORECASE | re.DOTALL)


def book_and_sheet(source: str) -> tuple[str, str | None]:
    """Return the file that a source names, and the sheet that it names after a colon, or None.

    A file that has this whole name is meant by it.

    >>> book_and_sheet("book.xlsx:Population"), book_and_sheet("book.xlsx")
    (('book.xlsx', 'Population'), ('book.xlsx', None))
    """
    found = _SHEET.fullmatch(source)
    if found is None or os.path.lexists(source):
        return source, None
    return found[1], found[2]


def title_of(source: str) -> str:
    """Name a source in messages."""
    return "standard input" if source == "-" else source


# What options say about single columns: ``COL=FORMAT`` and ``COL=LOW<HIGH``.


def named_dates(given: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that --date names.

    >>> named_dates(["day", "born=%d.%m.%Y"])
    ('day', 'born')
    """
    return tuple(_split_format(text)[0] for text in given)


def named_formats(given: Sequence[str]) -> dict[str, str]:
    """Return the formats that --date gives.

    >>> named_formats(["day", "born=%d.%m.%Y"])
    {'born': '%d.%m.%Y'}
    """
    found = {name: form for name, form in map(_split_format, given) if form}
    for name, form in found.items():
        check_format(name, form)
    return found


def _split_format(text: str) -> tuple[str, str]:
    name, _, form = text.partition("=")
    return (name, form) if name and "%" in form else (text, "")


def named_levels(given: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the levels that --ordered gives, lowest first.

    >>> named_levels(["education=low<mid<high"])
    {'education': ('low', 'mid', 'high')}
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in given:
        name, equals, rest = text.partition("=")
        levels = tuple(level.strip() for level in rest.split("<"))
        if not (name and equals) or len(levels) < 2 or not all(levels):
            raise InputError(
                f"--ordered {text!r} does not name a column and its levels, lowest first. Write it "
                "as --ordered 'education=low<mid<high'; a level that holds < needs a schema file."
            )
        repeated = {level for level in levels if levels.count(level) > 1}
        if repeated:
            raise InputError(f"--ordered {text!r} names {min(repeated)!r} more than once.")
        found[name] = levels
    return found


# How cells were read before, as model and schema files keep it: missing values, marks, dates.


_MARKS = {"decimal": (".", ","), "thousands": (",", ".", "'", " ")}


def reading_of(options: ReadOptions) -> dict[str, Any]:
    """Return what later files share with this one, as plain data; separators and encodings do not.

    >>> reading_of(ReadOptions(missing_in={"age": frozenset({"999"})}, decimal=","))
    {'decimal': ',', 'missing_in': {'age': ['999']}}
    """
    found: dict[str, Any] = {}
    if options.missing != frozenset(MISSING):
        found["missing"] = sorted(options.missing)
    for mark in _MARKS:
        if getattr(options, mark) is not None:
            found[mark] = getattr(options, mark)
    if options.missing_in:
        found["missing_in"] = {name: sorted(words) for name, words in options.missing_in.items()}
    if options.dates:
        found["dates"] = dict(options.dates)
    return found


def read_options_with(said: ReadOptions, known: Mapping[str, Any], *, told: bool) -> ReadOptions:
    """Return options with what a file knows where the user said nothing.

    ``told`` says that the user named values that are missing in all columns.
    """
    found = replace(said, dates={**known.get("dates", {}), **said.dates})
    for mark in _MARKS:
        if getattr(said, mark) is None and mark in known:
            found = replace(found, **{mark: known[mark]})
    if not told and "missing" in known:
        found = replace(found, missing=frozenset(known["missing"]))
    own = {name: frozenset(words) for name, words in known.get("missing_in", {}).items()}
    return replace(found, missing_in={**own, **said.missing_in})


def checked_reading(data: Any) -> dict[str, Any]:
    """Return plain data that `reading_of` may have written; all else is refused."""
    if not isinstance(data, dict) or not data.keys() <= {"missing", "missing_in", *_MARKS, "dates"}:
        raise InputError("a way to read cells that is unknown")
    if any(data[mark] not in known for mark, known in _MARKS.items() if mark in data):
        raise InputError("a decimal mark or one between thousands that is unknown")
    in_columns, dates = data.get("missing_in", {}), data.get("dates", {})
    lists = [data.get("missing", []), *in_columns.values(), list(dates.values())]
    if not all(isinstance(part, list) for part in lists):
        raise InputError("words that are not in a list")
    if not all(isinstance(text, str) for part in lists for text in part):
        raise InputError("a way to read cells that is not text")
    return dict(data)

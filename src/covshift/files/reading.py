"""How files are read, as the user or a file of ours says it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..exceptions import InputError
from .missing import MISSING as MISSING
from .missing import missing_words as missing_words
from .spelling import Kind, check_format


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

"""How files are read: what the user said about separators, encodings and missing values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None")
"""What stands for a missing value unless told otherwise."""


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


def title_of(source: str) -> str:
    """Name a source in messages."""
    return "standard input" if source == "-" else source

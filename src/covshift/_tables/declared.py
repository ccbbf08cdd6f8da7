"""What options say about single columns: ``COL=VALUE``, ``COL=FORMAT``, ``COL=LOW<HIGH``."""

from __future__ import annotations

from collections.abc import Sequence

from ..exceptions import InputError
from .text import MISSING


def missing_words(
    given: Sequence[str] | None,
) -> tuple[frozenset[str], dict[str, frozenset[str]]]:
    """Split what --missing says into values for all columns and values for one.

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
    usual = {""} if any(not _is_number(word) for word in everywhere) else set(MISSING)
    return frozenset(usual | everywhere), by_column


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
    found = map(_split_format, given)
    return {name: form for name, form in found if form}


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


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text

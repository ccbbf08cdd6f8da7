"""What options say about single columns: ``COL=FORMAT`` and ``COL=LOW<HIGH``."""

from __future__ import annotations

from collections.abc import Sequence

from ..exceptions import InputError
from .dates import check_format


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

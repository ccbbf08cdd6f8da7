"""Dates as text: ISO dates are read, other spellings by a format that the user gives."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from .._dates import LONGEST
from .._dates import days_of as days_of
from .._dates import is_iso as is_iso
from ..exceptions import InputError

_ANY = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].{1,30})?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}( .{1,30})?|"
    r"\d{1,2}:\d{2}(:\d{2})?|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}"
)
_DAYS = (
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%d-%b-%y"),
)
_TIMES = ("", " %H:%M", " %H:%M:%S")


def look_like_dates(levels: Iterable[str]) -> bool:
    """Tell whether every text has the form of a date or time."""
    return all(len(level) <= LONGEST and _ANY.fullmatch(level) for level in levels)


def formats_of(levels: Iterable[str]) -> list[str]:
    """Return the formats that read all these dates: two where day and month may be swapped.

    >>> formats_of(["15.11.2026", "1.2.2026"]), formats_of(["1/2/2026"])
    (['%d.%m.%Y'], ['%d/%m/%Y', '%m/%d/%Y'])
    """
    levels = list(levels)
    found = [day + time for day in _DAYS for time in _TIMES]
    for level in levels:
        found = [form for form in found if _fits(level, form)]
        if not found:
            break
    return found


def check_format(name: str, form: str) -> None:
    """Refuse a format that strptime does not know, or that names no day."""
    codes = set(re.findall(r"%(.)", form))
    known = set("dmyYbBHMSfjpI%")
    if codes - known or not codes & set("yY"):
        raise InputError(
            f"--date {name}={form}: a format such as %d.%m.%Y or '%m/%d/%Y %H:%M' is needed (day "
            "%d, month %m, year %Y or %y, hour %H, minute %M, second %S)."
        )


def _fits(text: str, form: str) -> bool:
    try:
        datetime.strptime(text, form)
    except ValueError:
        return False
    return True

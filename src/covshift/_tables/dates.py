"""Dates as text: ISO dates are read, other spellings by a format that the user gives."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from ..exceptions import InputError

_ISO = re.compile(
    r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?\s?(Z|[+-]\d{2}:?\d{2})?)?"
)
_ANY = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].{1,30})?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}( .{1,30})?|"
    r"\d{1,2}:\d{2}(:\d{2})?|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}"
)
_DAYS = (
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%d-%b-%y"),
)
_TIMES = ("", " %H:%M", " %H:%M:%S")
_EPOCH = datetime(1970, 1, 1)
_LONGEST = 40


def is_iso(text: str) -> bool:
    """Tell whether a text is an ISO date, with or without a time.

    >>> is_iso("2026-11-15"), is_iso("2026-11-15 12:30"), is_iso("15.11.2026"), is_iso("2026-13-01")
    (True, True, False, False)
    """
    try:
        days_of(text)
    except ValueError:
        return False
    return True


def days_of(text: str, form: str | None = None) -> float:
    """Return days since 1970-01-01 (UTC) for an ISO date, or for one of the ``form`` given.

    >>> days_of("1970-01-03T12:00"), days_of("03.01.1970", "%d.%m.%Y")
    (2.5, 2.0)
    """
    if form is not None:
        moment = datetime.strptime(text, form)
    elif len(text) <= _LONGEST and _ISO.fullmatch(text):
        moment = datetime.fromisoformat(text.replace(" +", "+").replace(" Z", "Z"))
    else:
        raise InputError(f"{text!r} is no ISO date")
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    past = moment - _EPOCH
    return past.days + (past.seconds + past.microseconds / 1e6) / 86_400


def look_like_dates(levels: Iterable[str]) -> bool:
    """Tell whether every text has the form of a date or time."""
    return all(len(level) <= _LONGEST and _ANY.fullmatch(level) for level in levels)


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

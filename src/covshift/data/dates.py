"""ISO dates as text, the same for files and for data frames."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from ..exceptions import InputError

_ISO = re.compile(
    r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?\s?(Z|[+-]\d{2}:?\d{2})?)?"
)
_EPOCH = datetime(1970, 1, 1)
LONGEST = 40  # characters of a date


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
    elif len(text) <= LONGEST and _ISO.fullmatch(text):
        moment = datetime.fromisoformat(text.replace(" +", "+").replace(" Z", "Z"))
    else:
        raise InputError(f"{text!r} is no ISO date")
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    past = moment - _EPOCH
    return past.days + (past.seconds + past.microseconds / 1e6) / 86_400

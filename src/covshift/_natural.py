"""Names in the order that people expect: "batch 2" before "batch 10", and dates in time order."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

_FORMATS = (  # of months and days, with the month in full or short; ISO dates need none
    *("%b", "%b %Y", "%Y %b", "%b-%Y", "%Y-%b", "%b %y", "%b-%y", "%m/%Y", "%m.%Y", "%m-%Y"),
    *("%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d/%m/%Y", "%d %b %Y", "%b %d, %Y"),
)
_QUARTER = re.compile(r"(?:q(?P<q>[1-4])[ -/]?(?P<y>\d{4})|(?P<Y>\d{4})[ -/]?q(?P<Q>[1-4]))", re.I)


def in_order(names: Iterable[str], shown: Callable[[str], str] = str) -> list[str]:
    """Return names by their numbers or dates where all of them are such, else in natural order.

    ``shown`` is the part of a name that tells its place, such as that of a file without its ending.

    >>> in_order(["batch 10", "batch 2"]), in_order(["Feb 2025", "Dec 2024", "Jan 2025"])
    (['batch 2', 'batch 10'], ['Dec 2024', 'Jan 2025', 'Feb 2025'])
    """
    parts = {name: shown(name) for name in names}
    places: dict[str, Any] | None = None
    for place in (_number, _quarter, *map(_date, _FORMATS)):
        places = _places(parts, place)
        if places is not None:
            break
    if places is None:
        places = {name: _natural(part) for name, part in parts.items()}
    return sorted(parts, key=lambda name: (places[name], name))


def _places(parts: dict[str, str], place: Callable[[str], Any]) -> dict[str, Any] | None:
    """Places of all names; None where one of them has none."""
    try:
        return {name: place(part) for name, part in parts.items()}
    except ValueError:
        return None


def _number(text: str) -> float:
    value = float(text)
    if math.isnan(value):
        raise ValueError(text)
    return value


def _quarter(text: str) -> tuple[int, int]:
    found = _QUARTER.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    return int(found["y"] or found["Y"]), int(found["q"] or found["Q"])


def _date(form: str) -> Callable[[str], datetime]:
    def place(text: str) -> datetime:
        try:
            return datetime.strptime(text.strip(), form)
        except ValueError:
            return datetime.strptime(text.strip(), form.replace("%b", "%B"))

    return place


def _natural(text: str) -> list[tuple[int, str]]:
    """Runs of digits as numbers, all else as text without its case."""
    parts = re.split(r"([0-9]+)", text.casefold())
    return [(int(part), "") if k % 2 else (-1, part) for k, part in enumerate(parts)]

"""Numbers, truths and dates as people and programs spell them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from ..data.values import days_of
from ..encoding.words import TRUTHS
from ..exceptions import InputError

Kind = Literal["number", "boolean", "category", "ordered", "date", "text", "outcome"]

_LONGEST = 60  # characters of a number
_COMMA = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")
_POINT = re.compile(r"[-+]?\d*\.\d+(?:[eE][-+]?\d+)?")
_GROUPS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+")
_GERMAN = re.compile(r"[-+]?\d{1,3}(?:\.\d{3})+,\d+")
_ENGLISH = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d*)?")


def truth_of(text: str) -> float:
    """Return 1.0 for true, yes and 1, 0.0 for false, no and 0; else raise a `ValueError`.

    >>> truth_of("Yes"), truth_of("0")
    (1.0, 0.0)
    """
    number = TRUTHS.get(text.lower())
    if number is None:
        number = float(text)
    if number not in (0.0, 1.0):
        raise InputError(f"{text!r} is neither true nor false")
    return number


def read_as(kind: str, text: str, form: str | None = None) -> float:
    """Read a text as a number, a boolean, or days of a date; else raise a `ValueError`."""
    if kind == "boolean":
        return truth_of(text)
    return days_of(text, form) if kind == "date" else float(text)


def plain_number(text: str, decimal: str, thousands: str | None) -> str | None:
    """Spell a number as Python does; None where it is not spelled as the user says.

    >>> plain_number("1.234,5", ",", "."), plain_number("1,5", ".", ",")
    ('1234.5', None)
    """
    found = _pattern(decimal, thousands).fullmatch(text) if len(text) <= _LONGEST else None
    if found is None or not any(map(str.isdecimal, found["whole"] + found["part"])):
        return None
    whole = found["whole"] if thousands is None else found["whole"].replace(thousands, "")
    if thousands == " ":
        whole = whole.replace("\u00a0", "").replace("\u202f", "")
    return f"{found['sign']}{whole}{found['part'].replace(decimal, '.')}{found['power'] or ''}"


def advice(levels: Iterable[str], decimal: str = ".") -> str:
    """Return the options that would read such numbers, in words; empty where none would.

    >>> advice(["1,282,697"]), advice(["1,5", "2"]), advice(["1.234,5"]), advice(["5 %"])
    ('--thousands ,', '--decimal ,', '--decimal , --thousands .', '')
    >>> advice(["1,234"])
    '--thousands , or --decimal ,'
    >>> advice(["2.000"], ",")
    '--decimal , --thousands .'
    """
    return " or ".join(spellings(levels, decimal))


def spellings(levels: Iterable[str], decimal: str = ".") -> list[str]:
    """Return the options that would read such numbers: two where a comma may be either mark.

    ``decimal`` is the mark by which they could not be read.
    """
    levels = list(levels)
    fitting = [
        options
        for mark, thousands, options in _SPELLINGS
        if decimal == "." or mark == ","
        if all(plain_number(level, mark, thousands) is not None for level in levels)
    ]
    both = fitting[:2] == [_SPELLINGS[0][2], _SPELLINGS[1][2]]
    return fitting[: 2 if both else 1]


_SPELLINGS: tuple[tuple[str, str | None, str], ...] = (
    (".", ",", "--thousands ,"),
    (",", None, "--decimal ,"),
    (",", ".", "--decimal , --thousands ."),
    (".", "'", '--thousands "\'"'),
    (".", " ", "--thousands ' '"),
    (",", " ", "--decimal , --thousands ' '"),
)


def decimal_comma(cells: Iterable[str]) -> tuple[str | None, str | None]:
    """Return the decimal mark and the thousands separator that cells show beyond doubt.

    1,5 shows a decimal comma, 1.234,5 points between thousands as well; 1,234 shows nothing, and
    a cell like 1.5 beside them leaves all in doubt.

    >>> decimal_comma(["a", "1,5"]), decimal_comma(["1.234,5"]), decimal_comma(["1,234"])
    ((',', None), (',', '.'), (None, None))
    >>> decimal_comma(["1,5", "1.5"])
    (None, None)
    """
    comma = german = False
    for cell in cells:
        cell = cell.strip()
        if len(cell) > _LONGEST or not cell[-1:].isdecimal():
            continue
        if _GERMAN.fullmatch(cell):
            german = True
        elif _COMMA.fullmatch(cell):
            comma = comma or not _GROUPS.fullmatch(cell)
        elif _ENGLISH.fullmatch(cell) or (_POINT.fullmatch(cell) and not _is_grouped(cell)):
            return None, None
    if german:
        return ",", "."
    return ("," if comma else None), None


def _is_grouped(cell: str) -> bool:
    return re.fullmatch(r"[-+]?\d{1,3}\.\d{3}", cell) is not None


@lru_cache(maxsize=32)
def _pattern(decimal: str, thousands: str | None) -> re.Pattern[str]:
    point = re.escape(decimal)
    whole = r"\d*"
    if thousands is not None:
        mark = "[ \u00a0\u202f]" if thousands == " " else re.escape(thousands)
        whole = rf"\d{{1,3}}(?:{mark}\d{{3}})+|\d*"
    return re.compile(
        rf"(?P<sign>[-+]?)(?P<whole>{whole})(?P<part>(?:{point}\d*)?)(?P<power>[eE][-+]?\d+)?"
    )


def check_format(name: str, form: str) -> None:
    """Refuse a format that strptime does not know, or that names no day."""
    codes = set(re.findall(r"%(.)", form))
    known = set("dmyYbBHMSfjpI%")
    if codes - known or not codes & set("yY"):
        raise InputError(
            f"--date {name}={form}: a format such as %d.%m.%Y or '%m/%d/%Y %H:%M' is needed (day "
            "%d, month %m, year %Y or %y, hour %H, minute %M, second %S)."
        )

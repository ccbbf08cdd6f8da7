"""What a column is: number, boolean, category, ordered category, date or text (an id).

What a column is must not depend on luck. Numbers are numbers in every row; text is text; whatever
could be read in two ways (dates that are not ISO dates, codes with leading zeros, numbers stored as
text, numbers with a few words among them) keeps a `doubt`, which is decided and told later, or
asked about, unless the user declared the column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..data.values import days_of as days_of
from ..data.values import formats_of as formats_of
from ..data.values import is_iso as is_iso
from ..data.values import look_like_dates
from ..encoding.cells import Cells
from ..encoding.learning import TRUTHS, are_truths
from ..exceptions import InputError
from ..numerics.array import Real

Kind = Literal["number", "boolean", "category", "ordered", "date", "text", "outcome"]

ID_ROWS = 20  # texts that are all different are ids, from this many on
_FALSE, _TRUE = "false", "true"


@dataclass(frozen=True)
class Doubt:
    """Why the kind of a column is uncertain."""

    kind: Literal["dates", "codes", "identifiers", "mixed", "numbers as text"]
    text: str


@dataclass(frozen=True)
class Column:
    """One column: float64 with NaN for missing cells, or objects with None for them.

    Booleans are 0.0 and 1.0, dates days since 1970-01-01; ``levels`` are those of an ordered
    category, lowest first, or the words for 0 and 1 of a boolean.
    """

    name: str
    kind: Kind
    values: NDArray[Any]
    doubt: Doubt | None = None
    levels: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def cells(self) -> Cells:
        """The column as the encoder takes it."""
        kind: Any = self.kind
        if self.values.dtype == object:
            return Cells.of_text(self.name, kind, self.values.tolist(), self.levels)
        return Cells(self.name, kind, self.values)


LONG_NUMBERS = Doubt(
    "identifiers", "holds whole numbers of more than 15 digits, as identifiers have them"
)
EXACT = 2.0**53  # whole numbers beyond are not all float64


def too_long(values: Real) -> bool:
    """Whether all are whole numbers, some of more digits than a number should have."""
    finite = values[np.isfinite(values)]
    largest = float(np.abs(finite).max(initial=0))
    return EXACT < largest < 1e22 and bool((np.mod(finite, 1) == 0).all())


def text_column(name: str, values: NDArray[Any]) -> Column:
    """Return a column of text as what all its cells say it is."""
    levels = {value for value in values if value is not None}
    if not levels:
        return Column(name, "category", values)
    if are_truths(levels):
        return _truths(name, values, levels)
    if all(map(is_iso, levels)):
        day = {level: days_of(level) for level in levels}
        return Column(name, "date", floats([day.get(value, np.nan) for value in values]))
    doubt = doubt_of_text(levels)
    there = len(values) - sum(value is None for value in values)
    if doubt is None and len(levels) == there >= ID_ROWS:
        return Column(name, "text", values)
    return Column(name, "category", values, doubt)


def doubt_of_text(levels: set[str]) -> Doubt | None:
    """Say why a column of text may be something else than categories, or nothing."""
    if look_like_dates(levels):
        return Doubt("dates", f"holds dates or times (such as {min(levels)!r})")
    if look_like_numbers(levels):
        return Doubt("numbers as text", f"holds numbers written as text (such as {min(levels)!r})")
    return None


def as_category(column: Column) -> Column:
    """Return a column of text or booleans as categories."""
    if column.kind != "boolean":
        return replace(column, kind="category", levels=())
    low, high = column.levels or (_FALSE, _TRUE)
    words = [None if np.isnan(value) else (high if value else low) for value in column.values]
    return Column(column.name, "category", objects(words), column.doubt)


def _truths(name: str, values: NDArray[Any], levels: set[str]) -> Column:
    truth: dict[str | None, float] = {level: TRUTHS[level.lower()] for level in levels}
    numbers = floats([truth.get(value, np.nan) for value in values])
    words = ("no", "yes") if next(iter(levels)).lower() in ("no", "yes") else (_FALSE, _TRUE)
    shown = {truth[level]: level for level in sorted(levels, reverse=True)}
    pair = (shown.get(0.0, words[0]), shown.get(1.0, words[1]))
    return Column(name, "boolean", numbers, levels=pair)


def objects(values: Sequence[Any]) -> NDArray[Any]:
    """Return an array of Python objects."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def floats(values: Sequence[Any]) -> Real:
    """Return an array of numbers."""
    return np.array(values, dtype=np.float64)


# Numbers and booleans as people and programs spell them.


_LONGEST = 60  # characters of a number
_LOOSE = re.compile(
    r"[-+(]?[ \u00a0]?[$€£]?[ \u00a0]?\d[\d.,' \u00a0\u202f]*(?:[%$€£][ \u00a0]?)?\)?"
)
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


def look_like_numbers(levels: Iterable[str]) -> bool:
    """Tell whether every text seems to be a number in a spelling that Python does not read."""
    return all(len(level) <= _LONGEST and _LOOSE.fullmatch(level) for level in levels)


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


# Dates as text: ISO dates are read, other spellings by a format (`covshift.data.values`).


def check_format(name: str, form: str) -> None:
    """Refuse a format that strptime does not know, or that names no day."""
    codes = set(re.findall(r"%(.)", form))
    known = set("dmyYbBHMSfjpI%")
    if codes - known or not codes & set("yY"):
        raise InputError(
            f"--date {name}={form}: a format such as %d.%m.%Y or '%m/%d/%Y %H:%M' is needed (day "
            "%d, month %m, year %Y or %y, hour %H, minute %M, second %S)."
        )

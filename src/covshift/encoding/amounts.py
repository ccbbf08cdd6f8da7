"""Numbers as people write them: $1,012 or 1.234,50 EUR, 12.5%, 30 km, 2.4M.

All cells of a column are read by one spelling, or none is: one currency or unit, one decimal mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_LONGEST = 60  # characters of an amount
_FEW = 20  # different cells, up to which 1,2 may be two answers to a question
_CURRENCY = (
    r"[$€£¥₹₩₽]|US\$|USD|EUR|GBP|CHF|JPY|INR|CNY|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR"
)
_CELL = re.compile(
    rf"(?P<open>\()?(?P<sign>[-+−]?) ?(?P<before>{_CURRENCY})? ?(?P<minus>[-−]?)"
    r"(?P<digits>\d(?:[\d.,'’ ]*\d)?|[.,]\d+)"
    rf" ?(?P<after>%|‰|°[CF]?|{_CURRENCY}|[^\W\d_][^\W\d_/.²³]{{0,14}}[²³]?)?(?P<shut>\))?"
)
_BLANKS = str.maketrans(dict.fromkeys("\u00a0\u202f\u2009", " "))
_POWERS = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9}
_MARKS = {".": ",'’ ", ",": ".'’ "}  # decimal marks, and what may stand between thousands then


class Spelling(NamedTuple):
    """How the amounts of a column are written."""

    decimal: str
    unit: str = ""  # a currency, or what follows the number
    powers: bool = False  # whether K, M and B follow the number

    def read(self, text: str) -> float | None:
        """Return the number; None where the text is not written so."""
        cell = _parts(text)
        if cell is None:
            return None
        after, factor = cell["after"] or "", 1.0
        if self.powers:
            factor = _POWERS.get(after, 0.0) if after else 1.0
            after = ""
        units = {_unit(part) for part in (cell["before"] or "", after) if part}
        number = _number(cell["digits"], self.decimal)
        if not factor or units - {self.unit} or number is None:
            return None
        negative = cell["open"] or cell["minus"] or cell["sign"] in ("-", "−")
        return (-number if negative else number) * factor


def spelling_of(words: Iterable[str]) -> Spelling | None:
    """Return the one spelling of all these words as amounts; None where there is none.

    Plain numbers are no amounts, unless others beside them are.

    >>> spelling_of(["$1,012", "$999"]), spelling_of(["1,5%", "12%"])
    (Spelling(decimal='.', unit='$', powers=False), Spelling(decimal=',', unit='%', powers=False))
    >>> spelling_of(["1.012", "7"]), spelling_of(["5 km", "3 miles"]), spelling_of(["$5", "none"])
    (None, None, None)
    """
    words = set(words)
    cells = []
    for word in words:
        cell = _parts(word)
        if cell is None:
            return None
        cells.append(cell)
    befores = {cell["before"] for cell in cells if cell["before"]}
    afters = {cell["after"] or "" for cell in cells}
    powers = afters <= {"", *_POWERS} and afters != {""} and (len(afters) > 1 or bool(befores))
    units = {_unit(part) for part in befores}
    if not powers:
        units |= {_unit(part) for part in afters if part}
    if len(units) > 1:
        return None
    unit = next(iter(units), "")
    alone = "" in afters and not powers and re.fullmatch(_CURRENCY, unit) is None
    if unit and alone:  # 7 beside 5 % may be another unit
        return None
    digits = {cell["digits"] for cell in cells}
    decimal = _decimal(digits, currency=bool(befores) or re.fullmatch(_CURRENCY, unit) is not None)
    if decimal is None or (not unit and not powers and not _is_spelled(digits, decimal)):
        return None
    spelling = Spelling(decimal, unit, powers)
    return spelling if all(spelling.read(word) is not None for word in words) else None


def _parts(text: str) -> re.Match[str] | None:
    text = text.strip().translate(_BLANKS)
    cell = _CELL.fullmatch(text) if 0 < len(text) <= _LONGEST else None
    if cell is None or bool(cell["open"]) != bool(cell["shut"]):
        return None
    if sum(map(bool, (cell["open"], cell["sign"], cell["minus"]))) > 1:
        return None
    return cell


def _unit(text: str) -> str:
    """Spell a unit in one way: year and years are the same."""
    if len(text) < 3 or re.fullmatch(_CURRENCY, text):
        return text
    return text.lower().removesuffix("s")


def _decimal(digits: set[str], *, currency: bool) -> str | None:
    """Return the decimal mark by which all can be read.

    Where both marks can, three digits after a comma are thousands; after a point they are where it
    is a ``currency``, of which nobody writes three decimals.
    """
    fitting = [mark for mark in _MARKS if all(_number(part, mark) is not None for part in digits)]
    if len(fitting) < 2:
        return fitting[0] if fitting else None
    return "," if currency and any("." in part for part in digits) else "."


def _is_spelled(digits: set[str], decimal: str) -> bool:
    """Whether digits without a unit are written otherwise than plain numbers are."""
    grouped = any(set(part) & set(_MARKS[decimal]) for part in digits)
    return grouped or (decimal == "," and len(digits) > _FEW and any("," in d for d in digits))


def _number(digits: str, decimal: str) -> float | None:
    """Read digits; None where marks stand elsewhere than between thousands."""
    whole, _, part = digits.partition(decimal)
    if part and not part.isdecimal():
        return None
    mark = next((character for character in whole if not character.isdecimal()), "")
    if mark:
        groups = whole.split(mark)
        first = groups[0].isdecimal() and len(groups[0]) <= 3 and groups[0][0] != "0"
        if mark not in _MARKS[decimal] or not first:
            return None
        if not all(len(group) == 3 and group.isdecimal() for group in groups[1:]):
            return None
    elif len(whole) > 1 and whole[0] == "0":  # a code
        return None
    return float(f"{whole.replace(mark, '') if mark else whole or '0'}.{part or '0'}")

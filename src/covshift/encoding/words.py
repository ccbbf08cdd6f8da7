"""Words that are numbers, dates, true and false, or levels in order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..data.values import days_of
from ..exceptions import InputError
from ..numerics.array import Real
from .amounts import Spelling, spelling_of
from .cells import Cells

_NUMBER = re.compile(r"[-+]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
TRUTHS = {"true": 1.0, "yes": 1.0, "1": 1.0, "false": 0.0, "no": 0.0, "0": 0.0}
_PAIRS = (frozenset({"true", "false"}), frozenset({"yes", "no"}))


def are_truths(levels: Iterable[str]) -> bool:
    """Tell whether texts are true and false, or yes and no, in any case.

    >>> are_truths(["TRUE", "False"]), are_truths(["yes"]), are_truths(["yes", "true"])
    (True, True, False)
    """
    found = {level.lower() for level in levels}
    return any(found and found <= pair for pair in _PAIRS)


def zeros_and_ones(cells: Cells) -> bool:
    """Whether a column of numbers holds no others than 0 and 1."""
    if cells.kind != "number" or cells.is_text:
        return False
    return bool(np.isin(cells.values[~cells.gaps], (0.0, 1.0)).all())


def as_truths(cells: Cells, rest: float = np.nan) -> Real:
    """Return 1 for true, yes and 1, 0 for false, no and 0, ``rest`` for other words: (rows,)."""
    if not cells.is_text:
        return cells.values
    place = {word: TRUTHS.get(word.lower(), rest) for word in cells.words}
    return cells.mapped({**place, None: np.nan}, np.nan)


def is_number(text: str) -> bool:
    """Whether a text is a number as people write it, without leading zeros."""
    return _NUMBER.fullmatch(text) is not None


def reads_as_number(text: str) -> bool:
    """Whether a text is a number, perhaps with leading zeros, as codes have them."""
    return is_number(re.sub(r"^([-+]?)0+(?=\d)", r"\1", text))


_OPEN = re.compile(
    r"(?P<from>[<>≤≥]=?)?\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<to>\+|[-–]\s*\d+(?:\.\d+)?)?"
)
_BEFORE = {"<": -2, "<=": -1, "≤": -1, ">=": 2, "≥": 2, "+": 2, ">": 3, None: 0}


def in_order(levels: Iterable[str]) -> tuple[str, ...] | None:
    """Order numbers and ranges of which some are open, such as "<5", "5-9" and "10+".

    None where none is open, or another text is among them.

    >>> in_order(["10+", "5-9", "<5"]), in_order(["1", "2"]), in_order(["1", "5+", "?"])
    (('<5', '5-9', '10+'), None, None)
    """
    place: dict[str, tuple[float, int]] = {}
    is_open = False
    for level in levels:
        read = _OPEN.fullmatch(level.strip())
        if read is None or (read["from"] and read["to"]) or read["from"] in ("≤=", "≥="):
            return None
        mark = read["from"] or ("+" if read["to"] == "+" else None)
        is_open = is_open or mark is not None
        place[level] = float(read["number"]), 1 if read["to"] and mark is None else _BEFORE[mark]
    return tuple(sorted(place, key=place.__getitem__)) if is_open and len(place) > 1 else None


_AMOUNT = r"\d+(?:[.,]\d+)*"
_BRACKET = re.compile(
    rf"(<|≤|under |below |less than |up to )? ?({_AMOUNT})(?: ?(?:-|–|to) ?{_AMOUNT})?"
    r"(?: ?\+| (?:or|and) (?:more|over|older|above))?(?: ?(?:%|years?|hours?|days?|months?))?",
    re.IGNORECASE,
)


def are_brackets(levels: Sequence[str]) -> bool:
    """Tell whether three or more labels are numbers or brackets that grow from one to the next.

    >>> are_brackets(["<5", "5-9", "10+"]), are_brackets(["1. north", "2. south", "3. west"])
    (True, False)
    """
    found = [_BRACKET.fullmatch(level) for level in levels]
    starts = [(float(re.sub(r",|\.(?=.*\.)", "", k[2])), not k[1]) for k in found if k]
    grows = all(one < other for one, other in pairwise(starts))
    return 2 < len(levels) == len(starts) and grows


def as_numbers(cells: Cells, spelling: tuple[Any, ...] = ()) -> Real:
    """Read cells as numbers, or as amounts of one ``spelling``; or refuse."""
    if not cells.is_text:
        return cells.values
    if spelling:
        amounts = {word: Spelling(*spelling).read(word) for word in cells.words}
        strange = [word for word, number in amounts.items() if number is None]
        if strange:
            raise InputError(f"Column {cells.name!r} is not such a number: {strange[0]!r}.")
        return cells.mapped(amounts, np.nan)  # type: ignore[arg-type]
    strange = [word for word in cells.words if not reads_as_number(word)]
    if strange:
        raise InputError(f"Column {cells.name!r} is not a number: {strange[0]!r}.")
    return cells.mapped({word: float(word) for word in cells.words}, np.nan)


def as_days(cells: Cells) -> Real:
    """Read cells as dates, or refuse."""
    if not cells.is_text:
        return cells.values
    try:
        return days_of_words(cells)
    except ValueError as error:
        raise InputError(f"Column {cells.name!r} is not a date: {error}.") from None


def days_of_words(cells: Cells) -> Real:
    """Days since 1970-01-01 of ISO dates; a ValueError where a word is none."""
    return cells.mapped({word: days_of(word) for word in cells.words}, np.nan)


def merged_levels(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return one order of the levels of two ordered categories, or None where there is none.

    >>> merged_levels(("low", "high"), ("low", "mid", "high"))
    ('low', 'mid', 'high')
    >>> merged_levels(("low", "high"), ("high", "low")) is None
    True
    """
    few, many = sorted((one, other), key=len)
    return many if [level for level in many if level in few] == list(few) else None


def amounts_of(pair: Iterable[Cells]) -> Spelling | None:
    """Return how both samples write amounts such as $1,012; None where a cell is something else."""
    parts = [part for part in pair if not part.empty]
    if any(part.kind not in ("category", "text", "number") for part in parts):
        return None
    return spelling_of(word for part in parts if part.is_text for word in part.words)

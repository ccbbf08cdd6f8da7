"""Words that are numbers, dates, or true and false."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from .._dates import days_of
from .._types import Real
from ..exceptions import InputError
from .cells import Cells

_NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d*)?(?:\.\d*)?(?:[eE][-+]?\d+)?")
TRUTHS = {"true": 1.0, "yes": 1.0, "1": 1.0, "false": 0.0, "no": 0.0, "0": 0.0}
_PAIRS = (frozenset({"true", "false"}), frozenset({"yes", "no"}))


def are_truths(levels: Iterable[str]) -> bool:
    """Tell whether texts are true and false, or yes and no, in any case.

    >>> are_truths(["TRUE", "False"]), are_truths(["yes"]), are_truths(["yes", "true"])
    (True, True, False)
    """
    found = {level.lower() for level in levels}
    return any(found and found <= pair for pair in _PAIRS)


def as_truths(cells: Cells, rest: float = np.nan) -> Real:
    """Return 1 for true, yes and 1, 0 for false, no and 0, ``rest`` for other words: (rows,)."""
    if not cells.is_text:
        return cells.values
    place = {word: TRUTHS.get(word.lower(), rest) for word in cells.words}
    return cells.mapped({**place, None: np.nan}, np.nan)


def is_number(text: str) -> bool:
    """Whether a text is a number as people write it, without leading zeros."""
    return _NUMBER.fullmatch(text) is not None and any(map(str.isdigit, text))


def as_numbers(cells: Cells) -> Real:
    """Read cells as numbers, or refuse."""
    if not cells.is_text:
        return cells.values
    strange = [word for word in cells.words if not is_number(word)]
    if strange:
        raise InputError(f"Column {cells.name!r} is no number: {strange[0]!r}.")
    return cells.mapped({word: float(word) for word in cells.words}, np.nan)


def as_days(cells: Cells) -> Real:
    """Read cells as dates, or refuse."""
    if not cells.is_text:
        return cells.values
    try:
        return days_of_words(cells)
    except ValueError as error:
        raise InputError(f"Column {cells.name!r} is no date: {error}.") from None


def days_of_words(cells: Cells) -> Real:
    """Days since 1970-01-01 of ISO dates; a ValueError where a word is none."""
    return cells.mapped({word: days_of(word) for word in cells.words}, np.nan)

"""Words that are numbers or dates."""

from __future__ import annotations

import re

import numpy as np

from .._dates import days_of
from .._types import Real
from ..exceptions import InputError
from .cells import Cells

_NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d*)?(?:\.\d*)?(?:[eE][-+]?\d+)?")


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

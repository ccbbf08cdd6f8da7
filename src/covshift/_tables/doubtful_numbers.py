"""Numbers that may be codes, row numbers, or hold 999 for what is missing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._types import Real
from .columns import Column, too_long
from .questions import Answer, Question, answer, joined, missing_answer
from .spelling import plain_number

_MOST_CODES = 1000  # different whole numbers that may be codes
_COUNTED = 20  # rows from which consecutive whole numbers are no accident
_ID_WORDS = re.compile(
    r"(?:^|[^a-z])(?:id|ids|rownames?|row|rownumber|index|key|identifier|uid)(?:$|[^a-z])"
)
_CODE_WORDS = re.compile(
    r"(?:^|[^a-z])(?:codes?|zip|zipcode|postcode|postal|category|cat|type|class|region|state|county|"
    r"country|district|group|gender|sex|race|ethnicity|occupation|industry|icd|iso|naics|sic|fips)"
    r"(?:$|[^a-z])"
)
_SENTINELS = {9.0, 88.0, 98.0, 99.0, 888.0, 998.0, 999.0, 8888.0, 9998.0, 9999.0}
_FAR = 3.0  # times the largest of the rest


@dataclass(frozen=True)
class Numbers:
    """The numbers of a column, NaN for all else, and the words among them."""

    values: Real
    words: frozenset[str] = frozenset()
    word_count: int = 0
    doubt: str = ""  # "codes" for leading zeros, "identifiers" for very long numbers

    @property
    def count(self) -> int:
        """How many numbers there are."""
        return int((~np.isnan(self.values)).sum())


def numbers_of(column: Column, thousands: str | None = None) -> Numbers:
    """Read a column as numbers, with this mark between ``thousands``."""
    doubt = "" if column.doubt is None else column.doubt.kind
    if column.values.dtype != object:
        return Numbers(np.asarray(column.values, dtype=np.float64), doubt=doubt)
    different = set(column.values)
    read: dict[object, float | None] = {value: _number(value, thousands) for value in different}
    found = [read[value] for value in column.values]
    values = np.array([np.nan if number is None else number for number in found])
    words = frozenset(str(value) for value, number in read.items() if number is None)
    zeros = any(isinstance(v, str) and re.match(r"[-+]?0[0-9]", v) for v in read)
    doubt = "codes" if zeros else "identifiers" if too_long(values) else ""
    return Numbers(values, words, sum(n is None for n in found), doubt)


def _number(value: object, thousands: str | None) -> float | None:
    """Return a number, NaN for a missing cell, None for a word."""
    if value is None:
        return float("nan")
    text = str(value).strip()
    if thousands is not None:
        text = plain_number(text, ".", thousands) or text
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def texts_of(column: Column) -> set[str]:
    """Different values of a column, as text."""
    if column.values.dtype == object:
        return {str(value) for value in column.values if value is not None}
    numbers = np.unique(column.values[~np.isnan(column.values)]).tolist()
    if column.kind == "boolean" and column.levels:
        return {column.levels[int(number)] for number in numbers}
    return {f"{number:g}" for number in numbers}


def number_question(
    name: str, titles: Sequence[str], numbers: tuple[Numbers, Numbers], *, free: bool
) -> Question | None:
    """Ask about a column of numbers, if there is something to ask.

    ``free`` says that no column identifies the rows yet.
    """
    where = " and ".join(dict.fromkeys(titles))
    doubts = {part.doubt for part in numbers}
    counted = _counted(numbers) or _named_id(name, numbers)
    if counted is not None:
        return Question(name, where, counted, identifiers(name, free))
    if "identifiers" in doubts:
        doubt = "holds whole numbers of more than 15 digits, as identifiers have them"
        return Question(name, where, doubt, identifiers(name, free))
    both = np.concatenate([part.values for part in numbers])
    levels = np.unique(both[np.isfinite(both)])
    if "codes" in doubts:
        doubt = "holds numbers with leading zeros, as codes have them"
        different = [len(np.unique(part.values[np.isfinite(part.values)])) for part in numbers]
        if different[0] == numbers[0].count and different[0] >= _COUNTED:
            return Question(name, where, doubt, identifiers(name, free))
        return Question(name, where, doubt, _codes(name))
    if not 2 < len(levels) <= _MOST_CODES or (np.mod(levels, 1) != 0).any():
        return None
    return _whole(name, where, levels)


def _whole(name: str, where: str, levels: Real) -> Question | None:
    """Few different whole numbers: codes by name, or with numbers like 999 among them."""
    is_code = named_as_code(name)
    gaps = sentinels(levels)
    if len(gaps) and "=" not in name:
        words = [f"{number:g}" for number in gaps]
        missing = missing_answer(name, words)
        far = "above" if gaps[-1] > 0 else "below"
        doubt = (
            f"has {', '.join(words)} far {far} the rest, as codes for missing values have it, "
            f"among {len(levels)} different whole numbers"
        )
        rest = len(levels) - len(gaps)
        numeric, categories = answer("numeric", name), answer("categorical", name)
        if is_code and rest > 2:
            return Question(
                name, where, doubt, (joined(missing, categories), joined(missing, numeric))
            )
        return Question(name, where, doubt, (missing, numeric, categories))
    if not is_code:
        return None
    doubt = f"holds {len(levels)} different whole numbers and has a name that codes have"
    return Question(name, where, doubt, _codes(name))


def identifiers(name: str, free: bool) -> tuple[Answer, ...]:
    """Return the answers about a column that seems to identify rows."""
    drop, numeric = answer("drop", name), answer("numeric", name)
    return (answer("id", name), drop, numeric) if free else (drop, numeric)


def _codes(name: str) -> tuple[Answer, ...]:
    return answer("categorical", name), answer("numeric", name), answer("drop", name)


def _named_id(name: str, numbers: tuple[Numbers, Numbers]) -> str | None:
    """Say that whole numbers, different in every row, have a name that identifiers have."""
    words = re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()
    if _ID_WORDS.search(words) is None:
        return None
    for part in numbers:
        values = part.values
        whole = np.isfinite(values).all() and (np.mod(values, 1) == 0).all()
        if len(values) < _COUNTED or not whole or len(np.unique(values)) < len(values):
            return None
    return "has different whole numbers in every row and a name that identifiers have"


def named_as_code(name: str) -> bool:
    """Whether codes have such a name, as in ``region``, ``zipCode`` or ``icd_10``."""
    words = re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()
    return _CODE_WORDS.search(words) is not None


def sentinels(levels: Real) -> list[float]:
    """Numbers like 999 far above all others, or a lone -9; they often stand for what is missing.

    >>> sentinels(np.array([1.0, 2.0, 3.0, 98.0, 99.0])), sentinels(np.array([-9.0, 0.0, 1.0]))
    ([98.0, 99.0], [-9.0])
    """
    ordered = np.sort(levels)
    for most in range(min(4, len(ordered) - 1), 0, -1):
        top, rest = ordered[-most:], ordered[:-most]
        if set(top.tolist()) <= _SENTINELS and top[0] >= _FAR * max(rest[-1], 1):
            return [float(number) for number in top]
    for most in range(min(4, len(ordered) - 1), 0, -1):
        low, rest = -ordered[:most], ordered[most:]
        if set(low.tolist()) <= _SENTINELS and rest[0] >= 0:
            return [float(-number) for number in low]
    return []


def _counted(numbers: tuple[Numbers, Numbers]) -> str | None:
    """Say that a column counts the rows: as a feature it tells any two samples apart."""
    parts = [part.values for part in numbers]
    together = [] if parts[0] is parts[1] else [np.concatenate(parts)]
    for values in (*parts, *together):
        if len(values) < _COUNTED or not np.isfinite(values).all():
            continue
        if (np.diff(np.sort(values)) == 1).all():
            return f"numbers the rows, from {values.min():g} to {values.max():g}"
    return None

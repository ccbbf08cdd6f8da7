"""Numbers that are no amounts: row identifiers, codes, numbers that stand for missing values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from ..numerics.array import Real

_MOST_CODES = 1000  # different whole numbers that may be codes
MANY_LEVELS = 50  # categories of more levels than these are doubtful
MOST_WORDS = 5  # among numbers that may all stand for missing values
COUNTED = 20  # rows from which consecutive whole numbers are no accident
_REPEATS = 20.0  # pairs of equal numbers by chance from which none at all is no accident
_ID_WORDS = re.compile(
    r"(?:^|[^a-z])(?:id|ids|rownames?|row|rownumber|index|key|identifier|uid)(?:$|[^a-z])"
    r"|^unnamed: \d+$"
)
_CODE_WORDS = re.compile(
    r"(?:^|[^a-z])(?:codes?|zip|zipcode|postcode|postal|category|cat|type|class|region|state|county|"
    r"country|district|group|gender|sex|race|ethnicity|occupation|industry|icd|iso|naics|sic|fips)"
    r"(?:$|[^a-z])"
)
_SENTINELS = {7.0, 8.0, 9.0}  # refused, unknown, no answer: alone, as 77 or 777, or as 97 and 998
_SENTINELS |= {10.0**n // 9 * last for n in (2, 3, 4) for last in (7, 8, 9)}
_SENTINELS |= {10.0**n - 10 + last for n in (2, 3, 4) for last in (7, 8)}
_FAR = 3.0  # times the largest of the rest
_AMOUNT = 100.0  # below which such a number may be a count or an age
_SEVERAL = 3  # rows from which such a number is no accident
EXACT = 2.0**53  # whole numbers beyond are not all float64
_LONGEST = 60  # characters of a number
_ZEROS = re.compile(r"[-+]?0[0-9]")
_LOOSE = re.compile(
    r"[-+(]?[ \u00a0]?[$€£]?[ \u00a0]?\d[\d.,' \u00a0\u202f]*(?:[%$€£][ \u00a0]?)?\)?"
)


def row_identifier(name: str, parts: Sequence[Real]) -> str | None:
    """Say why a column only identifies rows: as a feature it tells any two samples apart.

    ``parts`` are its numbers in both samples, which may be the same ones.
    """
    together = [] if parts[0] is parts[1] else [np.concatenate(parts)]
    for values in (*parts, *together):
        if len(values) < COUNTED or not np.isfinite(values).all():
            continue
        with np.errstate(over="ignore"):
            span = values.max() - values.min()
        if abs(span - (len(values) - 1)) > 0.5:  # sorting takes longer
            continue
        if (np.diff(np.sort(values)) == 1).all():
            counted = f"counting from {values.min():g} to {values.max():g}"
            return f"looks like a row identifier, {counted}"
    if _ID_WORDS.search(_words(name)) is None and not any(map(_crowded, parts)):
        return None
    for values in parts:
        whole = np.isfinite(values).all() and (np.mod(values, 1) == 0).all()
        if len(values) < COUNTED or not whole or len(np.unique(values)) < len(values):
            return None
    return "looks like a row identifier"


def _crowded(values: Real) -> bool:
    """Whether whole numbers between the smallest and the largest would repeat if left to chance.

    Numbers that are spread evenly repeat least, in n (n - 1) / 2 / span pairs of n.
    """
    if len(values) < COUNTED or not np.isfinite(values).all():
        return False
    with np.errstate(over="ignore"):
        pairs = len(values) * (len(values) - 1) / 2 / (values.max() - values.min() + 1)
    return bool(pairs > _REPEATS)


def code_levels(parts: Sequence[Real]) -> Real | None:
    """Return the different numbers of both samples where they may be codes, else None."""
    both = np.concatenate(parts)
    both = both[np.isfinite(both)]
    if any((np.trunc(part) != part).any() for part in (both[:100], both)):  # sorting takes longer
        return None
    levels = np.unique(both)
    return np.asarray(levels) if 2 < len(levels) <= _MOST_CODES else None


def too_many_codes(values: Real) -> bool:
    """Whether codes are too many for categories: more than half of the rows have their own."""
    return len(np.unique(values[np.isfinite(values)])) > max(MANY_LEVELS, len(values) / 2)


def named_as_code(name: str) -> bool:
    """Whether codes have such a name, as in ``region``, ``zipCode`` or ``icd_10``."""
    return _CODE_WORDS.search(_words(name)) is not None


def doubt_of_code(count: int) -> str:
    """Say why so many different numbers are codes."""
    return f"looks like a code, {count} different whole numbers"


def doubt_of_sentinels(gaps: Sequence[float], count: int) -> str:
    """Say why numbers among so many different ones stand for missing values."""
    shown, far = ", ".join(f"{number:g}" for number in gaps), "above" if gaps[-1] > 0 else "below"
    return (
        f"has {shown} far {far} the rest, which often means missing, among {count} different "
        "whole numbers"
    )


def frequent_sentinels(levels: Real, parts: Sequence[Real]) -> list[float]:
    """Return the `sentinels` of both samples' numbers; those below a hundred in several rows.

    One or two rows may as well be what they say, such as a count of 9 after 0, 1 and 2.
    """
    found = sentinels(levels)
    if max(map(abs, found), default=0.0) > _AMOUNT:
        return found
    rows = sum(int(np.isin(values, found).sum()) for values in _each_once(parts))
    return found if rows >= _SEVERAL else []


def _each_once(parts: Sequence[Real]) -> Sequence[Real]:
    """Return the samples, one of them where it stands for both."""
    return parts[:1] if parts[0] is parts[1] else parts


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


def _words(name: str) -> str:
    return re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()


def has_leading_zeros(text: str) -> bool:
    """Whether a number is written as codes are: 007."""
    return _ZEROS.match(text) is not None


def too_long(numbers: Sequence[float] | Real) -> bool:
    """Whether all are whole numbers, some of more digits than a number should have."""
    values = np.asarray(numbers, dtype=np.float64)
    finite = values[np.isfinite(values)]
    largest = float(np.abs(finite).max(initial=0))
    return EXACT < largest < 1e22 and bool((np.mod(finite, 1) == 0).all())


def look_like_numbers(words: Iterable[str]) -> bool:
    """Tell whether every text seems to be a number in a spelling that Python does not read."""
    words = list(words)
    return bool(words) and all(len(w) <= _LONGEST and _LOOSE.fullmatch(w) for w in words)

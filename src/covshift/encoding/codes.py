"""Numbers that are no amounts: row identifiers, codes, numbers that stand for missing values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..data.values import days_of, formats_of, is_iso, look_like_dates
from ..exceptions import InputError
from ..numerics.array import Flags, Real
from ..show.notes import Note
from .cells import Cells
from .learning import amounts_of, in_order, is_number, undo_by_target
from .roles import weights_by_name

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


# The same decisions about the columns of two data frames.


@dataclass
class Decisions:
    """The columns that both frames have, as what they are taken, and what was decided."""

    train: dict[str, Cells] = field(default_factory=dict)
    target: dict[str, Cells] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)


def decide(
    train: Mapping[str, Cells],
    target: Mapping[str, Cells],
    declared: Sequence[str] = (),
    kept: tuple[Flags | None, Flags | None] = (None, None),
) -> Decisions:
    """Leave out what one frame has alone, and row identifiers; find codes and their gaps.

    Of the columns ``declared`` it is known what they are; of others it is found in all rows. They
    need values in rows that are ``kept``.
    """
    shared = [name for name in train if name in target]
    if not shared:
        here, there = (", ".join(map(repr, list(part)[:10])) for part in (train, target))
        raise InputError(
            f"X and X_target share no column. X has {here}; X_target has {there}. The names in "
            "both must be the same."
        )
    made = Decisions()
    roles = ("X", "weight", train, target), ("X_target", "target weight", target, train)
    for title, role, part, other in roles:
        only = [name for name in part if name not in other]
        if only:
            text = f"Only in {title}, and left out: {', '.join(map(repr, only))}."
            made.notes.append(Note("columns of one sample", text))
        for name in only:
            weights = weights_by_name({role: part[name]}, name, undo_by_target)
            made.notes += [] if weights is None else [weights[1]]
    for name in shared:
        pair: tuple[Cells, Cells] | None = (train[name], target[name])
        if name not in declared:
            pair = _with_values(name, (_stripped(train[name]), _stripped(target[name])), kept, made)
            pair = None if pair is None else _read_dates(name, pair, made)
            pair = None if pair is None else _without_words(name, pair, made)
            pair = None if pair is None else _without_weights(name, pair, made)
            pair = None if pair is None else _decided(name, pair, made)
        if pair is not None:
            made.train[name], made.target[name] = pair
    return made


def _without_weights(
    name: str, pair: tuple[Cells, Cells], made: Decisions
) -> tuple[Cells, Cells] | None:
    """Leave out survey weights, which tell how a row was drawn and not what it is."""
    by_role = dict(zip(("weight", "target weight"), pair, strict=True))
    weights = weights_by_name(by_role, name, undo_by_target)
    if weights is None:
        return pair
    made.notes.append(weights[1])
    return None if weights[0] else pair


def _stripped(cells: Cells) -> Cells:
    """Cut blanks around words, as in files; nothing but blanks is a gap."""
    if cells.kind != "category" or all(word and word == word.strip() for word in cells.words):
        return cells
    words = [word.strip() or None for word in cells.words]
    found = (None if place < 0 else words[place] for place in cells.values.tolist())
    return Cells.of_text(cells.name, cells.kind, found)


def _with_values(
    name: str,
    pair: tuple[Cells, Cells],
    kept: tuple[Flags | None, Flags | None],
    made: Decisions,
) -> tuple[Cells, Cells] | None:
    """Leave out a column that one sample has no values of."""
    if not any(part.rows(rows).empty for part, rows in zip(pair, kept, strict=True)):
        return pair
    made.notes.append(Note("decisions", f"Left out {name!r}: has no values at all."))
    return None


def _read_dates(
    name: str, pair: tuple[Cells, Cells], made: Decisions
) -> tuple[Cells, Cells] | None:
    """Read dates like 19-Sep-03 where one format reads all of them, and else leave them out."""
    if {part.kind for part in pair} != {"category"}:
        return pair
    words = [set(part.words) for part in pair]
    doubtful = [part for part in words if look_like_dates(part) and not all(map(is_iso, part))]
    if not doubtful or in_order(set.union(*words)) is not None:
        return pair
    forms = formats_of(set.union(*words))
    done = f"Read {name!r} as dates like {forms[0]}" if len(forms) == 1 else f"Left out {name!r}"
    text = (
        f"{done}: holds dates or times (such as {min(doubtful[-1])!r}), not written as 2026-11-15; "
        f"{undo_by_target(name, 'category')} reads it as categories."
    )
    made.notes.append(Note("decisions", text))
    if len(forms) != 1:
        return None
    days = {word: days_of(word, forms[0]) for part in words for word in part}
    one, other = (Cells(name, "date", part.mapped(days, np.nan)) for part in pair)
    return one, other


def _without_words(name: str, pair: tuple[Cells, Cells], made: Decisions) -> tuple[Cells, Cells]:
    """Take a word among numbers, such as "?", for a missing value."""
    words = sorted({word for part in pair for word in part.words if not is_number(word)})
    kinds = {part.kind for part in pair}
    if not words or len(words) > MOST_WORDS or kinds - {"category", "number"} or amounts_of(pair):
        return pair
    levels = {word for part in pair for word in part.as_text().words}
    if in_order(levels) is not None or (len(words) > 1 and len(levels) <= MANY_LEVELS):
        return pair
    parts = [
        part.mapped({w: float(w) for w in part.words if w not in words}, np.nan)
        if part.is_text
        else part.values
        for part in pair
    ]
    numbers = [int((~np.isnan(values)).sum()) for values in parts]
    lost = sum(len(part) - int(part.gaps.sum()) for part in pair) - sum(numbers)
    if not all(numbers) or lost > sum(numbers):
        return pair
    text = (
        f"Read {', '.join(words)} in {name!r} as missing: holds numbers and text (such as "
        f"{words[0]!r}); {undo_by_target(name, 'category')} reads it as categories."
    )
    made.notes.append(Note("decisions", text))
    return Cells(name, "number", parts[0]), Cells(name, "number", parts[1])


def _decided(name: str, pair: tuple[Cells, Cells], made: Decisions) -> tuple[Cells, Cells] | None:
    if not pair[0].kind == pair[1].kind == "number":
        return pair
    parts = pair[0].values, pair[1].values
    as_number = undo_by_target(name, "number")

    def tell(done: str, why: str, does: str) -> None:
        made.notes.append(Note("decisions", f"{done}: {why}; {as_number} {does}."))

    why = row_identifier(name, parts)
    if why is not None:
        tell(f"Left out {name!r}", why, "uses it")
        return None
    levels = code_levels(parts)
    if levels is None:
        return pair
    gaps, code = frequent_sentinels(levels, parts), named_as_code(name)
    rest = len(levels) - len(gaps)
    if code and not gaps and too_many_codes(parts[0]):
        tell(f"Left out {name!r}", doubt_of_code(len(levels)), "uses it")
        return None
    done = f"Read {name!r} as categories"
    if gaps:
        shown = ", ".join(f"{number:g}" for number in gaps)
        done = f"Read {shown} in {name!r} as missing" + ", read it as categories" * (
            code and rest > 2
        )
        pair = _without(pair[0], gaps), _without(pair[1], gaps)
    if code and rest > 2:
        made.kinds[name] = "category"
    if gaps or code:
        why = doubt_of_sentinels(gaps, len(levels)) if gaps else doubt_of_code(len(levels))
        tell(done, why, "reads it as numbers")
    return pair


def _without(cells: Cells, gaps: Sequence[float]) -> Cells:
    return replace(cells, values=np.where(np.isin(cells.values, gaps), np.nan, cells.values))

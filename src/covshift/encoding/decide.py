"""What a column is where its type leaves that open: one decision per column, for files and frames.

Decided over all rows of both samples, before any rule is learned: what is not used (row numbers,
empty columns, weights), codes, dates, and values that stand for missing ones. A decision is data:
each front end spells in its own words what undoes it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..data.values import days_of, formats_of, is_iso, look_like_dates
from ..exceptions import InputError
from ..numerics.array import Flags, Real
from ..show.notes import Note
from . import codes
from .alike import MANY_NUMBERS
from .cells import PLURAL, Cells
from .decisions import Answer, Decision
from .learning import without_levels
from .roles import weights_by_name
from .words import (
    amounts_of,
    are_truths,
    in_order,
    is_number,
    reads_as_number,
    zeros_and_ones,
)

LARGEST = 1e100  # squares of larger numbers overflow
Pair = tuple[Cells, Cells]
Titles = tuple[str, str]
_DROP, _CATEGORY, _NUMBER = map(Answer.of, ("drop", "category", "number"))


@dataclass
class Decisions:
    """The columns that both samples have, as what they are taken, and what was decided."""

    train: dict[str, Cells] = field(default_factory=dict)
    target: dict[str, Cells] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    made: list[Decision] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)  # columns, and why


def decide(
    train: Mapping[str, Cells],
    target: Mapping[str, Cells],
    declared: Collection[str] = (),
    kept: tuple[Flags | None, Flags | None] = (None, None),
    *,
    titles: Titles = ("X", "X_target"),
    mending: bool = False,
) -> Decisions:
    """Decide about the columns of two samples, or of one that is given twice.

    Of the columns ``declared`` it is known what they are; of others it is found in all rows. They
    need values in rows that are ``kept``. With ``mending``, columns that cannot be used as they are
    (infinite numbers, numbers in one sample and text in the other) are left out or read as
    categories; else they stay, and encoding refuses them.
    """
    shared = [name for name in train if name in target]
    if not shared:
        here, there = (", ".join(map(repr, list(part)[:10])) for part in (train, target))
        raise InputError(
            f"{titles[0]} and {titles[1]} share no column. {titles[0]} has {here}; {titles[1]} has "
            f"{there}. The names in both must be the same."
            + " Published totals instead of rows are margins, such as "
            '{"columns": {"sex": {"f": 0.51, "m": 0.49}}}.' * mending
        )
    made = Decisions()
    _tell_of_one(train, target, titles, made)
    if mending and shared != [name for name in target if name in train]:
        text = f"{titles[1]} has its columns in another order; they were matched by name."
        made.notes.append(Note("order of columns", text))
    for name in shared:
        pair = _stripped(train[name]), _stripped(target[name])
        if name not in declared:
            by_role = dict(zip(("weight", "target weight"), pair, strict=True))
            weights = None if train is target else weights_by_name(by_role, name)
            if weights is not None:
                made.notes.append(weights[1])
                if weights[0]:
                    made.left_out[name] = "looks like survey weights"
                    continue
        found = None
        if mending or name not in declared:
            found = _unusable(name, pair, kept, titles if mending else None)
        if found is None and name not in declared:
            found = _doubtful(name, pair, titles if mending else None)
            found = found or _of_words(name, pair, kept[0])
        if found is not None:
            made.made.append(found)
            made.notes.append(found.note())
            pair = taken(found, pair)
            if found.taken.leaves_out:
                made.left_out[name] = found.why
                continue
            kind = found.taken.steps[-1][0]
            if kind in ("category", "number"):
                made.kinds[name] = kind
        elif name in declared:
            pair = train[name], target[name]
        made.train[name], made.target[name] = pair
    return made


def taken(decision: Decision, pair: Pair) -> Pair:
    """Return a column of both samples as it was decided, but for its kind."""
    gaps = {value for kind, value in decision.taken.steps if kind == "missing"}
    if gaps:
        pair = _without(pair[0], gaps), _without(pair[1], gaps)
    for kind, form in decision.taken.steps:
        if kind == "date":
            days: dict[Any, float] = {w: days_of(w, form) for part in pair for w in part.words}
            one, other = (Cells(c.name, "date", c.mapped(days, np.nan)) for c in pair)
            return one, other
    return pair


def _without(cells: Cells, gaps: Collection[str]) -> Cells:
    """Return cells without words that stand for missing values: as numbers, where all others are.

    Of numbers, ``gaps`` are their spellings.
    """
    if not cells.is_text:
        numbers = [float(gap) for gap in gaps if reads_as_number(gap)]
        return replace(cells, values=np.where(np.isin(cells.values, numbers), np.nan, cells.values))
    rest = [word for word in cells.words if word not in gaps]
    place: dict[Any, float] = {word: float(word) for word in rest}
    return Cells(cells.name, "number", cells.mapped(place, np.nan))


def _tell_of_one(
    train: Mapping[str, Cells],
    target: Mapping[str, Cells],
    titles: Titles,
    made: Decisions,
) -> None:
    """Name columns that one sample has alone."""
    roles = (titles[0], "weight", train, target), (titles[1], "target weight", target, train)
    for title, role, part, other in roles:
        only = [name for name in part if name not in other]
        if only:
            text = f"Only in {title}, and left out: {', '.join(map(repr, only))}."
            made.notes.append(Note("columns of one sample", text))
        for name in only:
            weights = weights_by_name({role: part[name]}, name)
            made.notes += [] if weights is None else [weights[1]]


def _stripped(cells: Cells) -> Cells:
    """Cut blanks around words, as in files; nothing but blanks is a gap."""
    if cells.kind != "category" or all(word and word == word.strip() for word in cells.words):
        return cells
    words = [word.strip() or None for word in cells.words]
    found = (None if place < 0 else words[place] for place in cells.values.tolist())
    return Cells.of_text(cells.name, cells.kind, found)


def _unusable(
    name: str, pair: Pair, kept: tuple[Flags | None, Flags | None], titles: Titles | None
) -> Decision | None:
    """Leave out a column without values; with ``titles`` also one of infinite numbers."""
    lost = [part.rows(rows).empty for part, rows in zip(pair, kept, strict=True)]
    if any(lost):
        why = "has no values at all"
        if not any(part.empty for part in pair):
            why = "has no values in the rows with an outcome"
        return Decision(name, why, _DROP, where=tuple(np.flatnonzero(lost).tolist()))
    if titles is None:
        return None
    parts = [np.zeros(0) if part.is_text else part.values for part in pair]
    infinite = [int(np.isinf(part).sum()) for part in parts]
    large = [int((np.abs(part[np.isfinite(part)]) > LARGEST).sum()) for part in parts]
    found = [f"{n} infinite {'value' if n == 1 else 'values'}" for n in infinite if n]
    found += [f"{n} numbers beyond {LARGEST:g}" for n in large if n]
    where = tuple(k for k in (0, 1) if infinite[k] or large[k])
    return Decision(name, f"has {' and '.join(found)}", _DROP, where=where) if found else None


def _doubtful(name: str, pair: Pair, titles: Titles | None) -> Decision | None:
    """Return what is decided about a column that could be read in two ways."""
    kinds = {part.kind for part in pair}
    if kinds == {"number"}:
        return _of_numbers(name, (pair[0].values, pair[1].values))
    texts = [part for part in pair if part.is_text]
    if kinds <= {"category", "number"}:
        words = {word for part in texts for word in part.words}
        levels = {word for part in pair for word in part.as_text().words}
        if amounts_of(pair) is not None or in_order(levels) is not None:
            return None
        odd = sorted(word for word in words if not reads_as_number(word))
        if not odd:
            found = _of_codes(name, words, pair)
            if found is not None or len(texts) == 2:
                return found
        if odd and len(odd) < len(words) + (len(texts) < 2):
            found = _of_mixture(name, pair, odd, levels)
            if found is not None or len(texts) == 2:
                return found
        elif odd and len(texts) == 2:
            return _of_dates(name, texts) or _of_spelling(name, texts, levels)
    return None if titles is None else _of_different(name, pair, titles)


def _of_numbers(name: str, parts: tuple[Real, Real]) -> Decision | None:
    """Find row numbers, codes, and numbers like 999 that stand for what is missing."""
    why = codes.row_identifier(name, parts)
    if why is not None:
        keep = Answer.of(("keep", "number"))
        return Decision(name, why, _DROP, (keep,), identifies=True)
    levels = codes.code_levels(parts)
    if levels is None:
        return None
    gaps, code = codes.frequent_sentinels(levels, parts), codes.named_as_code(name)
    if gaps and "=" not in name:
        shown = [("missing", f"{number:g}") for number in gaps]
        why = codes.doubt_of_sentinels(gaps, len(levels))
        if code and len(levels) - len(gaps) > 2:
            answer = Answer.of(*shown, "category")
            return Decision(name, why, answer, (_NUMBER,))
        return Decision(name, why, Answer.of(*shown), (_NUMBER, _CATEGORY))
    if not code:
        return None
    why = codes.doubt_of_code(len(levels))
    if codes.too_many_codes(parts[0]):
        return Decision(name, why, _DROP, (_NUMBER, _CATEGORY))
    return Decision(name, why, _CATEGORY, (_NUMBER, _DROP))


def _of_codes(name: str, words: set[str], pair: Pair) -> Decision | None:
    """Find codes among numbers written as text: leading zeros, and more digits than numbers have.

    Few other ones may be levels or numbers; many are numbers, as the encoder finds.
    """
    rows, different = len(pair[0]) - int(pair[0].gaps.sum()), len(pair[0].words)
    if codes.too_long([float(word) for word in words]):
        why = "looks like an identifier, with numbers of more than 15 digits"
        keep = Answer.of(("keep", "category"))
        return Decision(name, why, _DROP, (keep,), identifies=True)
    if any(map(codes.has_leading_zeros, words)):
        why = "looks like a code, with leading zeros"
        if different == rows >= codes.COUNTED:
            keep = Answer.of(("keep", "category"))
            return Decision(name, why, _DROP, (keep,), identifies=True)
        if different > max(codes.MANY_LEVELS, rows / 2):
            return Decision(name, why, _DROP, (_CATEGORY, _NUMBER))
        return Decision(name, why, _CATEGORY, (_NUMBER, _DROP))
    if pair[0].is_text and pair[1].is_text and 2 < len(words) <= MANY_NUMBERS:
        why = f"holds numbers written as text (such as {min(words)!r})"
        return Decision(name, why, _CATEGORY, (_NUMBER, _DROP))
    return None


def _of_mixture(name: str, pair: Pair, odd: list[str], levels: set[str]) -> Decision | None:
    """Take a few words among numbers, such as "?", for missing values; or all for categories."""
    if codes.look_like_numbers(odd):
        why = f"holds numbers written in two ways (such as {odd[0]!r})"
        if len(levels) <= codes.MANY_LEVELS:
            return Decision(name, why, _CATEGORY, (_DROP,))
        return Decision(name, why, _DROP, (_CATEGORY,))
    place: dict[Any, float] = dict.fromkeys(odd, np.nan)
    parts = [
        part.mapped({w: float(w) for w in part.words if w not in place}, np.nan)
        if part.is_text
        else part.values
        for part in pair
    ]
    numbers = [int((~np.isnan(values)).sum()) for values in parts]
    words = [len(p) - int(p.gaps.sum()) - n for p, n in zip(pair, numbers, strict=True)]
    where = tuple(k for k in (0, 1) if words[k])
    why = f"holds numbers and text (such as {_short(odd[0])})"
    few = len(levels) <= codes.MANY_LEVELS
    mostly = all(numbers) and sum(words) <= sum(numbers)
    if not mostly or len(odd) > codes.MOST_WORDS or "=" in name:
        both = pair[0].is_text and pair[1].is_text
        return Decision(name, why, _CATEGORY, (_DROP,), where) if few and both else None
    gaps = [("missing", word) for word in odd]
    if len(odd) > 1 and few:
        return Decision(name, why, _CATEGORY, (Answer.of(*gaps), _DROP), where)
    then = _of_numbers(name, (parts[0], parts[1]))
    if then is None:
        return Decision(name, why, Answer.of(*gaps), (_CATEGORY, _DROP), where)
    if then.taken.leaves_out:
        return then
    return Decision(name, why, Answer.of(*gaps, *then.taken.steps), (_CATEGORY, _DROP), where)


def _of_dates(name: str, texts: Sequence[Cells]) -> Decision | None:
    """Read dates like 19-Sep-03 where one format reads all of them, and else leave them out."""
    parts = [set(part.words) for part in texts]
    lost = [look_like_dates(part) and not all(map(is_iso, part)) for part in parts]
    if not any(lost):
        return None
    where = tuple(np.flatnonzero(lost).tolist())
    some = min(parts[where[-1]])
    why = f"holds dates or times (such as {some!r}), not written as 2026-11-15"
    forms = formats_of(set.union(*parts))
    dates = [Answer.of(("date", form)) for form in forms]
    if len(forms) == 1:
        return Decision(name, why, dates[0], (_CATEGORY, _DROP), where)
    return Decision(name, why, _DROP, (_CATEGORY, *dates[:2]), where)


def _of_spelling(name: str, texts: Sequence[Cells], levels: set[str]) -> Decision | None:
    """Take numbers in a spelling that may mean two things, such as 1,5, for categories, if few."""
    odd = [k for k, part in enumerate(texts) if codes.look_like_numbers(part.words)]
    if not odd:
        return None
    why = f"holds numbers written as text (such as {min(texts[odd[0]].words)!r})"
    few = len(levels) <= codes.MANY_LEVELS
    answers = (_CATEGORY, _DROP) if few else (_DROP, _CATEGORY)
    return Decision(name, why, answers[0], answers[1:], tuple(odd), numbers=tuple(sorted(levels)))


def _of_words(name: str, pair: Pair, kept: Flags | None) -> Decision | None:
    """Leave out names of rows and free text: what the encoder would have no levels of."""
    words = {word for part in pair for word in part.words}
    if not (pair[0].is_text and pair[1].is_text) or pair[0].kind == "ordered":
        return None
    if amounts_of(pair) or in_order(words) or all(map(is_iso, words)) or all(map(is_number, words)):
        return None
    found = without_levels(pair[0].rows(kept))
    if found is None:
        return None
    why, usable = found
    unique = "every row" in why
    return Decision(name, why, _DROP, (_CATEGORY,) * usable, identifies=unique, certain=True)


def _of_different(name: str, pair: Pair, titles: Titles) -> Decision | None:
    """Take what is one thing here and another there for categories that both have, or for none."""
    kinds = ["number" if p.kind == "boolean" and not p.words else p.kind for p in pair]
    kinds = ["category" if kind in ("text", "ordered") else kind for kind in kinds]
    if kinds[0] == kinds[1] or _truths(pair):
        return None
    for part, other in (pair, pair[::-1]):
        if part.kind == "date" and other.is_text and all(map(is_iso, other.words)):
            return None
    levels = [set(part.as_text().words) for part in pair]
    holds = [PLURAL[kind] for kind in kinds]
    why = f"holds {holds[0]} in {titles[0]}, but {holds[1]} in {titles[1]}"
    words = [word for part in pair for word in part.words]
    if "number" in kinds and words and all(map(is_number, words)):
        return Decision(name, why, _NUMBER, (_CATEGORY, _DROP))
    if levels[0] & levels[1] and len(levels[0] | levels[1]) <= codes.MANY_LEVELS:
        return Decision(name, why, _CATEGORY, (_DROP,))
    return Decision(name, why, _DROP, (_CATEGORY,))


def _truths(pair: Pair) -> bool:
    """Whether the words are yes and no, and the numbers are 0 and 1."""
    words = [part for part in pair if part.is_text]
    others = [part for part in pair if not part.is_text]
    if not words or not others:
        return False
    return others[0].kind == "boolean" or (are_truths(words[0].words) and zeros_and_ones(others[0]))


def _short(word: str) -> str:
    return repr(word if len(word) <= 40 else word[:39] + "…")

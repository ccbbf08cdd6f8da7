"""What each column of a table is, and the rule that makes numbers of it.

Decided from training and target rows together, without any outcome: a level or a gap that only the
target has gets its place too. The order of rows, and the names of levels, do not matter.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np

from ..data.values import days_of as days_of
from ..data.values import is_iso as is_iso
from ..exceptions import InputError
from ..numerics.array import Flags, Real
from ..show.notes import Note
from .amounts import Spelling, spelling_of
from .cells import PLURAL, Cells, spelled
from .decisions import Undo, undo_by_option
from .feature import (
    MISSING,
    MONTHS,
    OTHER,
    WEEKDAYS,
    Feature,
    Unseen,
    calendar,
    hours_of,
)

_ID_ROWS = 20  # rows from which a text that differs in every row is an identifier
_RARE_SHARE = 0.02  # of each sample; a level with few rows but more than this is not rare
_YEAR = 366.0  # days from which the season is no function of the date
_FEW_ROWS = 5  # of a level, below which it counts as rare; of free text, as no category
_RECURS = 2.25  # rows of rare levels in both samples, on average; names of rows have two
_NAMES = 50  # different texts, most of them once: names or free text rather than levels
_WARNING_SHARE = 0.05  # of the rows in joined levels, which then are corrected in part only
_MOSTLY = 0.5  # of the rows in joined levels: the other levels say little, and cost much
MANY_NUMBERS = 20  # different numbers written as text that are no codes


@dataclass(frozen=True)
class Limits:
    """When levels are joined."""

    max_levels: int
    min_rows: int


def learn(
    train: Mapping[str, Cells],
    target: Mapping[str, Cells] | None,
    *,
    kinds: Mapping[str, Any],
    limits: Limits,
    more: Mapping[str, Iterable[str]],
    kept: tuple[Flags | None, Flags | None] = (None, None),
) -> Learned:
    """Find a rule for every column of the training rows.

    ``kinds`` says what some columns are: a kind, a list of levels in order, or "drop". ``more``
    are further levels of some columns, known without rows. ``kept`` says which rows of the
    two samples are there.
    """
    found = Learned()
    blocks: dict[bytes, str] = {}
    marks: dict[bytes, str] = {}
    for name in train:
        if kinds.get(name) == "drop":
            continue
        pair = [train[name].rows(kept[0])]
        if target is not None:
            pair.append(target[name].rows(kept[1]))
        pair = _alike(name, pair, kinds.get(name), found, named=name in more)
        feature = _rule(name, pair, kinds.get(name), limits, tuple(more.get(name, ())), found)
        if feature is None:
            continue
        values = np.concatenate([feature.encode(part, Unseen()) for part in pair])
        first = blocks.setdefault(_digest(values), name)
        if first != name and name not in more:
            found.copies.append((name, first))
            continue
        feature = _without_repeated_marks(feature, values, marks, found)
        gaps = [int(part.gaps.sum()) for part in pair]
        if any(gaps) and feature.kind != "category":
            found.filled[name] = gaps[0], gaps[1] if len(gaps) > 1 else 0
        found.features.append(feature)
    return found


def _alike(
    name: str, pair: list[Cells], declared: Any, found: Learned, *, named: bool
) -> list[Cells]:
    """Make the cells of both samples one kind; refuse, by name, what cannot be.

    Levels that are ``named`` without rows, by margins, stay levels.
    """
    if declared == "number" or (declared is None and not named):
        pair = _amounts(name, pair, found)
    pair = [_declared(part, declared) for part in pair]
    if declared is None and not named:
        pair = _truths(pair)
    if declared is None:
        pair = [_found(part) for part in _of_text(name, pair, found)]
        pair = pair if named else _counted_up(name, pair, found)
    kinds = {part.kind for part in pair if not part.empty}
    if not kinds:
        return [Cells(name, "number", np.full(len(part), np.nan)) for part in pair]
    if kinds <= {"number", "boolean"}:
        truths = (part.kind == "boolean" or zeros_and_ones(part) for part in pair)
        kind = "boolean" if "boolean" in kinds and all(truths) else "number"
    elif kinds <= {"category", "ordered", "text", "boolean"}:
        order = _one_order(pair) if "ordered" in kinds else None
        if order is not None:
            return [replace(of_kind(part, "ordered"), levels=order) for part in pair]
        kind = kinds.pop() if len(kinds) == 1 and "ordered" not in kinds else "category"
    elif len(kinds) == 1:
        kind = kinds.pop()
    else:
        a, b = (PLURAL[part.kind] for part in pair)
        raise InputError(
            f"Column {name!r} holds {a} in X, but {b} in X_target. Make them the same, or leave "
            "the column out of both."
        )
    return [of_kind(part, kind) for part in pair]


def _one_order(pair: Sequence[Cells]) -> tuple[str, ...] | None:
    """Return one order of all levels; None where there is none, or a word is no level."""
    levels: tuple[str, ...] = ()
    for part in pair:
        own = part.levels if part.kind == "ordered" else ()
        merged = merged_levels(levels, own)
        if merged is None:
            return None
        levels = merged
    words = {word for part in pair for word in part.as_text().words}
    return levels if words <= {*levels} else None


def merged_levels(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return one order of the levels of two ordered categories, or None where there is none.

    >>> merged_levels(("low", "high"), ("low", "mid", "high"))
    ('low', 'mid', 'high')
    >>> merged_levels(("low", "high"), ("high", "low")) is None
    True
    """
    few, many = sorted((one, other), key=len)
    return many if [level for level in many if level in few] == list(few) else None


def of_kind(cells: Cells, kind: str) -> Cells:
    """Return cells as those of a kind that they can be."""
    if cells.kind == kind:
        return cells
    if kind in ("number", "boolean", "date"):
        if cells.is_text:  # nothing but gaps
            return _numbers_of(cells, kind, np.full(len(cells), np.nan))
        return replace(cells, kind=kind)  # type: ignore[arg-type]
    return replace(cells.as_text(), kind=kind)  # type: ignore[arg-type]


def _numbers_of(cells: Cells, kind: Any, values: Real) -> Cells:
    return replace(cells, kind=kind, values=values, words=(), levels=())


def _declared(cells: Cells, declared: Any) -> Cells:
    """Read cells as the user says."""
    if declared is None or declared == cells.kind:
        return cells
    if isinstance(declared, list | tuple):
        levels = tuple(map(spelled, declared))
        strange = set(cells.as_text().words) - set(levels)
        if strange:
            raise InputError(
                f"Column {cells.name!r} has {', '.join(map(repr, sorted(strange)[:5]))}, which are "
                f"not among the levels given for it: {', '.join(map(repr, levels))}."
            )
        return replace(cells.as_text(), kind="ordered", levels=levels)
    if declared == "category":
        return cells.as_text()
    if declared == "number" and cells.kind == "date":
        return cells  # days, as any date
    if declared == "number":
        return _numbers_of(cells, "number", as_numbers(cells))
    if declared == "season" and cells.kind == "date":
        return cells
    if declared in ("date", "season") and not cells.is_text:
        raise InputError(
            f"kinds={{{cells.name!r}: {declared!r}}} names a column of {PLURAL[cells.kind]}. "
            "Make it one of dates first, for example with pandas.to_datetime."
        )
    if declared in ("date", "season"):
        return _numbers_of(cells, "date", as_days(cells))
    raise InputError(
        f"kinds={{{cells.name!r}: {declared!r}}} is unknown. Choose 'number', 'category', 'date', "
        "'season', 'drop', or the list of its levels in order."
    )


def _of_text(name: str, pair: list[Cells], found: Learned) -> list[Cells]:
    """Read text as dates or as numbers where all of it, in both samples, is.

    Where one sample holds dates already, the other is read as these.
    """
    kinds = {part.kind for part in pair if not part.empty}
    levels = {word for part in pair for word in part.words}
    if not levels or "category" not in kinds:
        return pair
    if kinds <= {"category", "date"} and all(map(is_iso, levels)):
        found.read_as.setdefault("dates", []).append(name)
        return [_numbers_of(part, "date", as_days(part)) for part in pair]
    if kinds == {"category"} and len(levels) > MANY_NUMBERS and all(map(is_number, levels)):
        found.read_as.setdefault("numbers", []).append(name)
        return [_numbers_of(part, "number", as_numbers(part)) for part in pair]
    return pair


def amounts_of(pair: Iterable[Cells]) -> Spelling | None:
    """Return how both samples write amounts such as $1,012; None where a cell is something else."""
    parts = [part for part in pair if not part.empty]
    if any(part.kind not in ("category", "text", "number") for part in parts):
        return None
    return spelling_of(word for part in parts if part.is_text for word in part.words)


def _amounts(name: str, pair: list[Cells], found: Learned) -> list[Cells]:
    """Read text such as $1,012 as numbers where all of it, in both samples, is."""
    spelling = amounts_of(pair)
    if spelling is None:
        return pair
    word = next(word for part in pair if part.is_text for word in part.words)
    found.spelled[name] = spelling, word
    return [_numbers_of(part, "number", as_numbers(part, spelling)) for part in pair]


def _counted_up(name: str, pair: list[Cells], found: Learned) -> list[Cells]:
    """Order text such as "4" and "5+" by its numbers, in both samples alike."""
    if {part.kind for part in pair if not part.empty} - {"category", "number"}:
        return pair
    if all(part.kind == "number" for part in pair):
        return pair
    texts = [part.as_text() for part in pair]
    levels = in_order({word for part in texts for word in part.words})
    if levels is None:
        return pair
    found.ordered.append(name)
    return [replace(part, kind="ordered", levels=levels) for part in texts]


def _truths(pair: list[Cells]) -> list[Cells]:
    """Read yes and no, true and false, 0 and 1 as booleans where all of it, in both samples, is."""
    there = [part for part in pair if not part.empty]
    if not all(part.kind in ("category", "boolean") or zeros_and_ones(part) for part in there):
        return pair
    words = {word for part in pair if part.is_text for word in part.words}
    if not (are_truths(words) or (words and words <= {"0", "1"})):
        return pair
    return [_numbers_of(part, "boolean", as_truths(part)) for part in pair]


def _found(cells: Cells) -> Cells:
    """Text that a reader took for identifiers is text like any other here."""
    return replace(cells, kind="category") if cells.kind == "text" else cells


def _rule(
    name: str,
    pair: list[Cells],
    declared: Any,
    limits: Limits,
    more: tuple[str, ...],
    found: Learned,
) -> Feature | None:
    if declared == "season":
        return _rule_of_season(name, pair, found)
    if pair[0].kind in ("number", "boolean", "date"):
        return _rule_of_numbers(name, pair, found)
    if pair[0].kind == "ordered":
        return _rule_of_order(name, pair, found)
    return _rule_of_levels(name, pair, declared is not None or bool(more), limits, more, found)


def _rule_of_numbers(name: str, pair: list[Cells], found: Learned) -> Feature | None:
    values = np.concatenate([part.values for part in pair])
    for part, title in zip(pair, ("X", "X_target"), strict=False):
        refuse_infinite(part, title)
    gaps = np.isnan(values)
    present = values[~gaps]
    if not len(present) or (present.min() == present.max() and not gaps.any()):
        found.constant.append(name)
        return None
    own = pair[0].values[~pair[0].gaps]
    fill = float(np.median(own if len(own) else present))
    if pair[0].kind == "boolean":
        fill = float(fill > 0.5)
    season = hour = False
    if pair[0].kind == "date":
        season = bool(present.max() - present.min() > _YEAR)
        times = hours_of(present)
        hour = bool(times.max() > times.min())
    kind: Any = pair[0].kind
    lost = bool(gaps.any())
    spelling = tuple(found.spelled[name][0]) if name in found.spelled else ()
    return Feature(name, kind, (), fill, lost, lost, season, hour, spelling)


def _rule_of_season(name: str, pair: list[Cells], found: Learned) -> Feature | None:
    """Keep the months and the weekdays that there are, where they vary."""
    marks = calendar(np.concatenate([part.values for part in pair]))
    levels: tuple[str, ...] = ()
    for part in (MONTHS, WEEKDAYS):
        present = tuple(level for level in part if marks[level].any())
        levels += present if len(present) > 1 else ()
    if not levels:
        found.constant.append(name)
        return None
    lost = any(part.gaps.any() for part in pair)
    return Feature(name, "season", levels, gaps=lost, indicator=lost)


def _rule_of_order(name: str, pair: list[Cells], found: Learned) -> Feature | None:
    levels = next(part.levels for part in pair if part.levels)
    seen = {word for part in pair for word in part.counts()}
    if len(seen) < 2:
        found.constant.append(name)
        return None
    ranks = pair[0].mapped({level: float(k) for k, level in enumerate(levels)}, np.nan)
    ranks = ranks[~np.isnan(ranks)]
    fill = float(np.quantile(ranks, 0.5, method="lower")) if len(ranks) else 0.0
    return Feature(name, "ordered", levels, fill, None in seen, None in seen)


def _rule_of_levels(
    name: str,
    pair: list[Cells],
    insisted: bool,
    limits: Limits,
    more: tuple[str, ...],
    found: Learned,
) -> Feature | None:
    counts: list[Counter[Any]] = [Counter(part.counts()) for part in pair]
    levels: set[str] = set().union(*counts) - {None}
    why = None if insisted else without_levels(pair[0])
    if why is not None:
        found.texts.append((name, *why))
        return None
    if len(levels | set(more)) + any(None in count for count in counts) < 2:
        found.constant.append(name)
        return None
    mass = {
        level: sum(count[level] / len(part) for count, part in zip(counts, pair, strict=True))
        for level in levels | set(more)
    }
    own = counts[0]  # the order must not depend on how the target is known
    order = sorted(mass, key=lambda level: (-own[level], level))
    joined = _joined(mass, counts, pair, limits, set(more))
    kept = tuple(level for level in order if level not in joined and level != MISSING)
    if joined:
        share = sum(mass[level] for level in joined) / len(pair)
        if share > _MOSTLY and not insisted:
            found.scattered[name] = len(joined), share
            return None
        found.joined[name] = len(joined), share
        kept = (*(level for level in kept if level != OTHER), OTHER)
    if any(None in count for count in counts) or MISSING in levels:
        kept = (*kept, MISSING)
        if len(kept) == 2 and own[None] > own[kept[0]]:
            kept = kept[::-1]
    if len(kept) < 2:  # all levels were joined
        found.joined.pop(name, None)
        found.rare.append(name)
        return None
    return Feature(name, "category", kept)


def without_levels(cells: Cells) -> tuple[str, bool] | None:
    """Say why text has no levels, if so, and whether a level has enough rows to be used as one."""
    counts = Counter(cells.counts())
    del counts[None]
    if len(counts) == len(cells) >= _ID_ROWS:
        return "looks like a row identifier, different in every row", False
    if len(counts) > _NAMES and 2 * len(counts) > len(cells):
        why = f"looks like names or free text, {len(counts):,} different values"
        return why, max(counts.values()) >= _FEW_ROWS
    return None


def _joined(
    mass: Mapping[str, float],
    counts: list[Counter[Any]],
    pair: list[Cells],
    limits: Limits,
    named: set[str],
) -> set[str]:
    """Levels with too few rows to tell anything, and those beyond the most that are kept.

    Levels with few rows are joined where over two thirds of these are at levels that one sample
    alone has, or where they have hardly more than a row in each: they look like names of rows.
    """
    free = [level for level in mass if level not in named]
    few = _fewer_than(_FEW_ROWS, free, counts, pair)
    both = {level for level in few if all(count[level] for count in counts)}
    recur = all(
        3 * sum(count[level] for level in both) >= sum(count[level] for level in few)
        for count in counts
    )
    if len(counts) > 1:
        rows = sum(count[level] for count in counts for level in few)
        recur = recur and rows >= _RECURS * len(few)
    rare = _fewer_than(limits.min_rows, free, counts, pair) | (set() if recur else few)
    kept = sorted((k for k in free if k not in rare), key=lambda level: (-mass[level], level))
    most = max(limits.max_levels - len(named), 1)
    joined = rare | set(kept[most:])
    return joined if len(joined) > 1 else set()


def _fewer_than(
    rows: int, levels: list[str], counts: list[Counter[Any]], pair: list[Cells]
) -> set[str]:
    """Levels of fewer rows in both samples together, and of a small share of each."""
    small = [_RARE_SHARE * len(part) for part in pair]
    return {
        level
        for level in levels
        if sum(count[level] for count in counts) < rows
        and all(count[level] < most for count, most in zip(counts, small, strict=True))
    }


def refuse_infinite(cells: Cells, title: str) -> None:
    """Refuse infinite numbers, by name and count."""
    infinite = 0 if cells.is_text else int(np.isinf(cells.values).sum())
    if infinite:
        raise InputError(
            f"{title} contains inf: column {cells.name!r} ({infinite} inf). Repair or drop these "
            "rows first."
        )


def _without_repeated_marks(
    feature: Feature, values: Real, marks: dict[bytes, str], found: Learned
) -> Feature:
    """Mark the same gaps once: questions that a person skipped together."""
    if not feature.indicator:
        return feature
    first = marks.setdefault(_digest(values[:, -1]), feature.name)
    if first == feature.name:
        return feature
    found.same_gaps.append((feature.name, first))
    return replace(feature, indicator=False)


def _digest(values: Real) -> bytes:
    return blake2b(np.ascontiguousarray(values).tobytes(), digest_size=16).digest()


# What was learned of a table: its rules, and in words what was done and what was left out.


@dataclass
class Learned:
    """The rules, and what happened to columns that have none."""

    features: list[Feature] = field(default_factory=list)
    texts: list[tuple[str, str, bool]] = field(default_factory=list)  # why; if it can be used
    rare: list[str] = field(default_factory=list)  # categories of which no level has enough rows
    constant: list[str] = field(default_factory=list)
    copies: list[tuple[str, str]] = field(default_factory=list)
    same_gaps: list[tuple[str, str]] = field(default_factory=list)
    joined: dict[str, tuple[int, float]] = field(default_factory=dict)  # levels, and their share
    scattered: dict[str, tuple[int, float]] = field(default_factory=dict)  # left out: most joined
    filled: dict[str, tuple[int, int]] = field(default_factory=dict)  # gaps of both samples
    read_as: dict[str, list[str]] = field(default_factory=dict)  # dates or numbers, once text
    ordered: list[str] = field(default_factory=list)  # by their numbers, such as 5+
    spelled: dict[str, tuple[Spelling, str]] = field(default_factory=dict)  # with one of the cells

    def notes(self, undo: Undo) -> list[Note]:
        """Say it in words."""
        pairs = zip(self._notes(undo), self._notes(undo_by_option), strict=True)
        return [replace(note, command=other.text) for note, other in pairs]

    def _notes(self, undo: Undo) -> list[Note]:
        found = []
        several = {f.name: len(f.levels) for f in self.features if f.kind == "category"}
        if several:
            shown = ", ".join(f"{name!r} ({count})" for name, count in several.items())
            found.append(Note("categories", f"Categories, with the number of levels: {shown}."))
        for name, (count, share) in self.joined.items():
            text = (
                f"{name!r}: {count:,} levels with few rows were joined as {OTHER!r}, "
                f"{_percent(share)} of the rows."
            )
            many = share > _WARNING_SHARE
            if many:
                text += " Differences between these levels are not corrected."
            found.append(Note("joined levels", text, "warning" if many else "note"))
        for feature in self.features:
            if feature.kind == "ordered" and feature.name in self.ordered:
                some = ", ".join(feature.levels if len(feature.levels) < 9 else feature.levels[:3])
                last = "" if len(feature.levels) < 9 else f", ..., {feature.levels[-1]}"
                text = (
                    f"Read {feature.name!r} as categories in order: {some}{last}; "
                    f"{undo(feature.name, 'category')} leaves out the order."
                )
                found.append(Note("ordered", text))
            elif feature.kind == "ordered":
                order = " < ".join(feature.levels)
                text = f"{feature.name!r} is ordered: {order}. It became 0, 1, 2, ..."
                found.append(Note("ordered", text))
        dates = [f.name for f in self.features if f.kind == "date"]
        if dates:
            season = [f.name for f in self.features if f.season]
            more = f", and the quarter of the year of {_named(season)}" if season else ""
            found.append(Note("dates", f"Dates, as days since 1970-01-01: {_named(dates)}{more}."))
        seasons = [f.name for f in self.features if f.kind == "season"]
        if seasons:
            text = f"Dates, as month and weekday without their trend: {_named(seasons)}."
            found.append(Note("dates", text))
        for kind, names in self.read_as.items():
            found.append(Note("text", f"Text that was read as {kind}: {_named(names)}."))
        for name, (spelling, word) in self.spelled.items():
            text = (
                f"Read {name!r} as numbers: {word!r} is {spelling.read(word):,.12g}; "
                f"{undo(name, 'category')} reads it as categories."
            )
            found.append(Note("amounts", text))
        if self.filled:
            shown = ", ".join(f"{n!r} ({a:,} and {b:,})" for n, (a, b) in self.filled.items())
            text = f"Gaps (in training and target rows) were filled and marked: {shown}."
            found.append(Note("gaps", text))
        for name, other in self.same_gaps:
            found.append(Note("gaps", f"{name!r} and {other!r} are missing in the same rows."))
        for name, why, usable in self.texts:
            text = f"Left out {name!r}: {why}" + f"; {undo(name, 'category')} uses it" * usable
            found.append(Note("free text", f"{text}."))
        for name, (count, share) in self.scattered.items():
            text = (
                f"Left out {name!r}: {_percent(share)} of the rows are at {count:,} levels with "
                f"few rows each. Differences in this column are not corrected; "
                f"{undo(name, 'category')} uses it, with these levels as one."
            )
            found.append(Note("scattered levels", text, "warning"))
        for name in self.rare:
            text = f"Left out {name!r}: each of its values has too few rows to be a category."
            found.append(Note("rare levels", text))
        if self.constant:
            text = f"Left out because they never vary: {_named(self.constant)}."
            found.append(Note("constant columns", text))
        for name, other in self.copies:
            found.append(Note("copies", f"Left out as a copy of {other!r}: {name!r}."))
        return found


def _named(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%" if share < 0.1 else f"{share:.0%}"


# Words that are numbers, dates, or true and false.


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
    return _NUMBER.fullmatch(text) is not None and any(map(str.isdigit, text))


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

"""What each column of a table is, and the rule that makes numbers of it.

Decided from training and target rows together, without any outcome: a level or a gap that only the
target has gets its place too. The order of rows, and the names of levels, do not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np

from ..data.values import days_of as days_of
from ..data.values import is_iso as is_iso
from ..exceptions import InputError
from ..numerics.array import Flags, Real
from .alike import made_alike
from .cells import Cells
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
from .learned import Learned

_ID_ROWS = 20  # rows from which a text that differs in every row is an identifier
_RARE_SHARE = 0.02  # of each sample; a level with few rows but more than this is not rare
_YEAR = 366.0  # days from which the season is no function of the date
_FEW_ROWS = 5  # of a level, below which it counts as rare; of free text, as no category
_RECURS = 2.25  # rows of rare levels in both samples, on average; names of rows have two
_NAMES = 50  # different texts, most of them once: names or free text rather than levels
_MOSTLY = 0.5  # of the rows in joined levels: the other levels say little, and cost much


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
        pair = made_alike(name, pair, kinds.get(name), found, named=name in more)
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

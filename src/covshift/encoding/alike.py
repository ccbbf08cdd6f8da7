"""A column of both samples as one kind: what one of them tells less of is read as the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..data.values import is_iso
from ..exceptions import InputError
from ..numerics.array import Real
from .cells import PLURAL, Cells, spelled
from .learned import Learned
from .words import (
    amounts_of,
    are_truths,
    as_days,
    as_numbers,
    as_truths,
    in_order,
    is_number,
    merged_levels,
    zeros_and_ones,
)

MANY_NUMBERS = 20  # different numbers written as text that are no codes


def made_alike(
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


def of_kind(cells: Cells, kind: str) -> Cells:
    """Return cells as those of a kind that they can be."""
    if cells.kind == kind:
        return cells
    if kind in ("number", "boolean", "date"):
        if cells.is_text:  # nothing but gaps
            return numbers_as(cells, kind, np.full(len(cells), np.nan))
        return replace(cells, kind=kind)  # type: ignore[arg-type]
    return replace(cells.as_text(), kind=kind)  # type: ignore[arg-type]


def numbers_as(cells: Cells, kind: Any, values: Real) -> Cells:
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
        return numbers_as(cells, "number", as_numbers(cells))
    if declared == "season" and cells.kind == "date":
        return cells
    if declared in ("date", "season") and not cells.is_text:
        raise InputError(
            f"kinds={{{cells.name!r}: {declared!r}}} names a column of {PLURAL[cells.kind]}. "
            "Make it one of dates first, for example with pandas.to_datetime."
        )
    if declared in ("date", "season"):
        return numbers_as(cells, "date", as_days(cells))
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
        return [numbers_as(part, "date", as_days(part)) for part in pair]
    if kinds == {"category"} and len(levels) > MANY_NUMBERS and all(map(is_number, levels)):
        found.read_as.setdefault("numbers", []).append(name)
        return [numbers_as(part, "number", as_numbers(part)) for part in pair]
    return pair


def _amounts(name: str, pair: list[Cells], found: Learned) -> list[Cells]:
    """Read text such as $1,012 as numbers where all of it, in both samples, is."""
    spelling = amounts_of(pair)
    if spelling is None:
        return pair
    word = next(word for part in pair if part.is_text for word in part.words)
    found.spelled[name] = spelling, word
    return [numbers_as(part, "number", as_numbers(part, spelling)) for part in pair]


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
    return [numbers_as(part, "boolean", as_truths(part)) for part in pair]


def _found(cells: Cells) -> Cells:
    """Text that a reader took for identifiers is text like any other here."""
    return replace(cells, kind="category") if cells.kind == "text" else cells

"""From a plain dictionary to checked margins."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..numerics.array import Real
from ..show.notes import Note
from .cells import (
    MISSING,
    Brackets,
    Categories,
    Cells,
    CrossTable,
    Margin,
    Moments,
    checked_shares,
    level_of,
    name_of,
)

_ROUNDED = 0.01  # that a table and a margin may differ by
_SHOWN = 5  # cells that a message names
_ROUNDS = 30  # far more than a difference of one percent needs

_FORMS = (
    "Write {(18, 30): 0.2, (30, None): 0.8} for brackets, {'north': 0.3, 'south': 0.7} for "
    "categories, {'quantiles': {0.5: 24.0}} for quantiles, or {'mean': 27.1, 'sd': 4.8}."
)


def built(
    given: Mapping[Any, Any], notes: list[Note], *, right: frozenset[str] = frozenset()
) -> tuple[dict[str, Margin | Moments], tuple[CrossTable, ...]]:
    """Return the margins of single columns and the tables of two; ``right`` are columns whose
    brackets hold their upper ends.
    """
    if not isinstance(given, Mapping) or not given:
        raise InputError(
            "Margins need a dictionary from columns to what is known of them. " + _FORMS
        )
    single: dict[str, Margin | Moments] = {}
    tables: list[CrossTable] = []
    for key, content in given.items():
        if not isinstance(content, Mapping) or not content:
            raise InputError(f"The margin of {key!r} is {content!r}. {_FORMS}")
        if isinstance(key, tuple):
            tables.append(_table(key, content, notes, right))
        elif (name := name_of(key)) in single:
            raise InputError(f"The column {name!r} has two margins. Keep one of them.")
        else:
            single[name] = _margin(repr(name), content, notes, name in right)
    levels = {name: part.cells for name, part in single.items() if isinstance(part, Margin)}
    ordered = [_in_order(table, levels) for table in tables]
    return single, tuple(_agreeing(table, single, notes) for table in ordered)


def at_points(
    single: Mapping[str, Margin | Moments], names: Collection[str]
) -> dict[str, Margin | Moments]:
    """Say of some columns that their brackets hold their upper ends and nothing else."""
    found = dict(single)
    for name in names:
        part = found.get(name)
        if isinstance(part, Margin) and isinstance(part.cells, Brackets):
            found[name] = replace(part, cells=replace(part.cells, right=True, points=True))
    return found


def _margin(title: str, content: Mapping[Any, Any], notes: list[Note], right: bool) -> Any:
    keys = set(content)
    if "mean" in keys and keys <= {"mean", "sd"}:
        return _moments(title, content)
    if keys == {"quantiles"} and isinstance(content["quantiles"], Mapping):
        brackets, share = quantile_brackets(content["quantiles"], title)
        return Margin(brackets, share)
    cells, order = _cells(list(content), title, notes, right)
    return Margin(cells, _shares([list(content.values())[k] for k in order], title, notes))


def _moments(title: str, content: Mapping[Any, Any]) -> Moments:
    mean = number_of(content["mean"], title)
    sd = content.get("sd")
    if sd is None:
        return Moments(mean)
    if number_of(sd, title) <= 0:
        raise InputError(f"{title}: the standard deviation is {sd}. It must be above zero.")
    return Moments(mean, float(sd))


def _cells(keys: list[Any], title: str, notes: list[Note], right: bool) -> tuple[Cells, list[int]]:
    """Return the cells that these keys name, and which key each belongs to."""
    gap = [k for k, key in enumerate(keys) if key == MISSING]
    if gap and len(keys) > 1 and any(isinstance(key, tuple) for key in keys):
        others = [k for k in range(len(keys)) if k not in gap]
        cells, order = _cells([keys[k] for k in others], title, notes, right)
        assert isinstance(cells, Brackets)
        return cells.with_gap(), [*(others[k] for k in order), *gap]
    pairs = [isinstance(key, tuple) for key in keys]
    if all(pairs) and all(len(key) == 2 for key in keys):
        return ordered_brackets(keys, title, right=right, notes=notes)
    if any(pairs):
        raise InputError(f"{title} mixes brackets and categories, or has odd brackets. {_FORMS}")
    levels = [level_of(key) for key in keys]
    twice = sorted({level for level in levels if levels.count(level) > 1})
    if twice:
        raise InputError(f"{title} has the category {twice[0]!r} more than once.")
    return Categories(tuple(levels)), list(range(len(levels)))


def _table(
    key: tuple[Any, ...], content: Mapping[Any, Any], notes: list[Note], right: Any
) -> CrossTable:
    if len(key) != 2 or name_of(key[0]) == name_of(key[1]):
        raise InputError(
            f"The key {key!r} is not a pair of columns. A table is written as "
            "('sex', 'age'): {('f', (18, 30)): 0.1, ...}."
        )
    names = (name_of(key[0]), name_of(key[1]))
    title = f"the table {' x '.join(names)}"
    if not all(isinstance(cell, tuple) and len(cell) == 2 for cell in content):
        raise InputError(f"In {title} every cell is a pair, such as ('f', (18, 30)).")
    sides: list[Cells] = []
    places: list[dict[Any, int]] = []
    for side, name in enumerate(names):
        keys = list(dict.fromkeys(cell[side] for cell in content))
        cells, order = _cells(keys, f"{title}, {name!r}", notes, name in right)
        sides.append(cells)
        places.append({keys[k]: place for place, k in enumerate(order)})
    share = np.full((len(sides[0]), len(sides[1])), np.nan)
    for cell, value in content.items():
        share[places[0][cell[0]], places[1][cell[1]]] = number_of(value, title)
    if np.isnan(share).any():
        a, b = np.argwhere(np.isnan(share))[0]
        labels = sides[0].labels[a], sides[1].labels[b]
        raise InputError(f"In {title} the cell {labels} is missing. Write 0 if nobody is there.")
    flat = _shares(share.ravel().tolist(), title, notes)
    return CrossTable(names, (sides[0], sides[1]), flat.reshape(share.shape))


def _shares(values: list[Any], title: str, notes: list[Note]) -> Any:
    numbers = np.array([number_of(value, title) for value in values])
    share, note = checked_shares(numbers, title)
    if note is not None:
        notes.append(note)
    return share


def _in_order(table: CrossTable, known: dict[str, Cells]) -> CrossTable:
    """Return the table with its categories in the order in which they are ``known``, by column.

    A row has one number for its level, which names a cell of every table. What a column is seen
    with first becomes known.
    """
    cells, share = list(table.cells), table.share
    for side, name in enumerate(table.columns):
        own, other = cells[side], known.setdefault(name, cells[side])
        if isinstance(own, Brackets) and isinstance(other, Brackets):
            continue
        if set(own.labels) != set(other.labels):
            raise InputError(
                f"The column {name!r} has the cells {_named(own)} in the table {table.title}, and "
                f"{_named(other)} elsewhere. Use the same cells, with 0 where nobody is."
            )
        share = np.take(share, [own.labels.index(label) for label in other.labels], axis=side)
        cells[side] = other
    return replace(table, cells=(cells[0], cells[1]), share=share)


def _named(cells: Cells) -> str:
    more = ", ..." if len(cells) > _SHOWN else ""
    return ", ".join(map(repr, cells.labels[:_SHOWN])) + more


def _agreeing(
    table: CrossTable, single: Mapping[str, Margin | Moments], notes: list[Note]
) -> CrossTable:
    """Return the table with the sums that its columns have by themselves.

    Published numbers are rounded, and differ a little; more than that is an error. The nearest
    table is found by iterative proportional fitting.
    """
    sides = [side for side in (0, 1) if _same_cells(single.get(table.columns[side]), table, side)]
    aims = {side: single[table.columns[side]].share for side in sides}  # type: ignore[union-attr]
    off = max((float(np.abs(aims[s] - table.margin(s).share).max()) for s in sides), default=0.0)
    for side in sides:
        _refuse_disagreement(table, side, aims[side])
    if off <= 1e-9:
        return table
    share = table.share
    for _ in range(_ROUNDS):
        for side in sides:
            sums = share.sum(axis=1 - side)
            scale = np.divide(aims[side], sums, out=np.zeros_like(sums), where=sums > 0)
            share = share * (scale[:, None] if side == 0 else scale[None, :])
    text = f"The table {table.title} was scaled to the margins of its columns: off by {off:.2g}."
    notes.append(Note("rounded shares", text))
    return replace(table, share=share / share.sum())


def _same_cells(own: Any, table: CrossTable, side: int) -> bool:
    return isinstance(own, Margin) and own.cells.labels == table.cells[side].labels


def _refuse_disagreement(table: CrossTable, side: int, share: Any) -> None:
    found = table.margin(side)
    off = np.abs(share - found.share)
    k = int(off.argmax())
    if off[k] > _ROUNDED:
        raise InputError(
            f"The margin of {table.columns[side]!r} and the table {table.title} disagree: "
            f"{found.cells.labels[k]!r} has {share[k]:.1%} in one and {found.share[k]:.1%} in the "
            "other."
        )


# Brackets from what people write: pairs of ends, or quantiles.


def number_of(value: Any, title: str) -> float:
    """Return a finite number; anything else is an error that names ``title``."""
    try:
        found = float(value)
    except (OverflowError, TypeError, ValueError):
        raise InputError(f"{title} has {value!r} where a number is expected.") from None
    if isinstance(value, bool) or not np.isfinite(found):
        raise InputError(f"{title} has {value!r} where a finite number is expected.")
    return found


def ordered_brackets(
    pairs: Sequence[tuple[Any, Any]], title: str, *, right: bool, notes: list[Note]
) -> tuple[Brackets, list[int]]:
    """Sort brackets given by their ends, None where open; return them and their order.

    Overlapping brackets are an error. A gap is one for the eye only between whole numbers that
    follow each other; a larger one is noted.
    """
    ends = [
        (
            -np.inf if low is None else number_of(low, title),
            np.inf if high is None else number_of(high, title),
        )
        for low, high in pairs
    ]
    order = sorted(range(len(ends)), key=lambda k: ends[k])
    lower = np.array([ends[k][0] for k in order])
    upper = np.array([ends[k][1] for k in order])
    brackets = Brackets(lower, upper, right)
    for k, (low, high) in enumerate(zip(lower, upper, strict=True)):
        if low > high or (low == high and right):
            raise InputError(f"{title}: the bracket from {low:g} to {high:g} is empty.")
        if k and low < upper[k - 1]:
            raise InputError(
                f"{title}: the brackets {brackets.labels[k - 1]!r} and {brackets.labels[k]!r} "
                "overlap. Every value must lie in one bracket."
            )
        if k and low > upper[k - 1] and not _follow(float(upper[k - 1]), float(low)):
            text = f"{title}: no bracket holds the values between {upper[k - 1]:g} and {low:g}."
            notes.append(Note("gaps", text, "warning"))
    return brackets, order


def quantile_brackets(given: Mapping[Any, Any], title: str) -> tuple[Brackets, Real]:
    """Return the cells between quantiles {share at or below: value}, and their shares."""
    levels = sorted((number_of(p, title), number_of(q, title)) for p, q in given.items())
    if not levels:
        raise InputError(f"{title} has no quantiles. Write them as {{0.25: 18.5, 0.5: 24.0}}.")
    p, q = (np.array(part) for part in zip(*levels, strict=True))
    if p[0] < 0 or p[-1] > 1:
        raise InputError(
            f"{title}: quantiles belong to shares from 0 to 1, not {p[0]:g}, {p[-1]:g}."
        )
    if (np.diff(q) < 0).any():
        raise InputError(f"{title}: the quantiles fall from one share to a larger one.")
    last = np.append(q[1:] > q[:-1], True)  # of equal ones, the largest share is at or below
    p, q = p[last], q[last]
    low, high = -np.inf, np.inf
    if p[0] == 0:  # the smallest value there is
        low, p, q = float(np.nextafter(q[0], -np.inf)), p[1:], q[1:]
    if len(p) and p[-1] == 1:
        high, p, q = float(q[-1]), p[:-1], q[:-1]
    brackets = Brackets(np.append(low, q), np.append(q, high), right=True)
    return brackets, np.diff(np.concatenate([[0.0], p, [1.0]]))


def _follow(one: float, other: float) -> bool:
    """Whether these are whole numbers, and neighbours."""
    return one.is_integer() and other - one == 1

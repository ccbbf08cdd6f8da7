"""Margins of rows that stay where they are: no cell holds fewer than some number of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..data.parameters import one_of, whole
from ..data.row_weights import row_weights
from ..encoding.cells import Cells as Column
from ..exceptions import InputError
from ..numerics.array import Real, Whole
from ..show.notes import Note
from .cells import MISSING, OTHER, Brackets, Categories, Cells, CrossTable, Margin, level_of
from .reading import checked_numbers, columns_of_rows

_MOST_DIGITS = 17
_LAST_DECIMAL = 300  # to which NumPy rounds; numbers still nearer to zero have few digits


def summarised(
    cls: Any,
    T: Any,
    *,
    bins: int | None,
    min_count: int,
    weight: Any = None,
    tables: Iterable[Sequence[Any]] = (),
    source: str = "",
) -> Any:
    """Return the margins of the rows T; see `Margins.from_rows`."""
    (whole(1) | one_of(None)).check(bins, "bins")
    whole(1).check(min_count, "min_count")
    columns = columns_of_rows(T, "T")
    given = row_weights(len(next(iter(columns.values()))), weight, name="weight", of="T")
    share, M = given.w[given.kept], given.rows
    if M < min_count:
        raise InputError(
            f"T has {M} rows, fewer than min_count={min_count}: no cell could hold them. Summarise "
            "more rows, or lower min_count if these may be shared."
        )
    notes: list[Note] = []
    single: dict[str, Margin] = {}
    codes: dict[str, Whole] = {}
    for name, column in columns.items():
        text = column.is_text
        values = (_levels_of(column) if text else checked_numbers(column, "T"))[given.kept]
        gaps = values == MISSING if text else np.isnan(values)
        lost = int(gaps.sum())
        if lost == M:
            notes.append(Note("gaps", f"The column {name!r} was left out: it has no values."))
            continue
        if 0 < lost < min_count:
            rows = "1 row" if lost == 1 else f"{lost} rows"
            why = f"The column {name!r} is missing in {rows}, too few for a cell: the shares are "
            notes.append(Note("gaps", f"{why}those of the other rows."))
        split = _split_levels if text else _split_numbers
        cells, known = split(values[~gaps], bins, min_count)
        code = np.full(M, -1, dtype=np.int64)
        code[~gaps] = known
        if lost >= min_count:
            code[gaps] = len(cells)
            cells = cells.with_gap()
        if len(cells) == 1 and min_count > 1:
            why = f"The column {name!r} was left out: all its rows would be one cell."
            notes.append(Note("single cells", why))
            continue
        there = code >= 0
        sums = np.bincount(code[there], share[there], len(cells)).astype(np.float64)
        sums = sums / sums.sum()
        single[name], codes[name] = Margin(cells, sums), code
    if not single:
        raise InputError(f"No column has two cells of {min_count} rows. Lower min_count.")
    made = [_table(pair, single, codes, share, min_count) for pair in tables]
    return cls.of(single, made, size=M if given.equal else given.size, source=source, notes=notes)


def _levels_of(column: Column) -> Any:
    """Return the level of each row (N,), as text."""
    words = [*map(level_of, column.words), MISSING]
    return np.array(words, dtype=object)[column.values]


def _split_numbers(x: Real, bins: int | None, min_count: int) -> tuple[Brackets, Whole]:
    """Cut a column of numbers, equal values together; return the brackets, and whose rows are."""
    values, place, counts = np.unique(x, return_inverse=True, return_counts=True)
    even = bins is not None and len(values) > bins  # cells of about equally many rows
    group = np.empty(len(values), dtype=np.int64)
    number, held = 0, 0
    left = len(x)
    for k, count in enumerate(counts.tolist()):
        group[k] = number
        held, left = held + count, left - count
        part = (held + left) / (bins - number) if even and bins is not None else 0
        if held >= max(part, min_count) and left >= min_count:  # the rest fills a cell as well
            number, held = number + 1, 0
    last = np.flatnonzero(np.append(np.diff(group) > 0, True))
    if min_count == 1:
        ends = values[last]
    else:
        ends = np.array([roundest(values[k], values[k + 1]) for k in last[:-1]] + [np.inf])
    alone = min_count == 1 and len(last) == len(values)
    brackets = Brackets(np.append(-np.inf, ends[:-1]), ends, right=True, points=alone)
    return brackets, group[place.reshape(-1)]


def roundest(low: float, high: float) -> float:
    """Return the number of fewest decimals from ``low`` to below ``high``.

    >>> roundest(29.0, 30.0), roundest(0.43712, 0.43891), roundest(-0.1, 0.2)
    (29.0, 0.438, 0.0)
    """
    if low <= 0 < high:
        return 0.0
    size = int(np.floor(np.log10(max(abs(low), abs(high)))))
    for digits in range(-size, _MOST_DIGITS - size):
        if digits > _LAST_DECIMAL:
            break
        unit = 10.0**-digits
        found = float(np.round(np.ceil(low / unit) * unit, max(digits, 0)))
        if low <= found < high:
            return found
    return float(low)


def _split_levels(x: Any, bins: int | None, min_count: int) -> tuple[Categories, Whole]:
    """Keep the levels of enough rows; all others become one."""
    levels, place, counts = np.unique(x, return_inverse=True, return_counts=True)
    named = levels == OTHER  # a level of this name goes where it says
    order = np.argsort(np.where(named, -1, counts), kind="stable")
    some = int((named | (counts < min_count)).sum())
    while 0 < some < len(levels) and counts[order[:some]].sum() < min_count:
        some += 1
    merged = set(order[:some].tolist())
    kept = [k for k in range(len(levels)) if k not in merged]
    names = [str(levels[k]) for k in kept] + ([OTHER] if merged else [])
    table = np.full(len(levels), len(kept), dtype=np.int64)
    table[kept] = np.arange(len(kept))
    return Categories(tuple(names)), table[place.reshape(-1)]


def _table(
    pair: Sequence[Any],
    single: dict[str, Margin],
    codes: dict[str, Whole],
    share: Real,
    min_count: int,
) -> CrossTable:
    """Cross two columns; brackets are merged, half as many each time, until all cells are full."""
    names = tuple(str(name) for name in pair)
    absent = [name for name in names if name not in single]
    if len(names) != 2 or absent:
        raise InputError(
            f"The table {tuple(pair)!r} needs two columns that have a margin: "
            f"{', '.join(map(repr, single))}."
        )
    wanted = [len(single[name].cells) for name in names]
    while True:
        sides = [
            _coarser(single[name].cells, codes[name], k)
            for name, k in zip(names, wanted, strict=True)
        ]
        (a, first), (b, second) = sides
        both = (first >= 0) & (second >= 0)
        code = (first * len(b) + second)[both]
        counts = np.bincount(code, minlength=len(a) * len(b))
        if counts.min() >= min_count:
            break
        larger = int(
            np.argmax([_room(single[n].cells, k) for n, k in zip(names, wanted, strict=True)])
        )
        if _room(single[names[larger]].cells, wanted[larger]) <= 1:
            raise InputError(
                f"The table {' x '.join(names)} has cells of fewer than min_count={min_count} "
                "rows, and no brackets to merge. Merge levels, lower min_count, or leave it out."
            )
        wanted[larger] = -(-wanted[larger] // 2)
    sums = np.bincount(code, weights=share[both], minlength=len(counts)).astype(np.float64)
    return CrossTable((names[0], names[1]), (a, b), (sums / sums.sum()).reshape(len(a), len(b)))


def _room(cells: Cells, wanted: int) -> int:
    return wanted if isinstance(cells, Brackets) else 1


def _coarser(cells: Cells, code: Whole, wanted: int) -> tuple[Cells, Whole]:
    """Merge neighbouring brackets to ``wanted`` of about equally many rows."""
    if not isinstance(cells, Brackets) or wanted >= len(cells):
        return cells, code
    if cells.gap:
        lost, own = code == len(cells) - 1, cells.known()
        merged, place = _coarser(own, np.where(lost, -1, code), max(wanted - 1, 1))
        assert isinstance(merged, Brackets)
        return merged.with_gap(), np.where(lost, len(merged), place)
    counts = np.bincount(code[code >= 0], minlength=len(cells))
    middle = np.cumsum(counts) - counts / 2
    group = np.minimum((middle * wanted / counts.sum()).astype(np.int64), wanted - 1)
    group = np.concatenate([[0], np.cumsum(np.diff(group) > 0)])
    last = np.flatnonzero(np.append(np.diff(group) > 0, True))
    first = np.append(0, last[:-1] + 1)
    merged = Brackets(cells.lower[first], cells.upper[last], cells.right)
    return merged, np.where(code < 0, -1, group[code])

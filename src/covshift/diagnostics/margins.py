"""`diagnose` with a target known by its margins alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isinf
from typing import Any

import numpy as np
from sklearn.base import clone

from ..data.row_weights import kish
from ..exceptions import NoOverlapError
from ..margins import Margins
from ..margins.cells import Margin
from ..margins.sample import Balance, KnownRows, balance_of
from ..numerics.array import Real
from ..numerics.quiet import quiet
from ..numerics.support import MISSED, NO_OVERLAP
from ..registry import MARGINS, weighters
from ..show.notes import Note
from ..weights import CDFWeights, as_weighter
from .margin_tests import margin_shifts, table_cells
from .margin_verdict import judge
from .margins_result import MarginsDiagnosis, MarginShift, PublishedNumber
from .sizes import METHODS, method_size

_OWN = tuple(
    entry.name for entry in weighters() if MARGINS in entry.can and isinf(entry.compared_up_to)
)
"""Weighters that take any number of margins."""


_FIRST = "cdf"  # it tells whether there is overlap
_MET = 1e-3  # largest gap of weights that give the sample the margins


def diagnose_margins(
    rows: KnownRows, *, weight: Real | None = None, methods: Sequence[str] = METHODS
) -> MarginsDiagnosis:
    """Compare rows with their margins; ``weight`` (N,) are design weights."""
    margins = rows.margins
    d = np.ones(len(rows)) if weight is None else weight
    N = kish(d)
    rough = 1 / N + (0.0 if margins.size is None else 1 / margins.size)
    shifts = margin_shifts(rows, d, rough)
    wanted = _OWN if tuple(methods) == METHODS else tuple(methods)
    fits = {name: _weighed(name, rows, weight) for name in dict.fromkeys([_FIRST, *wanted])}
    sizes = tuple(method_size(name, *fits[name], (len(rows), 0), (N, N)) for name in wanted)
    fitted = [found for found, _ in fits.values() if found is not None]
    balanced = [(balance_of(rows, d * found.weights_), found) for found in fitted]
    best, nearest = min(balanced, key=lambda pair: _largest(pair[0]), default=(None, None))
    met = best is not None and _largest(best) <= _MET
    overlap = _overlap(rows, weight, shifts, N, met or _agrees(fits[_FIRST][0]))
    return MarginsDiagnosis(
        *judge(shifts, sizes, N, overlap),
        n_train=len(rows),
        size=margins.size,
        margins=shifts,
        numbers=published_numbers(balance_of(rows, d), best),
        methods=sizes,
        overlap=overlap,
        notes=_notes(rows),
        columns=tuple(margins.columns),
        source=margins.source,
        weights=None if nearest is None else d * nearest.weights_,
        weighter="" if nearest is None else type(nearest).__name__,
    )


def margins_corrected(
    diagnosis: MarginsDiagnosis, rows: KnownRows, weight: Real | None, weights: Real, weighter: str
) -> MarginsDiagnosis:
    """Show the published numbers under other final weights (N,); ``weight`` are design weights."""
    balances = (balance_of(rows, part) for part in (weight, weights))
    numbers = published_numbers(*balances)
    return replace(diagnosis, numbers=numbers, weights=weights, weighter=weighter)


def _weighed(method: str, rows: KnownRows, weight: Real | None) -> tuple[Any, str]:
    weighter = clone(as_weighter(method))
    if isinstance(weighter, CDFWeights):
        weighter.set_params(allow_no_overlap=True)
    with quiet():
        try:
            return weighter.fit(rows.table, X_target=rows.margins, sample_weight=weight), ""
        except (NoOverlapError, ValueError) as error:
            return None, str(error).partition(". ")[0].rstrip(".") + "."


def _overlap(
    rows: KnownRows,
    weight: Real | None,
    shifts: Sequence[MarginShift],
    N: float,
    met: bool,
) -> bool:
    """Whether weights give the sample the margins of cells that have rows."""
    if any(shift.uncovered - MISSED / N >= NO_OVERLAP for shift in shifts):
        return False
    if met or not any(shift.uncovered for shift in shifts):
        return met
    covered = replace(rows, margins=_covered(rows))  # empty cells count for themselves
    return _weighed("raking", covered, weight)[0] is not None


def _covered(rows: KnownRows) -> Margins:
    """Return the margins of the cells that have rows."""
    single: dict[str, Any] = {}
    for name, part in rows.margins.single.items():
        if isinstance(part, Margin):
            there = np.bincount(rows.cells(name), minlength=len(part.share)) > 0
            single[name] = Margin(part.cells, part.share * there / (part.share @ there))
    tables = []
    for table in rows.margins.tables:
        if not set(table.columns) & set(single):
            there = np.bincount(table_cells(rows, table), minlength=table.share.size) > 0
            share = table.share * there.reshape(table.share.shape)
            tables.append(replace(table, share=share / share.sum()))
    return Margins.of(single, tables, size=rows.margins.size)


def _agrees(cdf: Any) -> bool:
    """Whether CDF weights leave no more than noise."""
    return cdf is not None and bool(cdf.overlap_)


def _largest(rows: Sequence[Balance]) -> float:
    return max(abs(row.gap) for row in rows)


def published_numbers(
    before: Sequence[Balance], after: Sequence[Balance] | None
) -> tuple[PublishedNumber, ...]:
    """Put what margins hold, what the sample says, and the weighted sample beside one another."""
    if after is None:
        return tuple(PublishedNumber(*row, None) for row in before)
    pairs = zip(before, after, strict=True)
    return tuple(PublishedNumber(*row, left.sample, left.gap) for row, left in pairs)


def _notes(rows: KnownRows) -> tuple[Note, ...]:
    notes = [*rows.margins.notes]
    if rows.free:
        named = ", ".join(map(repr, rows.free[:8])) + (" ..." if len(rows.free) > 8 else "")
        notes.append(Note("columns without margins", f"No margin covers {named}."))
    text = (
        "Margins cannot show whether columns are related differently in the sample, nor what "
        "happens inside a bracket: these need target rows."
    )
    notes.append(Note("margins only", text))
    return tuple(notes)

"""`diagnose` with a target known by its margins alone."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from .._notes import Note
from .._support import MISSED, NO_OVERLAP
from .._types import Real
from ..exceptions import NoOverlapError
from ..margins import Margins
from ..margins.balance import balance_of
from ..margins.kinds import Margin
from ..margins.known import KnownRows
from ..weights import CDFWeights, as_weighter
from ..weights._design import kish
from .margins_result import MarginsDiagnosis, MarginShift, PublishedNumber
from .margins_tests import margin_shifts, table_cells
from .margins_verdict import judge
from .sizes import METHODS, method_size

_OWN = ("cdf", "entropy", "raking")  # weighters that take all margins; one in `METHODS` may not


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
    fits = {name: _weighed(name, rows, weight) for name in dict.fromkeys(["cdf", *wanted])}
    sizes = tuple(method_size(name, *fits[name], (len(rows), 0), len(rows)) for name in wanted)
    corrected = next(
        (fits[name][0] for name in ("entropy", "raking", "cdf") if name in fits and fits[name][0]),
        None,
    )
    overlap = _overlap(rows, weight, shifts, N, fits)
    return MarginsDiagnosis(
        *judge(shifts, sizes, N, overlap),
        n_train=len(rows),
        size=margins.size,
        margins=shifts,
        numbers=_numbers(rows, d, corrected),
        methods=sizes,
        overlap=overlap,
        notes=_notes(rows),
    )


def _weighed(method: str, rows: KnownRows, weight: Real | None) -> tuple[Any, str]:
    weighter = clone(as_weighter(method))
    if isinstance(weighter, CDFWeights):
        weighter.set_params(allow_no_overlap=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return weighter.fit(rows, X_target=rows.margins, sample_weight=weight), ""
        except (NoOverlapError, ValueError) as error:
            return None, str(error).partition(". ")[0].rstrip(".") + "."


def _overlap(
    rows: KnownRows,
    weight: Real | None,
    shifts: Sequence[MarginShift],
    N: float,
    fits: dict[str, Any],
) -> bool:
    """Whether weights give the sample the margins of cells that have rows."""
    if any(shift.uncovered - MISSED / N >= NO_OVERLAP for shift in shifts):
        return False
    cdf = fits.get("cdf", (None, ""))[0]
    exact = any(fitted is not None for name, (fitted, _) in fits.items() if name != "cdf")
    if exact or (cdf is not None and bool(cdf.overlap_)):
        return True
    if not any(shift.uncovered for shift in shifts):
        return False
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


def _numbers(rows: KnownRows, d: Real, fitted: Any) -> tuple[PublishedNumber, ...]:
    before = balance_of(rows.margins, rows, d)
    after: list[Any] = [None] * len(before)
    if fitted is not None:
        after = [row.sample for row in balance_of(rows.margins, rows, d * fitted.weights_)]
    return tuple(PublishedNumber(*row, left) for row, left in zip(before, after, strict=True))


def _notes(rows: KnownRows) -> tuple[Note, ...]:
    notes = [*rows.margins.notes]
    if rows.free:
        named = ", ".join(map(repr, rows.free[:8])) + (" ..." if len(rows.free) > 8 else "")
        notes.append(Note("columns without margins", f"No margin tells about {named}."))
    text = (
        "Margins cannot tell whether columns go together differently in the sample, nor what "
        "happens inside a bracket: these need target rows."
    )
    notes.append(Note("margins only", text))
    return tuple(notes)

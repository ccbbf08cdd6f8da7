"""`diagnose` with a target known by its margins alone."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from .._notes import Note
from .._support import MISSED, NO_OVERLAP
from .._types import Real
from ..exceptions import NoOverlapError
from ..margins.balance import balance_of
from ..margins.known import KnownRows
from ..weights import CDFWeights, as_weighter
from ..weights._design import kish
from .margins_result import MarginsDiagnosis, MarginShift, PublishedNumber
from .margins_tests import margin_shifts
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
    fits = {name: _weighed(name, rows, weight) for name in wanted}
    sizes = tuple(
        method_size(name, fitted, note, (len(rows), 0), len(rows))
        for name, (fitted, note) in fits.items()
    )
    corrected = next(
        (fits[name][0] for name in ("entropy", "raking", "cdf") if name in fits and fits[name][0]),
        None,
    )
    overlap = _overlap(shifts, N, fits)
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


def _overlap(shifts: Sequence[MarginShift], N: float, fits: dict[str, Any]) -> bool:
    if any(shift.uncovered - MISSED / N >= NO_OVERLAP for shift in shifts):
        return False
    cdf = fits.get("cdf", (None, ""))[0]
    exact = any(fitted is not None for name, (fitted, _) in fits.items() if name != "cdf")
    return exact or (cdf is not None and bool(cdf.overlap_))


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

"""What margins cannot do, and whether the sample covers them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import Rows
from .._validation import refuse_target_weights
from ..data import Samples
from ..diagnostics import MarginsDiagnosis
from ..diagnostics.margins import diagnose_margins
from ..exceptions import InputError, NoOverlapError
from ..show.notes import Note
from .overlap import Covered


def refuse_what_needs_rows(
    what: str, *, outcome_model: Any, target_weight: Any, restrict: Any, feature_names: Any
) -> None:
    """Say in a sentence what margins cannot do, and what to use instead."""
    if what == "coefficients":
        raise InputError(
            "what='coefficients' needs target rows, and X_target is margins: fit the regression "
            "with the weights of another quantity, estimate(...).weights, as sample_weight."
        )
    if outcome_model is not None:
        raise InputError(
            "outcome_model needs target rows, and X_target is margins: leave it out for a model "
            "that is linear in what the margins publish, whose mean follows from them."
        )
    refuse_target_weights(target_weight=target_weight)
    if restrict is not None:
        raise InputError(
            "restrict needs target rows, since margins of the covered part are not known: join "
            "cells without training rows with others, or leave out their margin."
        )
    if feature_names is not None:
        raise InputError(
            "feature_names is for target rows: margins are matched by the names that X has, or by "
            "0, 1, 2, ... for an array."
        )


def covered_by_margins(sample: Samples, rows: Rows, diagnosis: MarginsDiagnosis | None) -> Covered:
    """Refuse margins of which training ``rows`` with an outcome show too little."""
    part = sample.rows(rows)
    assert part.known is not None
    if diagnosis is None:
        there = np.flatnonzero(part.d > 0)
        diagnosis = diagnose_margins(
            part.known.rows(there), weight=part.d[there] if part.weighted else None
        )
    if diagnosis.verdict == "no overlap":
        raise NoOverlapError(
            f"{diagnosis.reason} There is no number for a population of which the sample shows "
            "nothing: join these cells with others, or leave out their margin with "
            "margins.select([...])."
        )
    notes = [*part.known.margins.notes]
    empty = [shift for shift in diagnosis.margins if shift.uncovered > 0]
    if empty:
        named = "; ".join(
            f"{shift.name!r} in {' or '.join(shift.empty[:5])} ({shift.uncovered:.1%})"
            for shift in empty
        )
        text = f"Parts of the target without training rows, which the answer cannot see: {named}."
        notes.append(Note("empty cells", text, "warning"))
    if part.known.free:
        free = part.known.free
        named = ", ".join(map(repr, free[:8])) + (" ..." if len(free) > 8 else "")
        text = f"No margin tells about {named}: nothing is corrected for these columns."
        notes.append(Note("columns without margins", text))
    return Covered(sample, diagnosis, 1.0, tuple(notes))

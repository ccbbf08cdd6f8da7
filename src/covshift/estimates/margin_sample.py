"""What `estimate` was given where the target is margins, checked.

The target then is one row: the published means m of features f (indicators of cells, numbers,
squares). Any outcome model that is linear in f has the target mean h(m), whatever the joint
distribution, so that all that `methods` does with target rows works with this one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._crossfit import Features
from .._row_weights import check_weight
from .._types import Rows
from .._validation import refuse_target_weights
from ..diagnostics import MarginsDiagnosis
from ..diagnostics.margins import diagnose_margins
from ..exceptions import InputError, NoOverlapError
from ..margins import Margins
from ..margins.known import KnownRows
from ..show.notes import Note
from .data import Groups, Sample, labels_of_rows
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


def check_margin_sample(
    X: Any, margins: Margins, *, by: Any, sample_weight: Any, strata: Any, cluster: Any
) -> Sample:
    """Check the sample and all that belongs to its rows."""
    known = KnownRows.of(margins, X, "estimate")
    Z, means, labels = known.moments
    N = len(Z)
    weighted = sample_weight is not None
    d = check_weight(sample_weight, N, "sample_weight", of="X") if weighted else np.ones(N)
    return Sample(
        Z,
        means[None, :],
        tuple(labels),
        Features(Z, means[None, :]),
        d / d[d > 0].mean(),
        weighted,
        np.ones(1),
        None if by is None else _groups(by, known),
        labels_of_rows(strata, N, "strata", X),
        labels_of_rows(cluster, N, "cluster", X),
        known,
    )


def covered_by_margins(sample: Sample, rows: Rows, diagnosis: MarginsDiagnosis | None) -> Covered:
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


def _groups(by: Any, known: KnownRows) -> Groups:
    """Cells of a column as groups, whose shares are published."""
    margins = known.margins
    able = [name for name in margins.columns if margins.margin(name) is not None]
    if not isinstance(by, str | int) or str(by) not in able:
        shown = repr(by) if isinstance(by, str | int) else "groups of the rows"
        raise InputError(
            f"With margins, by names a column of which they give shares "
            f"({', '.join(map(repr, able)) or 'none'}), not {shown}: how large other groups are in "
            "the population is not known. Add a margin of the groups."
        )
    margin = margins.margin(str(by))
    assert margin is not None
    present, train = np.unique(known.cells(str(by)), return_inverse=True)
    labels, share = margin.cells.labels, margin.share
    names = tuple(labels[k] for k in present)
    absent = {
        label: float(part)
        for k, (label, part) in enumerate(zip(labels, share, strict=True))
        if part > 0 and k not in present
    }
    return Groups(
        names,
        train.reshape(-1).astype(np.intp),
        None,
        absent,
        tuple(labels[k] for k in present if share[k] == 0),
        np.asarray(share[present]),
    )

"""What margins cannot do, and whether the sample covers them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..data import Samples
from ..data.row_weights import check_weight, kish
from ..data.validation import refuse_target_weights
from ..diagnostics import MarginsDiagnosis
from ..diagnostics.margins import diagnose_margins
from ..engine.overlap import Covered, Diagnosed
from ..engine.weights import Weights, are_weights, trimmed
from ..exceptions import InputError, MarginsWarning, NoOverlapError, WeightWarning
from ..margins.reading import cell_columns
from ..numerics.array import Real, Rows
from ..numerics.quiet import heard, quiet
from ..show.notes import Note
from ..weights import CDFWeights, EntropyBalancing, as_weighter
from ..weights.base import Weighter
from .quantities import Quantity
from .regressions import Coefficients


def refuse_what_needs_rows(
    quantity: Quantity, *, outcome_model: Any, target_weight: Any, restrict: Any, y_target: Any
) -> None:
    """Say in a sentence what margins cannot do, and what to use instead."""
    if isinstance(quantity, Coefficients):
        raise InputError(
            "what='coefficients' needs target rows, and X_target is margins: fit the regression "
            "with the weights of another quantity, estimate(...).weights, as sample_weight."
        )
    if outcome_model is not None:
        raise InputError(
            "outcome_model needs target rows, and X_target is margins: leave it out for a model "
            "that is linear in what the margins publish, whose mean follows from them."
        )
    if y_target is not None:
        raise InputError(
            "y_target has outcomes of target rows, and X_target is margins: leave it out."
        )
    refuse_target_weights(target_weight=target_weight)
    if restrict is not None:
        raise InputError(
            "restrict needs target rows, since margins of the covered part are not known: join "
            "cells without training rows with others, or leave out their margin."
        )


def covered_by_margins(sample: Samples, rows: Rows) -> Covered:
    """Refuse margins of which training ``rows`` with an outcome show too little."""
    part = sample.take(rows)
    assert part.known is not None
    diagnosis: MarginsDiagnosis | None = sample.diagnosis
    if diagnosis is None:
        there = np.flatnonzero(part.d > 0)
        diagnosis = diagnose_margins(
            part.known.rows(there), weight=part.d[there] if part.weighted else None
        )
    if diagnosis.verdict == "no overlap":
        raise NoOverlapError(
            f"{diagnosis.reason} The sample has no information about this part of the population: "
            "join these cells with others, or leave out their margin with "
            "margins.select([...])."
        )
    notes = [*part.known.margins.notes]
    empty = [shift for shift in diagnosis.margins if shift.uncovered > 0]
    if empty:
        named = "; ".join(
            f"{shift.name!r} in {' or '.join(shift.empty[:5])} ({shift.uncovered:.1%})"
            for shift in empty
        )
        text = f"Parts of the target without training rows, which no weight can reach: {named}."
        notes.append(Note("empty cells", text, "warning"))
    if part.known.free:
        free = part.known.free
        named = ", ".join(map(repr, free[:8])) + (" ..." if len(free) > 8 else "")
        text = f"No margin covers {named}: these columns are not corrected."
        notes.append(Note("columns without margins", text))
    unlike = max((shift.uncovered for shift in empty), default=0.0)
    return Covered(sample, Diagnosed(lambda: diagnosis), unlike, 1.0, tuple(notes))


# Weights that carry the sample to margins.
#
# The default is entropy balancing: the weights nearest to the design weights under which every
# published number is the sample's, raking where all numbers are shares. Weights that meet all
# numbers exactly are calibrated, and an estimate from them errs by what a regression on the
# published features f leaves (M-estimation; where limits bind, `clipped_tilt`: rows at a limit do
# not follow. Of weights that were given it is not known how they follow; near one all distances
# agree),
#
#     psi_i = w_i (L_i - mu - B'(f_i - m)) / sum w ,   B = cov_w(f)^-1 cov_w(f, L) .
#
# Where design weights d are given, B is the regression by d, as in survey software (`calibrated`),
# and no allowance is made for few rows: these are the published errors, digit for digit. Without d
# nobody says that the sample was drawn evenly. By equal weights the variance would be too large
# then: .121 where .087 is true, for rows selected by two margins whose interaction decides.
#
# Where there is more than one number for ten rows, or where no weights meet all numbers, it is
# `CDFWeights`: they leave what noise explains and stay even. Then the outcome model makes up for
# what is left, and "weights" counts it as an error.
#
# Source: Deville and Särndal (1992), *Calibration estimators in survey sampling*.


_ROWS = 10  # for each published number, from which all of them can be met
_MET = 1e-6  # standard deviations that a number may be off by


def weigh_to_margins(
    sample: Samples, weighter: Any, *, max_weight: float | None, random_state: int
) -> Weights:
    """Fit the weighter to the margins, or take the weights that were given."""
    fitted: Weighter | None = None
    notes: tuple[Note, ...] = ()
    if are_weights(weighter):
        final = check_weight(weighter, len(sample.X), "weighter", of="X") * sample.d
    else:
        if weighter is None:
            fitted, notes = default_weighter(sample)
        else:
            fitted = _named(weighter, random_state)
        with quiet(WeightWarning, MarginsWarning, when=weighter is None):  # notes say it
            final = margin_factors(sample, fitted) * sample.d
    final = final / final.mean()
    final, lost = trimmed(final, max_weight)
    Z, T = _scaled(sample)
    met = bool(np.abs(final @ Z / final.sum() - T[0]).max() <= _MET)
    numbers = _rank(Z, sample.d)
    return Weights(final, fitted, Z, T, lost, None, met, sample.weighted, numbers, notes)


def margin_factors(sample: Samples, weighter: Weighter, d: Real | None = None) -> Real:
    """Fit the weighter, to the design weights ``d`` if given; return the factor of each row."""
    assert sample.known is not None
    if d is None and sample.weighted:
        d = sample.d
    fitted = weighter.fit(sample.known.table, X_target=sample.known.margins, sample_weight=d)
    return np.asarray(fitted.weights_)


def _named(weighter: Any, random_state: int) -> Weighter:
    made: Weighter = clone(as_weighter(weighter))
    if made.get_params(deep=False).get("random_state", 0) is None:
        made.set_params(random_state=random_state)
    return made


def default_weighter(sample: Samples) -> tuple[Weighter, tuple[Note, ...]]:
    """Return the weighter to fit where none is named, and what is worth knowing of it."""
    assert sample.known is not None
    Z, _ = _scaled(sample)
    numbers, rows = _rank(Z, sample.d), kish(sample.d)
    some_cells = bool(cell_columns(sample.known.margins))
    why = f"the margins hold {numbers} independent numbers, for {rows:.0f} rows"
    if _ROWS * numbers <= rows or not some_cells:
        made = EntropyBalancing()
        try:
            with quiet(MarginsWarning), heard(ConvergenceWarning) as doubts:
                margin_factors(sample, made)
            if not doubts:
                return made, ()
        except NoOverlapError:
            if not some_cells:
                raise
        else:
            if not some_cells:
                raise ConvergenceWarning(doubts[0].text)
        why = "no weights meet all of them"
    text = f"The weights meet the margins only up to sampling noise, not exactly: {why}."
    if len(cell_columns(sample.known.margins)) < len(sample.known.margins.columns):
        text += " Published means are used in the outcome model only."
    # The diagnosis has judged the overlap, and its note names what is not covered.
    return CDFWeights(allow_no_overlap=True), (Note("weights", text),)


def _scaled(sample: Samples) -> tuple[Real, Real]:
    """Features in units of their spread in the sample, and the target's: (N, p) and (1, p)."""
    share = sample.d / sample.d.sum()
    spread = np.sqrt(share @ (sample.X - share @ sample.X) ** 2)
    unit = np.where(spread > 1e-12, spread, 1.0)
    return (sample.X - sample.T) / unit, np.zeros_like(sample.T)


def _rank(Z: Real, d: Real) -> int:
    """Number of independent features, besides a constant."""
    rows = Z[d > 0]
    return int(np.linalg.matrix_rank(rows - rows.mean(axis=0), tol=1e-8 * np.sqrt(len(rows))))

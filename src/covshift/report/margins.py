"""The report on a target that is known by its margins alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from ..comparison.target import MarginRows
from ..data.labels import labels_of_rows
from ..data.row_weights import RowWeights, check_weight
from ..diagnostics import MarginsDiagnosis, PublishedNumber
from ..diagnostics.margins import diagnose_margins_and_weigh, published_numbers
from ..exceptions import InputTypeError
from ..margins import Margins
from ..margins.known import balance_of
from ..numerics.array import Real
from ..show.table import Cell, Column, Table, number
from ..show.words import printable, signed
from . import pictures
from .labels import Compared, Labelled, reliability_curves
from .render import render
from .sections import of_weights, sizes_of
from .shift import PLAIN


def margins_page(
    X: Any,
    margins: Margins,
    *,
    y: Any,
    weights: Any,
    weights_name: str | None,
    diagnosis: Any,
    rows: RowWeights,
    random_state: int,
    model: Compared | None,
    numbers: dict[str, Any],
    **facts: Any,
) -> str:
    """Return the page; ``facts`` are shown as they are, ``numbers`` stand in it as JSON."""
    kept = np.flatnonzero(rows.kept)
    whole = MarginRows.of(margins, X)
    read = whole.rows(kept)
    own = None if rows.equal else rows.w[kept]
    w: Real | None = None
    name = None
    if diagnosis is None:
        diagnosis, found = diagnose_margins_and_weigh(read.known, weight=own)
        if found is not None:
            name, w = found
    elif not isinstance(diagnosis, MarginsDiagnosis):
        raise InputTypeError(
            f"diagnosis={diagnosis!r:.80} is none of margins. Pass what covshift.diagnose found."
        )
    if weights is not None:
        w = check_weight(weights, _num_samples(X), "weights", of="X")[kept]
        name = weights_name or "the given weights"
    if w is not None:
        balances = balance_of(margins, read.known, own), balance_of(margins, read.known, w)
        diagnosis = replace(diagnosis, numbers=published_numbers(*balances))
    diagnosis = _with_printable_names(diagnosis)
    curves = None
    if y is not None:
        y = labels_of_rows(y, "y", _num_samples(X), "X")[kept]
        train = Labelled(whole.numbers(X, "X")[kept], y, own)
        curves = reliability_curves(train, w, random_state, model=model)
    left = [number for number in diagnosis.numbers if number.gap_corrected is not None]
    by = name or ("the weights of the diagnosis" if left else None)
    return render(
        "margins.html",
        numbers={
            **numbers,
            "diagnosis": diagnosis.to_dict(),
            "weights": None if w is None else {"by": name, **of_weights(w)},
        },
        d=diagnosis,
        sizes=sizes_of(diagnosis),
        published_table=_published(diagnosis, by),
        margins_table=Table(
            diagnosis.worst,
            title="Margins",
            about="All margins, the largest distance first: of brackets, of the distribution "
            "functions at the published cuts; of categories, of a share; of means, in standard "
            "deviations. p-values are corrected for the number of margins (Holm).",
        ),
        verdict_words=PLAIN[diagnosis.verdict],
        columns=[printable(column, width=1000) for column in margins.columns],
        source=printable(margins.source, width=1000),
        weights_name=by,
        worst=max(diagnosis.numbers, key=lambda number: abs(number.gap)),
        worst_after=max(left, key=lambda number: abs(number.gap_corrected), default=None),
        empty=max(
            (shift for shift in diagnosis.margins if shift.empty),
            key=lambda shift: shift.uncovered,
            default=None,
        ),
        published=pictures.published_numbers(diagnosis),
        histogram=None if w is None else pictures.weight_histogram(np.asarray(w)),
        reliability=None if curves is None else pictures.reliability(*curves),
        **facts,
    )


def _published(diagnosis: MarginsDiagnosis, by: str | None) -> Table:
    """Every published number, in the order of the margins."""

    def cell(row: PublishedNumber, value: float | None) -> Cell:
        return number(value, "{:.1%}" if row.is_share else "{:.5g}")

    def gap(value: float | None) -> Cell:
        return Cell("" if value is None else signed(value), value)

    columns = (
        Column("published number", lambda row: row.what, words=True),
        Column("target", lambda row: cell(row, row.target)),
        Column("sample", lambda row: cell(row, row.sample)),
        Column("gap", lambda row: gap(row.gap)),
        Column("corrected", lambda row: cell(row, row.corrected)),
        Column("gap left", lambda row: gap(row.gap_corrected)),
    )
    return Table(
        diagnosis.numbers,
        columns if by else columns[:4],
        "Published numbers",
        "Every number of the margins, in their order. Gap: sample minus target, of means and "
        "standard deviations in units of the latter" + (f"; corrected: with {by}." if by else "."),
    )


def _with_printable_names(diagnosis: MarginsDiagnosis) -> MarginsDiagnosis:
    """Write control characters out, which neither HTML nor SVG can hold."""
    numbers = tuple(
        replace(number, what=printable(number.what, width=1000)) for number in diagnosis.numbers
    )
    shifts = tuple(
        replace(shift, name=printable(shift.name, width=1000)) for shift in diagnosis.margins
    )
    return replace(diagnosis, numbers=numbers, margins=shifts)

"""The report on a target that is known by its margins alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..diagnostics import MarginsDiagnosis, PublishedNumber
from ..show.table import Cell, Column, Table, number
from ..show.words import printable, signed
from . import pictures
from .render import render
from .shift import PLAIN, sizes_table, weights_numbers, weights_words


def margins_page(diagnosis: MarginsDiagnosis, *, numbers: dict[str, Any], **facts: Any) -> str:
    """Return the page; ``facts`` are shown as they are, ``numbers`` stand in it as JSON."""
    diagnosis, w = _with_printable_names(diagnosis), diagnosis.weights
    left = [number for number in diagnosis.numbers if number.gap_corrected is not None]
    by = None if w is None else weights_words(diagnosis.weighter)
    return render(
        "margins.html",
        numbers={
            **numbers,
            "diagnosis": diagnosis.to_dict(),
            "weights": weights_numbers(diagnosis),
        },
        d=diagnosis,
        sizes=sizes_table(diagnosis),
        published_table=_published(diagnosis, by),
        margins_table=Table(
            diagnosis.worst,
            title="Margins",
            about="All margins, the largest distance first: of brackets, of the distribution "
            "functions at the published cuts; of categories, of a share; of means, in standard "
            "deviations. p-values are corrected for the number of margins (Holm).",
        ),
        verdict_words=PLAIN[diagnosis.verdict],
        columns=[printable(column, width=1000) for column in diagnosis.columns],
        source=printable(diagnosis.source, width=1000),
        weights_name=by,
        worst=max(diagnosis.numbers, key=lambda number: abs(number.gap)),
        worst_after=max(left, key=lambda number: abs(number.gap_corrected or 0.0), default=None),
        empty=max(
            (shift for shift in diagnosis.margins if shift.empty),
            key=lambda shift: shift.uncovered,
            default=None,
        ),
        published=pictures.published_numbers(diagnosis),
        histogram=None if w is None else pictures.weight_histogram(w),
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

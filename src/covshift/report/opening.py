"""What the report opens with: the number of the population, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from ..engine.explanation import laid_out
from ..estimates import Estimate, Estimates, Explanation
from ..estimates.result import METHOD_WORDS
from ..exceptions import NoOverlapError
from ..show.table import Cell, Column, Table, number
from ..show.words import in_digits_of, printable, shown
from . import pictures

_NO_ANSWER = "There is no number for this population."


@dataclass(frozen=True)
class EstimateSection:
    """Headline, table of methods and picture; the template escapes all of it."""

    headline: str
    plain: str  # what it means, for a reader who knows no statistics
    about: str = ""  # how it was found
    table: Table | None = None
    picture: pictures.Picture | None = None
    notes: tuple[str, ...] = ()


def answer_of(answer: Estimates | NoOverlapError, *, draw: bool = True) -> EstimateSection:
    """Return what the page shows of estimates, or of the reason why there are none."""
    if isinstance(answer, NoOverlapError):
        return EstimateSection(_NO_ANSWER, printable(str(answer), width=5000))
    table = _table(answer)
    said = [
        f"{_answer_label(row)}, {METHOD_WORDS[row.method]}: {shown(row.value, row)}, "
        f"{' to '.join(shown(bound, row, percent=False) for bound in row.interval)}"
        for row in answer.table[:8]
    ]
    names = ", ".join(dict.fromkeys(printable(row.outcome, width=1000) for row in answer.table))
    return EstimateSection(
        answer.sentence,
        f"{answer.what.capitalize()} of {names} in the population of the target. In "
        f"{100 * answer.confidence:g}% of such studies, the interval contains the true value.",
        f"By covshift.estimate ({METHOD_WORDS[answer.method]}), {answer.n_train:,} training rows, "
        f"effective sample size {answer.effective_sample_size:,.0f} after weighting.",
        table,
        pictures.forest(answer, f"Estimates with their intervals. {'; '.join(said)}.")
        if draw
        else None,
        tuple(printable(str(note), width=5000) for note in answer.notes),
    )


def _table(answer: Estimates) -> Table:
    """Return all methods side by side; those of the chosen one stand out."""
    several = len({_answer_label(row) for row in answer.table}) > 1  # or the page has its name
    like = in_digits_of(answer.table, lambda row: (row.outcome, row.what))
    columns = (
        *((Column("estimate", _answer_label, words=True),) if several else ()),
        Column("method", lambda row: METHOD_WORDS[row.method], words=True),
        Column("value", lambda row: Cell(shown(row.value, like(row)), row.value)),
        Column(
            "std. error",
            lambda row: Cell(
                shown(row.standard_error, like(row), percent=False), row.standard_error
            ),
        ),
        Column(
            "interval",
            lambda row: " to ".join(shown(end, like(row), percent=False) for end in row.interval),
        ),
        Column("rows", lambda row: Cell(f"{row.rows:,}", row.rows)),
        Column("eff. rows", lambda row: number(row.effective_sample_size, "{:,.0f}")),
    )
    chosen = {k for k, row in enumerate(answer.table) if row.method == answer.method}
    return Table(answer.table.records, columns, "Estimates by method", chosen=chosen)


def _answer_label(row: Estimate) -> str:
    parts = (row.outcome, row.what, row.group)
    return ", ".join(printable(part, width=1000) for part in parts if part)


@dataclass(frozen=True)
class WhySection:
    """Why a number changed: sentence, picture and parts."""

    headline: str
    picture: pictures.Picture
    tables: tuple[Table, ...]


def why_of(found: Explanation) -> WhySection:
    """Return what the page shows of an explanation."""
    first = "part of the change" if found.with_labels else "column"
    tables = [laid_out(found.table, first, printable(found.name, width=1000))]
    if len(found.columns):
        title = "If only the columns had changed"
        tables.append(laid_out(found.columns, "column", title))
    said = [f"{printable(row.column)}: {shown(row.value, row)}" for row in found.table[:8]]
    return WhySection(found.sentence, pictures.waterfall(found, "; ".join(said)), tuple(tables))

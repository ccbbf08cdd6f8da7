"""What the report opens with: the number of the population, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from ..estimates import Estimate, Estimates
from ..estimates.result import METHOD_WORDS
from ..exceptions import InputTypeError, NoOverlapError
from ..show.table import Cell, Column, Table, number
from ..show.words import printable, shown
from . import pictures

_NO_NUMBER = "There is no number for this population."


@dataclass(frozen=True)
class Answer:
    """Headline, table of methods and picture; the template escapes all of it."""

    headline: str
    plain: str  # what it means, for a reader who knows no statistics
    about: str = ""  # how it was found
    table: Table | None = None
    picture: pictures.Picture | None = None
    notes: tuple[str, ...] = ()


def answer_of(found: Estimates | NoOverlapError, *, draw: bool = True) -> Answer:
    """Return what the page shows of estimates, or of the reason why there are none."""
    if isinstance(found, NoOverlapError):
        return Answer(_NO_NUMBER, printable(str(found), width=5000))
    if not isinstance(found, Estimates):
        raise InputTypeError(
            f"estimates={found!r:.80} is none. Pass what covshift.estimate found, or its error."
        )
    table = _table(found)
    said = [
        f"{label.text}, {method.text}: {value.text}, {interval.text}"
        for label, method, value, _, interval, *_ in table[:8].rows
    ]
    names = ", ".join(dict.fromkeys(printable(row.outcome, width=1000) for row in found.table))
    return Answer(
        found.sentence,
        f"{found.what.capitalize()} of {names} in the population of the target. The interval holds "
        f"the true number in {100 * found.confidence:g} % of such studies, if rows that are alike "
        "in the columns used here have the same outcome whether they are in the sample or not.",
        f"By covshift.estimate ({METHOD_WORDS[found.method]}), {found.n_train:,} training rows, "
        f"weighted by {found.weighter}: as precise as {found.effective_sample_size:,.0f} equally "
        "weighted rows.",
        table,
        pictures.forest(found, f"Estimates with their intervals. {'; '.join(said)}.")
        if draw
        else None,
        tuple(printable(str(note), width=5000) for note in found.notes),
    )


def _table(found: Estimates) -> Table:
    """Return all methods side by side; those of the chosen one stand out."""
    columns = (
        Column("estimate", _label, words=True),
        Column("method", lambda row: METHOD_WORDS[row.method], words=True),
        Column("value", lambda row: Cell(shown(row.value, row), row.value)),
        Column(
            "std. error",
            lambda row: Cell(shown(row.standard_error, row, percent=False), row.standard_error),
        ),
        Column(
            "interval",
            lambda row: " to ".join(shown(bound, row, percent=False) for bound in row.interval),
        ),
        Column("rows", lambda row: Cell(f"{row.rows:,}", row.rows)),
        Column("as precise as", lambda row: number(row.effective_sample_size, "{:,.0f}")),
    )
    chosen = {k for k, row in enumerate(found.table) if row.method == found.method}
    return Table(found.table.records, columns, "Estimates by method", chosen=chosen)


def _label(row: Estimate) -> str:
    parts = (row.outcome, row.what, row.group)
    return ", ".join(printable(part, width=1000) for part in parts if part)

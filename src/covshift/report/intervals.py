"""Prediction intervals and sets, as the report shows them: coverage, width, picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..conformal import ExpectedCoverage, Intervals, Sets
from ..show.table import Cell, Table
from ..show.words import printable
from . import pictures


@dataclass(frozen=True)
class Fact:
    """A number with its name, and what is said about it."""

    name: str
    value: str
    about: str


@dataclass(frozen=True)
class Promise:
    """Headline, facts, tables and picture; the template escapes all of it."""

    headline: str
    plain: str  # what it means, for a reader who knows no statistics
    about: str
    title: str
    facts: tuple[Fact, ...]
    tables: tuple[Table, ...] = ()
    picture: pictures.Picture | None = None
    notes: tuple[str, ...] = ()


def intervals_of(answer: Intervals | Sets) -> Promise:
    """Return what the page shows of intervals or of sets."""
    if isinstance(answer, Intervals):
        what, useful, picture = "intervals", _widths(answer), pictures.intervals(answer)
        sizes: tuple[Table, ...] = ()
    else:
        what, useful, picture = "sets", _classes(answer), None
        sizes = (_interval_sizes(answer),)
    expected = answer.expected_coverage
    by_group = (_groups(expected),) if expected.groups else ()
    carried = ", and the share that is covered is carried to the target"
    if answer.calibrated_on_target:
        carried = ""  # it is the target's
    return Promise(
        _headline(answer.coverage, what, expected),
        f"This share of the {what} contains the outcome, on average over the target.",
        f"By covshift.conformal, for {len(answer):,} rows. To estimate the coverage, every "
        f"calibration row is a new row to all others{carried}.",
        f"Prediction {what}",
        (_coverage(answer.coverage, expected), _calibration(answer), *useful),
        (*by_group, *sizes),
        picture,
        tuple(printable(note.text, width=5000) for note in answer.notes),
    )


def _headline(coverage: float, what: str, expected: ExpectedCoverage) -> str:
    start = f"Prediction {what} of coverage {coverage:.0%}:"
    if np.isnan(expected.value):
        return f"{start} expected coverage on the target not known."
    low, high = expected.interval
    value = f"expected {expected.value:.1%} on the target"
    return f"{start} {value} (95% interval {low:.1%} to {high:.1%})."


def _coverage(coverage: float, expected: ExpectedCoverage) -> Fact:
    asked = f"{coverage:.0%} asked for"
    if np.isnan(expected.value):
        return Fact("Expected coverage", "not known", printable(expected.note, width=500))
    low, high = expected.interval
    return Fact("Expected coverage", f"{expected.value:.1%}", f"{low:.1%} to {high:.1%}; {asked}")


def _calibration(answer: Intervals | Sets) -> Fact:
    size = f"{answer.effective_sample_size:,.0f}"
    rows = f"{answer.n_calibration:,} {answer.calibrated_by}"
    return Fact("Effective calibration rows", size, f"of {rows}")


def _widths(intervals: Intervals) -> tuple[Fact, ...]:
    infinite = Fact(
        "Infinite intervals",
        f"{intervals.share_infinite:.1%}",
        "where there are too few such calibration rows",
    )
    return infinite, Fact("Mean width", f"{intervals.mean_width:.4g}", "of the finite ones")


def _classes(sets: Sets) -> tuple[Fact, ...]:
    whole = Fact("Sets of all classes", f"{sets.share_whole:.1%}", "which exclude nothing")
    return whole, Fact("Mean size", f"{sets.mean_size:.2f}", f"of {len(sets.classes)} classes")


def _groups(expected: ExpectedCoverage) -> Table:
    rows = []
    for name, (value, (low, high)) in expected.groups.items():
        interval = Cell(f"{low:.1%} to {high:.1%}")
        rows.append((Cell(printable(name, width=1000)), Cell(f"{value:.1%}", value), interval))
    head = ("group", "expected coverage", "interval")
    return Table.of(head, rows, title="Coverage by group")


def _interval_sizes(sets: Sets) -> Table:
    counts = np.bincount(sets.member.sum(axis=1))
    rows = [
        (Cell(str(size), size), Cell(f"{count:,}", count), Cell(f"{share:.1%}", share))
        for size, count in enumerate(counts.tolist())
        for share in (count / max(1, len(sets)),)
        if count
    ]
    return Table.of(("classes", "rows", "share"), rows, title="Sizes of the sets")

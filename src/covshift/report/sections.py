"""How good a model is on the target, as the report shows it: tables and pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..comparison.result import LOSS_WORDS, Comparison, Scale, empty_row
from ..conformal import ExpectedCoverage, Intervals, Sets
from ..engine.explanation import laid_out
from ..estimates import Estimate, Estimates, Explanation
from ..estimates.result import METHOD_WORDS
from ..evaluations import Evaluations
from ..evaluations.metrics import words
from ..evaluations.result import WORDS, Performance
from ..exceptions import NoOverlapError
from ..show.notes import plain
from ..show.table import Cell, Column, Table, number
from ..show.words import in_digits_of, printable, shown
from . import pictures

_NO_NUMBER = "There is no number for the model on this target."
_WIDE = 6  # metrics beside one another


@dataclass(frozen=True)
class Evaluation:
    """Headline, tables and pictures; the template escapes all of it."""

    headline: str
    plain: str  # what it means, for a reader who knows no statistics
    about: str = ""  # how it was found
    panels: tuple[pictures.Picture, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    curves: tuple[pictures.Picture, ...] = ()


def evaluation_of(answer: Evaluations | NoOverlapError, *, draw: bool = True) -> Evaluation:
    """Return what the page shows of evaluations, or of the reason why there are none."""
    if isinstance(answer, NoOverlapError):
        return Evaluation(_NO_NUMBER, printable(str(answer), width=5000))
    tables = (
        _metrics(answer),
        _methods(answer),
        _batches(answer),
        _differences(answer),
        _labels(answer),
    )
    part = f" of {answer.covered_share:.1%} of the target" if answer.covered_share < 1 else ""
    return Evaluation(
        answer.sentence,
        _plain(answer),
        f"By covshift.evaluate ({WORDS[answer.method]}): {answer.n_train:,} labelled rows to judge "
        f"by, for {answer.n_target:,} target rows{part}; effective sample size "
        f"{answer.effective_sample_size:,.0f} after weighting.",
        pictures.metrics(answer) if draw else (),
        tuple(table for table in tables if table),
        tuple(printable(str(note), width=5000) for note in answer.notes),
        (*_batches_drawn(answer), *pictures.curves(answer)) if draw else (),
    )


def _plain(answer: Evaluations) -> str:
    several = len(answer.overall) > 1 and not _several(answer)
    model = printable(answer.table[0].model, width=1000)
    values = [f"{_words(row.metric)} {shown(row.value, row)}" for row in answer.overall[1:4]]
    also = f" Also expected there: {', '.join(values)}." if several else ""
    return f"Model: {model}. Left: on your labelled data. Right: expected on the target.{also}"


def _metrics(answer: Evaluations) -> Table:
    rows = []
    for row in answer.performances:
        here = answer.same(row, "none")
        rows.append((Cell(_label(answer, row)), _value(here), *_numbers(row), *_sizes(row)))
    head = ("metric", "your data", "target", "std. error", "interval", "rows", "eff. rows")
    return Table.of(head, rows, title="Metrics")


def _methods(answer: Evaluations) -> Table:
    """All methods: a line for each, and a column with the interval for each of a few metrics."""
    rows: list[tuple[Cell, ...]] = []
    chosen: set[int] = set()
    metrics = list(dict.fromkeys(row.metric for row in answer.overall))[:_WIDE]
    for model in dict.fromkeys(row.model for row in answer.overall):
        of_model = answer.table.where(model=model, group=None)
        for method, written in WORDS.items():
            cells = [of_model.where(method=method, metric=metric) for metric in metrics]
            if not any(cells):
                continue
            if method == answer.method:
                chosen.add(len(rows))
            name = f"{printable(model, width=1000)}: {written}" if _several(answer) else written
            numbers = (_value(cell[0], interval=True) if cell else Cell("") for cell in cells)
            rows.append((Cell(name), *numbers))
    head = ("method", *(_words(metric) for metric in metrics))
    about = f"Each with its {100 * answer.confidence:g}% interval; the chosen one stands out."
    return Table.of(
        head, rows, title="The methods, side by side", about=about, chosen=frozenset(chosen)
    )


def _batches(answer: Evaluations) -> Table:
    metrics = list(dict.fromkeys(row.metric for row in answer.overall))[:_WIDE]
    model = answer.table[0].model
    rows = []
    for name, part in answer.batches.items():
        cells = [part.overall.where(model=model, metric=metric) for metric in metrics]
        numbers = (_value(cell[0], interval=True) if cell else Cell("") for cell in cells)
        size = Cell(f"{part.n_target:,}", part.n_target)
        rows.append((Cell(printable(name, width=1000)), *numbers, size, Cell(part.verdict)))
    head = ("batch", *(_words(metric) for metric in metrics), "target rows", "shift")
    about = f"Expected on the target, each with its {100 * answer.confidence:g}% interval"
    about += f" ({printable(model, width=1000)})." if _several(answer) else "."
    return Table.of(head, rows, title="Batches of the target", about=about)


def _batches_drawn(answer: Evaluations) -> Iterator[pictures.Picture]:
    if not answer.batches:
        return
    first = [(name, part.overall[0]) for name, part in answer.batches.items()]
    said = [f"{printable(name, width=1000)}: {shown(row.value, row)}" for name, row in first[:8]]
    metric = _words(first[0][1].metric)
    text = f"{metric} expected in every batch of the target. {'; '.join(said)}."
    yield pictures.batches(answer, metric, text)


def _differences(answer: Evaluations) -> Table:
    rows = []
    for row in answer.differences:
        group = "" if row.group is None else f", {row.group}"
        name = f"{words(row.metric)}{group}: {row.model} less {row.reference}"
        rows.append((Cell(printable(name, width=1000)), *_numbers(row)))
    head = ("difference on the target", "value", "std. error", "interval")
    return Table.of(head, rows, title="Differences between models")


def _labels(answer: Evaluations) -> Table:
    rows = []
    for row in answer.table.where(method="labels"):
        expected, count = _value(answer.same(row, "dr")), Cell(f"{row.rows:,}", row.rows)
        rows.append((Cell(_label(answer, row)), *_numbers(row), expected, count))
    tests = [
        "Do rows with the same columns have different outcomes in the target? p = "
        f"{change.p_value:.2g} ({printable(change.model, width=1000)}); a small p suggests that "
        "they do."
        for change in answer.changes
    ]
    head = ("labels of the target", "observed", "std. error", "interval", "expected", "rows")
    return Table.of(head, rows, title="Labels of the target", about=" ".join(tests))


def _label(answer: Evaluations, row: Performance) -> str:
    grouped = any(other.group is not None for other in answer.table)
    group = "all" if row.group is None else printable(row.group, width=1000)
    return _named(answer, row.model, row.metric) + (f", {group}" if grouped else "")


def _named(answer: Evaluations, model: str, metric: str) -> str:
    name = f"{printable(model, width=1000)}: " if _several(answer) else ""
    return name + _words(metric)


def _words(metric: str) -> str:
    return printable(words(metric), width=1000)


def _several(answer: Evaluations) -> bool:
    return len({row.model for row in answer.table}) > 1


def _interval(row: Any) -> str:
    return " to ".join(shown(bound, row) for bound in row.interval)


def _value(row: Any, *, interval: bool = False) -> Cell:
    return Cell(shown(row.value, row), row.value, _interval(row) if interval else "")


def _numbers(row: Any) -> Iterator[Cell]:
    yield _value(row)
    yield Cell(shown(row.standard_error, row), row.standard_error)
    yield Cell(_interval(row))


def _sizes(row: Performance) -> Iterator[Cell]:
    yield Cell(f"{row.rows:,}", row.rows)
    yield Cell(f"{row.effective_sample_size:,.0f}", row.effective_sample_size)


# What the report opens with: the number of the population, or why there is none.


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


# The comparison of methods that a report may hold.


def comparison_of(comparison: Comparison) -> dict[str, Any]:
    """Return what the page shows."""
    nothing = plain(empty_row("", ""))
    rows = [nothing | row for row in comparison.to_dict()["rows"]]
    return {
        "recommendation": comparison.recommendation,
        "table": _comparison_table(comparison, rows),
        "notes": _notes(rows),
    }


def _comparison_table(comparison: Comparison, rows: list[dict[str, Any]]) -> Table:
    """Return one row per method; the recommended one stands out."""
    form, published = _form(rows), any(row["gap_before"] is not None for row in rows)
    gained, scored = (any(row[key] is not None for row in rows) for key in ("gain", "true_risk"))
    heads = [
        ("risk", "risk", form),
        ("standard_error", "std. error", form),
        *([("gain", "gain", form), ("gain_standard_error", "std. error", form)] if gained else []),
        *([("true_risk", "true risk", form)] if scored else []),
        ("effective_sample_size", "eff. rows", "{:,.0f}"),
        ("gap_after", "gap left", "{:.3f}") if published else ("smd_after", "SMD left", "{:.3f}"),
        ("seconds", "seconds", "{:.1f}"),
    ]
    columns = (
        Column(head, lambda row, key=key, form=form: number(row[key], form))
        for key, head, form in heads
    )
    chosen = {k for k, row in enumerate(rows) if row["method"] == comparison.recommended}
    return Table(
        rows,
        (Column("method", lambda row: row["method"], words=True), *columns),
        "Methods",
        _about(comparison, rows),
        chosen,
    )


def _about(comparison: Comparison, rows: list[dict[str, Any]]) -> str:
    """Say what the columns are, and what was used."""
    learner, loss, needed = comparison.learner, comparison.loss, comparison.needed
    used = (
        "Labels of the target were used for the column of the true risk alone."
        if comparison.scored_on_target_labels
        else "No labels of the target were used."
    )
    clear = len(rows) > 1 and np.isfinite(needed)
    return (
        (f"Learner: {learner}. " if learner else "")
        + f"Risk: {LOSS_WORDS.get(loss, loss)} on the target, estimated from held-out training "
        "rows that are weighted to look like it. Gain: over the unweighted model"
        + (f"; it is clear beyond {needed:.1f} standard errors" if clear else "")
        + ". Std. error: by how much the number before it may be off by chance. "
        + f"{used} {_balance(rows)} Recommended: {comparison.recommended}."
    )


def _notes(rows: list[dict[str, Any]]) -> list[str]:
    """Every note once, after the methods that it is about."""
    about: dict[str, list[str]] = {}
    for row in rows:
        if row["note"]:
            about.setdefault(row["note"], []).append(row["method"])
    return [f"{', '.join(methods)}: {note}" for note, methods in about.items()]


def _balance(rows: list[dict[str, Any]]) -> str:
    """What the column on balance holds, and what it was before weighting."""
    for key, what in (
        ("gap", "Gap left: mean absolute difference from the published numbers"),
        ("smd", "SMD left: mean absolute standardised mean difference of the columns"),
    ):
        before = next(
            (row[f"{key}_before"] for row in rows if row[f"{key}_before"] is not None), None
        )
        if before is not None:
            return f"{what}, {before:.3f} before weighting."
    return ""


def _form(rows: list[dict[str, Any]]) -> str:
    """How risks and gains are written: as many decimals as the first risk needs for four digits."""
    scale = Scale.of(rows[0]["risk"] if rows else None)
    return "{:,.0f}" if scale.unit > 1 else scale.form


# Prediction intervals and sets, as the report shows them: coverage, width, picture.


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


# What stands in the page as JSON: everything that it shows, for programs.


def data_of(found: Any) -> Any:
    """Return a result as plain data, or why there is none."""
    if found is None:
        return None
    return {"refused": str(found)} if isinstance(found, Exception) else found.to_dict()

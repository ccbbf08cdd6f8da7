"""How good a model is on the target, as the report shows it: tables and pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..evaluations import Evaluations
from ..evaluations.metrics import words
from ..evaluations.result import WORDS, Performance
from ..exceptions import NoOverlapError
from ..show.table import Cell, Table
from ..show.words import printable, shown
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
        expected, count = _value(answer.same(row, "model")), Cell(f"{row.rows:,}", row.rows)
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


# What stands in the page as JSON: everything that it shows, for programs.


def data_of(found: Any) -> Any:
    """Return a result as plain data, or why there is none."""
    if found is None:
        return None
    return {"refused": str(found)} if isinstance(found, Exception) else found.to_dict()

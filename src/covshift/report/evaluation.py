"""How good a model is on the target, as the report shows it: tables and pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..evaluations import Evaluations
from ..evaluations.metrics import words
from ..evaluations.result import WORDS, Performance
from ..exceptions import InputTypeError, NoOverlapError
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
    picture: pictures.Picture | None = None
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    curves: tuple[pictures.Picture, ...] = ()


def evaluation_of(found: Evaluations | NoOverlapError, *, draw: bool = True) -> Evaluation:
    """Return what the page shows of evaluations, or of the reason why there are none."""
    if isinstance(found, NoOverlapError):
        return Evaluation(_NO_NUMBER, printable(str(found), width=5000))
    if not isinstance(found, Evaluations):
        raise InputTypeError(
            f"evaluations={found!r:.80} is none. Pass what covshift.evaluate found, or its error."
        )
    metrics = _metrics(found)
    said = [f"{row[0].text}: {row[1].text}, then {row[2].text}" for row in metrics.rows[:8]]
    tables = (metrics, _methods(found), _batches(found), _differences(found), _checks(found))
    part = f" of {found.covered_share:.1%} of the target" if found.covered_share < 1 else ""
    return Evaluation(
        found.sentence,
        _plain(found),
        f"By covshift.evaluate ({WORDS[found.method]}): {found.n_train:,} labelled rows to judge "
        f"by, for {found.n_target:,} target rows{part}; weights by {found.weighter}, as precise as "
        f"{found.effective_sample_size:,.0f} equally weighted rows.",
        pictures.metrics(found, f"Metrics with their intervals. {'; '.join(said)}.")
        if draw
        else None,
        tuple(table for table in tables if table),
        tuple(printable(str(note), width=5000) for note in found.notes),
        (*_batches_drawn(found), *pictures.curves(found)) if draw else (),
    )


def _plain(found: Evaluations) -> str:
    several = len(found.overall) > 1 and not _several(found)
    model = printable(found.table[0].model, width=1000)
    values = [f"{_words(row.metric)} {shown(row.value, row)}" for row in found.overall[1:4]]
    also = f" Also expected there: {', '.join(values)}." if several else ""
    return (
        f"Model: {model}. On your data: on the labelled rows as they are; expected on the target: "
        "what it would be there, if rows that are alike in the columns used here have the same "
        f"outcome in both.{also}"
    )


def _metrics(found: Evaluations) -> Table:
    rows = []
    for row in found.performances:
        here = found.same(row, "none")
        rows.append((Cell(_label(found, row)), _value(here), *_numbers(row), *_sizes(row)))
    head = ("metric", "your data", "target", "std. error", "interval", "rows", "as precise as")
    return Table.of(head, rows, title="Metrics")


def _methods(found: Evaluations) -> Table:
    """All methods: a line for each, and a column with the interval for each of a few metrics."""
    rows: list[tuple[Cell, ...]] = []
    chosen: set[int] = set()
    metrics = list(dict.fromkeys(row.metric for row in found.overall))[:_WIDE]
    for model in dict.fromkeys(row.model for row in found.overall):
        of_model = found.table.where(model=model, group=None)
        for method, written in WORDS.items():
            cells = [of_model.where(method=method, metric=metric) for metric in metrics]
            if not any(cells):
                continue
            if method == found.method:
                chosen.add(len(rows))
            name = f"{printable(model, width=1000)}: {written}" if _several(found) else written
            numbers = (_value(cell[0], interval=True) if cell else Cell("") for cell in cells)
            rows.append((Cell(name), *numbers))
    head = ("method", *(_words(metric) for metric in metrics))
    about = f"Each with its {100 * found.confidence:g} % interval; the chosen one stands out."
    return Table.of(
        head, rows, title="The methods, side by side", about=about, chosen=frozenset(chosen)
    )


def _batches(found: Evaluations) -> Table:
    metrics = list(dict.fromkeys(row.metric for row in found.overall))[:_WIDE]
    model = found.table[0].model
    rows = []
    for name, part in found.batches.items():
        cells = [part.overall.where(model=model, metric=metric) for metric in metrics]
        numbers = (_value(cell[0], interval=True) if cell else Cell("") for cell in cells)
        size = Cell(f"{part.n_target:,}", part.n_target)
        rows.append((Cell(printable(name, width=1000)), *numbers, size, Cell(part.verdict)))
    head = ("batch", *(_words(metric) for metric in metrics), "target rows", "shift")
    about = f"Expected on the target, each with its {100 * found.confidence:g} % interval"
    about += f" ({printable(model, width=1000)})." if _several(found) else "."
    return Table.of(head, rows, title="Batches of the target", about=about)


def _batches_drawn(found: Evaluations) -> Iterator[pictures.Picture]:
    if not found.batches:
        return
    first = [(name, part.overall[0]) for name, part in found.batches.items()]
    said = [f"{printable(name, width=1000)}: {shown(row.value, row)}" for name, row in first[:8]]
    metric = _words(first[0][1].metric)
    text = f"{metric} expected in every batch of the target. {'; '.join(said)}."
    yield pictures.batches(found, metric, text)


def _differences(found: Evaluations) -> Table:
    rows = []
    for row in found.differences:
        group = "" if row.group is None else f", {row.group}"
        name = f"{words(row.metric)}{group}: {row.model} less {row.reference}"
        rows.append((Cell(printable(name, width=1000)), *_numbers(row)))
    head = ("difference on the target", "value", "std. error", "interval")
    return Table.of(head, rows, title="Differences between models")


def _checks(found: Evaluations) -> Table:
    rows = []
    for row in found.checks:
        expected = Cell(shown(row.expected, row), row.expected)
        count = Cell(f"{row.rows:,}", row.rows)
        rows.append((Cell(_named(found, row.model, row.metric)), *_numbers(row), expected, count))
    tests = [
        f"Do rows that are alike have another outcome in the target? p = {change.p_value:.2g} "
        f"({printable(change.model, width=1000)}); a small p says that they do."
        for change in found.changes
    ]
    head = ("labels of the target", "observed", "std. error", "interval", "expected", "rows")
    return Table.of(head, rows, title="Labels of the target", about=" ".join(tests))


def _label(found: Evaluations, row: Performance) -> str:
    grouped = any(other.group is not None for other in found.table)
    group = "all" if row.group is None else printable(row.group, width=1000)
    return _named(found, row.model, row.metric) + (f", {group}" if grouped else "")


def _named(found: Evaluations, model: str, metric: str) -> str:
    name = f"{printable(model, width=1000)}: " if _several(found) else ""
    return name + _words(metric)


def _words(metric: str) -> str:
    return printable(words(metric), width=1000)


def _several(found: Evaluations) -> bool:
    return len({row.model for row in found.table}) > 1


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

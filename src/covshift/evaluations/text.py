"""Evaluations as text and as HTML: the sentence for the boss first, then the table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

from .._html import card, table
from ..diagnostics.text import printable
from ..estimates.text import METHOD_WORDS, aligned, shown
from .metrics import words

if TYPE_CHECKING:
    from .result import Difference, Evaluations, Performance
    from .target_labels import Check

WORDS = {
    **{method: METHOD_WORDS[method] for method in ("dr", "weights", "model")},
    "pape": "weighted calibration (PAPE)",
    "cbpe": "calibrated scores (CBPE)",
    "none": "labelled rows as they are",
}
_TABLE_HEAD = ("model", "metric", "group", "method", "value", "s.e.", "interval", "rows")
_HEAD = ("", "your data", "target", "s.e.", "interval", "rows", "eff. rows")


def sentence(found: Evaluations) -> str:
    """Say the first answer in one sentence."""
    there = found.performances[0]
    here = _by_method(found, there)["none"]
    name = words(there.metric)
    name = name[0].upper() + name[1:]
    if math.isnan(there.value):
        here_too = "" if math.isnan(here.value) else f" {shown(here.value, here)} on your data;"
        return f"{name}:{here_too} not defined on the target."
    interval = f"{found.confidence:.0%} interval {_interval(there)}".replace("%", " %", 1)
    if there.method == "none":
        return f"{name} {shown(here.value, here)} on your data, uncorrected ({interval})."
    return (
        f"{name} {shown(here.value, here)} on your data; expected "
        f"{shown(there.value, there)} on the target ({interval})."
    )


def describe(found: Evaluations) -> str:
    """Write everything in lines of at most 100 characters."""
    head, rows = _cells(found)
    parts = [
        sentence(found),
        "\n".join(aligned([tuple(head), *map(tuple, rows)], left=1)),
        "\n".join(_methods_table(found)),
        "\n".join(_batches(found)),
        "\n".join(_differences(found)),
        "\n".join(_checks(found)),
        "\n".join(fill(line, 96, subsequent_indent="  ") for line in _facts(found)),
        "\n".join(fill(f"Note: {note}", 96, subsequent_indent="  ") for note in found.notes),
    ]
    return "\n\n".join(part for part in parts if part)


def as_html(found: Evaluations) -> str:
    """Write sentence, table and notes as HTML that a notebook shows."""
    return card(sentence(found), table(*_cells(found)), facts=_facts(found), notes=found.notes)


def table_lines(rows: Sequence[Performance]) -> list[str]:
    """Write any metrics as lines."""
    return aligned([_TABLE_HEAD, *_table_cells(rows)], left=4)


def table_html(rows: Sequence[Performance]) -> str:
    """Write any metrics as HTML that a notebook shows."""
    return table(_TABLE_HEAD, _table_cells(rows))


def _table_cells(rows: Sequence[Performance]) -> list[tuple[str, ...]]:
    return [
        (
            printable(row.model),
            printable(words(row.metric)),
            printable(row.group or ""),
            row.method,
            shown(row.value, row),
            shown(row.standard_error, row),
            _interval(row),
            f"{row.rows:,}",
        )
        for row in rows
    ]


def _interval(row: Performance | Difference | Check) -> str:
    return " to ".join(shown(bound, row) for bound in row.interval)


def _by_method(found: Evaluations, row: Performance) -> dict[str, Performance]:
    same = found.table.where(model=row.model, metric=row.metric, group=row.group)
    return {other.method: other for other in same}


def _label(found: Evaluations, model: str, metric: str, group: str | None) -> str:
    several = len({row.model for row in found.table}) > 1
    parts = [printable(model)] if several else []
    parts.append(printable(words(metric)))
    if any(row.group is not None for row in found.table):
        parts.append("all" if group is None else printable(group))
    return ": ".join(parts)


def _cells(found: Evaluations) -> tuple[list[str], list[list[str]]]:
    rows = []
    for row in found.performances:
        here = _by_method(found, row)["none"]
        rows.append(
            [
                _label(found, row.model, row.metric, row.group),
                shown(here.value, here),
                shown(row.value, row),
                shown(row.standard_error, row),
                _interval(row),
                f"{row.rows:,}",
                f"{row.effective_sample_size:,.0f}",
            ]
        )
    return list(_HEAD), rows


def _methods_table(found: Evaluations) -> list[str]:
    """Set the methods beside one another: a line for each, a column for each of a few metrics."""
    first = found.overall.where(model=found.table[0].model)[:4]
    by_metric = [_by_method(found, row) for row in first]
    head = ("method", *(printable(words(row.metric)) for row in first))
    lines = []
    for method, written in WORDS.items():
        if method in by_metric[0]:
            mark = " *" if method == found.method else ""
            cells = (shown(rows[method].value, rows[method]) for rows in by_metric)
            lines.append((written + mark, *cells))
    return aligned([head, *lines], left=1)


def _batches(found: Evaluations) -> list[str]:
    """Write the first metric of every batch."""
    if not found.batches:
        return []
    first = found.overall[0]
    head = (f"batch: {words(first.metric)}", "target", "s.e.", "interval", "target rows", "shift")
    lines = []
    for name, part in found.batches.items():
        row = part.overall[0]
        numbers = (shown(row.value, row), shown(row.standard_error, row), _interval(row))
        lines.append((printable(name), *numbers, f"{part.n_target:,}", part.verdict))
    return aligned([head, *lines], left=1)


def _differences(found: Evaluations) -> list[str]:
    if not found.differences:
        return []
    head = ("difference on the target", "value", "s.e.", "interval")
    lines = []
    for row in found.differences:
        label = words(row.metric) + ("" if row.group is None else f", {row.group}")
        name = printable(f"{label}: {row.model} - {row.reference}")
        lines.append((name, shown(row.value, row), shown(row.standard_error, row), _interval(row)))
    return aligned([head, *lines], left=1)


def _checks(found: Evaluations) -> list[str]:
    if not found.checks:
        return []
    head = ("labels of the target", "observed", "s.e.", "interval", "expected", "rows")
    lines = []
    for row in found.checks:
        name = _label(found, row.model, row.metric, None)
        numbers = (shown(row.value, row), shown(row.standard_error, row), _interval(row))
        lines.append((name, *numbers, shown(row.expected, row), f"{row.rows:,}"))
    tests = [
        f"Do alike rows have other outcomes there? p = {change.p_value:.2g} "
        f"({printable(change.model)}): "
        f"{'it seems so' if change.p_value < 0.05 else 'no sign of it'}."
        for change in found.changes
    ]
    return [*aligned([head, *lines], left=1), *tests]


def _facts(found: Evaluations) -> list[str]:
    target = f"{found.n_target:,} target rows"
    if found.covered_share < 1:
        target += f" ({found.covered_share:.1%} of the target)"
    lines = [
        f"Shift: {found.verdict}. {found.n_train:,} labelled rows to judge by, {target}.",
        f"Weights ({found.weighter}): as precise as {found.effective_sample_size:,.0f} equally "
        f"weighted rows, design effect {found.design_effect:.2f}, largest weight "
        f"{found.largest_weight:.1f}, trimmed {found.trimmed_share:.1%}.",
    ]
    used = {", ".join(names) for names in found.models.values()}
    if used:
        lines.append(f"Outcome model: {'; '.join(sorted(used)[:3])}, cross-fitted.")
    return lines

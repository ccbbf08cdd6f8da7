"""Estimates as text and as HTML: the sentence for the boss first, then the table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Protocol

from .._html import card, table
from ..diagnostics.text import printable

if TYPE_CHECKING:
    from .result import Estimate, Estimates

METHOD_WORDS = {
    "dr": "doubly robust",
    "weights": "weights alone",
    "model": "outcome model alone",
    "none": "sample as it is",
}
_TABLE_HEAD = ("outcome", "what", "group", "method", "value", "s.e.", "interval", "rows")
_HEAD = ("", "sample", "corrected", "s.e.", "interval", "rows", "eff. rows")


class Written(Protocol):
    """What it takes to write a number: its error, and whether it is a share."""

    @property
    def standard_error(self) -> float: ...

    @property
    def proportion(self) -> bool: ...


def sentence(found: Estimates) -> str:
    """Say the first answer in one sentence."""
    corrected = found.overall[0] if found.overall else found.estimates[0]
    plain = _same(found, corrected, "none")
    low, high = (shown(bound, corrected, percent=False) for bound in corrected.interval)
    label = _label(corrected, found)
    of = f" ({label})" if label else ""
    interval = f"{found.confidence:.0%} interval {low} to {high}".replace("%", " %", 1)
    if corrected.method == "none":
        return f"The sample says {shown(corrected.value, corrected)}{of}, uncorrected ({interval})."
    return (
        f"The sample says {shown(plain.value, plain)}{of}; corrected for who answered: "
        f"{shown(corrected.value, corrected)} ({interval})."
    )


def describe(found: Estimates) -> str:
    """Write everything in lines of at most 100 characters."""
    parts = [
        sentence(found),
        "\n".join(_main_table(found)),
        "\n".join(_methods_table(found)),
        "\n".join(_facts(found)),
        "\n".join(fill(f"Note: {note}", 96, subsequent_indent="  ") for note in found.notes),
    ]
    return "\n\n".join(part for part in parts if part)


def as_html(found: Estimates) -> str:
    """Write sentence, table and notes as HTML that a notebook shows."""
    return card(sentence(found), table(*_cells(found)), facts=_facts(found), notes=found.notes)


def table_lines(rows: Sequence[Estimate]) -> list[str]:
    """Write any estimates as lines."""
    return aligned([_TABLE_HEAD, *_table_cells(rows)], left=4)


def table_html(rows: Sequence[Estimate]) -> str:
    """Write any estimates as HTML that a notebook shows."""
    return table(_TABLE_HEAD, _table_cells(rows))


def _table_cells(rows: Sequence[Estimate]) -> list[tuple[str, ...]]:
    return [
        (
            printable(row.outcome),
            printable(row.what or "mean"),
            printable(row.group or ""),
            row.method,
            shown(row.value, row),
            shown(row.standard_error, row, percent=False),
            _interval(row),
            f"{row.rows:,}",
        )
        for row in rows
    ]


def shown(value: float, row: Written, *, percent: bool = True) -> str:
    """Write a number with as many digits as its error deserves; shares in per cent."""
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    error = row.standard_error
    if row.proportion:
        digits = 1 if not 0 < error < 0.001 else min(6, 1 - math.floor(math.log10(error * 100)))
        return f"{100 * value:.{digits}f}" + (" %" if percent else "")
    if not 0 < error < math.inf:
        return f"{value:.6g}"
    digits = 1 - math.floor(math.log10(error))
    if digits > 12 or abs(value) >= 1e15:
        return f"{value:.4g}"
    return f"{value:,.{digits}f}" if digits > 0 else f"{round(value, digits):,.0f}"


def _same(found: Estimates, row: Estimate, method: str) -> Estimate:
    return next(
        other
        for other in found.table
        if (other.outcome, other.what, other.group, other.method)
        == (row.outcome, row.what, row.group, method)
    )


def _label(row: Estimate, found: Estimates) -> str:
    """Name a number where there are several, or where it is not a plain mean."""
    several = len({other.outcome for other in found.table}) > 1
    parts = [printable(row.outcome)] if several else []
    if row.what:
        parts.append(printable(row.what))
    return ", ".join(parts)


def _interval(row: Estimate, wide: bool = False) -> str:
    interval = row.sensitivity_interval if wide else row.interval
    if interval is None:
        return ""
    return " to ".join(shown(bound, row, percent=False) for bound in interval)


def _cells(found: Estimates) -> tuple[list[str], list[list[str]]]:
    head = list(_HEAD)
    wide = found.sensitivity is not None
    if wide:
        head.insert(5, f"if y moves by {found.sensitivity:g}")
    rows, grouped = [], any(row.group is not None for row in found.estimates)
    for row in found.estimates:
        plain = _same(found, row, "none")
        label = _label(row, found)
        cells = [
            _where(label, row.group, grouped),
            shown(plain.value, plain),
            shown(row.value, row),
            shown(row.standard_error, row, percent=False),
            _interval(row),
            f"{row.rows:,}",
            f"{row.effective_sample_size:,.0f}",
        ]
        if wide:
            cells.insert(5, _interval(row, wide=True))
        rows.append(cells)
    return head, rows


def _where(label: str, group: str | None, grouped: bool) -> str:
    """Name a line of the table by the number and the group."""
    name = "all" if group is None else printable(group)
    if not label:
        return name
    return f"{label}: {name}" if grouped else label


def _main_table(found: Estimates) -> list[str]:
    head, rows = _cells(found)
    return aligned([tuple(head), *map(tuple, rows)], left=1)


def _methods_table(found: Estimates) -> list[str]:
    """Set the methods beside one another, for the first number."""
    first = found.overall[0] if found.overall else found.estimates[0]
    head = ("method", "value", "s.e.", "interval")
    lines = []
    for method, words in METHOD_WORDS.items():
        row = _same(found, first, method)
        mark = " *" if method == found.method else ""
        error = shown(row.standard_error, row, percent=False)
        lines.append((words + mark, shown(row.value, row), error, _interval(row)))
    return aligned([head, *lines], left=1)


def _facts(found: Estimates) -> list[str]:
    target = f"{found.n_target:,} target rows"
    if found.margins is not None:
        columns = found.margins.columns
        target = f"margins of {len(columns)} column{'s' if len(columns) > 1 else ''}"
        if found.margins.source:
            target += f" ({printable(found.margins.source, 60)})"
    if found.covered_share < 1:
        target += f" ({found.covered_share:.1%} of the target)"
    lines = [
        f"Shift: {found.verdict}. {found.n_train:,} training rows, {target}.",
        f"Weights ({found.weighter}): as precise as {found.effective_sample_size:,.0f} equally "
        f"weighted rows, design effect {found.design_effect:.2f}, largest weight "
        f"{found.largest_weight:.1f}, trimmed {found.trimmed_share:.1%}.",
    ]
    used = {", ".join(names) for names in found.models.values()}
    if used:
        lines.append(f"Outcome model: {'; '.join(sorted(used)[:3])}, cross-fitted.")
    return lines


def aligned(rows: Sequence[tuple[str, ...]], *, left: int) -> list[str]:
    """Align columns, the first ``left`` of them to the left."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            f"{cell:<{width}s}" if k < left else f"{cell:>{width}s}"
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(("  " + "  ".join(cells)).rstrip())
    return lines

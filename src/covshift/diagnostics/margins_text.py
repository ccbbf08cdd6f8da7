"""The diagnosis of margins as text: verdict first, published numbers next."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

from .._html import card, table
from .text import printable, signed, sizes_html, sizes_title

if TYPE_CHECKING:
    from .margins_result import MarginsDiagnosis, PublishedNumber

_SHOWN = 12  # published numbers, the worst first
_WIDTH = 44  # of what one is called


def describe(d: MarginsDiagnosis) -> str:
    """Write the diagnosis as lines of at most 100 characters."""
    parts = [
        "\n".join(
            [
                f"Verdict: {d.verdict}",
                fill(d.reason, 88, initial_indent="  ", subsequent_indent="  "),
                fill(f"Next: {d.advice}", 88, initial_indent="  ", subsequent_indent="  "),
            ]
        ),
        _margins(d),
        _numbers(d),
        _sizes(d),
        "\n".join(
            fill(f"Note: {note}", 88, subsequent_indent="  ", break_long_words=False)
            for note in d.notes
        ),
    ]
    return "\n\n".join(part for part in parts if part)


def as_html(d: MarginsDiagnosis) -> str:
    """Write the diagnosis as HTML that a notebook shows."""
    margins, numbers = (
        table(rows[0], rows[1:]) for rows in (_margin_cells(d), _number_cells(d.numbers))
    )
    facts = [d.reason, f"Next: {d.advice}", _title(d)]
    first = f"Verdict: {d.verdict}"
    return card(first, margins, numbers, sizes_html(d.methods), facts=facts, notes=d.notes)


def _title(d: MarginsDiagnosis) -> str:
    size = "" if d.size is None else f" of {d.size:,.0f}"
    return f"{d.n_train:,} training rows, margins{size}; worst first"


def _margins(d: MarginsDiagnosis) -> str:
    return "\n".join([_title(d), *_aligned(_margin_cells(d), left=2)])


def _margin_cells(d: MarginsDiagnosis) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("margin", "kind", "distance", "p (Holm)", "without rows")]
    for shift in d.worst:
        p_value = "< 0.001" if shift.p_value < 0.001 else f"{shift.p_value:.3f}"
        numbers = (f"{shift.distance:.3f}", p_value, f"{shift.uncovered:.1%}")
        rows.append((printable(shift.name), shift.kind, *numbers))
    return rows


def _numbers(d: MarginsDiagnosis) -> str:
    lines = _aligned(_number_cells(d.numbers)[: _SHOWN + 1], left=1)
    if len(d.numbers) > _SHOWN:
        lines.append(f"  and {len(d.numbers) - _SHOWN} more numbers")
    return "\n".join(lines)


def _number_cells(numbers: Sequence[PublishedNumber]) -> list[tuple[str, ...]]:
    """Head and cells of the published numbers, the largest gap first."""
    rows: list[tuple[str, ...]] = [("published number", "target", "sample", "gap", "weighted")]
    for number in sorted(numbers, key=lambda number: -abs(number.gap)):
        weighted = "" if number.corrected is None else _plain(number, number.corrected)
        both = (_plain(number, number.target), _plain(number, number.sample))
        rows.append((printable(number.what, _WIDTH), *both, signed(number.gap), weighted))
    return rows


def _plain(number: PublishedNumber, value: float) -> str:
    return f"{value:.3f}" if number.is_share else f"{value:.5g}"


def _sizes(d: MarginsDiagnosis) -> str:
    before = [(row.effective_sample_size or 0.0) / row.share for row in d.methods if row.share]
    rows = round(before[0]) if before else d.n_train  # effective rows, where they have weights
    lines = [sizes_title(rows)] if d.methods else []
    for row in d.methods:
        size = (
            "none" if row.share is None else f"{row.effective_sample_size:,.0f} ({row.share:.0%})"
        )
        note = f"  {row.note}" if row.note else ""
        lines.append(f"  {row.method:16s}{size:>16s}{note}")
    return "\n".join(lines)


def _aligned(rows: Sequence[tuple[str, ...]], *, left: int) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  "
        + "  ".join(
            f"{cell:<{width}s}" if k < left else f"{cell:>{width}s}"
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]

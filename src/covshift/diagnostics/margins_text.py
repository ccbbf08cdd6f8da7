"""The diagnosis of margins as text: verdict first, published numbers next."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

from .text import printable, signed

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


def _margins(d: MarginsDiagnosis) -> str:
    size = "" if d.size is None else f" of {d.size:,.0f}"
    lines = [f"{d.n_train:,} training rows, margins{size}; worst first"]
    rows = [("margin", "kind", "distance", "p (Holm)", "without rows")]
    for shift in d.worst:
        p_value = "< 0.001" if shift.p_value < 0.001 else f"{shift.p_value:.3f}"
        numbers = (f"{shift.distance:.3f}", p_value, f"{shift.uncovered:.1%}")
        rows.append((printable(shift.name), shift.kind, *numbers))
    return "\n".join(lines + _aligned(rows, left=2))


def _numbers(d: MarginsDiagnosis) -> str:
    worst = sorted(d.numbers, key=lambda number: -abs(number.gap))[:_SHOWN]
    rows = [("published number", "target", "sample", "gap", "weighted")]
    for number in worst:
        weighted = "" if number.corrected is None else _plain(number, number.corrected)
        numbers = (_plain(number, number.target), _plain(number, number.sample))
        rows.append((printable(number.what, _WIDTH), *numbers, signed(number.gap), weighted))
    lines = _aligned(rows, left=1)
    if len(d.numbers) > _SHOWN:
        lines.append(f"  and {len(d.numbers) - _SHOWN} more numbers")
    return "\n".join(lines)


def _plain(number: PublishedNumber, value: float) -> str:
    return f"{value:.3f}" if number.is_share else f"{value:.5g}"


def _sizes(d: MarginsDiagnosis) -> str:
    before = [(row.effective_sample_size or 0.0) / row.share for row in d.methods if row.share]
    rows = round(before[0]) if before else d.n_train  # effective rows, where they have weights
    lines = [f"Effective sample size, of {rows:,}"] if d.methods else []
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

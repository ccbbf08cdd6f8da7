"""The diagnosis as text: verdict first, worst columns next."""

from __future__ import annotations

from collections.abc import Container, Iterable
from textwrap import fill
from typing import TYPE_CHECKING

from .. import _html
from .._feature_columns import MISSING

if TYPE_CHECKING:
    from .features import FeatureShift
    from .result import Diagnosis
    from .sizes import MethodSize

_SHOWN = 10  # features
_WIDTH = 28  # of a name


def describe(diagnosis: Diagnosis) -> str:
    """Write the diagnosis as lines of at most 88 characters."""
    parts = [
        _verdict(diagnosis),
        _columns(diagnosis),
        _joint(diagnosis),
        _sizes(diagnosis),
        _intervals(diagnosis),
        _notes(diagnosis),
    ]
    return "\n\n".join(part for part in parts if part)


def as_html(d: Diagnosis) -> str:
    """Write the diagnosis as HTML that a notebook shows: verdict, columns, sizes and notes."""
    head, rows = _column_cells(d)
    names = [feature.name for feature in d.worst[:_SHOWN]]
    columns = _html.table(("column", *head), [(a, *b) for a, b in zip(names, rows, strict=True)])
    more = len(d.features) - _SHOWN
    facts = [
        d.reason,
        f"Next: {d.advice}",
        f"{d.n_train:,} training rows, {d.n_target:,} target rows"
        + (f"; {more} more columns" if more > 0 else ""),
        *(line.strip() for line in _joint(d).split("\n")[1:]),
        *_intervals(d).split("\n")[:1],
    ]
    first = f"Verdict: {d.verdict}"
    return _html.card(
        first, columns, sizes_html(d.methods), facts=filter(None, facts), notes=d.notes
    )


def sizes_html(methods: Iterable[MethodSize]) -> str:
    """Write effective sample sizes as a table."""
    rows = [
        (
            row.method,
            "none" if row.share is None else f"{row.effective_sample_size:,.0f}",
            "" if row.share is None else f"{row.share:.0%}",
            row.note,
        )
        for row in methods
    ]
    head = ("weights", "effective sample size", "share of the rows", "note")
    return _html.table(head, rows) if rows else ""


def sizes_title(rows: int) -> str:
    """Say what effective sample sizes are."""
    return (
        "Effective sample size: how many equally weighted rows are as precise as the "
        f"{rows:,} weighted ones"
    )


def printable(name: str, width: int = _WIDTH) -> str:
    """Shorten a name, and replace what a terminal might take for a command.

    >>> printable("a\\x1b[31m")
    'a\\\\x1b[31m'
    """
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)
    return text if len(text) <= width else text[: width - 1] + "…"


def signed(value: float) -> str:
    """Write a difference with its sign and three digits, and zero without a minus.

    >>> signed(0.12), signed(-0.0001)
    ('+0.120', '+0.000')
    """
    return f"{round(value, 3) + 0.0:+.3f}"


def _verdict(d: Diagnosis) -> str:
    return "\n".join(
        [
            f"Verdict: {d.verdict}",
            fill(d.reason, 88, initial_indent="  ", subsequent_indent="  "),
            fill(f"Next: {d.advice}", 88, initial_indent="  ", subsequent_indent="  "),
        ]
    )


def _column_cells(d: Diagnosis) -> tuple[list[str], list[list[str]]]:
    """Head and cells of the table of columns, the worst first."""
    corrected = any(feature.smd_corrected is not None for feature in d.features)
    head: list[str] = [
        "SMD",
        *(["corrected"] if corrected else []),
        "KS",
        "p (Holm)",
        "energy",
        "beyond range",
    ]
    rows = [
        [
            _signed(feature.smd),
            *([_signed(feature.smd_corrected)] if corrected else []),
            f"{feature.ks:.3f}",
            _p_value(feature.p_value),
            f"{feature.energy:.3f}",
            f"{feature.outside_range:.1%}",
        ]
        for feature in d.worst[:_SHOWN]
    ]
    return head, rows


def _columns(d: Diagnosis) -> str:
    head, rows = _column_cells(d)
    shown = d.worst[:_SHOWN]
    names = [printable(feature.name) for feature in shown]
    title = f"{d.n_train:,} training rows, {d.n_target:,} target rows; worst columns first"
    lines = [title, *table("column", names, head, rows)]
    if len(d.features) > _SHOWN:
        lines.append(f"  and {len(d.features) - _SHOWN} more columns")
    lines.append(
        fill(_legend("corrected" in head), 88, initial_indent="  ", subsequent_indent="  ")
    )
    if any(feature.kind == "category" for feature in shown):
        lines.append(
            "  (KS of a category: the total variation distance of the shares of its levels)"
        )
    levels = [
        f"{printable(_without_mark(f))}: {printable(f.detail, 40)}" for f in shown if f.detail
    ]
    if levels:
        text = f"Shares that differ most, training → target: {'; '.join(levels)}"
        lines.append(fill(text, 88, initial_indent="  ", subsequent_indent="    "))
    return "\n".join(lines)


def _legend(corrected: bool) -> str:
    """What the columns of the table are."""
    after = " (corrected: after weighting)" if corrected else ""
    return (
        f"SMD: difference of the means in standard deviations, target minus training{after}; KS: "
        "largest gap between the two distributions, 0 to 1, with its p-value; energy: another "
        "distance; beyond range: share of the target outside the training values"
    )


def _without_mark(feature: FeatureShift) -> str:
    return feature.name.removesuffix(MISSING) if feature.kind == "missing" else feature.name


def _joint(d: Diagnosis) -> str:
    lines = ["All columns together"]
    if d.auc is not None:
        low, high = d.auc.interval
        lines.append(
            f"  two-sample AUC {d.auc.value:.3f}, {d.auc.confidence:.0%} interval {low:.3f} to "
            f"{high:.3f} (0.5: cannot tell the samples apart)"
        )
    if d.support.outside is not None:
        lines.append(
            f"  target without training rows nearby: {d.support.outside:.1%} "
            f"({d.support.expected:.1%} without a shift)"
        )
    lines.append(
        f"  target beyond the training range in some column: {d.support.outside_range:.1%} "
        f"({d.support.expected_range:.1%} without a shift)"
    )
    lines.append(f"  weights can cover the target: {'yes' if d.overlap else 'NO'}")
    if d.rows is not None and d.rows.count:
        lines.append(fill(str(d.rows), 88, initial_indent="  ", subsequent_indent="    "))
    return "\n".join(lines)


def _sizes(d: Diagnosis) -> str:
    if not d.methods:
        return ""
    lines = [sizes_title(d.n_train)]
    for row in d.methods:
        size = (
            "none" if row.share is None else f"{row.effective_sample_size:,.0f} ({row.share:.0%})"
        )
        note = f"  {row.note}" if row.note else ""
        lines.append(f"  {row.method:16s}{size:>16s}{note}")
    return "\n".join(lines)


def _intervals(d: Diagnosis) -> str:
    if d.intervals is None:
        return ""
    found = d.intervals
    lines = [
        f"Prediction intervals for {100 * found.coverage:.0f} %: calibrated as by "
        f"{found.effective_size:,.0f} equally weighted rows, {found.infinite_share:.1%} infinite"
    ]
    if not d.overlap:
        lines.append("  (without overlap the finite ones may miss as well)")
    return "\n".join(lines)


def _notes(d: Diagnosis) -> str:
    return "\n".join(
        fill(f"Note: {note}", 88, subsequent_indent="  ", break_long_words=False)
        for note in d.notes
    )


def table(
    first: str,
    names: list[str],
    head: list[str],
    rows: list[list[str]],
    left: Container[int] = frozenset(),
) -> list[str]:
    """Lines of a table; columns ``left`` are aligned to the left."""
    width = max(map(len, [first, *names]))
    widths = [max(len(title), *(len(row[k]) for row in rows)) for k, title in enumerate(head)]
    lines = []
    for name, cells in zip([first, *names], [head, *rows], strict=True):
        parts = [
            f"{cell:<{w}s}" if k in left else f"{cell:>{w}s}"
            for k, (cell, w) in enumerate(zip(cells, widths, strict=True))
        ]
        lines.append(f"  {name:{width}s}  {'  '.join(parts)}".rstrip())
    return lines


def _signed(value: float | None) -> str:
    return "" if value is None else signed(value)


def _p_value(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"

"""Margins in words."""

from __future__ import annotations

from typing import Any

from .._html import card, table
from .kinds import Margin, Moments, Table

_SHOWN = 6  # cells of a column; the first and last of more


def described(margins: Any) -> str:
    """Return what margins hold, a line for each column and table."""
    rows = _lines(margins)
    width = max(len(name) for name, _ in rows)
    lines = [f"  {name:<{width}}  {text}" for name, text in rows]
    return "\n".join([_head(margins), *lines, *(f"  Note: {note}" for note in margins.notes)])


def as_html(margins: Any) -> str:
    """Return what margins hold as HTML that a notebook shows."""
    lines = table(("column", "what is known"), _lines(margins))
    return card(_head(margins), lines, notes=margins.notes)


def _lines(margins: Any) -> list[tuple[str, str]]:
    rows = [(name, _part(part)) for name, part in margins.single.items()]
    return rows + [(part.title, _table(part)) for part in margins.tables]


def _head(margins: Any) -> str:
    n = len(margins.columns)
    head = f"Margins of {n} column{'s' if n != 1 else ''}"
    if margins.tables:
        head += f" and {len(margins.tables)} table{'s' if len(margins.tables) > 1 else ''}"
    if margins.size is not None:
        head += f", size {margins.size:.0f}"
    if margins.source:
        head += f" ({margins.source})"
    return head


def _part(part: Margin | Moments) -> str:
    if isinstance(part, Moments):
        spread = "" if part.sd is None else f", standard deviation {part.sd:.6g}"
        return f"mean {part.mean:.6g}{spread}"
    pairs = zip(part.cells.labels, part.share, strict=True)
    shown = [f"{label} {share:.1%}".replace("%", " %") for label, share in pairs]
    if len(shown) > _SHOWN:
        shown = [*shown[:3], f"... {len(shown) - 4} more", shown[-1]]
    kind = type(part.cells).__name__.lower()
    return f"{kind}: {', '.join(shown)}"


def _table(table: Table) -> str:
    k, m = table.share.shape
    return f"table of {k} x {m} cells"

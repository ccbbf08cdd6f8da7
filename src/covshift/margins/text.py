"""Margins in words."""

from __future__ import annotations

from typing import Any

from ..show.table import Table, card
from .kinds import CrossTable, Margin, Moments

_SHOWN = 6  # cells of a column; the first and last of more


def described(margins: Any) -> str:
    """Return what margins hold, a line for each column and table."""
    lines = _table(margins).lines()[1:]
    return "\n".join([_head(margins), *lines, *(f"  Note: {note}" for note in margins.notes)])


def as_html(margins: Any) -> str:
    """Return what margins hold as HTML that a notebook shows."""
    return card(_head(margins), _table(margins), notes=margins.notes)


def _table(margins: Any) -> Table:
    rows = [(name, _part(part)) for name, part in margins.single.items()]
    rows += [(part.title, _crossed(part)) for part in margins.tables]
    return Table.of(("column", "what is known"), rows, words=(0, 1))


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


def _crossed(table: CrossTable) -> str:
    k, m = table.share.shape
    return f"table of {k} x {m} cells"

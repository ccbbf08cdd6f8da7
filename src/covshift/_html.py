"""Results as HTML that a notebook shows: a sentence, tables, facts and notes, all of it escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import fields
from html import escape
from typing import Any, ClassVar

from ._readable import readable

_MOST_ROWS = 60  # of a table
_MOST_VALUES = 8  # of an array

Rows = Sequence[Sequence[str]]


def card(first: str, *tables: str, facts: Iterable[str] = (), notes: Iterable[Any] = ()) -> str:
    """Return a block: the first sentence in bold, what `table` made, then facts and notes."""
    below = "<br>".join(map(text, facts))
    items = "".join(f"<li>{text(note)}</li>" for note in notes)
    return (
        f"<div><p><strong>{text(first)}</strong></p>{''.join(tables)}"
        + (f"<p>{below}</p>" if below else "")
        + (f"<ul>{items}</ul>" if items else "")
        + "</div>"
    )


def table(head: Sequence[str], rows: Rows, *, most: int = _MOST_ROWS) -> str:
    """Return a table; the first cell of a row names it. Beyond ``most`` rows, a line counts."""
    titles = "".join(f'<th scope="col">{text(title)}</th>' for title in head)
    lines = "".join(f"<tr>{_cells(row)}</tr>" for row in rows[:most])
    if len(rows) > most:
        lines += f'<tr><td colspan="{len(head)}">and {len(rows) - most:,} more</td></tr>'
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table>"


def text(value: Any) -> str:
    """Escape what is to be read, with a mark in place of control characters."""
    shown = "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in str(value))
    return escape(shown)


def _cells(row: Sequence[str]) -> str:
    first, *others = row
    cells = "".join(f'<td style="text-align: right">{text(cell)}</td>' for cell in others)
    return f'<th scope="row" style="text-align: left">{text(first)}</th>{cells}'


class Record:
    """Show a dataclass in notebooks as a table with one line per field.

    Fields whose names begin with an underscore are left out, and those in ``_not_shown``.
    """

    _not_shown: ClassVar[frozenset[str]] = frozenset()

    def _repr_html_(self) -> str:
        names = [
            field.name
            for field in fields(self)  # type: ignore[arg-type]
            if not field.name.startswith("_") and field.name not in self._not_shown
        ]
        rows = [(name.replace("_", " "), _written(getattr(self, name))) for name in names]
        return card(type(self).__name__, table(("field", "value"), rows))


def _written(value: Any) -> str:
    """Write the value of a field: numbers with four digits, arrays by their first values."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if hasattr(value, "tolist"):  # arrays and numbers of NumPy
        value = value.tolist()
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return readable(value)
    if isinstance(value, dict):
        value = [f"{key}: {_written(part)}" for key, part in value.items()]
    if isinstance(value, list | tuple):
        if len(value) == 2 and all(isinstance(end, int | float) for end in value):
            return " to ".join(map(_written, value))
        shown = [_written(part) for part in value[:_MOST_VALUES]]
        more = len(value) - _MOST_VALUES
        return ", ".join(shown) + (f", … {more:,} more" if more > 0 else "")
    return str(value)

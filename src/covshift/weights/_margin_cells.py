"""Margins and tables as cells of training rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import Real
from ..margins.kinds import CrossTable
from ._cells import Axis, CellTable, table_of

_ADVICE = (
    "Merge them with others in the margins and in X, leave out the margin, or let brackets join "
    "their neighbours with collapse=True."
)


def crossed(
    part: Any, columns: list[int], Z: Real, *, collapse: bool
) -> tuple[CellTable, list[str]]:
    """Return the cells of a margin or table that rows Z are in, and what they are called."""
    sides = part.cells if isinstance(part, CrossTable) else (part.cells,)
    axes = [Axis.of(column, cells) for column, cells in zip(columns, sides, strict=True)]
    codes = np.stack(np.meshgrid(*(np.arange(len(s)) for s in sides), indexing="ij"), axis=-1)
    title = part.title if isinstance(part, CrossTable) else None

    def label(code: Any) -> str:
        names = [side.labels[int(c)] for side, c in zip(sides, code, strict=True)]
        return f"{title}: {', '.join(names)}" if title else repr(names[0])

    flat = codes.reshape(-1, len(sides))
    given: dict[str, Any] = {"collapse": collapse, "label": label, "advice": _ADVICE}
    table, _ = table_of(axes, Z, flat, np.ravel(part.share), **given)
    return table, [label(code) for code in table.known]

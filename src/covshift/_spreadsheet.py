"""Texts in CSV files that a spreadsheet would take for formulas.

A cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return may be run when the
file is opened. Such texts are written with an apostrophe before them; numbers stay as they are.
"""

from __future__ import annotations

import re
from typing import Any

_FORMULA = re.compile(r"'*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:inf|nan)")


def is_formula(cell: Any) -> bool:
    """Tell whether a spreadsheet may run a cell, or it is a text that `inert` may have made."""
    text = isinstance(cell, str)
    return text and _FORMULA.match(cell) is not None and _NUMBER.fullmatch(cell) is None


def inert(cell: Any) -> Any:
    """Return a cell that no spreadsheet runs: a formula with an apostrophe before it.

    >>> inert("=1+1"), inert("-1.5"), inert(-1.5), inert("'=x"), inert("a=b")
    ("'=1+1", '-1.5', -1.5, "''=x", 'a=b')
    """
    return f"'{cell}" if is_formula(cell) else cell


def as_written(cell: str) -> str:
    """Return what `inert` got.

    >>> as_written(inert("=1+1")), as_written(inert("'=x")), as_written("'tis")
    ('=1+1', "'=x", "'tis")
    """
    return cell[1:] if cell.startswith("'") and is_formula(cell) else cell

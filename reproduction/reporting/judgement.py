"""What every judgement on a claim shares."""

from __future__ import annotations

from typing import Literal

from ..verdict import Cell

Standing = Literal["holds", "only under a setting", "does not hold", "too few trials", "not run"]

CLASSICAL = ("shimodaira", "sugiyama", "huang", "kliep", "ulsif", "rulsif")
"""The weighted losses that the paper compares with."""


class NotRunError(Exception):
    """A claim asks for trials that are not there."""


def known(cell: Cell | None) -> Cell:
    if cell is None:
        raise NotRunError
    return cell

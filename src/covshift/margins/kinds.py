"""What may be known of a population: shares of cells, a mean with its spread, a table of two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import Real
from ..exceptions import InputError
from .cells import Cells

_OFF = 0.01  # that published shares may miss one by, since they are rounded


@dataclass(frozen=True)
class Margin:
    """Shares of the cells of one column."""

    cells: Cells
    share: Real  # (k,), sums to one


@dataclass(frozen=True)
class Moments:
    """Mean of one column, and its standard deviation if that is known."""

    mean: float
    sd: float | None = None


@dataclass(frozen=True)
class CrossTable:
    """Shares of the cells of two columns together."""

    columns: tuple[str, str]
    cells: tuple[Cells, Cells]
    share: Real  # (k, l), sums to one

    @property
    def title(self) -> str:
        """Both columns, as messages name them."""
        return " x ".join(self.columns)

    def margin(self, side: int) -> Margin:
        """Margin of the first (0) or second (1) column."""
        return Margin(self.cells[side], np.asarray(self.share.sum(axis=1 - side)))

    def labels(self) -> list[str]:
        """What the cells are called, row by row."""
        first, second = (part.labels for part in self.cells)
        return [f"{a}, {b}" for a in first for b in second]


def checked_shares(values: Real, title: str) -> tuple[Real, str | None]:
    """Return shares that sum to one, and a note where they had to be scaled.

    Percentages are recognised by their sum. Published shares are rounded, so that a sum from 0.99
    to 1.01 will do.
    """
    share = np.asarray(values, dtype=np.float64)
    if not share.size:
        raise InputError(f"{title} has no cells. Give one share for each.")
    if not np.isfinite(share).all() or (share < 0).any():
        raise InputError(f"{title} has shares that are negative or no numbers.")
    total = float(share.sum())
    unit = 100.0 if abs(total - 100) <= 100 * _OFF else 1.0
    if abs(total / unit - 1) > _OFF:
        raise InputError(
            f"The shares of {title} add up to {total:.6g}. They must add up to 1, or to 100 for "
            "percentages: a cell may be missing or counted twice. Divide counts by their total."
        )
    if abs(total / unit - 1) <= 1e-12:  # one already: a file changes nothing
        return share / unit, None
    if abs(total / unit - 1) <= 1e-9:
        return share / total, None
    return share / total, f"The shares of {title} add up to {total:.6g}; they were scaled to fit."

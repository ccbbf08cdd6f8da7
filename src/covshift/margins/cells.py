"""Cells of one column: brackets of a number, or levels of a category."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..encoding.feature import MISSING as MISSING
from ..exceptions import InputError
from ..numerics.array import Real, Whole
from ..show.notes import Note

OTHER = "(other)"
"""A category of this name takes every level that has no cell of its own."""

GAP = 2e100  # what a gap in a column of numbers is read as, where it has a cell
_GAPS = 1.5e100  # from which its bracket goes

_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Brackets:
    """Brackets of a number, in order.

    A bracket holds its lower end, and its upper end unless the next one begins there: 18 to 30 and
    30 to 45 as well as 18 to 29 and 30 to 44. With ``right`` it holds its upper end and not its
    lower one, as cells between quantiles do. With ``points`` as well, all of a bracket is at its
    upper end: every value of some rows has a bracket of its own. The last may hold the rows without
    a value: see `with_gap`.
    """

    lower: Real  # (k,), -inf where the first is open
    upper: Real  # (k,), inf where the last is open
    right: bool = False
    points: bool = False

    def __len__(self) -> int:
        return len(self.lower)

    @property
    def gap(self) -> bool:
        """Whether the last bracket holds the rows without a value."""
        return bool(self.lower[-1] == _GAPS)

    def with_gap(self) -> Brackets:
        """Return the brackets with one more, of the rows without a value."""
        upper = np.append(np.minimum(self.upper, _GAPS), GAP)
        return replace(self, lower=np.append(self.lower, _GAPS), upper=upper)

    def known(self) -> Brackets:
        """Return the brackets of values."""
        upper = np.where(self.upper == _GAPS, np.inf, self.upper)
        return replace(self, lower=self.lower[:-1], upper=upper[:-1]) if self.gap else self

    @property
    def cuts(self) -> Real:
        """Where one bracket ends and the next begins, (k - 1,)."""
        return self.upper[:-1] if self.right else self.lower[1:]

    @property
    def ends(self) -> Real:
        """The largest number in each bracket, (k,), with all up to where the next begins."""
        inner = self.upper[:-1] if self.right else np.nextafter(self.lower[1:], -np.inf)
        return np.append(inner, min(float(self.upper[-1]), _LARGEST))

    @property
    def starts(self) -> Real:
        """The smallest number in each bracket, (k,)."""
        first = float(self.lower[0])
        if self.right and np.isfinite(first):
            first = float(np.nextafter(first, np.inf))
        return np.append(max(first, -_LARGEST), np.nextafter(self.ends[:-1], np.inf))

    @property
    def labels(self) -> list[str]:
        """What each bracket is called."""
        own = self.known()
        return [own._label(k) for k in range(len(own))] + [MISSING] * self.gap

    def places(self, x: Real) -> Real:
        """Number of the bracket of each value (N,), from zero.

        A value that lies beside brackets has half a number: before the first, beyond the last, or
        between points. So t >= x, and t <= x, hold for the numbers where they do for what is known.
        """
        place = np.searchsorted(self.ends, x, side="left").astype(np.float64)
        beside = (place == len(self)) | (x < self.starts[0])
        if self.points:
            beside |= x != self.ends[np.minimum(place.astype(np.int64), len(self) - 1)]
        return np.where(beside, place - 0.5, place)

    def outside(self, x: Real) -> Any:
        """Which numbers (N,) lie in no bracket."""
        code = np.searchsorted(self.cuts, x, side="left" if self.right else "right")
        low, high = self.lower[code], self.upper[code]
        return ((x <= low) & np.isfinite(low) if self.right else x < low) | (x > high)

    def _label(self, k: int) -> str:
        low, high = float(self.lower[k]), float(self.upper[k])
        touches = k + 1 < len(self) and high == self.lower[k + 1]
        if np.isinf(low) and np.isinf(high):
            return "all"
        if np.isinf(low):
            return f"up to {high:.6g}" if self.right or not touches else f"under {high:.6g}"
        if np.isinf(high):
            return f"above {low:.6g}" if self.right else f"{low:.6g} and over"
        if self.right:
            return f"above {low:.6g} to {high:.6g}"
        return f"{low:.6g} to {'under ' if touches else ''}{high:.6g}"


@dataclass(frozen=True)
class Categories:
    """Levels of a category; one called "(other)" takes those that are not named."""

    levels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.levels)

    @property
    def labels(self) -> list[str]:
        """What each level is called."""
        return list(self.levels)

    def with_gap(self) -> Categories:
        """Return the levels with that of the rows without a value."""
        return Categories((*self.levels, MISSING))

    def unknown(self, cells: Iterable[str]) -> list[str]:
        """Levels that have no cell, in order."""
        return [] if OTHER in self.levels else sorted(set(cells) - set(self.levels))

    def codes(self, cells: Iterable[str]) -> Whole:
        """Number of each cell's level; -1 where it has none."""
        place = {level: k for k, level in enumerate(self.levels)}
        other = place.get(OTHER, -1)
        return np.array([place.get(cell, other) for cell in cells], dtype=np.int64)


Cells = Brackets | Categories


def name_of(value: Any) -> str:
    """Return the name of a column as text: 1, 1.0 and "1" are the same; blanks are part of it."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    whole = isinstance(value, int | np.integer)
    if whole or (isinstance(value, float | np.floating) and float(value).is_integer()):
        return str(int(value))
    return str(value)


def level_of(value: Any) -> str:
    """Return a level as text: as a name, without blanks at its ends."""
    return name_of(value).strip()


# What may be known of a population: shares of cells, a mean with its spread, a table of two.


_OFF = 0.01  # that published shares may miss one by, since they are rounded


@dataclass(frozen=True)
class Margin:
    """Shares of the cells of one column."""

    cells: Cells
    share: Real  # (k,), sums to one

    def known(self) -> Margin:
        """Return the margin of the rows that have a value, where the column is one of numbers."""
        if not isinstance(self.cells, Brackets) or not self.cells.gap:
            return self
        return Margin(self.cells.known(), self.share[:-1] / self.share[:-1].sum())


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


def checked_shares(values: Real, title: str) -> tuple[Real, Note | None]:
    """Return shares that sum to one, and a note where they had to be scaled.

    Percentages are recognised by their sum, and counts by a number above 100. Published shares are
    rounded, so that a sum from 0.99 to 1.01 will do.
    """
    share = np.asarray(values, dtype=np.float64)
    if not share.size:
        raise InputError(f"{title} has no cells. Give one share for each.")
    if not np.isfinite(share).all() or (share < 0).any():
        raise InputError(f"{title} has shares that are negative or no numbers.")
    total = float(share.sum())
    largest = float(share.max())
    if largest > 100 * (1 + _OFF) and np.isfinite(total):
        if share.size > 2 and largest == total - largest:
            raise InputError(
                f"One of the counts of {title} is the sum of the others, {largest:.6g}. Leave out "
                "the total; if it is none, give shares instead."
            )
        text = f"The counts of {title} were divided by their total of {total:.10g}."
        return share / total, Note("counts", text)
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
    text = f"The shares of {title} add up to {total:.6g}; they were scaled to fit."
    return share / total, Note("rounded shares", text)

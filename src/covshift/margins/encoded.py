"""Margins of columns that were made of a sample's: levels as zeros and ones, numbers scaled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._types import Real
from .cells import OTHER, Brackets, Categories, level_of
from .kinds import Margin, Moments
from .margins import Margins

Made = tuple[str, str | None]
"""What a column of numbers holds: values of a column, or whether that has a level."""


def encoded(margins: Margins, columns: Sequence[Made], center: Real, scale: Real) -> Margins:
    """Return the margins of (x - center) / scale for each of the columns, which are 0, 1, 2, ...

    The column of a level holds two values, each with its share. Levels that are part of "(other)"
    have no share of their own, and no margin here. A column of numbers whose margin is of
    categories has the shares of these numbers, where all categories are numbers. Of a table, the
    two margins are kept.
    """
    found: dict[str, Margin | Moments] = {}
    for at, (name, level) in enumerate(columns):
        part: Any = margins.single.get(name) or margins.margin(name)
        made = _made(part, level, float(center[at]), float(scale[at]))
        if made is not None:
            found[str(at)] = made
    return Margins.of(found, size=margins.size, source=margins.source)


def _made(part: Any, level: str | None, center: float, scale: float) -> Margin | Moments | None:
    if isinstance(part, Moments) and level is None:
        sd = None if part.sd is None else float(part.sd / scale)
        return Moments(float((part.mean - center) / scale), sd)
    if not isinstance(part, Margin):
        return None
    own = part.cells
    if isinstance(own, Categories):
        values, share = _levels(own, part.share, level)
        if not len(values):
            return None
        ends = (values - center) / scale
        return Margin(Brackets(np.append(-np.inf, ends[:-1]), ends, True, True), share)
    if level is not None:
        return None
    low, high = ((end - center) / scale for end in (own.lower, own.upper))
    return Margin(Brackets(low, high, own.right, own.points), part.share)


def _levels(cells: Categories, share: Real, level: str | None) -> tuple[Real, Real]:
    """Values that a column holds, in order, and their shares; none where these are not known."""
    nothing = np.empty(0)
    if level is not None:
        if level_of(level) not in cells.levels:
            return nothing, nothing
        own = float(share[cells.levels.index(level_of(level))])
        return np.array([0.0, 1.0]), np.array([1 - own, own])
    try:
        values = np.array([float(name) for name in cells.levels if name != OTHER])
    except ValueError:
        return nothing, nothing
    if OTHER in cells.levels or not np.isfinite(values).all():
        return nothing, nothing
    order = np.argsort(values)
    return values[order], share[order]

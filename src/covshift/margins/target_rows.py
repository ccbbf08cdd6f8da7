"""Rows that have given margins: what sees a target column by column cannot tell them from its own.

Cells of all columns are laid side by side along one line from zero to one, each as long as its
share. Between two neighbouring ends of any column lies one row: at most as many as there are cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..data.features import MISSING as MARK
from ..data.validation import column_names
from ..encoding import TableEncoder
from ..numerics.array import Real, Whole
from .cells import OTHER, Brackets, Categories, Margin, Moments, level_of
from .margins import Margins

_DIGITS = 14  # of a share; ends that differ by less are one
_KNOTS = 1000  # values that a column without a margin keeps


def side_by_side(shares: Sequence[Real]) -> tuple[Whole, Real]:
    """Return rows as numbers of cells (R, n), and their shares (R,), that have these margins.

    >>> cells, share = side_by_side([np.array([0.25, 0.75]), np.array([0.5, 0.5])])
    >>> cells.tolist(), share.tolist()
    ([[0, 0], [1, 0], [1, 1]], [0.25, 0.25, 0.5])
    """
    ends = []
    for share in shares:
        end = np.round(np.cumsum(share) / np.sum(share), _DIGITS)
        end[np.flatnonzero(share)[-1] :] = 1.0
        ends.append(end)
    every = np.unique(np.concatenate(ends))
    every = every[every > 0]
    cells = np.column_stack([np.searchsorted(end, every, side="left") for end in ends])
    return cells, np.diff(np.concatenate([[0.0], every]))


def value_rows(
    margins: Margins, X: Any, points: Real, w: Real, frame: TableEncoder | None
) -> tuple[Real, Real]:
    """Return rows (R, n) and their shares (R,) for what needs a value in every cell: scales.

    ``points`` (N, n) are the rows X as numbers, ``w`` (N,) their weights, and ``frame`` says which
    columns are levels. A cell is put at the mean of the training rows in it, or where there are
    none in its middle; a column without cells is distributed as in the training rows.
    """
    names = column_names(X) or [str(k) for k in range(points.shape[1])]
    levels: list[str | None] = [None] * len(names)
    if frame is not None:
        names, levels = [name for name, _ in frame.made], [level for _, level in frame.made]
    columns = [
        _level_column(margins, name, level, points[:, k], w)
        if level is not None
        else _number_column(margins, name, points[:, k], w)
        for k, (name, level) in enumerate(zip(names, levels, strict=True))
    ]
    cells, share = side_by_side([part for _, part in columns])
    values = [column[cells[:, k]] for k, (column, _) in enumerate(columns)]
    return np.column_stack(values), share


def _level_column(margins: Margins, name: str, level: str, x: Real, w: Real) -> tuple[Real, Real]:
    """Distribution of a level's indicator."""
    margin = margins.margin(name)
    if margin is None or not isinstance(margin.cells, Categories):
        return _own(x, w)
    known = margin.cells.levels
    if level_of(level) in known:
        share = float(margin.share[known.index(level_of(level))])
    else:  # the training rows say which part of the other levels it is
        other = float(margin.share[known.index(OTHER)]) if OTHER in known else 0.0
        share = other * float(w @ x / w.sum())
    return np.array([0.0, 1.0]), np.array([1 - share, share])


def _number_column(margins: Margins, name: str, x: Real, w: Real) -> tuple[Real, Real]:
    margin = margins.margin(name)
    if margin is None:
        return _own(x, w)
    margin = margin.known()
    cells = margin.cells
    if isinstance(cells, Brackets):
        if cells.points:
            return cells.ends, margin.share
        code = np.clip(np.ceil(cells.places(x)), 0, len(cells) - 1).astype(np.int64)
        empty = [_middle(*ends) for ends in zip(cells.lower, cells.upper, strict=True)]
    else:
        code = cells.codes(level_of(value) for value in x)
        empty = [_as_number(level) for level in cells.levels]
    mass = np.bincount(code, w, len(cells))
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(mass > 0, np.bincount(code, w * x, len(cells)) / mass, empty)
    if isinstance(cells, Brackets):
        value = np.clip(value, cells.starts, cells.ends)
    there = np.isfinite(value) & (margin.share > 0)
    return (value[there], margin.share[there]) if there.any() else _own(x, w)


def _middle(low: float, high: float) -> float:
    if np.isfinite(low) and np.isfinite(high):
        return float(low / 2 + high / 2)
    return float(high if np.isinf(low) else low)


def _as_number(level: str) -> float:
    try:
        return float(level)
    except ValueError:
        return float("nan")


def _own(x: Real, w: Real) -> tuple[Real, Real]:
    """Distribution of the training rows, at no more than some values."""
    values, place = np.unique(x, return_inverse=True)
    mass = np.bincount(place.reshape(-1), w).astype(np.float64)
    if len(values) <= _KNOTS:
        return values, mass
    end = np.cumsum(mass) / mass.sum()
    knots = np.searchsorted(end, (np.arange(_KNOTS) + 0.5) / _KNOTS)
    return values[np.minimum(knots, len(values) - 1)], np.full(_KNOTS, 1 / _KNOTS)


# Margins of columns that were made of a sample's: levels as zeros and ones, numbers scaled.


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
        if part is None and name.endswith(MARK):
            part = _marked(margins.margin(name.removesuffix(MARK)))
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
    part = part.known()
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


def _marked(margin: Margin | None) -> Margin | None:
    """Return the margin of the mark of gaps of a column, 0 or 1."""
    if margin is None or not isinstance(margin.cells, Brackets) or not margin.cells.gap:
        return None
    return Margin(Categories(("0", "1")), np.array([1 - margin.share[-1], margin.share[-1]]))


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

"""One test for each margin: does the sample have it but for chance?

The counts of cells are tested against their shares (chi-squared; cells in which fewer than five
rows are expected are joined), a mean and a standard deviation against their standard errors.
Margins of a given size are a sample of that size. With N rows (Kish's number under design
weights), M the size and p the shares of sample and target,

chi^2 = (1/N + 1/M)^-1 sum (p_sample - p_target)^2 / p_target .
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import chdtrc, ndtr

from ..margins.cells import Brackets, Moments
from ..margins.reading import table_parts
from ..margins.sample import KnownRows
from ..numerics.array import Real, Whole
from ..numerics.statistics import holm
from .margins_result import MarginShift

_EXPECTED = 5.0  # rows of a cell below which its count is not tested by itself


def margin_shifts(rows: KnownRows, d: Real, rough: float) -> tuple[MarginShift, ...]:
    """Compare every margin; ``d`` (N,) are design weights, ``rough`` is 1/N + 1/M."""
    found = [*_cells(rows, d, rough), *_moments(rows, d, rough)]
    p_values = holm(np.array([part.p_value for part in found]))
    return tuple(replace(part, p_value=float(p)) for part, p in zip(found, p_values, strict=True))


def _cells(rows: KnownRows, d: Real, rough: float) -> list[MarginShift]:
    found = []
    for columns, part in table_parts(rows.margins):
        code = rows.cells(columns[0]) if len(columns) == 1 else table_cells(rows, part)
        target = np.ravel(part.share)
        sample = np.bincount(code, weights=d, minlength=len(target)) / d.sum()
        gap = sample - target
        if len(columns) == 2:
            kind, labels = "table", part.labels()
        else:
            kind, labels = type(part.cells).__name__.lower(), part.cells.labels
        ordered = kind == "brackets"
        distance = float(np.abs(np.cumsum(gap) if ordered else gap).max())
        lost = (sample == 0) & (target > 0)
        empty = tuple(label for label, gone in zip(labels, lost, strict=True) if gone)
        p_value = _chi_squared(sample, target, rough)
        name = " x ".join(columns)
        found.append(MarginShift(name, kind, distance, p_value, float(target[lost].sum()), empty))
    return found


def table_cells(rows: KnownRows, table: Any) -> Whole:
    """Cell of a table that each row is in; its brackets may be coarser than the columns' own."""
    codes = []
    for name, cells in zip(table.columns, table.cells, strict=True):
        x = rows.points[:, rows.reading.names.index(name)]
        levels = rows.reading.levels[rows.reading.names.index(name)]
        if isinstance(cells, Brackets):
            codes.append(np.searchsorted(cells.ends[:-1], x))
        else:
            codes.append(cells.codes([levels[int(k)] for k in x]))
    return np.asarray(codes[0] * len(table.cells[1]) + codes[1], dtype=np.int64)


def _chi_squared(sample: Real, target: Real, rough: float) -> float:
    rare = target < _EXPECTED * rough
    if rare.any():  # together they may be enough
        sample = np.append(sample[~rare], sample[rare].sum())
        target = np.append(target[~rare], target[rare].sum())
    if len(target) < 2:
        return 1.0
    if (sample[target == 0] > 0).any():
        return 0.0
    used = target > 0
    value = float(((sample - target)[used] ** 2 / target[used]).sum()) / rough
    return float(chdtrc(max(1, int(used.sum()) - 1), value))


def _moments(rows: KnownRows, d: Real, rough: float) -> list[MarginShift]:
    """Means against standard errors; a standard deviation by that of its squares."""
    found = []
    share = d / d.sum()
    for name, part in rows.margins.single.items():
        if not isinstance(part, Moments):
            continue
        x = rows.points[:, rows.reading.names.index(name)]
        mean = float(share @ x)
        spread = float(np.sqrt(share @ (x - mean) ** 2))
        unit = part.sd or spread or 1.0
        gaps = [(mean - part.mean) / unit]
        errors = [unit]
        if part.sd is not None:
            gaps.append((spread - part.sd) / unit)
            fourth = float(np.sqrt(max(share @ (x - mean) ** 4 - spread**4, 0.0)))
            errors.append(fourth / (2 * spread) if spread else 0.0)
        p_values = [
            2 * ndtr(-abs(gap) * unit / (error * np.sqrt(rough))) if error else float(gap == 0)
            for gap, error in zip(gaps, errors, strict=True)
        ]
        p_value = min(1.0, len(p_values) * float(min(p_values)))
        kind = "mean" if part.sd is None else "mean and sd"
        found.append(MarginShift(name, kind, float(np.abs(gaps).max()), p_value, 0.0, ()))
    return found

"""Robustness as a number: how far the target error moves over a parameter's range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..robustness import values_of
from ..trials import Trials, as_cell, geometric_mean
from ..verdict import Cell
from .layout import Table, label


def spreads_over(trials: Trials, part: str) -> Table:
    """Spread of the target error over a method's own parameter, or over gamma."""
    cells = trials.cells("robustness")
    rows = []
    for name in trials.contenders("robustness"):
        row = [label(name), range_words(trials, name, part)]
        spreads = [spread(trials, cell, name, part) for cell in cells]
        if all(found is None for found in spreads):
            continue
        row += ["–" if found is None else _points(found.range) for found in spreads]
        known = [found for found in spreads if found is not None]
        row.append(f"{100 * np.mean([found.range.mean for found in known]):.1f}")
        row.append(f"{geometric_mean([found.worst for found in known]):.2f}")
        row.append(f"{geometric_mean([found.best for found in known]):.2f}")
        row.append(str(sum(found.failed for found in known)) if part == "own" else "0")
        rows.append(row)
    rows.sort(key=lambda row: float(row[-4]))
    what = "a method's own parameter" if part == "own" else "the machine's penalty γ"
    return Table(
        f"Robustness to {what}: largest less smallest target error over the range, in percentage "
        "points, mean over the trials ± standard error; then the mean over the data sets, and the "
        "mean errors at the worst and at the best value relative to the unweighted machine at "
        "γ = 0.1 (geometric means over the data sets), and fits that failed.",
        ["method", "range", *cells, "mean", "worst / unweighted", "best / unweighted", "failed"],
        rows,
    )


@dataclass(frozen=True)
class Spread:
    """Of one method on one data set: range by trial; mean error at the worst and best value."""

    range: Cell
    worst: float
    best: float
    failed: int


def spread(trials: Trials, cell: str, name: str, part: str) -> Spread | None:
    """Spread of the target error over ``part`` ("own" or "gamma"); None where there is none."""
    swept = [
        f["errors"][part] for f in trials.found("robustness", cell, name) if part in f["errors"]
    ]
    base = [f["errors"]["gamma"] for f in trials.found("robustness", cell, "unweighted")]
    if len(swept) < 2 or len(base) < 2:
        return None
    errors = np.array(swept, dtype=np.float64)  # (trials, values), NaN where a fit failed
    within = as_cell(np.nanmax(errors, axis=1) - np.nanmin(errors, axis=1))
    gammas = trials.settings["robustness"]["gammas"]
    reference = np.mean(np.array(base)[:, gammas.index(trials.settings["table"]["gamma"])])
    means = np.nanmean(errors[:, ~np.isnan(errors).all(axis=0)], axis=0)
    offset = trials.settings["ratio_offset"]
    if within is None:
        return None
    return Spread(
        within,
        float((means.max() + offset) / (reference + offset)),
        float((means.min() + offset) / (reference + offset)),
        int(np.isnan(errors).sum()),
    )


def range_words(trials: Trials, name: str, part: str) -> str:
    """The range of a sweep in words."""
    swept = trials.settings["robustness"]
    if part == "gamma":
        return f"γ {swept['gammas'][0]:g} to {swept['gammas'][-1]:g}"
    values = values_of(trials.settings, name)
    if not values:
        return "no parameter"
    unit = " distances" if swept[name].get("unit") else ""
    return f"{swept[name]['parameter']} {values[0]:g} to {values[-1]:g}{unit}"


def _points(cell: Cell) -> str:
    return f"{100 * cell.mean:.1f} ± {100 * cell.standard_error:.1f}"

"""How the defaults of `covshift.conformal` were settled: threshold, and rows that calibrate.

On the tables of `tables_data.half` "settle", of which no other number of `intervals.py` is.
"""

from __future__ import annotations

import numpy as np
from harness import table
from intervals_summary import blocks
from scipy.stats import gmean

SHARES = (0.3, 0.5, 0.7)
RUNS = {
    "direction": {"200": 1},
    "rank": {"200": 1},
    "hard": {"200": 1, "400": 1, "1000": 1, "4000": 1},
}
ROWS = {  # of draws that compare the rows to which the weights are fitted
    "hard": {"200": 6, "1000": 2, "4000": 2},
    "direction": {"200": 6, "1000": 2, "4000": 2},
}
FAMILIES = {
    **{f"linear/{share}": ("linear", {"calibration_size": share}) for share in SHARES},
    "boosted/0.5": ("boosted", {"calibration_size": 0.5}),
}
CONTENDERS = dict.fromkeys(FAMILIES, ("cdf",)) | {"linear/0.5": ("cdf", "cdf dr")}


def settle_sections(lines):
    """Return the tables of thresholds and of calibration sizes."""
    lines = [line for line in lines if "found" in line]
    if not lines:
        return []
    thresholds, shares = [], []
    for size in sorted({_size(line) for line in lines}, key=int):
        part = [line for line in lines if _size(line) == size]
        for name, word in (("cdf", "weighted"), ("cdf dr", "dr"), ("oracle", "true ratios")):
            some = [line for line in part if name in line["found"]["linear/0.5"]]
            thresholds.append([size, len(some), word, *_coverage(some, "linear/0.5", name)])
        for share in SHARES:
            title = f"linear/{share}"
            pairs = [(_row(line, title)[1], _row(line, "linear/0.5")[1]) for line in part]
            width = gmean([a / b for a, b in pairs if a and b])
            infinite = np.mean([_row(line, title)[2] for line in part])
            more = [f"{width:.2f}", f"{100 * infinite:.1f} %"]
            shares.append([size, len(part), share, *_coverage(part, title, "cdf"), *more])
    head = ["mean coverage", "mean distance from 90 %", "where the shift costs 5 points (runs)"]
    return [
        "## Settled on the other half of the tables",
        "Ridge and logistic regression, one draw of each table and shift (direction, rank and hard "
        "for N = 200, hard for the others). The doubly robust threshold is no nearer to 90 % than "
        'the weighted one and costs seconds: the default stays `threshold="weighted"`.',
        table(["N", "runs", "threshold", *head], thresholds),
        "With fewer rows that calibrate more intervals are infinite; with more, fewer rows train "
        "the model and the weights: the default stays `calibration_size=0.5`.",
        table(
            ["N", "runs", "calibration_size", *head, "width / that of 0.5", "infinite"],
            shares,
        ),
    ]


def rows_sections(lines):
    """Return what becomes of weights that are fitted to all labelled rows."""
    lines = [line for line in lines if "found" in line]
    text = (
        "The weighter sees no outcomes, so that it may see the calibration rows as well as those "
        "that train. Weights that are fitted to the rows they weigh balance these rows: coverage "
        "varies less from draw to draw. But new rows then weigh more than calibration rows do, by "
        "the optimism of any fit: with 200 rows there are many more infinite intervals, and "
        "coverage is above 90 %. From 1000 rows on the two are alike. (Seed 0 for the weighter.)"
    )
    return ["### Rows to which the weights are fitted", text, blocks(lines)] if lines else []


def _coverage(lines, title, name):
    found = np.array([line["found"][title][name][0] for line in lines])
    lost = np.array([line["limit"][title] <= 0.85 for line in lines])
    return [
        f"{100 * found.mean():.1f} %",
        f"{100 * np.abs(found - 0.9).mean():.1f}",
        f"{100 * found[lost].mean():.1f} % ({lost.sum()})" if lost.any() else "",
    ]


def _row(line, title):
    return line["found"][title]["cdf"]


def _size(line):
    return line["key"].split("/")[2]

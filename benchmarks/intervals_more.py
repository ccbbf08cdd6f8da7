"""More tables of `intervals.py`: generated problems, other scores, little overlap, time."""

from __future__ import annotations

import numpy as np
from harness import table
from intervals_summary import WORDS, loses, numbers_of, part_of, percent, sizes_of, width
from scipy.stats import gmean


def generated_sections(lines):
    """Return the tables of generated problems."""
    lines = [line for line in lines if "found" in line]
    if not lines:
        return []
    found = [
        "## Generated problems",
        "Normal features, of which the first has moved by 0.8 standard deviations, or one-hot "
        "levels: `intervals_problems.py`. Outcomes vary more there. Measured on 4000 new rows of "
        "the target. All rows: weights fitted to all labelled rows, not to those that train alone. "
        "A target of 50 rows with many features does not show its shift, the weights stay near "
        "one, and coverage falls short.",
    ]
    head = [
        "problem",
        "N",
        "runs",
        "model",
        "plain",
        "ours",
        "error",
        "ours, all rows",
        "oracle",
        "width / oracle",
    ]
    rows = []
    for name in dict.fromkeys(part_of(line, 0) for line in lines):
        for size in sizes_of(lines):
            part = [line for line in lines if (part_of(line, 0), part_of(line, 2)) == (name, size)]
            for model in part[0]["found"] if part else ():
                numbers = {
                    c: numbers_of(part, model, c) for c in ("plain", "cdf", "cdf all", "oracle")
                }
                covered = numbers["cdf"][:, 0]
                rows.append(
                    [
                        name,
                        size,
                        len(part),
                        model,
                        percent(numbers["plain"][:, 0].mean()),
                        percent(covered.mean()),
                        f"{100 * covered.std(ddof=1) / np.sqrt(len(covered)):.1f}",
                        percent(numbers["cdf all"][:, 0].mean()),
                        percent(numbers["oracle"][:, 0].mean()),
                        width(numbers["cdf"][:, 3]),
                    ]
                )
    return [*found, table(head, rows)]


def extras_sections(lines):
    """Return other scores, thresholds and methods, and the expected coverage."""
    lines = [line for line in lines if "found" in line]
    shifted = [line for line in lines if part_of(line, 1) != "none"]
    if not shifted:
        return []
    head = ["score", "threshold", "N", "runs", "coverage", "where it costs", "width / oracle"]
    head += ["width / ours (absolute)", "infinite"]
    rows = []
    for size in sizes_of(shifted):
        part = [line for line in shifted if part_of(line, 2) == size]
        for title in dict.fromkeys(t for line in part for t in line["found"]):
            some = [line for line in part if title in line["found"]]
            for name in ("plain", "cdf", "cdf dr", "oracle"):
                numbers = numbers_of(some, title, name)
                if not len(numbers):
                    continue
                lost = loses(some, "linear")
                rows.append(
                    [
                        title,
                        WORDS[name],
                        size,
                        len(numbers),
                        percent(numbers[:, 0].mean()),
                        percent(numbers[lost, 0].mean()) if lost.any() else "",
                        width(numbers[:, 3]),
                        _beside(some, title, name),
                        percent(numbers[:, 2].mean()),
                    ]
                )
    found = [
        "## Other scores, thresholds and methods",
        'Real tables with induced shifts and generated problems together; "linear" is the score '
        '"absolute" or "lac", and "aps" is randomised.',
        table(head, rows),
    ]
    return [*found, *_expected(lines)]


def overlap_sections(lines):
    """Return how often intervals are infinite under little overlap, and how wide."""
    lines = [line for line in lines if "found" in line]
    if not lines:
        return []
    head = ["target", "N", "runs", "plain", "ours", "oracle", "ours infinite", "oracle infinite"]
    head += ["width / oracle", "ours: effective rows"]
    rows = []
    for name in dict.fromkeys(part_of(line, 0) for line in lines):
        for size in sizes_of(lines):
            part = [line for line in lines if (part_of(line, 0), part_of(line, 2)) == (name, size)]
            if not part:
                continue
            plain, ours, oracle = (
                numbers_of(part, "linear", c) for c in ("plain", "cdf", "oracle")
            )
            effective = np.mean([line["effective"]["linear"]["cdf"] for line in part])
            rows.append(
                [
                    name,
                    size,
                    len(part),
                    *(percent(n[:, 0].mean()) for n in (plain, ours, oracle)),
                    *(percent(n[:, 2].mean()) for n in (ours, oracle)),
                    width(ours[:, 3]),
                    f"{effective:.0f} of {int(size.split(',')[0]) // 2}",
                ]
            )
    return [
        "## Little overlap",
        "The heteroscedastic problem, moved further; and uniform features of which a quarter of "
        "the target lies beyond all labelled rows. Ridge regression. Coverage counts infinite "
        "intervals as covering.",
        table(head, rows),
    ]


def scale_sections(lines):
    """Return the times."""
    rows = [
        [
            line["title"],
            *(f"{value:,}" for value in line["rows"]),
            *(f"{line[part][k]:.2f}" for part in ("fit", "predict") for k in (0, 1)),
            f"{line['coverage']:.3f}",
        ]
        for line in lines
    ]
    head = ["", "calibration and target rows", "predictions", "features"]
    head += ["fit: seconds", "of the processor", "predict: seconds", "of the processor", "coverage"]
    text = (
        "A fitted linear regression, `prefit=True`; three features have moved by 0.3; seed 0; one "
        "run on one thread, on a machine that was busy with other work (the processor's time is "
        "what it would take alone)."
    )
    return ["## Time", text, table(head, rows)] if rows else []


def _expected(lines):
    rows = []
    asked = [line for line in lines if "expected" in line and line["judging"] > 1000]
    for size in sizes_of(asked):
        part = [line for line in asked if part_of(line, 2) == size]
        said = np.array([line["expected"]["linear"] for line in part])
        truth = np.array([line["found"]["linear"]["cdf"][0] for line in part])
        known = np.isfinite(said[:, 0])
        inside = (said[:, 1] <= truth) & (truth <= said[:, 2])
        rows.append(
            [
                size,
                len(part),
                int((~known).sum()),
                percent(inside[known].mean()),
                f"{100 * np.abs(said[known, 0] - truth[known]).mean():.1f}",
                f"{100 * (said[known, 2] - said[known, 1]).mean():.1f}",
            ]
        )
    head = ["N", "runs", "not known", "95 % interval holds the true coverage", "error", "width"]
    text = (
        "`expected_coverage` of the default; error and width of its interval in points of "
        "coverage. Runs in which more than 1000 rows (Kish) judge."
    )
    return ["### Expected coverage", text, table(head, rows)] if rows else []


def _beside(lines, title, name):
    """Width relative to the default's, geometric mean over runs."""
    pairs = [(line["found"][title][name][1], line["found"]["linear"]["cdf"][1]) for line in lines]
    ratios = [a / b for a, b in pairs if a and b]
    return f"{gmean(ratios):.2f}" if ratios else ""

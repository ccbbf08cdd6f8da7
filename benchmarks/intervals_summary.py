"""The tables of `intervals.py`, from the lines it keeps."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from harness import table
from scipy.stats import gmean

LOSES, LEAST, GOAL, WIDTH = 0.85, 0.88, (0.885, 0.915), 1.15
WORDS = {
    "plain": "plain split",
    "cdf": "ours (default)",
    "cdf dr": 'ours, threshold="dr"',
    "discriminative": 'ours, weighter="discriminative"',
    "entropy": 'ours, weighter="entropy"',
    "oracle": "oracle: true ratios",
}
HEAD = [
    "coverage asked for: 90 %",
    "mean coverage",
    "where the shift costs 5 points or more",
    "lowest cell (runs)",
    "cells below 88 % by two errors",
    "width / oracle",
    "infinite",
]
TEXT = (
    "The table is the population, and every row has a chance p to be the target's: a logistic of a "
    "random direction (direction), the rank in a random column (rank), a logistic of the direction "
    "in which a linear model errs more (hard), or a coin (the control). The labelled sample "
    "is drawn from the others, so that p / (1 - p) is the true density ratio: the oracle's "
    "weights. Half of the labelled rows calibrate (`calibration_size=0.5`); half of 200 are 100. "
    "Coverage: over all rows of neither sample (at most 4000), weighted by their chance to be the "
    "target's. Models: ridge or logistic regression and boosted trees; sets of classes by "
    'score "lac". Tables of the half on which nothing was chosen (`tables_data.half`).'
)
MEASURES = (
    "Where the shift costs 5 points: runs in which the plain threshold with endless calibration "
    "rows covers 85 % or less, so that luck of the calibration rows has no part in the choice. "
    "Cell: table, shift, model and size; its error is the standard deviation of the runs (pooled "
    "over cells) over the root of their number. Width: mean over the rows for which both it and "
    "the oracle are finite, relative to the oracle's; geometric mean over runs (classes: mean size "
    "of the sets). Infinite: share of the target's intervals; for classes, sets of all classes."
)


def cells_sections(lines):
    """Return the tables of real tables, and how far the goals are met."""
    lines = [line for line in lines if "found" in line]
    if not lines:
        return []
    names = sorted({_part(line, 0) for line in lines})
    counts = f"{len(lines)} problems of {len(names)} tables: {', '.join(names)}. Seeds from names."
    found = ["## Real tables", TEXT, MEASURES, counts]
    shifted = [line for line in lines if _part(line, 1) != "none"]
    kinds = ("regression", "classification")
    for kind in kinds:
        part = [line for line in shifted if line["kind"] == kind]
        for size in _sizes(part):
            found += _block(f"{kind.capitalize()}, N = {size}", part, size)
    control = [line for line in lines if _part(line, 1) == "none"]
    for size in _sizes(control):
        found += _block(f"No shift: the control, N = {size}", control, size)
    return [*found, *_mapie(lines), *_lowest(shifted)]


def generated_sections(lines):
    """Return the tables of generated problems."""
    lines = [line for line in lines if "found" in line]
    if not lines:
        return []
    found = [
        "## Generated problems",
        "Normal features, of which the first has moved by 0.8 standard deviations, or one-hot "
        "levels: `intervals_problems.py`. Outcomes vary more there. Measured on 4000 new rows of "
        "the target.",
    ]
    head = ["problem", "N", "runs", "model", "plain", "ours", "error", "oracle", "width / oracle"]
    rows = []
    for name in dict.fromkeys(_part(line, 0) for line in lines):
        for size in _sizes(lines):
            part = [line for line in lines if (_part(line, 0), _part(line, 2)) == (name, size)]
            for model in part[0]["found"] if part else ():
                numbers = {c: _numbers(part, model, c) for c in ("plain", "cdf", "oracle")}
                covered = numbers["cdf"][:, 0]
                rows.append(
                    [
                        name,
                        size,
                        len(part),
                        model,
                        _percent(numbers["plain"][:, 0].mean()),
                        _percent(covered.mean()),
                        f"{100 * covered.std(ddof=1) / np.sqrt(len(covered)):.1f}",
                        _percent(numbers["oracle"][:, 0].mean()),
                        _width(numbers["cdf"][:, 3]),
                    ]
                )
    return [*found, table(head, rows)]


def extras_sections(lines):
    """Return other scores, thresholds and methods, and the expected coverage."""
    lines = [line for line in lines if "found" in line]
    shifted = [line for line in lines if _part(line, 1) != "none"]
    if not shifted:
        return []
    head = ["score", "threshold", "N", "runs", "coverage", "where it costs", "width / oracle"]
    head += ["width / ours (absolute)", "infinite"]
    rows = []
    for size in _sizes(shifted):
        part = [line for line in shifted if _part(line, 2) == size]
        for title in dict.fromkeys(t for line in part for t in line["found"]):
            some = [line for line in part if title in line["found"]]
            for name in ("plain", "cdf", "cdf dr", "oracle"):
                numbers = _numbers(some, title, name)
                if not len(numbers):
                    continue
                lost = _lost(some, "linear")
                rows.append(
                    [
                        title,
                        WORDS[name],
                        size,
                        len(numbers),
                        _percent(numbers[:, 0].mean()),
                        _percent(numbers[lost, 0].mean()) if lost.any() else "",
                        _width(numbers[:, 3]),
                        _beside(some, title, name),
                        _percent(numbers[:, 2].mean()),
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
    for name in dict.fromkeys(_part(line, 0) for line in lines):
        for size in _sizes(lines):
            part = [line for line in lines if (_part(line, 0), _part(line, 2)) == (name, size)]
            if not part:
                continue
            plain, ours, oracle = (_numbers(part, "linear", c) for c in ("plain", "cdf", "oracle"))
            effective = np.mean([line["effective"]["linear"]["cdf"] for line in part])
            rows.append(
                [
                    name,
                    size,
                    len(part),
                    *(_percent(n[:, 0].mean()) for n in (plain, ours, oracle)),
                    *(_percent(n[:, 2].mean()) for n in (ours, oracle)),
                    _width(ours[:, 3]),
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


# parts


def _block(title, lines, size):
    part = [line for line in lines if _part(line, 2) == size]
    if not part:
        return []
    rows = []
    for name in WORDS:
        numbers = np.concatenate([_numbers(part, m, name) for m in _models(part)])
        if not len(numbers):
            continue
        lost = np.concatenate([_lost(part, m, name) for m in _models(part)])
        low = _cells(part, name)
        _, mean, error, runs = low[0]
        below = sum(mean + 2 * error < LEAST for _, mean, error, _ in low)
        rows.append(
            [
                WORDS[name],
                _percent(numbers[:, 0].mean()),
                f"{_percent(numbers[lost, 0].mean())} ({lost.sum()})" if lost.any() else "",
                f"{_percent(mean)} ± {100 * error:.1f} ({runs})",
                f"{below} of {len(low)}",
                _width(numbers[:, 3]),
                _percent(numbers[:, 2].mean()),
            ]
        )
    return [f"### {title}", table(HEAD, rows)]


def _cells(lines, contender):
    """Cells in ascending order of coverage: name, mean, its error, number of runs."""
    cells = defaultdict(list)
    for line in lines:
        for model, found in line["found"].items():
            if contender in found:
                cells[line["key"].rpartition("/")[0], model].append(found[contender][0])
    many = [np.var(values, ddof=1) for values in cells.values() if len(values) > 1]
    spread = float(np.sqrt(np.mean(many))) if many else float("nan")
    return sorted(
        (
            (f"{key} ({model})", float(np.mean(v)), spread / np.sqrt(len(v)), len(v))
            for (key, model), v in cells.items()
        ),
        key=lambda cell: cell[1],
    )


def _lowest(lines):
    rows = []
    for size in _sizes(lines):
        part = [line for line in lines if _part(line, 2) == size]
        others = {name: {c[0]: c[1] for c in _cells(part, name)} for name in WORDS}
        for name, mean, error, runs in _cells(part, "cdf")[:4]:
            more = [_percent(others[c].get(name)) for c in ("plain", "oracle", "discriminative")]
            rows.append([name, runs, f"{_percent(mean)} ± {100 * error:.1f}", *more])
    head = ["cell", "runs", "ours", "plain", "oracle", "discriminative"]
    return ["### Lowest cells of each size", table(head, rows)]


def _mapie(lines):
    rows = []
    for kind in ("regression", "classification"):
        part = [
            (line["mapie"][model], line["found"][model]["plain"][0])
            for line in lines
            if line["kind"] == kind
            for model in line.get("mapie", {})
            if line["mapie"][model] is not None
        ]
        if part:
            theirs, same = np.mean([m for m, _ in part], axis=0)
            ours = np.mean([p for _, p in part])
            rows.append([kind, len(part), _percent(theirs), _percent(ours), _percent(same)])
    if not rows:
        return []
    head = ["", "runs", "MAPIE: coverage", "ours, weighter=None", "equal intervals or sets"]
    return ["### MAPIE's split, the same models and calibration rows", table(head, rows)]


def _expected(lines):
    rows = []
    asked = [line for line in lines if "expected" in line and line["judging"] > 1000]
    for size in _sizes(asked):
        part = [line for line in asked if _part(line, 2) == size]
        said = np.array([line["expected"]["linear"] for line in part])
        truth = np.array([line["found"]["linear"]["cdf"][0] for line in part])
        known = np.isfinite(said[:, 0])
        inside = (said[:, 1] <= truth) & (truth <= said[:, 2])
        rows.append(
            [
                size,
                len(part),
                int((~known).sum()),
                _percent(inside[known].mean()),
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


def _numbers(lines, model, contender):
    """Coverage, width, share infinite and relative width of all runs (runs, 4)."""
    found = [
        line["found"][model][contender]
        for line in lines
        if contender in line["found"].get(model, ())
    ]
    return np.array(found, dtype=float).reshape(-1, 4)


def _lost(lines, model, contender="plain"):
    """Runs in which the shift alone costs five points or more."""
    return np.array(
        [
            line["limit"][model] <= LOSES
            for line in lines
            if contender in line["found"].get(model, ())
        ],
        dtype=bool,
    )


def _beside(lines, title, name):
    """Width relative to the default's, geometric mean over runs."""
    pairs = [(line["found"][title][name][1], line["found"]["linear"]["cdf"][1]) for line in lines]
    ratios = [a / b for a, b in pairs if a and b]
    return f"{gmean(ratios):.2f}" if ratios else ""


def _models(lines):
    return list(dict.fromkeys(model for line in lines for model in line["found"]))


def _sizes(lines):
    known = dict.fromkeys(_part(line, 2) for line in lines)
    return sorted(known, key=lambda size: (int(size.split(",")[0]), len(size)))


def _part(line, place):
    return line["key"].split("/")[place]


def _width(ratios):
    known = ratios[np.isfinite(ratios) & (ratios > 0)]
    return f"{gmean(known):.2f}" if len(known) else ""


def _percent(value):
    return "" if value is None else f"{100 * value:.1f} %"

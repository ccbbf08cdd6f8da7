"""Tables of the runs of `evaluations.py`, from the lines that were kept."""

from __future__ import annotations

import json
from collections import defaultdict

import numpy as np
from harness import table
from scipy.stats import gmean

GOALS = {"accuracy": 0.38, "brier": 0.42, "roc_auc": 0.75, "mse": 0.55}
METHODS = ("none", "weights", "cbpe", "pape", "model", "dr")
WORDS = {
    "none": "labelled rows as they are",
    "weights": "weighted rows",
    "cbpe": "calibrated scores (our CBPE)",
    "pape": "weighted calibration (our PAPE)",
    "model": "outcome model",
    "dr": "doubly robust, leaning to the model (default)",
}
METRICS = {"accuracy": "accuracy", "brier": "Brier", "roc_auc": "AUC", "mse": "MSE"}
WAYS = ("held out", "all rows")
TEXT = "\n\n".join(
    [
        "The table is the population, and every row has a chance to be the target's: a logistic "
        "of a random direction, or the rank in a random column (induced shifts); or a column's "
        "values tell the two apart (natural shifts: p(y | x) may differ as well, and no method "
        "knows); or a coin (no shift: the control). "
        "Half of the labelled rows train a model, the other half judge it: `held out` "
        "passes these alone, `all rows` passes both and marks the former by `trained_on`. The "
        "truth is the metric over all rows of the table that did not train the model, weighted "
        "by their chance. Models: linear; boosted trees; a linear one that sees a third of the "
        "columns. Rows that judge, and target rows: 300 and 300, 1000 and 1000, 5000 and 5000 "
        "where the table has them. Tables of the half on which nothing was chosen "
        "(`tables_data.half`); method, mixture and width of the intervals were settled on the "
        "other half.",
        "Error: mean absolute error over the runs of a cell (table, shift, model, size) "
        "relative to that of the labelled rows as they are; geometric mean over the cells. "
        "Coverage: share of 95 % intervals that hold the truth; width: relative to the plain "
        "interval, median. Rows are drawn without replacement from finite tables, so that "
        "intervals cover a little too often.",
    ]
)


def tables_sections(kept, nannyml):
    """Return the tables of real tables."""
    every = [line for line in kept.lines() if "absent" not in line]
    lines = [line for line in every if "refused" not in line]
    names = sorted({line["key"].split("/")[0] for line in lines})
    counts = (
        f"{len(lines)} problems of {len(names)} tables ({', '.join(names)}); "
        f"{len(every) - len(lines)} more were refused for lack of overlap. Seeds from the names."
    )
    found = ["## Real tables", TEXT, counts]
    few = [line for line in lines if _of_few(line) and _induced(line)]
    lines = [line for line in lines if not _of_few(line)]
    parts = {
        "Induced shifts": [line for line in lines if _induced(line)],
        "Natural shifts": [line for line in lines if _natural(line)],
        "No shift: the control": [line for line in lines if _unshifted(line)],
        "Induced shifts, 1000 rows that judge, a target of 50": few,
    }
    for title, part in parts.items():
        if part:
            found += [f"### {title}", _errors_table(part), _coverage_table(part)]
    shifted = [line for line in lines if not _unshifted(line)]
    found += ["### By shift, model and size (induced and natural)", _groups_table(shifted)]
    if nannyml.exists():
        theirs = [json.loads(line) for line in nannyml.read_text().splitlines()]
        found += ["### NannyML beside it", NANNYML, _beside(lines, theirs)]
    return found


NANNYML = (
    "The same runs: NannyML 0.13.1 in an environment of its own, CBPE for classes and DLE for "
    "numbers, the labelled rows that judge as its reference and the whole target as one chunk. "
    "Its band of three sampling errors is cut to 1.96 of them for a 95 % interval; it tells the "
    "target's sampling noise alone. It has no Brier score; that of its calibrated scores is ours."
)


def monitored_sections(kept, nannyml):
    """Return the tables of monitored models: real and made-up, with later truth."""
    every = kept.lines()
    lines = [line for line in every if "refused" not in line]
    theirs = []
    if nannyml.exists():
        theirs = [json.loads(line) for line in nannyml.read_text().splitlines()]
    refused = defaultdict(int)
    for line in every:
        refused[line["key"].split("/")[0]] += "refused" in line
    text = (
        "Models with their scores and, later, the truth, of NannyML's wheel; what each is, and "
        "whether p(y | x) has changed: `evaluations_wheel.py`. Labelled rows drawn from the "
        "reference, target rows from one period, the truth over the whole period. Error: mean "
        "absolute error relative to the plain one (all periods and runs of a size pooled). "
        "Refused for lack of overlap: "
        + ", ".join(f"{name} {count}" for name, count in refused.items())
        + ". Where we lose: the shifted tenths of the made-up sets (car loan, car price) are so "
        "far from the reference that the verdict is a strong shift. There NannyML is nearer to the "
        "truth, and our intervals, which do not count extrapolation, cover too little; `evaluate` "
        "warns of it. The employed of Massachusetts hardly shift at all: there is nothing to gain."
    )
    return ["## Monitored models", text, _monitored_table(lines, theirs)]


def _monitored_table(lines, theirs):
    by_key = _by_key(theirs)
    rows = []
    cells = sorted({(line["key"].split("/")[0], line["key"].split("/")[2]) for line in lines})
    for name, size in cells:
        part = [line for line in lines if line["key"].split("/")[::2][:2] == [name, size]]
        for metric in part[0]["truth"]:
            plain = np.mean(
                [abs(_number(line, metric, "none")[0] - _t(line, metric)) for line in part]
            )
            row = [name, size, len(part), METRICS[metric], f"{plain:.4g}"]
            row += [_of_cell(part, metric, method, plain) for method in ("model", "dr")]
            known = [line for line in part if (line["key"], metric) in by_key]
            peer = ""
            if known:
                numbers = [by_key[line["key"], metric] for line in known]
                errors = [
                    abs(n["value"] - _t(line, metric))
                    for n, line in zip(numbers, known, strict=True)
                ]
                peer = f"{np.mean(errors) / plain:.2f}, {_peer_coverage(numbers, known, metric)}"
            rows.append([*row, peer])
    head = ["model", "rows", "runs", "metric", "plain error", "outcome model", "default", "NannyML"]
    return "Error relative to the plain one, and coverage of the 95 % interval.\n\n" + table(
        head, rows
    )


def _of_cell(part, metric, method, plain):
    numbers = [_number(line, metric, method) for line in part]
    errors = [abs(n[0] - _t(line, metric)) for n, line in zip(numbers, part, strict=True)]
    inside = [n[2] <= _t(line, metric) <= n[3] for n, line in zip(numbers, part, strict=True)]
    return f"{np.mean(errors) / plain:.2f}, {np.mean(inside):.0%}"


def _peer_coverage(numbers, lines, metric):
    inside = [
        abs(n["value"] - _t(line, metric)) <= 1.96 * n["sampling_error"]
        for n, line in zip(numbers, lines, strict=True)
        if n.get("sampling_error") is not None
    ]
    return f"{np.mean(inside):.0%}" if inside else "no band"


def _errors_table(lines):
    head = ["error relative to the plain one", "rows passed", *METRICS.values()]
    rows = []
    for way in WAYS:
        for method in METHODS:
            cells = [_relative(lines, metric, method, way) for metric in METRICS]
            rows.append([WORDS[method], way, *("" if c is None else f"{c[0]:.2f}" for c in cells)])
    rows.append(["goal", "", *(f"{goal:.2f}" for goal in GOALS.values())])
    counts = {m: _relative(lines, m, "dr", "held out") for m in METRICS}
    sizes = [f"{METRICS[m]} {found[1]}" for m, found in counts.items() if found is not None]
    return table(head, rows) + f"\n\nCells: {', '.join(sizes)}."


def _coverage_table(lines):
    head = ["coverage, width", "rows passed", *METRICS.values()]
    rows = []
    for way in WAYS:
        for method in METHODS:
            cells = []
            for metric in METRICS:
                part = [line for line in lines if metric in line["truth"]]
                numbers = [_number(line, metric, method, way) for line in part]
                if not numbers or numbers[0] is None:
                    cells.append("")
                    continue
                plain = [_number(line, metric, "none", way) for line in part]
                inside = [
                    n[2] <= _t(line, metric) <= n[3] for n, line in zip(numbers, part, strict=True)
                ]
                width = [(n[3] - n[2]) / (p[3] - p[2]) for n, p in zip(numbers, plain, strict=True)]
                cells.append(f"{np.mean(inside):.1%}, {np.median(width):.2f}")
            rows.append([WORDS[method], way, *cells])
    return table(head, rows)


def _groups_table(lines):
    """Set the default beside the best method of each group."""
    rows = []
    for place in (1, 2, 3):
        for value in sorted({line["key"].split("/")[place] for line in lines}):
            part = [line for line in lines if line["key"].split("/")[place] == value]
            for metric in METRICS:
                found = {m: _relative(part, metric, m, "all rows") for m in METHODS}
                found = {m: c[0] for m, c in found.items() if c is not None}
                if "dr" not in found:
                    continue
                best = min(found, key=found.get)
                rows.append(
                    [
                        value,
                        METRICS[metric],
                        f"{found['dr']:.2f}",
                        f"{found[best]:.2f} ({WORDS[best]})",
                        f"{found['dr'] / found[best]:.2f}",
                    ]
                )
    head = ["group of cells", "metric", "default", "best method", "ratio"]
    return "All rows passed.\n\n" + table(head, rows)


def _beside(lines, theirs):
    by_key = _by_key(theirs)
    rows = []
    for title, wanted in (("induced", _induced), ("natural", _natural)):
        for metric in METRICS:
            part = [line for line in lines if wanted(line) and (line["key"], metric) in by_key]
            if not part:
                continue
            numbers = [by_key[line["key"], metric] for line in part]
            errors, plain = defaultdict(list), defaultdict(list)
            for line, number in zip(part, numbers, strict=True):
                cell = _cell(line)
                errors[cell].append(abs(number["value"] - _t(line, metric)))
                plain[cell].append(abs(_number(line, metric, "none")[0] - _t(line, metric)))
            relative = gmean([np.mean(errors[c]) / np.mean(plain[c]) for c in errors])
            ours = [_relative(part, metric, "dr", way)[0] for way in WAYS]
            inside = [
                n[2] <= _t(line, metric) <= n[3]
                for line in part
                for n in [_number(line, metric, "dr")]
            ]
            rows.append(
                [
                    title,
                    METRICS[metric],
                    len(part),
                    f"{relative:.2f}",
                    *(f"{value:.2f}" for value in ours),
                    _peer_coverage(numbers, part, metric),
                    f"{np.mean(inside):.0%}",
                ]
            )
    head = [
        "shifts",
        "metric",
        "runs",
        "NannyML: error",
        "default, held out",
        "default, all rows",
        "NannyML: coverage",
        "default: coverage",
    ]
    return table(head, rows)


def _relative(lines, metric, method, way):
    """Return the error relative to the plain one, geometric mean over cells; and their number."""
    errors, plain = defaultdict(list), defaultdict(list)
    for line in lines:
        if metric not in line["truth"]:
            continue
        number = _number(line, metric, method, way)
        if number is None:
            return None
        cell = _cell(line)
        errors[cell].append(abs(number[0] - _t(line, metric)))
        plain[cell].append(abs(_number(line, metric, "none", way)[0] - _t(line, metric)))
    if not errors:
        return None
    return float(gmean([np.mean(errors[c]) / np.mean(plain[c]) for c in errors])), len(errors)


def _by_key(theirs):
    found = {
        (line["key"].replace("__", "/"), line["metric"]): line
        for line in theirs
        if "metric" in line
    }
    return {key: line for key, line in found.items() if line.get("value") is not None}


def _cell(line):
    return line["key"].rpartition("/")[0]


def _t(line, metric):
    return line["truth"][metric]


def _number(line, metric, method, way="held out"):
    return line[way].get(f"{metric}/{method}")


def _induced(line):
    return not _natural(line) and not _unshifted(line)


def _natural(line):
    return "/natural/" in line["key"]


def _unshifted(line):
    return "/none/" in line["key"]


def _of_few(line):
    return "/few target rows/" in line["key"]

"""Tables of the runs on real tables, from the lines that were kept."""

from __future__ import annotations

import json

import numpy as np
from estimates_coverage import NOMINAL, summary
from harness import table
from scipy.stats import gmean

BALANCE = ("coarse ipw", "ipw without penalty", "linear cbps", "rake", "coarse aipw")


def tables_sections(kept, balance):
    """Return the tables: ours on all draws, balance's on its draws with ours beside them."""
    lines = [line for line in kept.lines() if "refused" not in line]
    refused = sum("refused" in line for line in kept.lines())
    cells = sorted({(line["table"], line["shift"]) for line in lines})
    contenders = list(dict.fromkeys(line["contender"] for line in lines))
    rows = [
        _row(lines, cells, contender, method)
        for contender in contenders
        for method in ("dr", "weights")
    ]
    rows.append(_row(lines, cells, "default", "none"))
    draws = len({(line["table"], line["shift"], line["run"]) for line in lines})
    head = ["weights and outcome model", "method", "error", "coverage", "lowest table", "width"]
    text = (
        f"{draws} draws of {len({name for name, _ in cells})} tables "
        f"({', '.join(sorted({name for name, _ in cells}))}), 1000 rows of each sample; "
        f"{refused} fits were refused for lack of overlap. Error: root mean square over the draws "
        "of a cell (table and shift) relative to that of the plain mean, geometric mean over the "
        f"cells; intervals of {NOMINAL:.0%}; width relative to the plain interval. Rows are drawn "
        "without replacement from finite tables, so that intervals cover a little too often."
    )
    found = [text, table(head, rows)]
    if balance.exists():
        found += _beside_balance(lines, balance)
    return found


def _row(lines, cells, contender, method):
    errors, widths, covers = [], [], {}
    for cell in cells:
        inside = [
            line
            for line in lines
            if (line["table"], line["shift"]) == cell and line["contender"] == contender
        ]
        if not inside:
            continue
        truth = np.array([line["truth"] for line in inside])
        numbers, plain = (np.array([line[m] for line in inside]) for m in (method, "none"))
        moved = [
            np.column_stack([n[:, 0] - truth, n[:, 1], n[:, 2] - truth, n[:, 3] - truth])
            for n in (numbers, plain)
        ]
        ours, theirs = (summary(one, 0.0) for one in moved)
        errors.append(ours[0] / theirs[0])
        widths.append(ours[2] / theirs[2])
        low, high = moved[0][:, 2], moved[0][:, 3]
        covers.setdefault(cell[0], []).extend((low <= 0) & (high >= 0))
    share = np.mean([flag for flags in covers.values() for flag in flags])
    lowest = min(np.mean(flags) for flags in covers.values())
    return [
        contender,
        method,
        f"{gmean(errors):.3f}",
        f"{share:.1%}",
        f"{lowest:.0%}",
        f"{gmean(widths):.2f}",
    ]


def _beside_balance(lines, path):
    theirs = [json.loads(line) for line in path.read_text().splitlines()]
    ours = {
        f"{line['table']}, {line['shift']}, {line['run']}": line
        for line in lines
        if line["contender"] == "default"
    }
    problems = sorted({line["problem"] for line in theirs} & ours.keys())
    scale = {p: abs(ours[p]["none"][0] - ours[p]["truth"]) for p in problems}
    rows = []
    for method in ("dr", "weights", "none"):
        values = {p: ours[p][method] for p in problems}
        rows.append(_against(f"covshift, {method}", values, ours, scale, None))
    for method in BALANCE:
        found = {
            line["problem"]: line
            for line in theirs
            if line["method"] == method and line["problem"] in problems
        }
        values = {
            p: [line["estimate"], None, line["lower"], line["upper"]]
            for p, line in found.items()
            if line["estimate"] is not None
        }
        seconds = float(np.median([line["seconds"] for line in found.values()] or [np.nan]))
        if values:
            rows.append(_against(f"balance, {method}", values, ours, scale, seconds))
    head = ["method", "problems", "error", "coverage", "seconds"]
    return [
        f"On {len(problems)} of these draws balance 0.23, in an environment of its own; "
        "`benchmarks/estimates_balance.py` says which of the settings are its defaults (cbps and "
        "ipw without penalty take the features as they are, coarse ones try 25 penalties). Its "
        "intervals take the weights as known, aipw has none. Error: root mean square relative to "
        "that of the plain mean, over these draws in units of the plain mean's standard error.",
        table(head, rows),
    ]


def _against(label, values, ours, scale, seconds):
    spread = {p: abs(ours[p]["none"][1]) for p in values}  # in units of the plain error
    error = np.sqrt(
        np.mean([((v[0] - ours[p]["truth"]) / spread[p]) ** 2 for p, v in values.items()])
    )
    plain = np.sqrt(np.mean([(scale[p] / spread[p]) ** 2 for p in values]))
    bounded = [(p, v) for p, v in values.items() if v[2] is not None]
    covers = [v[2] <= ours[p]["truth"] <= v[3] for p, v in bounded]
    return [
        label,
        len(values),
        f"{error / plain:.3f}",
        f"{np.mean(covers):.0%}" if covers else "-",
        "" if seconds is None else f"{seconds:.1f}",
    ]

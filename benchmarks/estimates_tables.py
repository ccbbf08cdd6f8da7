"""Population means from biased samples of real tables: covshift, and balance beside it.

The table is the population. Every row has a chance p to be the target's (`tables_shifts`: a
logistic of a random direction, or the rank in a random column); the others are the sample's. 1000
rows of each are drawn, anew for every run, and the truth is the mean of the outcome over the table,
weighted by p. Only tables of the half on which nothing was chosen (`tables_data.half`), large
enough that two thousand drawn rows are no large part of them.
"""

from __future__ import annotations

import json
import warnings
import zlib
from functools import cache

import numpy as np
import pandas as pd
import tables_data
from estimates_coverage import NOMINAL, summary
from harness import table
from joblib import Parallel, delayed
from scipy.stats import gmean
from sklearn.linear_model import RidgeCV
from tables_shifts import target_chance

from covshift import estimate
from covshift.exceptions import NoOverlapError

ROWS, LEAST, MOST_COLUMNS = 1000, 4000, 40
SHIFTS, RUNS, FOR_BALANCE = ("direction", "rank"), 15, 1
CONTENDERS = {
    "default": {},
    "energy weights, ridge": {
        "weighter": "energy",
        "outcome_model": RidgeCV(np.logspace(-2, 5, 29)),
    },
    "CDF weights, ridge": {"weighter": "cdf", "outcome_model": RidgeCV(np.logspace(-2, 5, 29))},
    "entropy weights, ridge": {
        "weighter": "entropy",
        "outcome_model": RidgeCV(np.logspace(-2, 5, 29)),
    },
}
BALANCE = ("ipw", "ipw without penalty", "cbps", "rake", "aipw")


def names():
    """Tables of the report's half that are large and narrow enough."""
    return [name for name in sorted(tables_data.TABLES) if _usable(name)]


def _usable(name):
    if tables_data.half(name) != "report":
        return False
    found = tables_data.load(name)
    return len(found.X) >= LEAST and columns(name).shape[1] <= MOST_COLUMNS


@cache
def columns(name):
    """All rows as numbers: one column per level of a category, but for one of two."""
    X = tables_data.load(name).X
    two = [c for c in X.columns if X[c].nunique() == 2]
    rest = X.drop(columns=two)
    parts = [pd.get_dummies(X[two], drop_first=True)] if two else []
    parts += [pd.get_dummies(rest)] if rest.shape[1] else []
    return pd.concat(parts, axis=1).to_numpy(dtype=float)


def draw(name, shift, run):
    """Return X, y, T and the truth."""
    found = tables_data.load(name)
    rng = np.random.default_rng([zlib.crc32(f"{name}/{shift}".encode()), run])
    chance = target_chance(found.X, shift, rng)
    in_target = rng.uniform(size=len(chance)) < chance
    train, target = np.flatnonzero(~in_target), np.flatnonzero(in_target)
    if min(len(train), len(target)) < ROWS:
        return None
    train, target = rng.permutation(train)[:ROWS], rng.permutation(target)[:ROWS]
    X, T = (columns(name)[rows] for rows in (train, target))
    y = found.y.astype(float)
    return X, y[train], T, float(chance @ y / chance.sum())


def one_run(name, shift, run):
    """Return one line per contender."""
    drawn = draw(name, shift, run)
    if drawn is None:
        return []
    X, y, T, truth = drawn
    lines, diagnosis = [], None
    for contender, options in CONTENDERS.items():
        line = {"table": name, "shift": shift, "run": run, "contender": contender, "truth": truth}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = estimate(y, X, T, diagnosis=diagnosis, **options)
            except NoOverlapError as reason:
                lines.append({**line, "refused": str(reason)})
                continue
        diagnosis = found.diagnosis
        for method in ("dr", "weights", "none"):
            row = found.table.where(method=method)[0]
            line[method] = [row.value, row.standard_error, *row.interval]
        lines.append(line)
    return lines


def measure(kept, n_jobs, runs=RUNS):
    """Run what is not kept yet."""
    done = {(line["table"], line["shift"], line["run"]) for line in kept.lines()}
    jobs = [(n, s, r) for r in range(runs) for n in names() for s in SHIFTS]
    with Parallel(n_jobs=n_jobs, return_as="generator") as pool:
        for lines in pool(delayed(one_run)(*job) for job in jobs if job not in done):
            for line in lines:
                kept.add(line)


def write_jobs(path, runs=FOR_BALANCE):
    """Write the first draws of every cell for `estimates_balance.py`."""
    arrays = {}
    for name in names():
        for shift in SHIFTS:
            for run in range(runs):
                drawn = draw(name, shift, run)
                if drawn is not None:
                    for part, values in zip("XyT", drawn, strict=False):
                        arrays[f"{name}, {shift}, {run}/{part}"] = values
    np.savez(path, **arrays)


def sections(kept, balance):
    """Return the tables: ours on all draws, balance's on its draws with ours beside them."""
    lines = [line for line in kept.lines() if "refused" not in line]
    refused = sum("refused" in line for line in kept.lines())
    cells = sorted({(line["table"], line["shift"]) for line in lines})
    rows = [
        _row(lines, cells, contender, method)
        for contender in CONTENDERS
        for method in ("dr", "weights")
    ]
    rows.append(_row(lines, cells, "default", "none"))
    draws = len({(line["table"], line["shift"], line["run"]) for line in lines})
    head = ["weights and outcome model", "method", "error", "coverage", "lowest table", "width"]
    text = (
        f"{draws} draws of {len({name for name, _ in cells})} tables "
        f"({', '.join(sorted({name for name, _ in cells}))}), {ROWS} rows of each sample; "
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
        f"On {len(problems)} of these draws balance 0.23 (in an environment of its own, its "
        "defaults but for the penalty where it says so; its intervals take the weights as known, "
        "aipw has none). Error: root mean square relative to that of the plain mean, over all of "
        "these draws in units of each outcome's standard deviation.",
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

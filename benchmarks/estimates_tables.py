"""Population means from biased samples of real tables: covshift, and balance beside it.

The table is the population. Every row has a chance p to be the target's (`tables_shifts`: a
logistic of a random direction, or the rank in a random column); the others are the sample's. 1000
rows of each are drawn, anew for every run, and the truth is the mean of the outcome over the table,
weighted by p. Only tables of the half on which nothing was chosen (`tables_data.half`), large
enough that two thousand drawn rows are no large part of them.
"""

from __future__ import annotations

import warnings
import zlib
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import tables_data
from joblib import Parallel, delayed
from sklearn.linear_model import RidgeCV
from tables_shifts import target_chance

from covshift import estimate
from covshift.data import Samples
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
                samples = replace(Samples.of(X, y, T), diagnosis=diagnosis)
                found = estimate(samples, **options)
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

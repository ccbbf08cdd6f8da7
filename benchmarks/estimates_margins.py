"""`covshift.estimate` where the target is known by its margins alone: coverage, error, refusals.

The same selections as in `estimates_tables.py` and `estimates_problems.py`, and two more. "pair" on
the tables: the chance to be the target's follows the product of two random columns' ranks, so that
the target has them together in another way. "together" among the generated populations: the margins
of both samples are the same, two features are correlated in the target alone, and the outcome is
their product. Margins show nothing of either. "none" draws both samples alike.

What the target is known by: the margins of the whole population (10 or 4 brackets of a number, all
categories; no sampling error), margins of as many target rows as there are training rows, and these
rows. Beside them what is often done: raking with its weights taken as known, and the sample as it
is. A fit that is kept as one line of JSON is not repeated.
"""

from __future__ import annotations

import warnings
import zlib
from functools import lru_cache

import numpy as np
from answers_coverage import OUTCOMES
from estimates_problems import PROBLEMS, Problem
from estimates_problems import truth as true_mean
from joblib import Parallel, delayed
from scipy.stats import rankdata

from covshift import Margins, estimate
from covshift.exceptions import InputError, NoOverlapError
from covshift.numerics.statistics import weighted_mean
from covshift.weights import Raking

SIZES, SHIFTS = (1000, 200), ("direction", "rank", "pair", "none")
METHODS = ("dr", "weights", "model")
POPULATION, COARSE, SAMPLE = "population, 10 brackets", "population, 4 brackets", "target sample"
ROWS, RAKING, PLAIN = "target rows", "raking, weights as known", "sample as it is"
QUICK = (POPULATION, COARSE, SAMPLE, RAKING, PLAIN)
RUNS = {"tables": 12, "generated": 60}
ROW_RUNS = {"tables": 4, "generated": 12}  # of target rows, which take several times as long
POPULATION_ROWS, STRENGTH, RHO = 200_000, 1.5, 0.6


def correlated(rng, size, target):
    """Four standard normal features; in the target the first two are correlated."""
    X = rng.normal(size=(size, 4))
    if target:
        X[:, 1] = RHO * X[:, 0] + np.sqrt(1 - RHO**2) * X[:, 1]
    return X


GENERATED = {**PROBLEMS, "together": Problem(correlated, OUTCOMES["interaction"])}


@lru_cache
def generated_truth(name):
    return 2 * RHO if name == "together" else true_mean(name)


@lru_cache
def generated_margins(name, bins):
    rows = GENERATED[name].rows(np.random.default_rng(1), POPULATION_ROWS, True)
    return exact(Margins.from_rows(rows, bins=bins))


def exact(margins):
    """The same margins, said to have no sampling error."""
    return Margins.of(margins.single, margins.tables, size=None)


def generated(name, shift, N, run):
    """Return X, y, T, the truth, and what makes the margins of the population."""
    X, y, T = GENERATED[name].draw(np.random.default_rng([run, N, N]), N, N)
    return X, y, T, generated_truth(name), lambda bins: generated_margins(name, bins)


def from_table(name, shift, N, run):
    """The same for a table; None where it is too small. But for "pair" the part tables draws so."""
    import tables_data
    from tables_shifts import target_chance

    found = tables_data.load(name)
    rng = np.random.default_rng([zlib.crc32(f"{name}/{shift}".encode()), run])
    chance = pair_chance(found.X, rng) if shift == "pair" else target_chance(found.X, shift, rng)
    in_target = rng.uniform(size=len(chance)) < chance
    train, target = np.flatnonzero(~in_target), np.flatnonzero(in_target)
    if min(len(train), len(target)) < max(SIZES):
        return None
    train, target = rng.permutation(train)[:N], rng.permutation(target)[:N]
    X, T = (found.X.iloc[rows].reset_index(drop=True) for rows in (train, target))
    y = found.y.astype(float)

    @lru_cache
    def margins(bins):
        return exact(Margins.from_rows(found.X, weight=chance, bins=bins, min_count=1))

    return X, y[train], T, float(chance @ y / chance.sum()), margins


def pair_chance(X, rng):
    """Chance of each row to be the target's, by the product of two columns' ranks."""
    score = np.ones(len(X))
    for column in rng.choice(X.columns, 2, replace=False):
        codes = X[column].cat.codes if hasattr(X[column], "cat") else X[column]
        ranks = rankdata(codes.to_numpy(dtype=float)) / (len(X) + 1)
        score = score * (ranks - ranks.mean()) / ranks.std()
    return 1 / (1 + np.exp(-STRENGTH * (score - score.mean()) / score.std()))


def answers(contender, X, y, T, margins):
    """Value, error and interval by each method; PLAIN and RAKING have one."""
    if contender == PLAIN:
        return {"none": numbers(weighted_mean(y, np.ones(len(y))))}
    if contender == RAKING:
        weights = Raking().fit(X, X_target=margins(10)).weights_
        return {"weights": numbers(weighted_mean(y, weights))}
    target = {
        POPULATION: lambda: margins(10),
        COARSE: lambda: margins(4),
        SAMPLE: lambda: Margins.from_rows(T, bins=10),
        ROWS: lambda: T,
    }[contender]()
    found = estimate(X, y, target)
    return {method: numbers(found.table.where(method=method)[0]) for method in METHODS}


def numbers(row):
    return [float(value) for value in (row.value, row.standard_error, *row.interval)]


def one_run(kind, name, shift, N, run, contenders):
    """Return one line per contender."""
    drawn = (from_table if kind == "tables" else generated)(name, shift, N, run)
    if drawn is None:
        return []
    X, y, T, truth, margins = drawn
    lines = []
    for contender in contenders:
        line = {"kind": kind, "name": name, "shift": shift, "N": N, "run": run}
        line |= {"contender": contender, "truth": truth, "share": bool(np.isin(y, (0, 1)).all())}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                line |= answers(contender, X, y, T, margins)
            except (NoOverlapError, InputError) as reason:
                line["refused"] = str(reason)
        lines.append(line)
    return lines


def cells(kind, names=None):
    """Name, shift and size of all cells of a kind."""
    if kind == "generated":
        return [(name, "", N) for N in SIZES for name in names or GENERATED]
    import estimates_tables

    return [
        (name, s, N) for N in SIZES for s in SHIFTS for name in names or estimates_tables.names()
    ]


def measure(kind, kept, n_jobs, runs=None, names=None, rows=True):
    """Run what is not kept yet; run after run, so that it can be stopped at any time.

    Target ``rows``, which take several times as long, come last.
    """
    done = {key(line) for line in kept.lines()}
    jobs = _jobs(kind, QUICK, runs or RUNS[kind], names, done)
    if rows:
        jobs += _jobs(kind, (ROWS,), min(runs or ROW_RUNS[kind], ROW_RUNS[kind]), names, done)
    with Parallel(n_jobs=n_jobs, return_as="generator") as pool:
        for lines in pool(delayed(one_run)(*job) for job in jobs):
            for line in lines:
                kept.add(line)


def _jobs(kind, contenders, runs, names, done):
    found = []
    for run in range(runs):
        for cell in cells(kind, names):
            missing = [c for c in contenders if (kind, *cell, run, c) not in done]
            if missing and not (ROWS in missing and elsewhere(kind, cell)):
                found.append((kind, *cell, run, missing))
    return found


def key(line):
    return (*(line[part] for part in ("kind", "name", "shift", "N", "run", "contender")),)


def elsewhere(kind, cell):
    """Whether `estimates_tables.py` has estimated these draws by their rows."""
    _, shift, N = cell
    return kind == "tables" and N == 1000 and shift in ("direction", "rank")


def with_rows(lines, tables):
    """Add the lines of target rows which are kept by the part "tables"."""
    runs = 1 + max((line["run"] for line in lines if line["kind"] == "tables"), default=-1)
    shares = {line["name"]: line["share"] for line in lines}
    taken = [
        line
        for line in tables
        if line["contender"] == "default" and line["run"] < runs and line["table"] in shares
    ]
    return lines + [
        {
            **{name: line[name] for name in ("shift", "run", "truth")},
            **{name: line[name] for name in ("dr", "weights", "refused") if name in line},
            **{"kind": "tables", "name": line["table"], "N": 1000, "contender": ROWS},
            "share": shares[line["table"]],
        }
        for line in taken
    ]

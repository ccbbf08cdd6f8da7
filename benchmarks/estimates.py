"""How good are the numbers of `covshift.estimate`? Coverage, error, balance beside it, and time.

Populations with known means (`populations.POPULATIONS`); real tables: the table is the population.
Every row has a chance p to be the target's (`tables_data.target_chance`: a logistic of a random
direction, or the rank in a random column); the others are the sample's. 1000 rows of each are
drawn, anew for every run, and the truth is the mean of the outcome over the table, weighted by p.
Only tables of the half on which nothing was chosen (`tables_data.half`), large enough that two
thousand drawn rows are no large part of them.

balance takes part where it is installed: before Python 3.12 it needs NumPy below 2, and
benchmarks/estimates-balance-requirements.txt is an environment in which it ran. Its intervals are
estimate -+ 1.96 sqrt(sum w^2 (y - estimate)^2) / sum w; they take the weights as known.
"""

from __future__ import annotations

import logging
import time
import warnings
import zlib
from dataclasses import replace
from functools import lru_cache, partial
from importlib.metadata import version

import numpy as np
import pandas as pd
from harness import Work, main, runs, table
from populations import POPULATIONS, true_mean, true_weights
from scipy.stats import gmean
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, RidgeCV

from covshift import diagnose, estimate
from covshift.data import Samples
from covshift.exceptions import NoOverlapError

TITLE = "Numbers of the population: coverage, error, time"
RUNS = 200

NOMINAL, LOW, HIGH = 0.95, 0.93, 0.97

METHODS = ("dr", "weights", "model", "none")

SETTINGS = {  # what is wrong on purpose, or given up for speed
    "defaults": lambda X, name: {},
    "line for an outcome model": lambda X, name: {"outcome_model": LinearRegression()},
    "true weights, a constant for an outcome model": lambda X, name: {
        "weighter": true_weights(X, name == "discrete"),
        "outcome_model": DummyRegressor(),
    },
    "equal weights, line for an outcome model": lambda X, name: {
        "weighter": np.ones(len(X)),
        "outcome_model": LinearRegression(),
    },
    "entropy weights, line for an outcome model": lambda X, name: {
        "weighter": "entropy",
        "outcome_model": LinearRegression(),
    },
}

CELLS = [
    *((name, 100, 100, "defaults") for name in POPULATIONS),
    ("curved", 1000, 1000, "line for an outcome model"),
    ("curved", 1000, 1000, "true weights, a constant for an outcome model"),
    ("discrete", 1000, 1000, "true weights, a constant for an outcome model"),
    ("linear", 1000, 1000, "equal weights, line for an outcome model"),
    ("linear", 10_000, 10_000, "entropy weights, line for an outcome model"),
    ("share", 100, 1000, "defaults"),
    ("share", 1000, 100, "defaults"),
    ("curved", 1000, 1000, "defaults"),
    ("interaction", 1000, 1000, "defaults"),
    ("linear", 100_000, 1000, "entropy weights, line for an outcome model"),
    ("linear", 100_000, 100_000, "entropy weights, line for an outcome model"),
]

WORDS = (
    "Features, outcomes and shifts: `benchmarks/populations.py`. In every cell the outcome "
    "model or the weights are right, or can come near: the defaults learn what they need from the "
    "rows, the other settings name the part that is wrong on purpose. Seeds from 0. Coverage of "
    "the 95 % interval by each method; s.e. / true: mean standard error over the standard "
    "deviation of the estimates (dr); error: root mean square, relative to that of the plain mean; "
    "width: of the dr interval relative to the plain one. Runs that were refused for lack of "
    "overlap are counted and left out."
)


@lru_cache
def diagnosis(name):
    """One diagnosis for all runs of a problem: it has no part in the numbers."""
    X, _, T = POPULATIONS[name].draw(np.random.default_rng(0), 1000, 1000)
    return diagnose(X, T, methods=())


def one_population(name, N, M, setting, seed):
    """Return a line: value, error and interval of every method, or that there was no overlap."""
    rng = np.random.default_rng([seed, N, M])
    X, y, T = POPULATIONS[name].draw(rng, N, M)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            samples = replace(Samples.of(X, y, T), diagnosis=diagnosis(name))
            found = estimate(samples, **SETTINGS[setting](X, name))
        except NoOverlapError as reason:
            return {"refused": str(reason)}
    line = {}
    for method in METHODS:
        row = found.table.where(method=method)[0]
        line[method] = [row.value, row.standard_error, *row.interval]
    return line


def coverage_sections(cells, found):
    """Return the tables and the sentence about them."""
    rows, outside, counted = [], [], 0
    for cell in cells:
        inside = [line for job, line in found if job[:4] == cell]
        numbers = {
            method: np.array([line[method] for line in inside if "refused" not in line])
            for method in METHODS
        }
        if not len(numbers["dr"]):
            continue
        name, N, M, setting = cell
        answers = {method: summary(every, true_mean(name)) for method, every in numbers.items()}
        error, coverage, width, ratio = zip(*answers.values(), strict=True)
        counted += 1
        if not LOW <= coverage[0] <= HIGH:
            outside.append(f"{name}, N = {N}, M = {M} ({setting}) {coverage[0]:.3f}")
        rows.append(
            [
                *(name, f"{N:,}", f"{M:,}", setting),
                *(len(numbers["dr"]), len(inside) - len(numbers["dr"])),
                *(f"{share:.3f}" for share in coverage),
                f"{ratio[0]:.2f}",
                *(f"{one / error[3]:.2f}" for one in error[:3]),
                f"{width[0] / width[3]:.2f}",
            ]
        )
    head = ["population", "N", "M", "setting", "runs", "no overlap"]
    head += [f"covers: {method}" for method in METHODS]
    head += ["s.e. / true", *(f"error: {method}" for method in METHODS[:3]), "width"]
    error = np.sqrt(NOMINAL * (1 - NOMINAL) / max(1, len(found) / max(1, counted)))
    said = (
        f"Of {counted} cells {counted - len(outside)} cover between {LOW:.0%} and {HIGH:.0%} by "
        f"the doubly robust interval (standard error of a coverage: {error:.3f})"
    )
    said += "; outside: " + "; ".join(outside) + "." if outside else "."
    return [table(head, rows), said]


def summary(found, mean):
    """Return RMS error, coverage, mean width, and the mean standard error over the true one."""
    error = found[:, 0] - mean
    covers = np.mean((found[:, 2] <= mean) & (mean <= found[:, 3]))
    width = np.mean(np.minimum(found[:, 3] - found[:, 2], 1e9))
    ratio = np.mean(found[:, 1]) / max(np.std(error), 1e-12)
    return float(np.sqrt(np.mean(error**2))), float(covers), float(width), float(ratio)


ROWS, LEAST, MOST_COLUMNS = 1000, 4000, 40

SHIFTS, TABLE_RUNS, FOR_BALANCE = ("direction", "rank"), 15, 1

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


def large_tables():
    """Tables of the report's half that are large and narrow enough."""
    from tables_data import available, columns, load

    return [
        name
        for name in available("report")
        if len(load(name).X) >= LEAST and columns(name).shape[1] <= MOST_COLUMNS
    ]


def draw_table(name, shift, run):
    """Return X, y, T and the truth."""
    from tables_data import columns, load, target_chance

    found = load(name)
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


def one_table(name, shift, run):
    """Return one line per contender."""
    drawn = draw_table(name, shift, run)
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


BALANCE = ("coarse ipw", "ipw without penalty", "linear cbps", "rake", "coarse aipw")


def tables_sections(kept, theirs):
    """Return the tables: ours on all draws, balance's on its draws with ours beside them."""
    every = [line for _, several in kept for line in several]
    lines = [line for line in every if "refused" not in line]
    refused = len(every) - len(lines)
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
    if theirs:
        found += _beside_balance(lines, [line for _, several in theirs for line in several])
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


def _beside_balance(lines, theirs):
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
        f"On {len(problems)} of these draws balance {version('balance')}; "
        "the script says which of the settings are its defaults (cbps and "
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


def wavy(X):
    return X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3]


def time_of(size):
    """Time one estimate by the defaults; twenty features, five of which have moved by 0.3."""
    rng = np.random.default_rng(1)
    truth = float(wavy(rng.normal(size=(4_000_000, 4)) + 0.3).mean())
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(size, 20)), rng.normal(size=(size, 20))
    T[:, :5] += 0.3
    y = wavy(X) + rng.normal(size=size)
    start, cpu = time.perf_counter(), time.process_time()
    found = estimate(X, y, T)
    took = time.perf_counter() - start, time.process_time() - cpu
    return [*took, found.value, *found.interval, truth]


def time_sections(found):
    """Return the table of times."""
    rows = [
        [
            f"{size:,}",
            *(f"{seconds:.1f}" for seconds in line[:2]),
            f"{line[2]:.4f}",
            f"{line[3]:.4f} to {line[4]:.4f}",
            f"{line[5]:.4f}",
        ]
        for (size,), line in found
    ]
    head = ["rows of each sample", "seconds", "of the processor", "estimate", "interval", "truth"]
    return [
        "## Time",
        "One estimate by the defaults, its diagnosis included; twenty normal features, of which "
        "five have moved by 0.3; y = x0 + sin(2 x1) + x2 x3 + noise; seed 0; one run.",
        table(head, rows),
    ]


# Name: how balance is called. "halves" is replaced by two bins of every feature.
BALANCE_SETTINGS = {
    # balance's defaults: ten bins of every feature; 250 penalties, the largest one whose
    # cross-validated deviance is within one standard error of the best
    "ipw": ("ipw", {}),
    "cbps": ("cbps", {}),
    "rake": ("rake", {}),
    "poststratify": ("poststratify", {}),
    # not its defaults: fewer penalties (another one is chosen), the features as they are, hardly
    # any penalty, cells that are not empty
    "coarse ipw": ("ipw", {"num_lambdas": 25}),
    "linear ipw": ("ipw", {"num_lambdas": 25, "transformations": None}),
    "ipw without penalty": (
        "ipw",
        {"num_lambdas": 1, "lambda_max": 1e-5, "transformations": None},
    ),
    "linear cbps": ("cbps", {"transformations": None}),
    "poststratify halves": ("poststratify", {"transformations": "halves"}),
}
AIPW = {"aipw": "ipw", "coarse aipw": "coarse ipw"}  # by whose weights; boosting for the outcome


def balance_estimates(X, y, T, methods):
    """One record per method: the estimated mean of y in the target, its interval, its seconds.

    The seconds of aipw include those of its weights, which are not computed twice. A method that
    fails gives its error instead of numbers.
    """
    sample = framed(X, T, y)
    adjusted = {"unadjusted": (sample, 0.0)}
    return [estimated(sample, adjusted, method) for method in methods]


def estimated(sample, adjusted, method):
    weighting, error = AIPW.get(method, method), None
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if weighting not in adjusted:
                weighted = reweighted(sample, weighting)
                adjusted[weighting] = (weighted, time.perf_counter() - start)
                start = time.perf_counter()
            weighted, seconds = adjusted[weighting]
            numbers = doubly_robust(weighted) if method in AIPW else weighted_mean(weighted)
        seconds += time.perf_counter() - start
    except Exception as problem:  # balance raises many kinds; the other methods go on
        numbers, seconds = (None, None, None), None
        error = f"{type(problem).__name__}: {problem}"[:300]
    values = dict(zip(("estimate", "lower", "upper"), numbers, strict=True))
    return {"method": method, **values, "seconds": seconds, "error": error}


def framed(X, T, y):
    """The sample with its target, as balance wants them: named columns, unique ids."""
    import balance

    logging.getLogger("balance").setLevel(logging.ERROR)
    columns = [f"x{k}" for k in range(np.shape(X)[1])]
    rows = pd.DataFrame(np.asarray(X, dtype=float), columns=columns)
    rows = rows.assign(y=np.asarray(y, dtype=float), id=[f"s{i}" for i in range(len(X))])
    target = pd.DataFrame(np.asarray(T, dtype=float), columns=columns)
    target = target.assign(id=[f"t{j}" for j in range(len(T))])
    sample = balance.Sample.from_frame(rows, id_column="id", outcome_columns=["y"])
    return sample.set_target(balance.Sample.from_frame(target, id_column="id"))


def reweighted(sample, name):
    from balance.util import quantize

    method, options = BALANCE_SETTINGS[name]
    if options.get("transformations") == "halves":
        columns = sample.covars().df.columns
        options = {**options, "transformations": dict.fromkeys(columns, partial(quantize, q=2))}
    return sample.adjust(method=method, **options)


def weighted_mean(adjusted):
    outcomes = adjusted.outcomes()
    estimate = outcomes.mean(on_linked_samples=False)["y"].iloc[0]
    lower, upper = outcomes.ci_of_mean(on_linked_samples=False, conf_level=NOMINAL)["y"].iloc[0]
    return finite(estimate), finite(lower), finite(upper)


def doubly_robust(adjusted):
    return finite(adjusted.fit_outcome_model(inplace=False).aipw()["y"]), None, None


def finite(value):
    if not np.isfinite(value):
        raise ValueError(f"balance gave {value}")
    return float(value)


def of_balance(name, shift, run):
    """Return what balance says of a draw: one line per setting."""
    drawn = draw_table(name, shift, run)
    if drawn is None:
        return []
    lines = balance_estimates(*drawn[:3], BALANCE)
    return [{"problem": f"{name}, {shift}, {run}", **line} for line in lines]


def works(share, quick):
    """Populations, real tables, balance on some of them, times."""
    if quick:
        cells = [("share", 60, 50, "line for an outcome model"), ("linear", 60, 50, "defaults")]
        return [
            Work("populations", one_population, [(*cell, k) for cell in cells for k in range(3)]),
            Work("time", time_of, [(300,)]),
        ]
    names, many = large_tables(), range(runs(TABLE_RUNS, share))
    draws = [(name, shift, run) for run in many for name in names for shift in SHIFTS]
    first = [job for job in draws if job[2] < FOR_BALANCE]
    works = [
        Work(
            f"populations {'small' if most else 'large'}",
            one_population,
            [
                (*cell, k)
                for k in range(runs(RUNS, share))
                for cell in CELLS
                if (cell[1] <= 100) == most
            ],
            1.0 if most else 0.8,
        )
        for most in (True, False)
    ]
    return [
        *works,
        Work("tables", one_table, draws, 3.0),
        Work("balance", of_balance, first, 15.0, needs=("balance",)),
        Work("time", time_of, [(size,) for size in (10_000, 100_000, 1_000_000)], 60.0, alone=True),
    ]


def report(found):
    """Return all tables."""
    drawn = [pair for name, part in found.items() if name[:3] == "pop" for pair in part]
    cells = dict.fromkeys(job[:4] for job, _ in drawn)
    sections = ["## Populations with known means", WORDS, *coverage_sections(cells, drawn)]
    if "tables" in found:
        from tables_data import left_out

        sections += ["## Real tables, induced shifts", left_out("report")]
        sections += tables_sections(found["tables"], found.get("balance"))
    return [*filter(None, sections), *time_sections(found["time"])]


if __name__ == "__main__":
    main(__file__)

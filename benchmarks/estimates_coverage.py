"""Coverage and error of `covshift.estimate` on populations with known means.

A run is kept as one line of JSON as soon as it is done, and is not repeated.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from functools import lru_cache

import numpy as np
from answers_coverage import true_weights
from estimates_problems import PROBLEMS, truth
from harness import table
from joblib import Parallel, delayed
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression

from covshift import diagnose, estimate
from covshift.data import Samples
from covshift.exceptions import NoOverlapError

RUNS = 500
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
    *((name, 100, 100, "defaults") for name in PROBLEMS),
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
    "Features, outcomes and shifts: `benchmarks/estimates_problems.py`. In every cell the outcome "
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
    X, _, T = PROBLEMS[name].draw(np.random.default_rng(0), 1000, 1000)
    return diagnose(X, T, methods=())


def one_run(name, N, M, setting, seed):
    """Return a line: value, error and interval of every method, or that there was no overlap."""
    rng = np.random.default_rng([seed, N, M])
    X, y, T = PROBLEMS[name].draw(rng, N, M)
    line = {"name": name, "N": N, "M": M, "setting": setting, "seed": seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            samples = replace(Samples.of(X, y, T), diagnosis=diagnosis(name))
            found = estimate(samples, **SETTINGS[setting](X, name))
        except NoOverlapError as reason:
            return {**line, "refused": str(reason)}
    for method in METHODS:
        row = found.table.where(method=method)[0]
        line[method] = [row.value, row.standard_error, *row.interval]
    return line


def measure(cells, runs, kept, n_jobs):
    """Run what is not kept yet."""
    done = {key(line) for line in kept.lines()}
    for cell in cells:
        jobs = [(*cell, seed) for seed in range(runs) if (*cell, seed) not in done]
        with Parallel(n_jobs=n_jobs, return_as="generator") as pool:
            for line in pool(delayed(one_run)(*job) for job in jobs):
                kept.add(line)


def key(line):
    return line["name"], line["N"], line["M"], line["setting"], line["seed"]


class Kept:
    """Lines of JSON in a file."""

    def __init__(self, path):
        self.path = path

    def lines(self):
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text().splitlines()]

    def add(self, line):
        self.path.parent.mkdir(exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")


def sections(cells, runs, kept):
    """Return the tables and the sentence about them."""
    lines = [line for line in kept.lines() if line["seed"] < runs]
    rows, outside, counted = [], [], 0
    for cell in cells:
        inside = [line for line in lines if key(line)[:4] == cell]
        numbers = {
            method: np.array([line[method] for line in inside if "refused" not in line])
            for method in METHODS
        }
        if not len(numbers["dr"]):
            continue
        name, N, M, setting = cell
        answers = {method: summary(found, truth(name)) for method, found in numbers.items()}
        error, coverage, width, ratio = zip(*answers.values(), strict=True)
        counted += 1
        if not LOW <= coverage[0] <= HIGH:
            outside.append(f"{name}, N = {N}, M = {M} ({setting}) {coverage[0]:.3f}")
        rows.append(
            [
                name,
                f"{N:,}",
                f"{M:,}",
                setting,
                len(numbers["dr"]),
                len(inside) - len(numbers["dr"]),
                *(f"{share:.3f}" for share in coverage),
                f"{ratio[0]:.2f}",
                *(f"{one / error[3]:.2f}" for one in error[:3]),
                f"{width[0] / width[3]:.2f}",
            ]
        )
    head = ["population", "N", "M", "setting", "runs", "no overlap"]
    head += [f"covers: {method}" for method in METHODS]
    head += ["s.e. / true", *(f"error: {method}" for method in METHODS[:3]), "width"]
    said = (
        f"Of {counted} cells {counted - len(outside)} cover between {LOW:.0%} and {HIGH:.0%} by "
        f"the doubly robust interval (standard error of a coverage: "
        f"{np.sqrt(NOMINAL * (1 - NOMINAL) / runs):.3f})"
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

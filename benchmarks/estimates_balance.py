"""What balance 0.23 estimates: the mean outcome of the target, for many problems.

    pip install -r benchmarks/estimates-balance-requirements.txt    # in an environment of its own
    OMP_NUM_THREADS=1 python benchmarks/estimates_balance.py jobs.npz results.jsonl
    OMP_NUM_THREADS=1 python benchmarks/estimates_balance.py --example

jobs.npz holds the arrays `<name>/X`, `<name>/y` and `<name>/T` of every problem (`np.savez`); a
.json file holds {"<name>": {"X": ..., "y": ..., "T": ...}}. One line of JSON is written per problem
and method:

    {"problem", "method", "estimate", "lower", "upper", "seconds", "error"}

The limits are null where balance has none (aipw); where it failed, `error` says why and the numbers
are null. What results.jsonl already has is not repeated. `--methods "ipw,rake,coarse ipw"` chooses
among `METHODS`; those of `DEFAULT` are run without it.

Intervals are balance's own: estimate -+ 1.96 sqrt(sum w^2 (y - estimate)^2) / sum w. They take the
weights as known.
"""

from __future__ import annotations

import argparse
import json
import logging
import time
import warnings
from functools import partial
from pathlib import Path

import balance
import numpy as np
import pandas as pd
from balance.util import quantize

logging.getLogger("balance").setLevel(logging.ERROR)

LEVEL = 0.95
# Name: how balance is called. "halves" is replaced by two bins of every feature.
METHODS = {
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
DEFAULT = ("unadjusted", "ipw", "cbps", "rake", "poststratify", "aipw")
KNOWN = ("unadjusted", *METHODS, *AIPW)


def balance_estimates(X, y, T, methods=DEFAULT):
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
    columns = [f"x{k}" for k in range(np.shape(X)[1])]
    rows = pd.DataFrame(np.asarray(X, dtype=float), columns=columns)
    rows = rows.assign(y=np.asarray(y, dtype=float), id=[f"s{i}" for i in range(len(X))])
    target = pd.DataFrame(np.asarray(T, dtype=float), columns=columns)
    target = target.assign(id=[f"t{j}" for j in range(len(T))])
    sample = balance.Sample.from_frame(rows, id_column="id", outcome_columns=["y"])
    return sample.set_target(balance.Sample.from_frame(target, id_column="id"))


def reweighted(sample, name):
    method, options = METHODS[name]
    if options.get("transformations") == "halves":
        columns = sample.covars().df.columns
        options = {**options, "transformations": dict.fromkeys(columns, partial(quantize, q=2))}
    return sample.adjust(method=method, **options)


def weighted_mean(adjusted):
    outcomes = adjusted.outcomes()
    estimate = outcomes.mean(on_linked_samples=False)["y"].iloc[0]
    lower, upper = outcomes.ci_of_mean(on_linked_samples=False, conf_level=LEVEL)["y"].iloc[0]
    return finite(estimate), finite(lower), finite(upper)


def doubly_robust(adjusted):
    return finite(adjusted.fit_outcome_model(inplace=False).aipw()["y"]), None, None


def finite(value):
    if not np.isfinite(value):
        raise ValueError(f"balance gave {value}")
    return float(value)


def read_jobs(path):
    """Problems by name, each with X, y and T."""
    if path.suffix == ".json":
        stored = json.loads(path.read_text(encoding="utf-8"))
        return {name: {k: np.asarray(v) for k, v in job.items()} for name, job in stored.items()}
    jobs: dict = {}
    with np.load(path) as stored:
        for key in stored.files:
            name, _, array = key.rpartition("/")
            jobs.setdefault(name, {})[array] = stored[key]
    return jobs


def run(jobs, results, methods):
    """Appends to `results`, problem by problem: a run that was cut off goes on where it stopped."""
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    done = {(line["problem"], line["method"]) for line in map(json.loads, lines)}
    for name, job in jobs.items():
        missing = [method for method in methods if (name, method) not in done]
        records = balance_estimates(job["X"], job["y"], job["T"], missing) if missing else []
        with results.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps({"problem": name, **record}) + "\n" for record in records)


def example():
    """1000 rows and 5 features; the outcome has the mean of the sum of the features."""
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(1000, 5)), rng.normal(0.3, 1, size=(1000, 5))
    y = X.sum(1) + rng.normal(size=1000)
    print(f"the mean in the target: {T.sum(1).mean():.3f}")
    for record in balance_estimates(X, y, T, KNOWN):
        print(json.dumps(record))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("jobs", type=Path, nargs="?")
    parser.add_argument("results", type=Path, nargs="?")
    parser.add_argument("--methods", default=",".join(DEFAULT))
    parser.add_argument("--example", action="store_true")
    arguments = parser.parse_args()
    chosen = arguments.methods.split(",")
    if unknown := [method for method in chosen if method not in KNOWN]:
        parser.error(f"unknown methods {unknown}; choose among {list(KNOWN)}")
    if arguments.example:
        example()
    elif arguments.results is None:
        parser.error("give the file of the jobs and that of the results, or --example")
    else:
        run(read_jobs(arguments.jobs), arguments.results, chosen)

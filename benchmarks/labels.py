"""What outcomes of some target rows are worth: error, coverage and width on real tables.

    python benchmarks/labels.py --jobs 16      results/labels.md, in .venv-tables (two hours of CPU)
    python benchmarks/labels.py --quick        a made-up table, as the tests run it

The problems are those of labels_problems.py, of the half of the tables on which nothing was chosen;
how the two numbers are combined was settled on the other half (`--half settle`). L of the target's
rows have an outcome, at random. `estimate`: the mean of the outcome. `evaluate`: metrics of boosted
trees. Every run is kept as a line of JSON under out/, and not repeated.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from estimates_coverage import Kept
from harness import commit, machine, publish, table
from joblib import Parallel, delayed

from covshift import Predictions, estimate, evaluate
from covshift.datasets import make_survey
from covshift.exceptions import NoOverlapError

OUT = Path(__file__).parents[1] / "out"
COUNTS, RUNS, SHIFTS = (25, 50, 100, 200), 8, ("induced", "natural", "changed")
METRICS = {"classification": ("accuracy", "brier", "roc_auc", "f1"), "regression": ("mse", "mae")}
LINES = ("none", "dr", "labels", "both")


def one_run(name, shift, run, task):
    """Return a line for every number of labels."""
    from labels_problems import draw  # needs the packages that ship the tables

    problem = draw(name, shift, run)
    line = {"key": f"{name}/{shift}/{run}/{task}"}
    if problem is None:
        return {**line, "absent": True}
    return line | measured(problem, task, np.random.default_rng([7, run]))


def measured(problem, task, rng):
    """Ask for the numbers with more and more labels."""
    order, found = rng.permutation(len(problem.T)), {}
    for count in (c for c in COUNTS if c <= len(order) // 2):
        y_target = np.full(len(problem.T), np.nan)
        y_target[order[:count]] = problem.y_target[order[:count]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found[str(count)] = asked(problem, task, y_target)
            except NoOverlapError as reason:
                return {"refused": str(reason)}
    return {"truth": problem.truth, "found": found}


def asked(problem, task, y_target):
    """Return [value, low, high] of every method, by what it is about."""
    if task == "estimate":
        answer = estimate(problem.X, problem.y, problem.T, y_target=y_target)
        rows = [("mean", row) for row in answer.table]
    else:
        classes = problem.kind == "classification"
        said = Predictions(
            problem.said,
            problem.said_target,
            threshold=0.5 if classes else None,
            task="classes" if classes else "numbers",
        )
        metrics = METRICS[problem.kind]
        answer = evaluate(said, problem.X, problem.y, problem.T, y_target=y_target, metrics=metrics)
        rows = [(row.metric, row) for row in answer.table]
    return {f"{name}/{r.method}": [r.value, *r.interval] for name, r in rows if r.method in LINES}


def measure(kept, half, runs, n_jobs, seconds):
    """Run what is not kept yet, for at most so many seconds."""
    from evaluations_problems import names

    start, done = time.monotonic(), {line["key"] for line in kept.lines()}
    jobs = [
        (name, shift, run, task)
        for run in range(runs)
        for task in ("estimate", "evaluate")
        for name in names(half)
        for shift in SHIFTS
    ]
    left = [job for job in jobs if "/".join(map(str, job)) not in done]
    with Parallel(n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch=n_jobs) as pool:
        for line in pool(delayed(one_run)(*job) for job in left):
            kept.add(line)
            if time.monotonic() - start > seconds:
                break


def gathered(lines):
    """Return {(task, shift, metric, count): {table: rows}}, a row being truth and the methods."""
    cells = {}
    for line in lines:
        name, shift, _, task = line["key"].split("/")
        for count, numbers in line.get("found", {}).items():
            for metric in {key.partition("/")[0] for key in numbers}:
                row = [numbers[f"{metric}/{method}"] for method in LINES]
                if np.isfinite(line["truth"][metric]) and np.isfinite(np.array(row)[:, 0]).all():
                    cell = cells.setdefault((task, shift, metric, int(count)), {})
                    cell.setdefault(name, []).append((line["truth"][metric], row))
    return cells


def summary(tables):
    """Errors relative to labels alone, the worst table, coverages and relative width."""
    error, held, widths = {}, [], []
    for name, rows in tables.items():
        truth, numbers = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
        squares = np.mean((numbers[:, :, 0] - truth[:, None]) ** 2, axis=0)
        if squares[2] > 0:
            error[name] = np.sqrt(squares / squares[2])
        inside = (numbers[:, :, 1] <= truth[:, None]) & (truth[:, None] <= numbers[:, :, 2])
        held += inside.tolist()
        reach = numbers[:, :, 2] - numbers[:, :, 1]
        fine = np.isfinite(reach[:, 2:]).all(axis=1) & (reach[:, 2:] > 0).all(axis=1)
        widths += (reach[fine, 3] / reach[fine, 2]).tolist()
    errors = np.array(list(error.values()))
    middle = np.exp(np.log(np.maximum(errors, 1e-9)).mean(axis=0))
    worst = max(error, key=lambda name: error[name][3])
    width = float(np.exp(np.log(widths).mean())) if widths else np.nan
    return middle, (worst, error[worst][3]), np.mean(held, axis=0), width, len(held)


def sections(lines):
    """Return the tables, by task."""
    found, cells = [], gathered(lines)
    for task, title in (
        ("estimate", "The mean of the outcome"),
        ("evaluate", "Metrics of a model"),
    ):
        rows = []
        for (which, shift, metric, count), tables in sorted(
            cells.items(), key=lambda item: (SHIFTS.index(item[0][1]), *item[0][2:])
        ):
            if which != task:
                continue
            middle, (worst, most), held, width, n = summary(tables)
            rows.append(
                [shift, metric, count, len(tables), n,
                 *(f"{value:.2f}" for value in (*middle[[1, 3]], most)), worst,
                 *(f"{100 * value:.0f}" for value in held[[1, 2, 3]]), f"{width:.2f}"]
            )  # fmt: skip
        head = ["shift", "what", "labels", "tables", "runs", "no labels", "both", "worst table", ""]
        head += ["covers: no labels", "labels alone", "both", "width"]
        if rows:
            found += [f"## {title}", table(head, rows)]
    return found


WORDS = (
    "The table is the population. induced: every row has a chance to be the target's, and "
    "covariate shift holds. natural: a column's values tell sample and target apart, and p(y | x) "
    "may differ. changed: induced, and the target's outcomes are others on purpose (numbers half a "
    "standard deviation larger, a third of the zeros ones). 1,000 rows of each, or 500. Errors: "
    "root mean square over the runs of a table, relative to that of the labels alone, geometric "
    "mean over the tables; `both` is the default with `y_target`; the worst table has its largest "
    "ratio, which rests on a few runs. Covers: share of 95% intervals that hold the truth, in per "
    "cent. Width: of `both`, relative to that of the labels alone."
)


def quick_lines():
    """Two made-up problems."""
    from types import SimpleNamespace

    survey = make_survey(160, 120, random_state=0)
    truth = {"mean": float(survey.y_target.mean()), "accuracy": 0.6, "brier": 0.3, "f1": 0.5}
    said, there = (0.2 + 0.6 * (part[:, 0] > 0) for part in (survey.X, survey.X_target))
    problem = SimpleNamespace(
        kind="classification", X=survey.X, y=survey.y, said=said, T=survey.X_target,
        y_target=survey.y_target, said_target=there, truth={**truth, "roc_auc": 0.6},
    )  # fmt: skip
    for task in ("estimate", "evaluate"):
        found = measured(problem, task, np.random.default_rng(0))
        yield {"key": f"made up/induced/0/{task}", **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=("report", "settle"), default="report")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=np.inf)
    parser.add_argument("--quick", action="store_true", help="small samples, nothing kept")
    options = parser.parse_args()
    if options.quick:
        with tempfile.TemporaryDirectory() as folder:
            kept = Kept(Path(folder) / "runs.jsonl")
            for line in quick_lines():
                kept.add(line)
            publish("labels", "Labels", *sections(kept.lines()), write=False)
        return
    kept = Kept(OUT / f"labels_{options.half}.jsonl")
    measure(kept, options.half, options.runs, options.jobs, options.seconds)
    lines = kept.lines()
    refused = sum("refused" in line for line in lines)
    publish(
        "labels" if options.half == "report" else "labels_settle",
        "What outcomes of some target rows are worth",
        f"Machine: {machine()}. Commit {commit()}. Seeds from the names; tables of the half called "
        f"{options.half}.",
        WORDS,
        f"{refused} of {sum('absent' not in line for line in lines)} runs were refused for lack of "
        "overlap.",
        *sections(lines),
        "Command: `python benchmarks/labels.py`.",
        write=options.half == "report",
    )


if __name__ == "__main__":
    main()

"""Runs of `covshift.evaluate` on problems of real tables, one line of JSON for each.

"held out" passes the rows that judge the model alone; "all rows" passes the rows that trained it as
well, marked by ``trained_on``.
"""

from __future__ import annotations

import json
import time
import warnings
import zlib

import evaluations_problems as problems
import numpy as np
import pandas as pd
from evaluations_wheel import load
from joblib import Parallel, delayed

from covshift import Predictions, evaluate
from covshift.exceptions import NoOverlapError

RUNS = {"small": 5, "middle": 5, "large": 2, "few target rows": 2}
FOR_NANNYML = {"small": 2, "middle": 2, "large": 1}  # runs of each cell
MONITORED_THRESHOLDS = {"employment": 0.5, "california": 0.8, "car loan": 0.65, "car price": None}
MONITORED_SIZES = ((1000, 1000, 5), (50_000, 5000, 1), (60_000, 50_000, 1))  # N, M, runs


def jobs(half="report", runs=RUNS):
    """All cells, the first run of each first."""
    cells = [
        (name, shift, model, size)
        for size in runs
        for name in problems.names(half)
        for shift in problems.SHIFTS
        for model in problems.MODELS
    ]
    return [
        (*cell, run) for run in range(max(runs.values())) for cell in cells if run < runs[cell[3]]
    ]


def measure(kept, n_jobs, asked):
    """Run what is not kept yet."""
    done = {line["key"] for line in kept.lines()}
    left = [job for job in asked if "/".join(map(str, job)) not in done]
    with Parallel(n_jobs=n_jobs, return_as="generator") as pool:
        for line in pool(delayed(one_run)(*job) for job in left):
            kept.add(line)


def one_run(name, shift, model, size, run):
    """Return the numbers of all methods, of both ways to pass the rows."""
    problem = problems.draw(name, shift, model, size, run)
    line = {"key": f"{name}/{shift}/{model}/{size}/{run}"}
    if problem is None:
        return {**line, "absent": True}
    return {**line, "kind": problem.kind, "truth": problem.truth, **evaluated(problem)}


def evaluated(problem):
    """Return value, error and interval of every metric by every method, and the time."""
    judging, metrics = ~problem.trained, problems.METRICS[problem.kind]
    found, line = None, {}
    for way, rows in {"held out": judging, "all rows": np.ones_like(judging)}.items():
        if way == "all rows" and judging.all():
            continue
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = evaluate(
                    Predictions(
                        problem.said[rows],
                        problem.said_T,
                        trained_on=problem.trained[rows],
                        threshold=problem.threshold if problem.kind == "classification" else None,
                        task="numbers" if problem.kind == "regression" else "classes",
                    ),
                    problem.X[rows],
                    problem.y[rows],
                    problem.T,
                    metrics=metrics,
                )
            except NoOverlapError as reason:
                return {"refused": str(reason)}
        line[way] = {
            f"{row.metric}/{row.method}": [row.value, row.standard_error, *row.interval]
            for row in found.table
        }
        line[f"seconds, {way}"] = time.perf_counter() - start
    return line


def write_jobs(folder, half="report", runs=FOR_NANNYML):
    """Write the first runs of every cell as files for `evaluations_nannyml.py`."""
    folder.mkdir(parents=True, exist_ok=True)
    for job in jobs(half, runs):
        problem = problems.draw(*job)
        if problem is not None:
            write_pair(folder, problem)


def write_pair(folder, problem):
    """Write one problem: reference and target rows with the model's scores and predictions."""
    name = problem.key.replace("/", "__")
    judging = ~problem.trained
    parts = {
        "reference": (problem.X[judging], problem.said[judging]),
        "target": (problem.T, problem.said_T),
    }
    for part, (rows, said) in parts.items():
        frame = pd.DataFrame(rows).reset_index(drop=True)
        features = [f"x{k}" for k in range(frame.shape[1])]
        frame.columns = features
        frame["prediction"] = said
        if problem.kind == "classification":
            frame["prediction"] = (said >= problem.threshold).astype(int)
            frame["score"] = said
        if part == "reference":
            frame["y"] = problem.y[judging]
        frame.to_parquet(folder / f"{name}.{part}.parquet")
    about = {"kind": problem.kind, "features": features}
    (folder / f"{name}.json").write_text(json.dumps(about))


def monitored_problems(sizes=MONITORED_SIZES, names=tuple(MONITORED_THRESHOLDS)):
    """Draw labelled rows of a monitored model, and target rows of each of its later periods."""
    for name in names:
        whole = load(name)
        said = {
            part: rows.prediction if whole.kind == "regression" else rows.score
            for part, rows in (("reference", whole.reference), ("target", whole.target))
        }
        threshold = MONITORED_THRESHOLDS[name]
        for N, M, runs in sizes:
            for period in np.unique(whole.period):
                there = np.flatnonzero(whole.period == period)
                if len(whole.reference.y) < N or len(there) < M:
                    continue
                truth = problems.performance(
                    whole.kind, whole.target.y[there], said["target"][there], threshold=threshold
                )
                for run in range(runs):
                    key = f"{name}/{period}/{N} and {M}/{run}"
                    rng = np.random.default_rng([zlib.crc32(key.encode()), run])
                    rows = rng.permutation(len(whole.reference.y))[:N]
                    target = rng.permutation(there)[:M]
                    yield problems.Problem(
                        key,
                        whole.kind,
                        whole.reference.X.iloc[rows],
                        whole.reference.y[rows],
                        said["reference"][rows],
                        np.zeros(N, dtype=bool),
                        whole.target.X.iloc[target],
                        said["target"][target],
                        truth,
                        threshold,
                    )


def measure_monitored(kept, n_jobs, folder):
    """Run what is not kept yet, and write the problems for NannyML."""
    folder.mkdir(parents=True, exist_ok=True)
    done = {line["key"] for line in kept.lines()}
    left = (problem for problem in monitored_problems() if problem.key not in done)
    with Parallel(n_jobs=n_jobs, return_as="generator") as pool:
        for line in pool(delayed(one_monitored)(problem, folder) for problem in left):
            kept.add(line)


def one_monitored(problem, folder):
    """Return one line of a monitored model."""
    write_pair(folder, problem)
    line = {"key": problem.key, "kind": problem.kind, "truth": problem.truth}
    return {**line, **evaluated(problem)}

"""Runs of `covshift.evaluate` on problems of real tables, one line of JSON for each.

"held out" passes the rows that judge the model alone; "all rows" passes the rows that trained it as
well, marked by ``trained_on``.
"""

from __future__ import annotations

import time
import warnings

import evaluations_problems as problems
import pandas as pd
from joblib import Parallel, delayed

from covshift import evaluate
from covshift.exceptions import NoOverlapError

RUNS = {"small": 10, "middle": 10, "large": 3}
FOR_NANNYML = {"small": 2, "middle": 2, "large": 1}  # runs of each cell


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
    ways = {
        "held out": (problem.X[judging], problem.y[judging], None),
        "all rows": (problem.X, problem.y, problem.trained),
    }
    for way, (X, y, trained) in ways.items():
        if way == "all rows" and not problem.trained.any():
            continue
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = evaluate(
                    problem.model,
                    X,
                    y,
                    problem.T,
                    metrics=metrics,
                    trained_on=trained,
                    diagnosis=None if found is None else found.diagnosis,
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
    name = problem.key.replace("/", "__").replace(" ", "_")
    features = [f"x{k}" for k in range(problem.X.shape[1])]
    judging = ~problem.trained
    parts = {"reference": problem.X[judging], "target": problem.T}
    for part, rows in parts.items():
        frame = pd.DataFrame(rows, columns=features)
        frame["prediction"] = problem.model.predict(rows)
        if problem.kind == "classification":
            frame["score"] = problem.model.predict_proba(rows)[:, 1]
        if part == "reference":
            frame["y"] = problem.y[judging]
        frame.to_parquet(folder / f"{name}.{part}.parquet")
    about = {"kind": problem.kind, "features": features, "key": problem.key}
    (folder / f"{name}.json").write_text(pd.Series(about).to_json())

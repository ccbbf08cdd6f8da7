"""Machines on real tables: random forest, boosting, linear, Gaussian process, SVM, and covshift.

    python benchmarks/tables.py --half report     fit everybody on one half (about 25 CPU minutes
                                                  for the peers), print the tables
    python benchmarks/tables.py --write           no fits: results/tables.md from what is kept
    python benchmarks/tables.py --quick           three problems, as the tests run it

`make bench-tables` makes the environment that has the tables, .venv-tables, and runs both halves.
Choices are settled on one half of the tables and of the generated problems and reported on the
other. Every fit is kept as one line of JSON as soon as it is done, and is not repeated: a run that
was cut off goes on where it stopped. To fit a contender again, give another file or take its lines
out.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import tables_data
import tables_problems
from joblib import Parallel, delayed
from tables_contenders import CONTENDERS, dummies
from tables_shifts import SHIFTS, split
from tables_summary import report
from threadpoolctl import threadpool_limits

KEPT = Path(__file__).parents[1] / "out" / "tables.jsonl"
EDGE = 1e-3  # probabilities are cut off there before their logarithm is taken, everybody's
# All shifts where fits are cheap; further down the list where they are not.
SHIFTS_AT = {100: 4, 400: 4, 1500: 2, 5000: 1}
QUICK = ("diabetes", "breast cancer", "categories")
QUICK_CONTENDERS = ("VSVC today", "linear", "boosting", "Gaussian process")


def problem(name):
    """Return a table or a generated problem by its name."""
    real = name in tables_data.TABLES
    return tables_data.load(name) if real else tables_problems.generate(name)


def half_of(name):
    return (tables_data if name in tables_data.TABLES else tables_problems).half(name)


def plan(names, sizes, reps):
    """List the cells (name, shift, N, rep), cheap ones first, as many shifts as `SHIFTS_AT` says.

    Which of the induced shifts comes first alternates between problems.
    """
    cells = []
    for N in sizes:
        for number, name in enumerate(sorted(names)):
            induced = SHIFTS[1:3] if number % 2 else SHIFTS[2:0:-1]
            natural = name in tables_data.TABLES and tables_data.TABLES[name].natural
            shifts = [*(["natural"] if natural else []), *induced, "none"]
            cells += [
                (name, shift, N, rep) for rep in range(reps) for shift in shifts[: SHIFTS_AT[N]]
            ]
    return cells


def fit_cell(cell, contenders, deadline):
    """Fit the contenders on one cell; return a row for each."""
    name, shift, N, rep = cell
    if time.time() > deadline:
        return []
    table = problem(name)
    drawn = split(table, shift, N, rep)
    if drawn is None:
        return []
    about = {"half": half_of(name), "table": name, "kind": table.kind, "shift": shift, "N": N}
    about |= {"rep": rep, "real": table.truth is None}
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # convergence, widths at their bounds, rare categories
        prepare = dummies().fit(drawn.X)
        forms = {"frame": (drawn.X, drawn.T)}
        forms["dummies"] = (prepare.transform(drawn.X), prepare.transform(drawn.T))
        return [
            about | {"contender": name} | fit_one(CONTENDERS[name], table.kind, forms, drawn, rep)
            for name in contenders
        ]


def fit_one(contender, kind, forms, drawn, seed):
    """Fit one contender, and score it on the target."""
    X, T = forms[contender.columns]
    start = time.process_time()
    try:
        target = {"X_target": T} if contender.target else {}
        model = contender.make(kind, seed).fit(X, drawn.y, **target)
        predict = model.predict if kind == "regression" else model.predict_proba
        found = np.asarray(predict(T))
    except Exception as error:  # a contender that fails is a result, and no reason to stop
        return {"failed": f"{type(error).__name__}: {error}"[:300]}
    return {"seconds": time.process_time() - start} | scores(found, kind, drawn)


def scores(found, kind, drawn):
    """Return squared error relative to the variance of the outcome, log-loss and accuracy.

    The squared error of generated problems is that against the truth.
    """
    estimate = found if kind == "regression" else found[:, 1]
    aim = drawn.y_T if drawn.truth_T is None else drawn.truth_T
    result = {"error": float(np.mean((estimate - aim) ** 2) / drawn.scale)}
    if kind == "classification":
        p = np.clip(estimate, EDGE, 1 - EDGE)
        right = np.where(drawn.y_T == 1, p, 1 - p)
        result["log_loss"] = float(-np.mean(np.log(right)))
        result["accuracy"] = float(np.mean((estimate > 0.5) == (drawn.y_T == 1)))
    return result


def run(cells, contenders, kept, jobs=1, minutes=np.inf):
    """Fit what ``kept`` does not hold yet, one line for each fit."""
    key = ("table", "shift", "N", "rep", "contender")
    done = {tuple(row[part] for part in key) for row in read(kept)}
    missing = [(cell, [c for c in contenders if (*cell, c) not in done]) for cell in cells]
    deadline = time.time() + 60 * minutes
    work = Parallel(jobs, return_as="generator_unordered")(
        delayed(fit_cell)(cell, names, deadline) for cell, names in missing if names
    )
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.open("a", encoding="utf-8") as file:
        for rows in work:
            file.writelines(json.dumps(row) + "\n" for row in rows)
            file.flush()


def read(kept):
    if not kept.exists():
        return []
    return [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=("settle", "report"), help="where to fit; none: no fits")
    parser.add_argument("--reps", type=int, default=1, help="draws of each cell")
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    parser.add_argument("--sizes", nargs="+", type=int, choices=SHIFTS_AT, default=list(SHIFTS_AT))
    parser.add_argument("--tables", nargs="+", help="only these")
    parser.add_argument("--jobs", type=int, default=-1, help="processes")
    parser.add_argument("--limit-minutes", type=float, default=np.inf, help="begin no cell later")
    parser.add_argument("--runs", type=Path, default=KEPT, help="the lines of JSON")
    parser.add_argument("--write", action="store_true", help="keep the report in results/")
    parser.add_argument("--quick", action="store_true", help="a few fits, nothing written")
    given = parser.parse_args()
    names = [*tables_data.TABLES, *tables_problems.PROBLEMS]
    if given.quick:
        rows = [
            row
            for name in QUICK
            for row in fit_cell((name, "direction", 100, 0), QUICK_CONTENDERS, np.inf)
        ]
    else:
        names = [name for name in names if half_of(name) == given.half]
        names = [name for name in names if given.tables is None or name in given.tables]
        cells = plan(names, given.sizes, given.reps)
        run(cells, given.contenders, given.runs, given.jobs, given.limit_minutes)
        rows = read(given.runs)
    report(rows, write=given.write and not given.quick)


if __name__ == "__main__":
    main()

"""What outcomes of some target rows are worth: error, coverage and width on real tables.

The table is the population. "induced": every row has a chance p to be the target's
(`tables_data.target_chance`: a logistic of a random direction, or the rank in a random column), so
that covariate shift holds. "natural": a column's values tell the two apart, and p(y | x) may
differ. "changed": induced, and the target's outcomes are others on purpose: numbers grow by half a
standard deviation, a third of the zeros become ones. The truth is the number over all rows,
weighted by p, with these outcomes. Half of the drawn rows train a model (boosted trees), the other
half are the sample that `estimate` and `evaluate` see. How the two numbers are combined was settled
on the other half of the tables.
"""

from __future__ import annotations

import warnings
import zlib
from dataclasses import dataclass

import numpy as np
from harness import Work, main, runs, table
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import f1_score, mean_absolute_error, r2_score

from covshift import Predictions, estimate, evaluate
from covshift.datasets import make_survey
from covshift.exceptions import NoOverlapError

TITLE = "What outcomes of some target rows are worth"
COUNTS, RUNS, SHIFTS = (25, 50, 100, 200), 8, ("induced", "natural", "changed")
METRICS = {"classification": ("accuracy", "brier", "roc_auc", "f1"), "regression": ("mse", "mae")}
LINES = ("none", "dr", "labels", "both")
SIZES, SPARE = (1000, 500), 1.5
"""Rows of the sample and of the target: the most that a table has to spare."""
TASKS = {"estimate": "The mean of the outcome", "evaluate": "Metrics of a model"}


@dataclass(frozen=True)
class Problem:
    """``said`` is what the model says of the rows; ``truth`` has the mean and the metrics."""

    kind: str
    X: np.ndarray
    y: np.ndarray
    said: np.ndarray
    T: np.ndarray
    y_target: np.ndarray
    said_target: np.ndarray
    truth: dict[str, float]


def draw(name, shift, run):
    """Return a problem, or None where the table is too small or has no such shift."""
    from tables_data import as_numbers, columns, load, target_chance

    table = load(name)
    rng = np.random.default_rng([zlib.crc32(f"labels/{name}/{shift}".encode()), run])
    X, y = columns(name), table.y.astype(float)
    if shift == "natural":
        if table.in_target is None:
            return None
        chance = table.in_target.astype(float)
        X = as_numbers(table.X.drop(columns=table.column))
    else:
        chance = target_chance(table.X, ("direction", "rank")[run % 2], rng)
    in_target = rng.uniform(size=len(y)) < chance
    sample, target = (rng.permutation(np.flatnonzero(part)) for part in (~in_target, in_target))
    fits = [n for n in SIZES if len(sample) >= 2 * n and len(target) >= SPARE * n]
    if not fits:
        return None
    n = fits[0]
    there = changed(table.kind, y, rng) if shift == "changed" else y
    trained, sample, target = sample[:n], sample[n : 2 * n], target[:n]
    if table.kind == "classification" and min(y[trained].sum(), n - y[trained].sum()) < 5:
        return None
    said = fitted(table.kind, X[trained], y[trained], X)
    others = np.setdiff1d(np.flatnonzero(chance > 0), trained)
    p = chance[others]
    truth = performance_of(table.kind, there[others], said[others], p)
    return Problem(
        table.kind,
        X[sample],
        y[sample],
        said[sample],
        X[target],
        there[target],
        said[target],
        {"mean": float(p @ there[others] / p.sum()), **truth},
    )


def performance_of(kind, y, said, weight):
    """The metrics of what a model said, over weighted rows."""
    from evaluations import performance

    found = performance(kind, y, said, weight=weight)
    if kind == "regression":
        more = {"mae": mean_absolute_error, "r2": r2_score}
    else:
        more, said = {"f1": f1_score}, said >= 0.5
    return found | {name: float(of(y, said, sample_weight=weight)) for name, of in more.items()}


def changed(kind, y, rng):
    """Outcomes of the target that follow another p(y | x)."""
    if kind == "regression":
        return y + 0.5 * y.std()
    return np.where(rng.uniform(size=len(y)) < 1 / 3, 1.0, y)


def fitted(kind, X, y, rows):
    """Train boosted trees; return what they say of all rows."""
    options = {"max_leaf_nodes": 8, "max_iter": 60, "random_state": 0}
    if kind == "regression":
        return HistGradientBoostingRegressor(**options).fit(X, y).predict(rows)
    return HistGradientBoostingClassifier(**options).fit(X, y).predict_proba(rows)[:, 1]


def one_run(name, shift, run, task):
    """Return the answers for every number of labels; None where there is no such problem."""
    if name == "made up":
        return measured(made_up(), task, np.random.default_rng(0))
    problem = draw(name, shift, run)
    return problem and measured(problem, task, np.random.default_rng([7, run]))


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


def made_up():
    """Return a made-up problem, which needs no tables."""
    survey = make_survey(160, 120, random_state=0)
    truth = {"mean": float(survey.y_target.mean()), "accuracy": 0.6, "brier": 0.3, "f1": 0.5}
    said, there = (0.2 + 0.6 * (part[:, 0] > 0) for part in (survey.X, survey.X_target))
    return Problem(
        "classification",
        *(survey.X, survey.y, said),
        *(survey.X_target, survey.y_target, there),
        {**truth, "roc_auc": 0.6},
    )


def works(share, quick):
    """Every table, shift, run and task."""
    if quick:
        return [Work("tables", one_run, [("made up", "induced", 0, task) for task in TASKS])]
    from tables_data import available, columns

    names = [name for name in available("report") if columns(name).shape[1] <= 40]
    jobs = [
        (name, shift, run, task)
        for run in range(runs(RUNS, share))
        for task in TASKS
        for name in names
        for shift in SHIFTS
    ]
    return [Work("tables", one_run, jobs, 5.0)]


def cells_of(lines):
    """Return {(task, shift, metric, count): {table: rows}}, a row being truth and the methods."""
    cells = {}
    for (name, shift, _, task), line in lines:
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
    found, cells = [], cells_of(lines)
    for task, title in TASKS.items():
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


def report(found):
    """Return the tables."""
    lines = [(job, line) for job, line in found["tables"] if line is not None]
    refused = sum("refused" in line for _, line in lines)
    said = f"{refused} of {len(lines)} runs were refused for lack of overlap."
    return [WORDS, said, *sections(lines)]


if __name__ == "__main__":
    main(__file__)

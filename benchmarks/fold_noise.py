"""How far does the deal of folds move an answer, in units of its standard error?

Every problem is answered with several seeds of the folds, and in forms that should not matter:
numbers of single precision, columns of the other sign and in another order, rows in another order,
every row as its own cluster. "one deal" is n_rep=1, "now" what the library does.

    product     y = x0 + x1 x2 + e, four normal columns; the target is shifted by .5
    rare        2% of zeros and ones, whatever the columns
    categories  y = c0 + c1 c2 + e, three columns of three values
    margins     the same with the margins of three columns and of two pairs as the target
    evaluate    accuracy of a fixed score of two columns; errors depend on their product
    banknote, cancer, diabetes    the label, for rows of a larger first column
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
from harness import Work, main, runs, table
from sklearn.linear_model import LinearRegression

from covshift import Margins, Predictions, estimate, evaluate

TITLE = "How far the deal of folds moves an answer"
SIZES = (60, 120, 500)
SIMULATED = ("product", "rare", "categories", "margins", "evaluate")
TABLES = {"banknote": (60, 250), "cancer": (60, 250), "diabetes": (60, 250)}
SMALL = 120  # rows up to which forms are tried
SEEDS = 4
MODELS = {"ours": None, "linear": LinearRegression()}
RUNS = {"ours": 80, "linear": 200}


def draw(name, N, seed=0):
    """Return X, y, T; of tables, N rows of the sample."""
    rng = np.random.default_rng((N, seed))
    if name in TABLES:
        rows = pd.read_csv(Path(os.environ["COVSHIFT_DATA"]) / f"{name}.csv").to_numpy(float)
        rows = rows[rng.permutation(len(rows))]
        chance = 1 / (1 + np.exp(-(rows[:, 0] - rows[:, 0].mean()) / rows[:, 0].std()))
        there = rng.random(len(rows)) < chance
        here = rows[~there][:N]
        return here[:, :-1], here[:, -1], rows[there][:, :-1]
    if name in ("categories", "margins"):
        X = rng.integers(0, 3, size=(N, 3)).astype(float)
        T = rng.choice(3, size=(2 * N, 3), p=[0.2, 0.3, 0.5]).astype(float)
        return X, X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=N), T
    X, T = rng.normal(size=(N, 4)), rng.normal(0.5, 0.9, size=(2 * N, 4))
    if name == "rare":
        return X, np.isin(np.arange(N), rng.choice(N, max(2, N // 50), replace=False)) * 1.0, T
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=N)
    return X, (y > 0) * 1.0 if name == "evaluate" else y, T


def ask(name, X, y, T, **options):
    """Return the number by the default method, and its standard error."""
    if name == "evaluate":
        said = (1 / (1 + np.exp(-rows[:, 0] - rows[:, 1])) for rows in (X, T))
        model = Predictions(*said, task="classes", threshold=0.5)
        found = evaluate(model, X, y, T, metrics=["accuracy"], **options)
        row = found.table.where(method="dr")[0]
        return row.value, row.standard_error
    if name == "margins":
        names = [f"c{k}" for k in range(3)]
        X, T = (pd.DataFrame(rows, columns=names[: rows.shape[1]]) for rows in (X, T))
        X = X.astype(int).astype(str)
        pairs = (names[0], names[1]), (names[1], names[2])
        one = {
            name: T[name].astype(int).astype(str).value_counts(normalize=True).to_dict()
            for name in names
        }
        two = {
            pair: {
                tuple(str(int(v)) for v in cell): count / len(T)
                for cell, count in T.groupby(list(pair)).size().items()
            }
            for pair in pairs
        }
        if options.pop("turned", False):
            one, two = dict(reversed(one.items())), dict(reversed(two.items()))
            X = X[names[::-1]]
        T = Margins({**one, **two})
    if name in TABLES:
        options["restrict"] = "overlap"
    found = estimate(X, y, T, weighter="cdf" if name == "margins" else None, **options)
    row = found.table.where(method="dr")[0]
    return row.value, row.standard_error


def forms(name, X, y, T):
    """What should not matter, by its name."""
    rng = np.random.default_rng(1)
    rows, order = rng.permutation(len(X)), np.arange(X.shape[1])[::-1]
    yield "rows", (X[rows], y[rows], T), {}
    yield "cluster", (X, y, T), {"cluster": np.arange(len(X))}
    if name == "margins":
        yield "columns", (X, y, T), {"turned": True}
        return
    if name == "evaluate":  # whose scores are by columns
        return
    yield "columns", (X[:, order], y, T[:, order]), {}
    yield "float32", (X.astype(np.float32), y, T.astype(np.float32)), {}
    yield "-x", (-X, y, -T), {}


def measure(name, N, one, seeds):
    """Spread over deals, and the largest change by a form, in standard errors; seconds."""
    given = draw(name, N)
    start = time.process_time()
    once = {"n_rep": 1} if one and name != "evaluate" else {}
    values = [ask(name, *given, random_state=seed, **once) for seed in range(seeds)]
    took = (time.process_time() - start) / seeds
    value, error = values[0]
    moved = {}
    for form, changed, options in forms(name, *given) if N <= SMALL else ():
        moved[form] = abs(ask(name, *changed, **once, **options)[0] - value) / error
    return np.std([v for v, _ in values], ddof=1) / error, moved, took


def coverage(name, one, runs):
    """How often intervals of y = x0 + x1 x2 + e cover at N = 120, with ours or a linear model."""
    truth, found = 0.5 + 0.25, []
    for seed in range(runs):
        X, y, T = draw("product", 120, 1_000 + seed)
        answer = estimate(X, y, T, outcome_model=MODELS[name], n_rep=1 if one else None)
        found.append([answer.value, *answer.interval])
    value, low, high = np.array(found).T
    covers = 100 * np.mean((low <= truth) & (truth <= high))
    rest = [np.sqrt(np.mean((value - truth) ** 2)), value.mean() - truth]
    cells = [f"{covers:.1f}", f"{np.mean(high - low):.3f}", *(f"{part:.4f}" for part in rest)]
    return [name, "one deal" if one else "now", *cells, runs]


def works(share, quick):
    """Problems by one deal and by ours, and how often intervals cover."""
    jobs = [("product", 2_500), *((name, N) for name in SIMULATED for N in SIZES)]
    if "COVSHIFT_DATA" in os.environ:
        jobs += [(name, N) for name, sizes in TABLES.items() for N in sizes]
    seeds, counts = SEEDS, {name: runs(count, share) for name, count in RUNS.items()}
    if quick:
        jobs, seeds, counts = [("categories", 60)], 2, {"linear": 2}
    both = [(*job, one, seeds) for job in jobs for one in (True, False)]
    covers = [(name, one, count) for name, count in counts.items() for one in (True, False)]
    return [
        Work("deals", measure, both, 25.0),
        Work("covers", coverage, covers, 120.0),
    ]


def report(found):
    """Return both tables."""
    by_problem = {}
    for (name, N, one, _), line in found["deals"]:
        by_problem.setdefault((name, N), {})[one] = line
    rows = []
    for (name, N), both in by_problem.items():
        lines = [both[one] for one in (True, False)]
        cells = [f"{part:.3f}" for part, _, _ in lines]
        for _, moved, _ in lines:
            worst = max(moved, key=moved.get, default="")
            cells.append(f"{moved[worst]:.3f} ({worst})" if worst else "")
        rows.append([name, f"{N:,}", *cells, *(f"{took:.1f}" for _, _, took in lines)])
    head = ["problem", "N", "deals: one deal", "now", "forms: one deal", "now"]
    covers = [line for _, line in found["covers"]]
    return [
        __doc__.partition("\n\n")[2].strip(),
        "Standard deviation over deals, and the largest change by a form (up to "
        f"{SMALL} rows), in units of the printed standard error; seconds of CPU of one call.",
        table([*head, "seconds: one deal", "now"], rows),
        "## How often intervals cover",
        "Of the mean of y = x0 + x1 x2 + e at N = 120, at 95%.",
        table(["outcome model", "", "covers (%)", "length", "RMSE", "bias", "runs"], covers),
    ]


if __name__ == "__main__":
    main(__file__)

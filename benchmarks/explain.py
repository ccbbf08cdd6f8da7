"""Why a number changed: coverage of every part, on simulated changes of known parts; real tables.

The sample is N(0, 1) in every column unless said otherwise, and the target is shifted:

    linear      y = x0 + x2 / 2 + e; x0 and x1 shifted by half a standard deviation
    curve       y = x0^2 + x1 / 2 + x2 / 2 + e; the same shift
    product     y = x0 x1 + e; the same shift
    correlated  y = x0 + x1 + e, correlations .5, x0 shifted, and with it what follows from it
    categories  y = the effect of one of four levels + e, the levels are shifted; two numbers beside
    classes     accuracy of a model whose errors grow with x0; the same shift
    twenty      y = x0 + .3 (x2 + ... + x5) + e among twenty columns; x0, x6 and x7 shifted
    changed     y = x0 + e, in the target .5 more where x2 > 0; half of its rows have an outcome

Truths are exact, or means over two million rows. Settled on seeds 100,000 and more.
"""

from __future__ import annotations

import warnings
from functools import cache
from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
from harness import Work, main, runs, table

from covshift import Predictions, estimate, evaluate
from covshift.engine.explanation import NEW, OUTCOMES, TOGETHER, WITHIN

TITLE = "Why a number changed"
SIZES, RUNS, MANY = (300, 1000), 200, 2_000_000
PROBLEMS = (
    "linear",
    "curve",
    "product",
    "correlated",
    "categories",
    "classes",
    "twenty",
    "changed",
)
LEVELS = {"a": 0.4, "b": 0.3, "c": 0.2, "d": 0.1}
MOVED = {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}
EFFECT = {"a": 0.0, "b": 0.5, "c": 1.0, "d": 1.0}


def numbers(rng, n, count, shift=None):
    X = rng.normal(size=(n, count))
    for column, by in (shift or {}).items():
        X[:, column] += by
    return pd.DataFrame(X, columns=[f"x{k}" for k in range(count)])


def drawn(problem, n, rng):
    """Return rows and outcomes of both samples, and chances of the model or None."""
    half = {0: 0.5, 1: 0.5}
    noise = [rng.normal(size=n) for _ in range(2)]
    count = 20 if problem == "twenty" else 5
    shift = {0: 0.5, 6: 0.5, 7: 0.5} if problem == "twenty" else half
    X, T = numbers(rng, n, count), numbers(rng, n, count, shift)
    if problem == "correlated":
        root = np.linalg.cholesky(0.5 * np.eye(3) + 0.5)
        X, T = (pd.DataFrame(part.to_numpy()[:, :3] @ root.T, columns=["x0", "x1", "x2"])
                for part in (numbers(rng, n, 3), numbers(rng, n, 3)))  # fmt: skip
        T = T + np.array([0.5, 0.25, 0.25])
    if problem == "categories":
        for part, chances in ((X, LEVELS), (T, MOVED)):
            part["town"] = rng.choice(list(chances), n, p=list(chances.values()))
        X, T = (part[["x2", "x3", "town"]] for part in (X, T))
    means = [outcome(problem, part) for part in (X, T)]
    if problem == "classes":
        y = [(rng.random(n) < mean).astype(float) for mean in means]
        return X, y[0], T, y[1]
    y = [mean + one for mean, one in zip(means, noise, strict=True)]
    if problem == "changed":
        y[1] = y[1] + 0.5 * (T["x2"] > 0)
    return X, y[0], T, y[1]


def outcome(problem, X):
    """The mean of the outcome given the columns; of "classes" the chance of a one."""
    if problem == "linear":
        return X["x0"] + X["x2"] / 2
    if problem == "curve":
        return X["x0"] ** 2 + X["x1"] / 2 + X["x2"] / 2
    if problem == "product":
        return X["x0"] * X["x1"]
    if problem == "correlated":
        return X["x0"] + X["x1"]
    if problem == "categories":
        return X["town"].map(EFFECT).astype(float)
    if problem == "classes":
        return right(X) * (X["x2"] > 0) + (1 - right(X)) * (X["x2"] <= 0)
    if problem == "twenty":
        return X["x0"] + 0.3 * X[["x2", "x3", "x4", "x5"]].sum(axis=1)
    return X["x0"]


def right(X):
    """Chance that the model, which says one where x2 > 0, is right."""
    return 0.5 + 0.4 / (1 + np.exp(1.5 * X["x0"]))


@cache
def truth(problem):
    """What every column has of the change; of "changed" the parts."""
    if problem == "linear":
        return {"x0": 0.5, "x1": 0.0, "x2": 0.0}
    if problem == "curve":
        return {"x0": 0.25, "x1": 0.25, "x2": 0.0}
    if problem == "product":
        return {"x0": 0.125, "x1": 0.125, "x2": 0.0}
    if problem == "categories":
        moved = sum((MOVED[level] - LEVELS[level]) * EFFECT[level] for level in LEVELS)
        return {"town": moved, "x2": 0.0, "x3": 0.0}
    if problem == "twenty":
        return {"x0": 0.5, "x6": 0.0, "x2": 0.0}
    if problem == "correlated":
        return gaussian(0.5 * np.eye(3) + 0.5, np.array([1.0, 1.0, 0.0]), [0.5, 0.25, 0.25])
    rng = np.random.default_rng(1)
    X, T = numbers(rng, MANY, 5), numbers(rng, MANY, 5, {0: 0.5, 1: 0.5})
    if problem == "classes":
        return {"x0": float((right(T) - right(X)).mean()), "x1": 0.0, "x2": 0.0}
    here, there = (1 / (1 + np.exp(0.25 - 0.5 * (part["x0"] + part["x1"]))) for part in (X, T))
    shared = float((here * X["x0"]).sum() / here.sum())
    del there
    change = 0.25  # alike everywhere: x2 does not move
    return {WITHIN: shared, OUTCOMES: change, NEW: 0.5 + 0.25 - shared - change}


def gaussian(S, slopes, shift):
    """Shapley values of a linear outcome of normal columns."""
    shift, n = np.array(shift), len(shift)

    def value(J):
        J = list(J)
        return float(shift[J] @ np.linalg.solve(S[np.ix_(J, J)], (S @ slopes)[J])) if J else 0.0

    found = {}
    for j in range(n):
        others = [k for k in range(n) if k != j]
        found[f"x{j}"] = sum(
            factorial(len(J)) * factorial(n - len(J) - 1) / factorial(n)
            * (value((*J, j)) - value(J))
            for size in range(n)
            for J in combinations(others, size)
        )  # fmt: skip
    return found


def one_run(problem, n, seed):
    """Return the parts, each [value, low, high], and what else is counted."""
    rng = np.random.default_rng([seed, n, PROBLEMS.index(problem)])
    X, y, T, y_target = drawn(problem, n, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if problem == "classes":
            said = [(part["x2"] > 0).astype(float).to_numpy() for part in (X, T)]
            answer = evaluate(Predictions(*said, task="classes", threshold=0.5), X, y, T,
                              metrics=["accuracy"])  # fmt: skip
        elif problem == "changed":
            known = np.where(rng.random(n) < 0.5, y_target, np.nan)
            answer = estimate(X, y, T, y_target=known)
        else:
            answer = estimate(X, y, T)
        why = answer.explain()
    parts = {row.column: [row.value, *row.interval] for row in why.table}
    total = sum(row.value for row in why.table)
    line = {"parts": parts, "first": why.table[0].column, "apart": abs(total - why.change.value)}
    if problem == "changed":
        many = numbers(np.random.default_rng(2), 100_000, 5, {0: 0.5, 1: 0.5})
        line["leaves"] = []
        for row in why.regions:
            exact = 0.5 * float((inside(many, row.where)["x2"] > 0).mean())
            line["leaves"].append([*row.interval, exact])
    return line


def inside(rows, where):
    """Rows of a leaf, from its words."""
    return rows if where == "all rows" else rows.query(where.replace(",", ""))


def sections(found):
    """Return the tables of simulated problems."""
    rows, leaves, named = [], [], []
    cells = {}
    for (problem, n, _), line in found:
        cells.setdefault((problem, n), []).append(line)
    for problem in PROBLEMS:
        for n in sorted({size for name, size in cells if name == problem}):
            inside = cells[problem, n]
            for part, exact in truth(problem).items():
                numbers_ = np.array([line["parts"][part] for line in inside])
                held = (numbers_[:, 1] <= exact) & (exact <= numbers_[:, 2])
                rows.append(
                    [problem, f"{n:,}", part, f"{exact:.3f}", f"{numbers_[:, 0].mean():.3f}",
                     f"{numbers_[:, 0].std():.3f}", f"{100 * held.mean():.1f}", len(inside)]
                )  # fmt: skip
            if problem == "twenty":
                share = np.mean([line["first"] == "x0" for line in inside])
                named.append(f"N = M = {n:,}: {share:.0%} of {len(inside)}")
            if problem == "changed":
                all_held = [
                    all(low <= exact <= high for low, high, exact in line["leaves"])
                    for line in inside
                    if line["leaves"]
                ]
                if all_held:
                    leaves.append(
                        f"N = M = {n:,}: all leaves at once in {np.mean(all_held):.1%} of "
                        f"{len(all_held)} runs"
                    )
    head = ["problem", "N = M", "part", "truth", "mean", "spread", "covers (%)", "runs"]
    apart = max((line["apart"] for _, line in found), default=0.0)
    return [
        "## Parts of known size",
        table(head, rows),
        f"The parts sum to the change to {apart:.1g}. The guilty column of twenty is named first: "
        f"{'; '.join(named)}. Intervals of the tree's leaves hold {'; '.join(leaves)}.",
    ]


def on_table(name):
    """What explained the change between the natural halves of a real table."""
    from tables_data import load

    found, rng = load(name), np.random.default_rng(0)
    X, y = found.X.drop(columns=found.column), found.y.astype(float)
    rows = [rng.permutation(np.flatnonzero(found.in_target == there))[:2000] for there in (0, 1)]
    known = np.where(rng.random(len(rows[1])) < 0.5, y[rows[1]], np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            answer = estimate(
                X.iloc[rows[0]], y[rows[0]], X.iloc[rows[1]], y_target=known, restrict="overlap"
            )
            why = answer.explain()
        except ValueError as reason:
            return [name, str(found.column), f"refused: {str(reason)[:60]}", *[""] * 6]
    parts = {row.column: f"{row.value:+.3f}" for row in why.table}
    first = [f"{row.column} {row.value:+.3f}" for row in why.columns if row.column != TOGETHER]
    worst = why.regions[0].where if len(why.regions) else ""
    ends = [", ".join(first[:2]), worst]
    return [name, str(found.column), f"{why.plain:.3f}", f"{why.value:.3f}", *parts.values(), *ends]


def works(share, quick):
    """Simulated changes, and real tables."""
    if quick:
        return [Work("parts", one_run, [(problem, 120, 0) for problem in ("linear", "changed")])]
    from tables_data import available, columns, load

    names = [name for name in available("report") if load(name).in_target is not None]
    names = [(name,) for name in names if columns(name).shape[1] <= 40]
    cells = [(problem, n) for problem in PROBLEMS for n in SIZES]
    jobs = [(*cell, seed) for seed in range(runs(RUNS, share)) for cell in cells]
    return [
        *(Work(f"parts {n}", one_run, [j for j in jobs if j[1] == n], n / 600) for n in SIZES),
        Work("tables", on_table, names, 10.0),
    ]


def report(found):
    """Return all tables."""
    simulated = [pair for name, part in found.items() if name[:5] == "parts" for pair in part]
    text = [__doc__.partition("\n\n")[2].strip(), *sections(simulated)]
    if "tables" in found:
        head = ["table", "shift by", "sample", "target", "moved", "differ", "new"]
        rows = [line for _, line in found["tables"]]
        text += ["## Natural shifts of real tables", table([*head, "columns", "where"], rows)]
    return text


if __name__ == "__main__":
    main(__file__)

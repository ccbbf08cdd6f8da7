"""How often a comparison recommends a correction that helps, and one that does not.

A linear model is compared with itself under every weighter (`compare`). In the first
problems the truth bends and the target lies to one side, so that weights lower the risk there; in
the others the line is right everywhere, or there is no shift, and weights only cost precision. The
same tables are judged by two rules: the one of `covshift.numerics.statistics`, and the one it
replaced, by which the method of least estimated risk had to pass Bonferroni's correction for their
number.
"""

from __future__ import annotations

import warnings

import numpy as np
from harness import Work, main, runs, table
from scipy import stats

from covshift.comparison import compare
from covshift.comparison.methods import methods_for
from covshift.weights import CDFWeights, effective_sample_size

TITLE = "How often a correction is recommended"
RUNS = 100
METHODS = [method for method in methods_for("linear", 3) if method.kind != "correction"]


def bent(N, shift, noise, curve=1.0):
    """Three features; the first one's square matters, and the target has more of its right side."""

    def draw(rng):
        X, T = rng.normal(size=(N, 3)), rng.normal(size=(N, 3))
        T[:, 0] = shift + 0.5 * T[:, 0] if shift else T[:, 0]
        truth = lambda Z: Z.sum(axis=1) + curve * Z[:, 0] ** 2  # noqa: E731
        outcome = lambda Z: truth(Z) + noise * rng.normal(size=N)  # noqa: E731
        return X, outcome(X), T, outcome(T)

    return draw


def straight(N, shift, noise):
    return bent(N, shift, noise, curve=0.0)


PROBLEMS = {
    "bent, N = 300, noise 0.7": bent(300, 0.7, 0.7),
    "bent, N = 300, noise 1": bent(300, 0.7, 1.0),
    "bent, N = 150, noise 0.7": bent(150, 0.7, 0.7),
    "straight, N = 50": straight(50, 0.7, 1.0),
    "straight, N = 300": straight(300, 0.7, 1.0),
    "straight, strong shift, N = 300": straight(300, 1.5, 1.0),
    "straight, no shift, N = 300": straight(300, 0.0, 1.0),
    "bent, no shift, N = 300": bent(300, 0.0, 1.0),
}


def run(problem, seed):
    """Return the risk that the best method leaves, whether each rule recommends, and wrongly."""
    X, y, T, y_T = PROBLEMS[problem](np.random.default_rng(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compare(X, y, T, learner="linear", task="regression", y_target=y_T, methods=METHODS)
        scaled = [(Z - X.mean(axis=0)) / X.std(axis=0) for Z in (X, T)]
        judge = CDFWeights(allow_no_overlap=True, random_state=0)
        size = effective_sample_size(judge.fit(scaled[0], X_target=scaled[1]).weights_)
    rows = {row["method"]: row for row in found.rows}
    risk = {name: row["true_risk"] for name, row in rows.items() if row["true_risk"] is not None}
    others = [row for row in found.rows[1:] if np.isfinite(row["risk"])]
    best = min(others, key=lambda row: row["risk"])
    bonferroni = stats.t.isf(0.05 / len(others), max(1.0, size - 1))
    old = best["gain"] > bonferroni * best["gain_standard_error"]
    chosen = {"now": found.recommended, "before": best["method"] if old else "none"}
    plain = risk["none"]
    return {
        "left": min(risk[row["method"]] for row in others) / plain,
        "needed": (found.needed, bonferroni),
        **{rule: (name != "none", risk[name] > plain) for rule, name in chosen.items()},
    }


def works(share, quick):
    """Runs of every problem."""
    seeds, names = range(2 if quick else runs(RUNS, share)), list(PROBLEMS)[: 1 if quick else None]
    return [Work("runs", run, [(name, seed) for seed in seeds for name in names], 2.0)]


def report(found):
    """Return the table."""
    by_problem, rows = {}, []
    for (name, _), line in found["runs"]:
        by_problem.setdefault(name, []).append(line)
    for name, lines in by_problem.items():
        cells = [name, len(lines), f"{np.mean([one['left'] for one in lines]):.2f}"]
        for at, rule in enumerate(("before", "now")):
            recommended, worse = (np.mean([one[rule][k] for one in lines]) for k in (0, 1))
            needed = np.mean([one["needed"][1 - at] for one in lines])
            cells += [f"{needed:.2f}", f"{recommended:.0%}", f"{worse:.0%}"]
        rows.append(cells)
    head = ["problem", "runs", "risk left"]
    for rule in ("before", "now"):
        head += [f"{rule}: needed", "recommends", "and is worse"]
    return [
        f"Seeds from 0; as many target rows as training rows, {len(METHODS) - 1} weighters with a "
        "ridge regression. “Risk left”: the squared error on "
        "the target of the best of them, relative to the unweighted model; the rules do not see "
        "it. “Needed”: mean standard errors that a gain must exceed. “And is worse”: the "
        "recommended model had a larger error on the target's labels than the unweighted one. "
        "On the straight problems, and without a shift, every recommendation is a false one; both "
        "rules allow 5 % of them.",
        table(head, rows),
        "Before: the method of least estimated risk, if its gain passed Bonferroni's correction. "
        "Now: the best of the methods whose gain exceeds the 95 % quantile of the largest of the "
        "multiplier-bootstrapped statistics (`covshift.numerics.statistics`).",
    ]


if __name__ == "__main__":
    main(__file__)

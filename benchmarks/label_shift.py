"""Label shift: errors and coverage of class shares, the test, metrics and sets.

    python benchmarks/label_shift.py --runs 500 --jobs 16    a section of results/explain.md
    python benchmarks/label_shift.py --quick                 a draw of small samples, for the tests

Prints Markdown. The truth is known in every draw: samples are made up, with p(x | y) the same in
both (or, as the control, p(y | x)).
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass

import numpy as np
from harness import commit, machine, table
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB

from covshift import ConformalClassifier, estimate, evaluate
from covshift.engine.label_shift import Shares
from covshift.exceptions import InputError

LARGE = 20_000  # rows that tell the truth of a metric or a coverage
SHIFTS = (0.3, 0.5)  # of the means of two columns, in standard deviations


@dataclass(frozen=True)
class Made:
    """Shares of the classes in both samples, sizes, and how the rows of a class look."""

    here: tuple[float, ...]
    there: tuple[float, ...]
    N: int
    M: int
    apart: float = 1.5
    kind: str = "normal"

    def draw(self, rng, rows, shares):
        """Draw rows with the shares of classes."""
        y = rng.choice(len(shares), size=rows, p=shares)
        if self.kind == "categories":
            return categories(rng, y), y
        X = rng.normal(size=(rows, 4))
        if self.kind == "copies":  # naive chances count the same thing thrice
            X[:, 1:3] = 0.3 * X[:, 1:3] + X[:, :1]
            return X + self.apart * np.outer(y, [1, 1, 1, 0]), y
        X[y == 1, 0] += self.apart
        X[y == 2, 1] += self.apart
        return X, y

    def pair(self, rng):
        """Both samples."""
        return *self.draw(rng, self.N, self.here), *self.draw(rng, self.M, self.there)


def categories(rng, y):
    """Three categories of three levels, which depend on the class, as columns of zeros and ones."""
    tables = np.array([[[6, 3, 1], [5, 3, 2], [3, 4, 3]], [[2, 3, 5], [2, 4, 4], [3, 3, 4]]]) / 10
    columns = [
        (tables[y, k].cumsum(axis=1) < rng.uniform(size=(len(y), 1))).sum(axis=1) for k in range(3)
    ]
    return np.hstack([np.eye(3)[column] for column in columns])


PROBLEMS = {
    "two classes, 50 rows": Made((0.5, 0.5), (0.7, 0.3), 50, 50, 2.0),
    "two classes, 300 rows": Made((0.5, 0.5), (0.8, 0.2), 300, 300),
    "two classes, 1000 rows": Made((0.5, 0.5), (0.9, 0.1), 1000, 1000, 1.2),
    "three classes, 300 rows": Made((0.4, 0.3, 0.3), (0.1, 0.3, 0.6), 300, 300),
    "three classes, 1000 rows": Made((0.4, 0.3, 0.3), (0.1, 0.3, 0.6), 1000, 1000),
    "a class of 2%, 1000 rows": Made((0.98, 0.02), (0.9, 0.1), 1000, 1000, 2.0),
    "categories, 1000 rows": Made((0.5, 0.5), (0.8, 0.2), 1000, 1000, kind="categories"),
    "naive chances, 1000 rows": Made((0.5, 0.5), (0.8, 0.2), 1000, 1000, kind="copies"),
}


def shifted(rng, rows, by):
    """Rows of another p(x) with the same p(y | x): covariate shift."""
    X = rng.normal(size=(rows, 4))
    X[:, :2] += by
    chance = 1 / (1 + np.exp(0.3 - 1.2 * X[:, 0] - 0.6 * X[:, 1]))
    return X, (rng.uniform(size=rows) < chance).astype(int)


def plain_shares(shares, y):
    """BBSE and MLLS with the same chances, as their papers have them."""
    h = shares.problem.made["y"].h
    q, there = np.clip(h.train, 1e-3, 1), np.clip(h.target, 1e-3, 1)
    q, there = (part / part.sum(axis=1, keepdims=True) for part in (q, there))
    p = np.bincount(y) / len(y)
    C = np.column_stack([q[y == c].mean(axis=0) for c in range(len(p))])
    solved = np.clip(np.linalg.solve(C, there.mean(axis=0)), 0, 1)
    pi = p
    for _ in range(500):
        mixed = there * (pi / p)
        pi = (mixed / mixed.sum(axis=1, keepdims=True)).mean(axis=0)
    return solved / solved.sum(), pi


def of_shares(name, seed):
    """Errors of the share of the last class, coverage of all, and the p-value of the test."""
    made, rng = PROBLEMS[name], np.random.default_rng([1, seed])
    X, y, T, _ = made.pair(rng)
    model = GaussianNB() if made.kind == "copies" else None
    try:
        shares = Shares.of_rows(X, y, T, outcome_model=model)
    except InputError:
        return None
    truth = np.array(made.there)
    solved, likeliest = plain_shares(shares, y)
    numbers = [shares.number(shares.share(c), proportion=True) for c in range(len(truth))]
    last = (y == len(truth) - 1).astype(float)
    other = estimate(X, last, T, outcome_model=model).value
    errors = [last.mean(), other, solved[-1], likeliest[-1], shares.value[-1]]
    return (
        np.array(errors) - truth[-1],
        [n.low <= pi <= n.high for n, pi in zip(numbers, truth, strict=True)],
        shares.test.p_value,
    )


def of_control(by, seed):
    """Under covariate shift: the p-value, and the errors of both assumptions."""
    rng = np.random.default_rng([2, seed])
    X, y = shifted(rng, 1000, 0.0)
    T, y_target = shifted(rng, 1000, by)
    shares = Shares.of_rows(X, y, T)
    truth = y_target.mean()
    return shares.test.p_value, shares.value[1] - truth, estimate(X, y, T).value - truth


def of_metrics(seed):
    """Whether the intervals of metrics hold the truth, and of the rows as they are."""
    made, rng = PROBLEMS["two classes, 300 rows"], np.random.default_rng([3, seed])
    model = LogisticRegression().fit(*made.draw(rng, 300, made.here))
    X, y, T, _ = made.pair(rng)
    names = ["accuracy", "brier", "roc_auc"]
    found = evaluate(model, X, y, T, metrics=names, shift="label")
    large, labels = made.draw(rng, LARGE, made.there)
    chance = model.predict_proba(large)[:, 1]
    truth = {
        "accuracy": np.mean((chance > 0.5) == labels),
        "brier": np.mean((chance - labels) ** 2),
        "roc_auc": roc_auc_score(labels, chance),
    }
    lines = []
    for name in names:
        true = truth[name]
        here = found.same(found[name], "none")
        ends = [(row.interval, row.value - true) for row in (found[name], here)]
        lines.append([(low <= true <= high, error) for (low, high), error in ends])
    return lines


def of_sets(seed):
    """Coverage on the target of sets of 90% under label shift, by what they assume."""
    made = Made((0.6, 0.3, 0.1), (0.1, 0.2, 0.7), 500, 500, 1.8)
    rng = np.random.default_rng([4, seed])
    X, y, T, _ = made.pair(rng)
    new, truth = made.draw(rng, LARGE // 10, made.there)
    found = []
    for options in ({"weighter": None}, {}, {"shift": "label"}):
        model = ConformalClassifier(LogisticRegression(), random_state=seed, **options)
        try:
            sets = model.fit(X, y, X_target=T).predict_set(new, coverage=0.9)
        except InputError:  # few rows of a class, by chance
            return None
        found.append((sets.covers(truth).mean(), sets.mean_size))
    return found


def quietly(work, *given):
    """Run without warnings, which count nothing here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work(*given)


def every(work, cases, arguments):
    """Run all draws of all cases at once: by case, without those that were refused."""
    calls = [(case, seed) for case in cases for seed in range(*arguments.seeds)]
    given = [(seed,) if case is None else (case, seed) for case, seed in calls]
    found = Parallel(arguments.jobs)(delayed(quietly)(work, *one) for one in given)
    return {
        case: [
            one for (of, _), one in zip(calls, found, strict=True) if of == case and one is not None
        ]
        for case in cases
    }


def share(flags):
    return f"{100 * np.mean(flags):.1f}%"


def size(errors):
    return f"{np.sqrt(np.mean(np.square(errors))):.4f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    problems, shifts = PROBLEMS, SHIFTS
    if arguments.quick:
        arguments.runs, shifts = 1, SHIFTS[:1]
        problems = {name: PROBLEMS[name] for name in list(PROBLEMS)[:2]}
    arguments.seeds = (arguments.seed, arguments.seed + arguments.runs)

    print(f"# Label shift\n\n{arguments.runs} draws each. {machine()}; commit {commit()}.\n")
    lines = []
    for name, draws in every(of_shares, problems, arguments).items():
        errors = np.array([one[0] for one in draws])
        covered = [flag for one in draws for flag in one[1]]
        level = [one[2] < 0.05 for one in draws]
        refused = arguments.runs - len(draws)
        lines.append([name, *map(size, errors.T), share(covered), share(level), refused])
    print("Root mean square error of a class share; coverage of 95% intervals; rejections at 5%.\n")
    head = ["problem", "sample", "covariate shift", "BBSE", "MLLS", "covshift"]
    print(table([*head, "covered", "rejected", "refused"], lines))

    print("\nThe control: covariate shift, 1000 rows of each sample.\n")
    lines = []
    for by, draws in every(of_control, shifts, arguments).items():
        p, label, covariate = np.array(draws).T
        lines.append([by, share(p < 0.05), size(label), size(covariate)])
    print(table(["means moved by", "rejected", 'error of shift="label"', "of the default"], lines))

    print("\nMetrics of a logistic regression, 300 rows: coverage of 95% intervals, and error.\n")
    draws = every(of_metrics, [None], arguments)[None]
    lines = []
    for k, name in enumerate(("accuracy", "Brier score", "AUC")):
        columns = []
        for way in (0, 1):
            covered, errors = zip(*(one[k][way] for one in draws), strict=True)
            columns += [share(covered), size(errors)]
        lines.append([name, *columns])
    print(table(["metric", "covered", "error", "covered, rows as they are", "error"], lines))

    print("\nSets of coverage 90%, three classes, 500 rows: coverage on the target, and classes.\n")
    draws = np.array(every(of_sets, [None], arguments)[None])  # (runs, ways, 2)
    ways = ("no weights", "covariate shift", "label shift")
    lines = [
        [way, share(draws[:, k, 0]), f"{draws[:, k, 1].mean():.2f}"] for k, way in enumerate(ways)
    ]
    print(table(["assumes", "covered", "classes"], lines))


if __name__ == "__main__":
    main()

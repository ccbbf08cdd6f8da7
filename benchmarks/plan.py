"""Does a plan save labels? Widths and coverage beside those of rows drawn at random.

A model is trained on rows of a biased sample; others of it judge the model. Labels of 100 target
rows, drawn at random or as planned, make a number and its interval by prediction-powered inference
as `covshift.evaluate` does. The truth is that of the whole target, all of whose labels are known;
so the widths are what labels alone tell. At equal width the plan needs the share v_plan / v_random
of the labels, v the mean variance that the intervals have. Saved is what is left. Of simulated
populations the true spreads are known: nobody could save more than 1 - (E sigma)^2 / E sigma^2.
"""

from __future__ import annotations

import os
import warnings
import zlib
from dataclasses import replace

import numpy as np
from harness import Work, main, runs, table
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tables_data import REGRESSION, TABLES, available, half, load

from covshift.evaluations import plans, spreads
from covshift.evaluations.labelled import Labelled
from covshift.evaluations.masses import Masses
from covshift.evaluations.metrics import class_metrics
from covshift.evaluations.numbers import losses
from reproduction import loaders

TITLE = "Does a plan save labels?"
N, M, LABELS, DRAWS, RUNS, REDRAWN = 800, 3000, 100, 80, 3, 200
CLASSES, NUMBERS = ("accuracy", "f1", "roc_auc", "brier"), ("mse", "mae")
UNIFORM = (0.1, 0.2, 0.3, 0.5)
AIMS = {"accuracy": 25, "f1": 40, "roc_auc": 40, "mse": 40}


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


# Simulated populations: features, and the outcome given them in the sample and in the target.


def logistic(X, rng, there, at=-0.5, size=1.5, changed=0.0):
    z = at + size * (X[:, 0] - 0.7 * X[:, 1] + 0.5 * X[:, 2]) + changed * there
    return (rng.uniform(size=len(X)) < sigmoid(z)).astype(int)


def curved(X, rng, there):
    z = 3 * np.sin(1.5 * X[:, 0]) + X[:, 1] * X[:, 2] - 0.3
    return (rng.uniform(size=len(X)) < sigmoid(z)).astype(int)


def linear(X, rng, there, spread=lambda X: 1.0, freedom=None, changed=0.0):
    noise = rng.normal(size=len(X)) if freedom is None else rng.standard_t(freedom, size=len(X))
    return X[:, 0] + X[:, 1] ** 2 / 2 + changed * there + spread(X) * noise


def fan(X):
    return np.exp(0.7 * X[:, 0])


def third(X):
    return 1 + 2 * (X[:, 2] < -0.5)


def steps(X):
    return np.where(X[:, 1] > 0.8, 3.0, 0.6)


SIMULATED = {  # chosen on: True
    "logistic": (True, "classes", logistic),
    "logistic, 6 % positives": (True, "classes", lambda *a: logistic(*a, at=-3.8)),
    "equal spread": (True, "numbers", linear),
    "spread grows": (True, "numbers", lambda *a: linear(*a, spread=fan)),
    "spread of another column": (True, "numbers", lambda *a: linear(*a, spread=third)),
    "logistic, steep": (False, "classes", lambda *a: logistic(*a, size=3.0)),
    "logistic, 12 % positives, changed": (
        False,
        "classes",
        lambda *a: logistic(*a, at=-3.2, changed=0.6),
    ),
    "curved": (False, "classes", curved),
    "two spreads": (False, "numbers", lambda *a: linear(*a, spread=steps)),
    "two spreads, changed": (False, "numbers", lambda *a: linear(*a, spread=steps, changed=0.7)),
    "long tails": (False, "numbers", lambda *a: linear(*a, freedom=5)),
}
SHIPPED = {  # tables besides those of tables_data; chosen on: True
    "banknote": (True, "load_banknote"),
    "ringnorm": (True, "load_ringnorm"),
    "Wisconsin cancer": (False, "load_cancer"),
    "Pima diabetes": (False, "load_diabetes"),
    "twonorm": (False, "load_twonorm"),
}


def populations(chosen):
    """Names and kinds of the populations that choices were, or were not, made on."""
    found = {name: kind for name, (own, kind, _) in SIMULATED.items() if own == chosen}
    if os.environ.get("COVSHIFT_DATA"):
        found |= {name: "classes" for name, (own, _) in SHIPPED.items() if own == chosen}
    if not chosen:
        found["digits above 4"] = "classes"
        for name in TABLES:
            if name in available(half(name)):
                found[name] = "numbers" if name in REGRESSION else "classes"
    return found


def drawn(name, rng, rows, target):
    """Features and outcomes of the biased sample, and of the target."""
    if name in SIMULATED:
        make = SIMULATED[name][2]
        X, T = rng.normal(size=(rows, 4)), rng.normal([0.6, 0, -0.3, 0], size=(target, 4))
        return X, make(X, rng, 0.0), T, make(T, rng, 1.0)
    if name in SHIPPED:
        found = getattr(loaders, SHIPPED[name][1])()
        P, y = np.asarray(found.data, float), np.unique(found.target, return_inverse=True)[1]
    elif name == "digits above 4":
        P, y = load_digits(return_X_y=True)
        y = (y > 4).astype(int)
    else:
        one = load(name)
        P, y = np.column_stack([numbers(column) for _, column in one.X.items()]), one.y
    P = P[:, P.std(axis=0) > 0]
    first = StandardScaler().fit_transform(P) @ rng.normal(size=P.shape[1])
    tilt = np.exp(0.7 * np.clip(first / first.std(), -2, 2))
    order = rng.permutation(len(P))
    own, rest = order[: min(rows, len(P) // 2)], order[min(rows, len(P) // 2) :]
    there = rng.choice(rest, size=target, p=tilt[rest] / tilt[rest].sum())  # some rows repeat
    return P[own], y[own], P[there], y[there]


def numbers(column):
    if column.dtype.name == "category":
        return column.cat.codes.to_numpy(float)
    return column.to_numpy(float)


def learner(kind, name, run):
    """A linear model, or trees."""
    trees = (zlib.crc32(name.encode()) + run) % 2
    if kind == "classes":
        plain = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
        return HistGradientBoostingClassifier(max_iter=60) if trees else plain
    return HistGradientBoostingRegressor(max_iter=60) if trees else Ridge()


def measure(name, kind, run, sizes=(N, M), draws=DRAWS, uniform=None):
    """Of every metric, by draws at random and as planned: [value, low, high, error], and truth."""
    rng = np.random.default_rng([zlib.crc32(f"plan/{name}".encode()), run])
    X, y, T, there = drawn(name, rng, *sizes)
    part = len(X) // 4
    found = {}
    if uniform is not None:
        plans._UNIFORM = uniform
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = learner(kind, name, run).fit(X[:part], y[:part])
        settings = plans.Settings(None, model, 0.95, 0)
        judge = spreads.judged(settings, X[part:], y[part:], T, {})[2]
        for metric in CLASSES if kind == "classes" else NUMBERS:
            found[metric] = measured(judge, metric, there, rng, draws)
            if name in SIMULATED:
                found[metric][1]["best"] = best(SIMULATED[name][2], judge, metric, model, T, rng)
    return found


def best(make, judge, metric, model, T, rng):
    """Share of the labels that nobody could save more of, from outcomes that are drawn again."""
    again = [make(T, rng, 1.0) for _ in range(REDRAWN)]
    if metric in CLASSES:
        q = np.mean(again, axis=0)
        Q = np.column_stack([1 - q, q])
        masses = Masses(Q / len(Q), judge.scored.target, judge.scored.chosen_target)
        g = metric_of(judge, metric).of(masses).gradient
        sigma = np.sqrt(np.sum(Q * (g - np.sum(Q * g, axis=1, keepdims=True)) ** 2, axis=1))
    else:
        sigma = np.std([losses(metric, y, model.predict(T)) for y in again], axis=0)
    return 1 - sigma.mean() ** 2 / np.mean(sigma**2)


def metric_of(judge, metric):
    scored = judge.scored
    given = (scored.classes, scored.positive, scored.given, scored.losses)
    return class_metrics(metric, *given)[0]


def measured(judge, metric, there, rng, draws):
    """Draw labels of the target in two ways, and make intervals of them as `evaluate` does."""
    judge = replace(judge, problem=replace(judge.problem, finite_population=True))
    share = judge.problem.sample.share
    if metric in CLASSES:
        one, of = metric_of(judge, metric), Labelled.of_classes
        Y = (there[:, None] == np.arange(len(judge.scored.classes))) * 1.0
        truth = one.of(Masses(Y, judge.scored.target, judge.scored.chosen_target)).value
        asked = list(spreads.spreads_of_classes(judge, metric))
    else:
        one, of = metric, Labelled.of_numbers
        truth = losses(metric, there, judge.f_target).mean()
        asked = list(spreads.spreads_of_numbers(judge, metric))
    widths = plans.Widths(asked, share, True, 0.95)
    ways = {}
    for way, sizes in (("random", widths.even), ("plan", widths.sizes)):
        pi, numbers = plans.probabilities(sizes, LABELS), []
        for _ in range(draws):
            rows = plans.systematic(pi, rng)
            known = Labelled(rows, there[rows], share[rows] / pi[rows])
            number = of(known, judge, one, None)[1].number
            numbers.append((number.value, number.low, number.high, number.standard_error))
        ways[way] = np.array(numbers)
        ways[f"{way} expected"] = widths.of(asked[0], sizes, LABELS)
    return truth, ways


def lines(name, runs):
    """Lines of the table: one for every metric of a population."""
    for metric in runs[0]:
        inside, variance, square, expected = {}, {}, {}, []
        for way in ("random", "plan"):
            kept = [run[metric] for run in runs]
            inside[way] = np.mean(
                [np.mean((w[way][:, 1] <= t) & (t <= w[way][:, 2])) for t, w in kept]
            )
            variance[way] = np.array([np.mean(w[way][:, 3] ** 2) for _, w in kept])
            square[way] = np.array([np.mean((w[way][:, 0] - t) ** 2) for t, w in kept])
            half = [np.mean(w[way][:, 2] - w[way][:, 1]) / 2 for _, w in kept]
            expected.append(np.mean(half) / np.mean([w[f"{way} expected"] for _, w in kept]))
        yield (
            name,
            metric,
            100 * (1 - np.exp(np.mean(np.log(variance["plan"] / variance["random"])))),
            100 * (1 - np.exp(np.mean(np.log(square["plan"] / square["random"])))),
            100 * inside["random"],
            100 * inside["plan"],
            100 * np.mean([run[metric][1].get("best", np.nan) for run in runs]),
            expected[1],
        )


def of_uniform(uniform, *job):
    """Measure with another share of labels that are drawn as the target is."""
    before = plans._UNIFORM
    try:
        return measure(*job, uniform=uniform)
    finally:
        plans._UNIFORM = before


def works(share, quick):
    """Populations on which nothing was chosen; and those on which the uniform share was."""
    if quick:
        return [Work("plans", measure, [("curved", "classes", 0, (240, 300), 5)])]

    def jobs(chosen):
        return [
            (name, kind, run)
            for run in range(runs(RUNS, share))
            for name, kind in populations(chosen).items()
        ]

    settle = [(uniform, *job) for uniform in UNIFORM for job in jobs(True)]
    return [Work("plans", measure, jobs(False), 4.0), Work("settle", of_uniform, settle, 4.0)]


def rows_of(found):
    """Return the lines of all populations."""
    by_name = {}
    for (name, *_), line in found:
        by_name.setdefault(name, []).append(line)
    return [row for name, several in by_name.items() for row in lines(name, several)]


def report(found):
    """Return the tables."""
    rows = rows_of(found["plans"])
    sections = [
        f"{LABELS} labels of {M:,} target rows, drawn as `covshift.plan` says and at random, "
        f"{DRAWS} times in each run; {N // 4} rows train the model, {N - N // 4} judge it (of "
        "small tables half of the rows; their target is drawn from the others). Nothing was chosen "
        "on these populations; changed: p(y | x) is another one in the target. Saved labels are "
        "those that the plan needs less for the same width (by the mean squared standard errors), "
        "and for the same error (by the squared errors).",
        summary(rows),
        table(
            [
                *("population", "metric", "saved, by width", "by error", "random holds"),
                *("plan holds", "most possible", "width / expected"),
            ],
            ([*row[:2], *map(per_cent, row[2:7]), f"{row[7]:.2f}"] for row in rows),
        ),
    ]
    for uniform in UNIFORM if "settle" in found else ():
        own = [(job[1:], line) for job, line in found["settle"] if job[0] == uniform]
        title = f"## Settled elsewhere: a share of {uniform} is drawn as the target is"
        sections += [title, summary(rows_of(own))]
    return sections


def per_cent(value):
    return "–" if np.isnan(value) else f"{value:.0f} %"


def summary(rows):
    """Means over the populations, beside the aim."""
    found = []
    for metric in dict.fromkeys(row[1] for row in rows):
        own = np.array([row[2:] for row in rows if row[1] == metric])
        means, known = own.mean(axis=0), ~np.isnan(own[:, 4])
        ends = own[:, 0].min(), own[:, 0].max()
        aim = f"{AIMS[metric]} %" if metric in AIMS else "–"
        true = own[known].mean(axis=0)[[0, 4]] if known.any() else [np.nan, np.nan]
        shares = map(per_cent, (means[0], *ends, means[1], means[2], means[3], *true))
        found.append([metric, len(own), aim, *shares])
    head = ["metric", "populations", "aim", "saved, by width", "least", "most", "by error"]
    head += ["random holds", "plan holds", "saved where simulated", "most possible there"]
    return table(head, found)


if __name__ == "__main__":
    main(__file__)

"""Do printed intervals hold on data that are hard in one way each? By simulation.

Intervals of `estimate` and `evaluate`: rare outcomes, many levels, many columns, ties, heavy tails,
few rows, copies and no shift at all; models judged where positives are rare. Covariate shift holds
everywhere, and the truth is known. Beside every interval stands the plain one, of the sample as it
is.

The interval of the calibration error: three features, of which the first has moved by 0.6 in the
target; the scores are the true log-odds, times a factor or moved, so that the error is known.

The error of replicate weights, a bootstrap and a jackknife: samples of normal rows, a target whose
means are moved by 0.4, a curved outcome. The control is the standard deviation of the weighted mean
over the samples; a weighter with an estimating equation, entropy balancing, stands beside those
without one.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import sklearn.metrics
from harness import Work, main, runs, table
from populations import levels
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covshift import Predictions, Quantile, estimate, evaluate
from covshift.exceptions import InputError
from covshift.numerics.influence import Design
from covshift.numerics.resampling import replicate
from covshift.weights import as_weighter

TITLE = "Do printed intervals hold on data that are hard in one way?"
NOMINAL, TOLERANCE, RUNS, FIRST = 0.95, 0.03, 70, 5000
LARGE = 200_000  # rows that say the truth


@dataclass(frozen=True)
class Population:
    """How features and outcomes are drawn; the outcome's law given the features is the same."""

    features: Callable[[Any, int, bool], Any]  # rng, rows, whether of the target
    outcome: Callable[[Any, Any], Any]  # rng, features

    def draw(self, rng, size, target):
        X = self.features(rng, size, target)
        return X, self.outcome(rng, X)


def normal(columns, move):
    """Independent normal columns; the target's first ones have other means."""

    def features(rng, size, target):
        X = rng.normal(size=(size, columns))
        if target:
            X[:, : len(move)] += move
        return X

    return features


def logistic(intercept, slopes):
    """Yes or no, from the first columns."""

    def outcome(rng, X):
        linear = intercept + X[:, : len(slopes)] @ np.asarray(slopes)
        return (rng.random(len(X)) < 1 / (1 + np.exp(-linear))).astype(int)

    return outcome


def cut(features):
    """Four levels instead of numbers: ties everywhere."""
    return lambda rng, size, target: levels(-0.8, 0.0, 0.8)(features(rng, size, target))


def line(X, *slopes):
    return X[:, : len(slopes)] @ np.array(slopes)


def noisy(mean):
    return lambda rng, X: mean(X) + rng.normal(size=len(X))


def counts(rng, X):
    """Counts of which about 44 % are zero, and more for large first columns."""
    rate = np.exp(0.6 + 0.5 * X[:, 0])
    return np.where(rng.random(len(X)) < 0.3, 0, rng.poisson(rate)).astype(float)


def spending(rng, X):
    """Money: nothing for half of the people, else lognormal."""
    amount = np.exp(1 + 0.5 * X[:, 0] + rng.normal(size=len(X)))
    return np.where(rng.random(len(X)) < 0.5, 0.0, amount)


PLACES = 120

_EFFECTS = np.random.default_rng(7).normal(size=PLACES)


def places(rng, size, target):
    """120 places that decide who answers and what they say."""
    share = np.exp((0.5 if target else -0.5) * _EFFECTS)
    codes = rng.choice(PLACES, size, p=share / share.sum())
    return pd.DataFrame({"place": [f"p{code:03d}" for code in codes], "age": rng.normal(size=size)})


def by_place(rng, X):
    codes = X["place"].str[1:].astype(int).to_numpy()
    return _EFFECTS[codes] + 0.5 * X["age"].to_numpy() + rng.normal(size=len(X))


def households(rng, size, target):
    """Region, tenure and age: who rents in the east is easier to reach."""
    share = np.array([0.2, 0.3, 0.5] if target else [0.5, 0.3, 0.2])
    region = rng.choice(3, size, p=share)
    rents = rng.random(size) < np.where(region == 0, 0.6, 0.3) + (0.0 if target else 0.15)
    age = rng.normal(50 if target else 44, 15, size).clip(18, 95).round()
    names = np.array(["east", "north", "south"])[region]
    return pd.DataFrame({"region": names, "rents": np.where(rents, "yes", "no"), "age": age})


def moved(rng, X):
    """Whether a household moved last year: young people who rent."""
    linear = (
        -1.5 + 1.2 * (X["rents"] == "yes") - 0.04 * (X["age"] - 45) + 0.5 * (X["region"] == "east")
    )
    return (rng.random(len(X)) < 1 / (1 + np.exp(-linear.to_numpy(dtype=float)))).astype(int)


def income(rng, X):
    return np.exp(0.4 * X[:, 0] + 0.3 * X[:, 1] * (X[:, 2] > 0) + 0.5 * rng.normal(size=len(X)))


SHIFT = (0.6, 0.6)

SMOOTH = noisy(lambda X: line(X, 1, 1, 0.5))

CURVED = noisy(lambda X: X[:, 0] ** 2 + np.sin(2 * X[:, 1]) + 0.5 * X[:, 2])

FOUR, NONE = normal(4, SHIFT), normal(4, ())

YES = logistic(-1, (1, 0.5))

ASKED: dict[str, tuple[Population, Any, Callable[[Any], float]]] = {
    "linear": (Population(FOUR, SMOOTH), None, np.mean),
    "curved": (Population(FOUR, CURVED), None, np.mean),
    "curved, tied": (Population(cut(FOUR), CURVED), None, np.mean),
    "curved, no shift": (Population(NONE, CURVED), None, np.mean),
    "yes or no": (Population(FOUR, YES), None, np.mean),
    "50 columns, one matters": (
        Population(normal(50, (0.6,)), noisy(lambda X: line(X, 1))),
        None,
        np.mean,
    ),
    "2 % in the sample, 5 % in the target, 40 columns": (
        Population(normal(40, (0.75, 0.75)), logistic(-4.45, (0.6, 0.6, 0.4, 0.3, 0.3))),
        None,
        np.mean,
    ),
    "2 % in both, 4 columns": (Population(NONE, logistic(-4.3, (0.8, 0.4))), None, np.mean),
    "120 places": (Population(places, by_place), None, np.mean),
    "fresh, households that moved": (Population(households, moved), None, np.mean),
    "fresh, income": (Population(normal(5, (0.4, 0.4, 0.4)), income), None, np.mean),
    "median of a curve": (Population(FOUR, CURVED), "median", np.median),
    "count, quantile .05": (
        Population(FOUR, counts),
        Quantile(0.05),
        lambda y: np.quantile(y, 0.05, method="inverted_cdf"),
    ),
    "count, quantile .9": (
        Population(FOUR, counts),
        Quantile(0.9),
        lambda y: np.quantile(y, 0.9, method="inverted_cdf"),
    ),
    "spending, mean": (Population(FOUR, spending), None, np.mean),
    "spending, quantile .95": (
        Population(FOUR, spending),
        Quantile(0.95),
        lambda y: np.quantile(y, 0.95, method="inverted_cdf"),
    ),
}

SIZES = dict.fromkeys(ASKED, ((200, 200), (1000, 1000), (1000, 100))) | {
    "120 places": ((300, 300), (1500, 1500)),
    "2 % in the sample, 5 % in the target, 40 columns": ((1000, 1000),),
    "2 % in both, 4 columns": ((1000, 1000),),
    "50 columns, one matters": ((200, 200), (1000, 1000)),
}

CLASS_METRICS = (
    "accuracy", "precision", "recall", "f1", "roc_auc", "average_precision", "brier", "log_loss",
)  # fmt: skip

NUMBER_METRICS = ("rmse", "mse", "mae", "r2", "bias")

SIX = normal(6, SHIFT)

RARE = logistic(-4.6, (1.2, 0.8, 0.6))

JUDGED: dict[str, tuple[Population, Any, tuple[str, ...]]] = {
    "5 % positives, logistic regression": (
        Population(SIX, RARE),
        make_pipeline(StandardScaler(), LogisticRegression()),
        CLASS_METRICS,
    ),
    "5 % positives, boosted trees": (
        Population(SIX, RARE),
        HistGradientBoostingClassifier(max_iter=50, random_state=0),
        CLASS_METRICS,
    ),
    "30 % positives, logistic regression": (
        Population(SIX, logistic(-1.2, (1, 0.5))),
        make_pipeline(StandardScaler(), LogisticRegression()),
        CLASS_METRICS,
    ),
    "fresh, 15 % positives, forest": (
        Population(normal(5, (0.4, 0.4, 0.4)), logistic(-2.3, (0.9, 0.6, -0.6))),
        RandomForestClassifier(100, min_samples_leaf=5, random_state=0),
        CLASS_METRICS,
    ),
    "fresh, income, gradient boosting": (
        Population(normal(5, (0.4, 0.4, 0.4)), income),
        HistGradientBoostingRegressor(max_iter=50, random_state=0),
        NUMBER_METRICS,
    ),
    "a curve, linear regression": (Population(SIX, CURVED), LinearRegression(), NUMBER_METRICS),
    "a curve, boosted trees": (
        Population(SIX, CURVED),
        HistGradientBoostingRegressor(max_iter=50, random_state=0),
        NUMBER_METRICS,
    ),
}

JUDGED_SIZES = ((300, 1000), (1000, 1000))


@lru_cache
def truth(name):
    population, _, value = ASKED[name]
    rng = np.random.default_rng(1)
    return float(np.mean([value(population.draw(rng, LARGE, True)[1]) for _ in range(5)]))


@lru_cache
def judged(name):
    """Return a fitted model, and its metrics on target rows with labels."""
    population, model, metrics = JUDGED[name]
    rng = np.random.default_rng(2)
    model = model.fit(*population.draw(rng, 2000, False))
    X, y = population.draw(rng, LARGE, True)
    return model, {metric: score(metric, model, X, y) for metric in metrics}


def score(metric, model, X, y):
    """Return a metric by its definition."""
    if metric in NUMBER_METRICS:
        errors = model.predict(X) - y
        mse = float(np.mean(errors**2))
        return {
            "mse": mse,
            "rmse": mse**0.5,
            "mae": float(np.mean(np.abs(errors))),
            "r2": 1 - mse / float(np.var(y)),
            "bias": float(np.mean(errors)),
        }[metric]
    p = model.predict_proba(X)[:, 1]
    if metric in ("accuracy", "precision", "recall", "f1"):
        function = getattr(sklearn.metrics, f"{metric}_score")
        return float(function(y, p >= 0.5))
    if metric == "roc_auc":
        return float(sklearn.metrics.roc_auc_score(y, p))
    if metric == "average_precision":
        return float(sklearn.metrics.average_precision_score(y, p))
    if metric == "brier":
        return float(np.mean((p - y) ** 2))
    return float(sklearn.metrics.log_loss(y, p))


def ask(name, N, M, seed):
    """Return error, standard error, whether the interval covers and whether the plain one does."""
    population, what, _ = ASKED[name]
    rng = np.random.default_rng([seed, N, M])
    X, y = population.draw(rng, N, False)
    found = estimate(X, y, population.features(rng, M, True), what=what)
    row = found.headline
    return {"": judge(row, found.same(row, "none"), truth(name))}


def judge(row, plain, right):
    def covers(one):
        return bool(one.interval[0] <= right <= one.interval[1])

    return row.value - right, row.standard_error, covers(row), plain.value - right, covers(plain)


def look(name, N, M, seed):
    """The same of every metric of a model."""
    population, _, metrics = JUDGED[name]
    model, truths = judged(name)
    rng = np.random.default_rng([seed, N, M])
    X, y = population.draw(rng, N, False)
    found = evaluate(model, X, y, population.features(rng, M, True), metrics=list(metrics))
    every = {(row.metric, row.method): row for row in found.table}
    return {
        metric: judge(every[metric, found.method], every[metric, "none"], truths[metric])
        for metric in metrics
    }


def one_run(kind, name, N, M, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return (ask if kind == "estimate" else look)(name, N, M, seed)
        except InputError as error:  # refused, in words: counted
            return str(error)


@dataclass(frozen=True)
class Cell:
    """What the runs of one number of one setting say."""

    name: str
    N: int
    M: int
    runs: int
    refused: int
    error: float  # root mean square, relative to that of the sample as it is
    bias: float  # relative to the spread of the answers
    printed: float  # mean standard error, relative to that spread
    covers: float
    plain: float  # how often the plain interval covers

    @classmethod
    def of(cls, name, N, M, numbers, refused):
        error, printed, covers, plain, plain_covers = np.array(numbers, dtype=float).T
        spread = float(error.std()) or 1.0
        least = float(np.sqrt(np.nanmean(plain**2))) or 1.0
        finite = printed[np.isfinite(printed)]
        return cls(
            name,
            N,
            M,
            len(error),
            refused,
            float(np.sqrt(np.mean(error**2))) / least,
            float(error.mean()) / spread,
            float(finite.mean()) / spread if len(finite) else np.inf,
            float(covers.mean()),
            float(plain_covers.mean()),
        )


def cells_of(found):
    """Return the cells of all settings."""
    by_setting = {}
    for (*setting, _), line in found:
        by_setting.setdefault(tuple(setting), []).append(line)
    for (kind, name, N, M), lines in by_setting.items():
        answered = [one for one in lines if not isinstance(one, str)]
        for part in answered[0] if answered else ():
            title = f"`{kind}`: {name}" + (f", {part}" if part else "")
            numbers = [one[part] for one in answered]
            yield Cell.of(title, N, M, numbers, len(lines) - len(answered))


def answer_sections(cells, count):
    """Return a table and a sentence made from it."""
    low, high = NOMINAL - TOLERANCE, NOMINAL + TOLERANCE
    chance = 2 * (NOMINAL * (1 - NOMINAL) / count) ** 0.5
    under = sorted((c for c in cells if c.covers < low - chance), key=lambda c: c.covers)
    named = "; ".join(f"{c.name}, N = {c.N}, {c.covers:.2f}" for c in under)
    within = sum(low <= c.covers <= high for c in cells)
    rows = [
        [c.name, c.N, c.M, *(f"{value:.2f}" for value in (c.error, c.bias, c.printed)),
         f"{c.covers:.3f}", f"{c.plain:.3f}", c.refused]
        for c in cells
    ]  # fmt: skip
    return [
        f"{count} runs of each; intervals of {NOMINAL:.0%}, all settings the default. Error: root "
        "mean square, relative to that of the sample as it is. Bias, and the mean of the printed "
        "standard errors: relative to the spread of the answers. Plain: how often the interval of "
        "the sample as it is holds the truth. Refused: for lack of overlap.",
        f"Of {len(cells)} coverages {within} lie within {low:.0%} and {high:.0%}, "
        f"{sum(c.covers > high for c in cells)} above. Below by more than chance "
        f"({chance:.0%}): {named or 'none'}.",
        table(
            ["setting", "N", "M", "error", "bias", "printed s.e.", "covers", "plain", "refused"],
            rows,
        ),
    ]


CALIBRATION_RUNS, CALIBRATION_MOVE = 20, 0.6

SCORES = {  # log-odds of the score, from the true ones
    "right": lambda z: z,
    "times 1.3": lambda z: 1.3 * z,
    "times 2": lambda z: 2 * z,
    "plus 0.3": lambda z: z + 0.3,
    "curved": lambda z: z + np.sin(2 * z),
}

RATES = {"30 % positives": -1.0, "5 % positives": -3.8}

CALIBRATION_CELLS = [(rate, score, N) for rate in RATES for score in SCORES for N in (300, 1000)]

CALIBRATION_METHODS = ("dr", "weights", "none")


def chances(z):
    return 1 / (1 + np.exp(-z))


def draw_scores(rate, n, mean, rng):
    X = rng.normal([mean, 0, 0], size=(n, 3))
    return X, RATES[rate] + X[:, 0] + 1.2 * X[:, 1]


def calibration_truth(rate, score, mean):
    """Calibration error of a million rows of which the chances are known."""
    _, z = draw_scores(rate, 1_000_000, mean, np.random.default_rng(1))
    s, p = chances(SCORES[score](z)), chances(z)
    place = np.minimum((10 * s).astype(int), 9)
    return float(np.abs(np.bincount(place, weights=p - s)).sum() / len(z))


def calibrate(rate, score, N, run):
    """Of each method [value, low, high, standard error]."""
    rng = np.random.default_rng([zlib.crc32(f"calibration/{rate}/{N}".encode()), run])
    (X, z), (T, u) = draw_scores(rate, N, 0.0, rng), draw_scores(rate, N, CALIBRATION_MOVE, rng)
    y = (rng.uniform(size=N) < chances(z)).astype(int)
    scores = Predictions(chances(SCORES[score](z)), chances(SCORES[score](u)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = evaluate(scores, X, y, T, metrics="calibration_error").table
    lines = [found.where(method=method)[0] for method in CALIBRATION_METHODS]
    return [[line.value, *line.interval, line.standard_error] for line in lines]


def before(value, error):
    """The interval on the logit scale, by the signs that were seen."""
    if not 0 < value < 1:
        return value, value
    logit, half = np.log(value / (1 - value)), 1.96 * error / (value * (1 - value))
    return chances(logit - half), chances(logit + half)


def rows_of(cell, found):
    for k, method in enumerate(CALIBRATION_METHODS):
        value, low, high, error = np.array(found)[:, k].T
        real = calibration_truth(*cell[:2], CALIBRATION_MOVE if method != "none" else 0.0)
        old = np.array([before(*pair) for pair in zip(value, error, strict=True)]).T
        inside = [np.mean((a <= real) & (real <= b)) for a, b in ((low, high), old)]
        widths = [f"{np.mean(b - a):.3f}" for a, b in ((low, high), old)]
        shares = [f"{100 * share:.0f} %" for share in inside]
        yield [*cell, method, len(value), f"{real:.3f}", f"{value.mean():.3f}", *shares, *widths]


WEIGHTERS = ("cdf", "tilted-cdf", "entropy")

REPLICATED_TARGET = 300
KINDS = ("bootstrap", "jackknife", "jackknife")
KIND_NAMES = ("bootstrap", "jackknife of groups", "jackknife of single rows")


def draw_rows(N, seed):
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(N, 3)), rng.normal(0.4, 1, size=(REPLICATED_TARGET, 3))
    return X, T, X[:, 0] + X[:, 1] ** 2 / 2 + rng.normal(size=N)


def of_replicates(name, N, seed, *counts):
    """Weighted mean of a sample, and the errors of its replicates: bootstrap, groups, rows."""
    X, T, y = draw_rows(N, seed)

    def weigh(d, v):
        more = {} if v is None else {"target_weight": v}
        return as_weighter(name).fit(X, X_target=(T,), sample_weight=d, **more).weights_

    w = weigh(np.ones(N), None)
    mean, errors = float(w @ y / w.sum()), []
    for kind, count in zip(KINDS, counts, strict=False):
        designs = Design.simple(N), Design.simple(REPLICATED_TARGET)
        drawn = replicate(weigh, np.ones(N), *designs, kind=kind, count=count, random_state=seed)
        errors.append(drawn.plan.variance(y @ drawn.weights / N, mean))
    return mean, errors


def replicate_rows(found):
    """One row for each weighter: the spread of the mean, and the root mean square of each error."""
    by_name = {}
    for (name, *_), line in found:
        by_name.setdefault(name, []).append(line)
    for name, lines in by_name.items():
        spread = np.std([mean for mean, _ in lines], ddof=1)
        errors = np.array([errors for _, errors in lines if errors])
        cells = [spread, *np.sqrt(errors.mean(axis=0))]
        yield [f"`{name}`", *(f"{value:.3f}" for value in cells)]


def works(share, quick):
    """Answers, the calibration error, replicates."""
    wanted = [("estimate", name, *size) for name in ASKED for size in SIZES[name]]
    judged = [("evaluate", name, *size) for name in JUDGED for size in JUDGED_SIZES]
    if quick:
        small = [one for one in wanted if one[2] <= 200][:2]
        return [
            Work("answers", one_run, [(*one, k) for one in small for k in range(2)]),
            Work("calibration", calibrate, [("30 % positives", "right", 60, k) for k in range(2)]),
            Work("replicates", of_replicates, [("entropy", 40, k, 5, 5) for k in range(2)]),
        ]
    seeds = range(FIRST, FIRST + runs(RUNS, share))
    scores = range(runs(CALIBRATION_RUNS, share))
    N, samples, replicated = 200, runs(150, share), runs(12, share)
    return [
        Work("answers", one_run, [(*one, k) for k in seeds for one in wanted], 0.8),
        Work("judged", one_run, [(*one, k) for k in seeds for one in judged], 5.0),
        Work("calibration", calibrate, [(*c, k) for k in scores for c in CALIBRATION_CELLS], 1.6),
        Work(
            "replicates",
            of_replicates,
            [(name, N, k, 60, 40, N) for name in WEIGHTERS for k in range(replicated)],
            5.0,
        ),
        Work(
            "means",
            of_replicates,
            [(name, N, k) for name in WEIGHTERS for k in range(replicated, samples)],
            0.02,
        ),
    ]


def report(found):
    """Return all tables."""
    cells = list(cells_of(found["answers"] + found.get("judged", [])))
    count = max(cell.runs + cell.refused for cell in cells)
    by_cell = {}
    for (*cell, _), line in found["calibration"]:
        by_cell.setdefault(tuple(cell), []).append(line)
    rows = [row for cell, lines in by_cell.items() for row in rows_of(cell, lines)]
    head = ["outcome", "log-odds of the score", "N = M", "method", "runs", "truth", "mean value"]
    head += ["95 % interval holds", "before", "width", "before"]
    replicated = found["replicates"] + found.get("means", [])
    return [
        f"Seeds from {FIRST}; what intervals count was settled on these populations with seeds "
        "from 1000, but not on those called fresh.",
        *answer_sections(cells, count),
        "## The calibration error",
        "Before: the interval of a share on the logit scale, by the signs of the gaps that were "
        'seen. "dr" is the default, on the target; "none" are the labelled rows as they are.',
        table(head, rows),
        "## The error of replicate weights",
        f"{replicated[0][0][1]} rows and {REPLICATED_TARGET} target rows; root mean square.",
        table(
            ["weights", "standard deviation", *KIND_NAMES[: len(replicated[0][1][1])]],
            replicate_rows(replicated),
        ),
    ]


if __name__ == "__main__":
    main(__file__)

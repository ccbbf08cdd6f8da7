"""Which steps between two samples and a number pay? An ablation of the doubly robust estimator.

The textbook's estimator is cross-fitted and doubly robust, on the package's weights:
piecewise-linear ridge and boosted trees, mixed by cross-fitted error; one deal of five folds; an
interval of influence values with Satterthwaite's freedom. Other lines add one step to it:

    ridge, kernel     a linear and a Gaussian kernel ridge regression in the mixture besides
    deals             predictions are the mean over two deals of the folds
    few rows          variances times n / (n - p - 1), at most two (HC1)
    lean              residuals weigh by flatter weights as far as these agree within noise; the
                      error is that of the full weights, and the distance to their number besides
    lean alone        the same, with the error of the weights that it uses
    cap               ends of the interval of a share at most three times t s.e. away
    flat weights      residuals weigh by the flatter weights throughout
    all               all of these at once, as the estimator was in development

"weights" is the weighted mean, with and without the imbalance that its interval may count besides.
Populations with known means: six settle which steps stay, six others report. Seeds of folds:
how far one deal, and the mean or the median over several, move an answer in standard errors.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from harness import Work, main, runs, table
from scipy.special import expit, logit, stdtrit
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline

from covshift.data import Samples
from covshift.engine.ridge import BrokenLines, LeaveOneOutRidge
from covshift.engine.stack import mixture, tree_settings
from covshift.engine.weights import weigh
from covshift.numerics.quiet import alone
from covshift.weights import CDFWeights

TITLE = "Which steps between two samples and a number pay?"
RUNS, SIZES, M, FOLDS, DEALS, LARGE = 30, (300, 50, 1000), 500, 5, 2, 400_000


# Populations. Covariate shift holds; the outcome's mean given the features is known.


@dataclass(frozen=True)
class Population:
    """Features of either sample, the mean outcome given them, and how outcomes are drawn."""

    features: Callable[[Any, int, bool], Any]  # rng, rows, whether of the target
    mean: Callable[[Any], Any]
    share: bool = False  # zeros and ones
    spread: Callable[[Any], Any] = lambda X: 1.0
    skewed: bool = False  # many zeros, else lognormal with the mean

    def outcome(self, rng, X):
        mu = self.mean(X)
        if self.share:
            return (rng.random(len(mu)) < mu) * 1.0
        if self.skewed:
            return (rng.random(len(mu)) < 0.5) * 2 * mu * np.exp(rng.normal(size=len(mu)) - 0.5)
        return mu + self.spread(X) * rng.normal(size=len(mu))


def normal(columns, *move):
    return lambda rng, n, there: (
        rng.normal(size=(n, columns)) + there * np.append(move, np.zeros(columns - len(move)))
    )


def correlated(rng, n, there):
    X = rng.normal(size=(n, 4)) @ np.linalg.cholesky(0.5 + 0.5 * np.eye(4)).T
    return X + there * np.array([0.5, 0.3, 0.0, 0.0])


def long_tailed(rng, n, there):
    return np.exp(0.7 * rng.normal(size=(n, 3)) + there * np.array([0.4, 0.2, 0.0]))


def one_hot(rng, n, there):
    chances = ([0.1, 0.2, 0.3, 0.4], [0.5, 0.3, 0.2]) if there else ([0.25] * 4, [1 / 3] * 3)
    return np.hstack([np.eye(len(p))[rng.choice(len(p), n, p=p)] for p in chances])


_EFFECTS = np.random.default_rng(11).normal(size=120)


def levels(rng, n, there):
    share = np.exp((0.4 if there else -0.4) * _EFFECTS)
    place = rng.choice(120, n, p=share / share.sum())
    return np.column_stack([np.eye(120)[place], rng.normal(size=n) + 0.3 * there])


POPULATIONS = {
    "linear": Population(normal(3, 0.6), lambda X: X @ [1.0, 0.5, 0.0]),
    "interaction": Population(normal(4, 0.5, 0.5), lambda X: X[:, 0] + X[:, 1] * X[:, 2]),
    "binary": Population(normal(4, 0.6, -0.4), lambda X: expit(X[:, 0] + X[:, 1] ** 2 - 1), True),
    "spending": Population(normal(3, 0.6), lambda X: np.exp(1 + 0.6 * X[:, 0]), skewed=True),
    "120 levels": Population(levels, lambda X: X[:, :120] @ _EFFECTS + X[:, 120]),
    "20 columns": Population(normal(20, *[0.3] * 5), lambda X: X[:, :8].sum(1) / 2 + X[:, 0] ** 2),
    "curved": Population(correlated, lambda X: np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2),
    "no shift": Population(normal(4), lambda X: X[:, 0] + np.maximum(X[:, 1], 0) * X[:, 2]),
    "rare": Population(normal(3, 0.5), lambda X: expit(-4.3 + 0.8 * X[:, 0]), True),
    "one-hot": Population(one_hot, lambda X: X @ [0, 1, 2, 4, 0, 1, 3.0] + 2 * X[:, 3] * X[:, 4]),
    "long tails": Population(long_tailed, lambda X: np.log1p(X).sum(1), spread=lambda X: X[:, 0]),
    "steps": Population(normal(3, -0.6, 0.4), lambda X: 2.0 * (X[:, 0] > 0.5) * (X[:, 1] > 0)),
}
SETTLE = ("linear", "interaction", "binary", "spending", "120 levels", "20 columns")


@lru_cache
def truth(name):
    population = POPULATIONS[name]
    mean = population.mean(population.features(np.random.default_rng(1), LARGE, True))
    return float(mean.mean())


# The parts of an answer, and the steps that put them together.


def learners(N, Z):
    """Models by name; the kernel has the width of the package."""
    levels = np.array([len(np.unique(column)) == 2 for column in Z.T])
    unit = np.where(levels, np.ptp(Z, axis=0), 1.0)
    gamma = 0.3 / (2 * max(1.0, float((Z / np.where(unit > 0, unit, 1)).var(axis=0).sum())))
    count = min(200, N // 2)
    kernel = make_pipeline(Nystroem(gamma=gamma, n_components=count, random_state=0))
    kernel.steps.append(("ridge", LeaveOneOutRidge()))
    return {
        "lines": make_pipeline(BrokenLines(), LeaveOneOutRidge()),
        "trees": HistGradientBoostingRegressor(**tree_settings(N)),
        "ridge": LeaveOneOutRidge(),
        "kernel": kernel,
    }


def cross_fits(model, Z, T, y, deals):
    """Predictions of rows by models that have not seen them, and of target rows: by deal."""
    train, target = np.empty((len(deals), len(y))), np.empty((len(deals), len(T)))
    for k, fold in enumerate(deals):
        parts = []
        for number in range(FOLDS):
            out = fold == number
            fitted = clone(model).fit(Z[~out], y[~out])
            train[k, out] = fitted.predict(Z[out])
            parts.append(fitted.predict(T))
        target[k] = np.mean(parts, axis=0)
    return train, target


def dealt(rng, N):
    return np.stack([rng.permutation(N) % FOLDS for _ in range(DEALS)])


class Parts:
    """Weights and predictions of two samples: made once, and put together in many ways."""

    def __init__(self, X, y, T, rng):
        sample = Samples.of(X, y, T)
        weights = weigh(sample, None, max_weight=None, random_state=0)
        self.Z, self.T, self.y = weights.Z, weights.T, y
        self.w = weights.final / len(y)
        flat = CDFWeights(purpose="training", allow_no_overlap=True)
        self.u = flat.fit(self.Z, X_target=(self.T,)).weights_
        self.u = self.u / self.u.sum()
        deals = dealt(rng, len(y))
        once = {"kernel": 1}
        with alone():
            self.fits = {
                name: cross_fits(model, self.Z, self.T, y, deals[: once.get(name, DEALS)])
                for name, model in learners(len(y), self.Z).items()
            }

    def predictions(self, names, deals):
        """Mix models by cross-fitted error; the mean over the deals."""
        here = [self.fits[name][0][:deals].mean(axis=0)[:, None] for name in names]
        there = [self.fits[name][1][:deals].mean(axis=0) for name in names]
        shares = mixture(self.y[:, None], here, self.w)
        return shares @ np.hstack(here).T, shares @ np.array(there)

    def answer(self, share, *, names=("lines", "trees"), deals=1, steps=()):
        """Value, standard error and interval of the doubly robust form with some steps."""
        h, there = self.predictions(names, deals)
        rest, w, besides = self.y - h, self.u if "flat" in steps else self.w, 0.0
        left, psi = w @ rest, w * (rest - w @ rest)
        if "lean" in steps or "lean alone" in steps:
            D, v = (w - self.u) @ rest, (w - self.u) ** 2 @ (rest - left) ** 2
            a = max(0.0, 1 - v / D**2) if D else 0.0
            mixed = a * w + (1 - a) * self.u
            besides = abs((1 - a) * D)
            left = mixed @ rest
            if "lean alone" in steps:
                psi, besides = mixed * (rest - left), 0.0
        rows = 1 / (w @ w)
        if "few rows" in steps:
            psi = psi * np.sqrt(rows / (rows - min(1 + self.Z.shape[1], rows / 2)))
        own = float(np.var(there, ddof=1) / len(there))
        value = float(there.mean() + left)
        return value, *interval(value, psi, own, rows, besides, share, "cap" in steps)

    def weighted(self, share, *, imbalance):
        """The weighted mean; what h does not explain is its error."""
        h, there = self.predictions(("lines", "trees"), 1)
        rest, value = self.y - h, float(self.w @ self.y)
        psi = self.w * (rest - self.w @ rest)
        besides = abs(float(there.mean() + self.w @ rest) - value) if imbalance else 0.0
        own = float(np.var(there, ddof=1) / len(there))
        rows = 1 / (self.w @ self.w)
        return value, *interval(value, psi, own, rows, besides, share, False)


def interval(value, psi, own, rows, besides, share, cap):
    """Standard error, and the ends of the 95 % interval: on the logit scale for shares."""
    N = len(psi)
    here = N / (N - 1) * float(((psi - psi.mean()) ** 2).sum()) + besides**2
    se = np.sqrt(here + own)
    freedom = (here + own) ** 2 / (here**2 / min(N - 1, rows - 1) + own**2 / (M - 1))
    t = float(stdtrit(freedom, 0.975))
    if not share:
        return se, value - t * se, value + t * se
    unseen = 1 - 0.025 ** (1 / rows)
    p = min(1.0, max(0.0, value))
    if p in (0.0, 1.0) or se == 0:
        reach = max(unseen, min(1.0, t * se))
        return (se, 0.0, reach) if p == 0 else (se, 1 - reach, 1.0)
    half = t * se / (p * (1 - p))
    low, high = expit(logit(p) - half), expit(logit(p) + half)
    far = 3 * max(unseen, min(1.0, t * se))
    return (se, low, min(high, p + far) if p < 0.5 and cap else high)


FOUR = ("lines", "trees", "ridge", "kernel")
VARIANTS = {
    "textbook": {},
    "+ ridge": {"names": ("lines", "trees", "ridge")},
    "+ kernel": {"names": ("lines", "trees", "kernel")},
    "+ deals": {"deals": DEALS},
    "+ few rows": {"steps": ("few rows",)},
    "+ lean": {"steps": ("lean",)},
    "+ lean alone": {"steps": ("lean alone",)},
    "+ cap": {"steps": ("cap",)},
    "flat weights": {"steps": ("flat",)},
    "flat weights + few rows": {"steps": ("flat", "few rows")},
    "+ kernel + few rows": {"names": ("lines", "trees", "kernel"), "steps": ("few rows",)},
    "+ kernel + flat": {"names": ("lines", "trees", "kernel"), "steps": ("flat",)},
    "+ kernel + lean + few rows": {
        "names": ("lines", "trees", "kernel"),
        "steps": ("lean", "few rows"),
    },
    "all": {"names": FOUR, "deals": DEALS, "steps": ("few rows", "lean", "cap")},
    "lines alone": {"names": ("lines",)},
    "trees alone": {"names": ("trees",)},
}


def draw(name, N, seed):
    population = POPULATIONS[name]
    rng = np.random.default_rng([seed, N, list(POPULATIONS).index(name)])
    X, T = population.features(rng, N, False), population.features(rng, M, True)
    return X, population.outcome(rng, X), T, rng


def one_run(name, N, seed):
    """Value, s.e., low, high of every variant; None where the sample has one outcome alone."""
    X, y, T, rng = draw(name, N, seed)
    kept = np.ptp(X, axis=0) > 0
    if np.ptp(y) == 0 and not POPULATIONS[name].share:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = Parts(X[:, kept], y, T[:, kept], rng)
        share = POPULATIONS[name].share
        found = {title: parts.answer(share, **options) for title, options in VARIANTS.items()}
        for title, counted in (("weights", False), ("weights + imbalance", True)):
            found[title] = parts.weighted(share, imbalance=counted)
    return {title: tuple(map(float, numbers)) for title, numbers in found.items()}


SEEDED = 9


def one_seed(name, N, seed):
    """Answers of one data set by deals of many seeds, and the standard error of the first."""
    X, y, T, rng = draw(name, N, seed)
    share = POPULATIONS[name].share
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = Parts(X, y, T, rng)
        values = []
        for _ in range(SEEDED):
            fold = dealt(rng, N)[:1]
            for title in ("lines", "trees"):
                model = learners(N, parts.Z)[title]
                parts.fits[title] = cross_fits(model, parts.Z, parts.T, y, fold)
            values.append(parts.answer(share)[:2])
    return [value for value, _ in values], float(np.median([error for _, error in values]))


# The report.


def square(found, title):
    return np.array([(numbers[title][0] - right) ** 2 for right, numbers in found])


def row(found, title):
    """Error ratio, coverage, width ratio, s.e. over s.d., of one variant in all settings."""
    cells: dict[Any, list] = {}
    for job, numbers in found:
        if numbers is not None:
            cells.setdefault(job[:2], []).append((truth(job[0]), numbers))
    base = "weights" if title.startswith("weights") else "textbook"
    ratios, widths, spreads, covers = [], [], [], []
    rng = np.random.default_rng(0)
    noise = []
    for runs_of in cells.values():
        own, other = square(runs_of, title), square(runs_of, base)
        ratios.append(0.5 * np.log(own.mean() / other.mean()))
        drawn = rng.integers(0, len(own), size=(200, len(own)))
        noise.append(np.var(0.5 * np.log(own[drawn].mean(1) / other[drawn].mean(1))))
        values, errors, low, high = np.array([numbers[title] for _, numbers in runs_of]).T
        right = runs_of[0][0]
        covers += [float(a <= right <= b) for a, b in zip(low, high, strict=True)]
        theirs = np.array([numbers[base] for _, numbers in runs_of])
        widths.append(np.log(np.mean(high - low) / np.mean(theirs[:, 3] - theirs[:, 2])))
        spreads.append(np.log(np.sqrt(np.mean(errors**2)) / values.std(ddof=1)))
    ratio, error = np.exp(np.mean(ratios)), np.sqrt(np.sum(noise)) / len(noise)
    share = np.mean(covers)
    return [
        title,
        f"{ratio:.3f}" + ("" if title == base else f" ± {ratio * error:.3f}"),
        f"{100 * share:.1f} ± {100 * np.sqrt(share * (1 - share) / len(covers)):.1f}",
        f"{np.exp(np.mean(widths)):.3f}",
        f"{np.exp(np.mean(spreads)):.2f}",
    ]


HEAD = ["estimator", "error", "coverage, %", "width", "s.e. / s.d."]


def by_population(found):
    """Error and coverage of each setting, for a few estimators."""
    shown = ("textbook", "+ kernel", "+ few rows", "+ lean", "+ lean alone", "all")
    lines = []
    for name in POPULATIONS:
        for N in sorted({job[1] for job, _ in found if job[0] == name}):
            part = [(job, one) for job, one in found if job[:2] == (name, N) and one is not None]
            cells = [row(part, title) for title in shown]
            lines.append([name, N, *(f"{c[1].split()[0]}; {c[2].split()[0]}" for c in cells)])
    return table(["population", "N", *(f"{title}: error; coverage" for title in shown)], lines)


def report(found):
    numbers = found["answers"]
    sections = [
        f"All repetitions are {RUNS} runs of each population and size (10 of 1000 rows), with {M} "
        "target rows. "
        "Error: root mean square over that of the first line, geometric mean over the settings, "
        "with the Monte Carlo error. Width: of the interval, likewise. s.e. / s.d.: root mean "
        "square of the printed standard error over the spread of the answers.",
    ]
    for title, settles in (("Half that settles", True), ("Half that reports", False)):
        part = [(job, one) for job, one in numbers if (job[0] in SETTLE) == settles]
        names = [*VARIANTS, "weights", "weights + imbalance"]
        sections += [f"## {title}", table(HEAD, [row(part, name) for name in names])]
    sections += ["## By population", by_population(numbers)]
    lines = []
    for name in sorted({job[0] for job, _ in found.get("folds", [])}):
        ratios = {"one deal": [], "mean of 3": [], "median of 3": [], "mean of 5": []}
        for job, (values, error) in found["folds"]:
            if job[0] == name:
                values = np.array(values)
                three = values[: len(values) // 3 * 3].reshape(-1, 3)
                ratios["one deal"].append(values.std(ddof=1) / error)
                ratios["mean of 3"].append(three.mean(1).std(ddof=1) / error)
                ratios["median of 3"].append(np.median(three, axis=1).std(ddof=1) / error)
                ratios["mean of 5"].append(values.std(ddof=1) / error / np.sqrt(5))
        cells = (f"{np.sqrt(np.mean(np.square(each))):.3f}" for each in ratios.values())
        lines.append([name, *cells])
    sections += [
        "## Seeds of the folds",
        f"Standard deviation of the answer over {SEEDED} seeds, in standard errors, 500 rows "
        "(the last column from the first, over the root of 5).",
        table(["population", "one deal", "mean of 3", "median of 3", "mean of 5"], lines),
    ]
    return sections


def works(share, quick):
    sizes, count = ((50,), 4) if quick else (SIZES, runs(RUNS, share))
    names = ["linear", "curved"] if quick else list(POPULATIONS)
    jobs = [
        (name, N, seed)
        for N in sizes
        for name in names
        if name != "rare" or N > 50  # one case of fifty rows
        for seed in range({1000: count // 3}.get(N, count))
    ]
    seeds = [(name, 50 if quick else 500, 0) for name in names]
    return [Work("answers", one_run, jobs, 1.0), Work("folds", one_seed, seeds, 5.0)]


if __name__ == "__main__":
    main(__file__)

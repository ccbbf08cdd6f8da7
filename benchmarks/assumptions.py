"""What answers say where the assumption of covariate shift fails: sensitivity, and label shift.

Sensitivity. Do bounds under the marginal sensitivity model hold, and are they sharp? The outcome
given x is another one in the target, at the very bound: the largest outcomes are L times as
frequent there, or the smallest. Nothing within [1 / L, L] moves the mean further, so every other
violation is covered more often. Set beside are the bounds of Zhao, Small and Bhattacharya (2019)
from the same weights: w / L to w L, whatever they sum to.

Label shift. Errors and coverage of class shares, the test, metrics and sets. The truth is known in
every draw: samples are made up, with p(x | y) the same in both (or, as the control, p(y | x)).
"""

from __future__ import annotations

import warnings
import zlib
from dataclasses import dataclass

import numpy as np
from harness import Work, main, runs, table
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB

from covshift import ConformalClassifier, ConformalRegressor, estimate, evaluate
from covshift.engine.label_shift import Shares
from covshift.exceptions import InputError
from covshift.weights import EntropyBalancing

TITLE = "Where the assumption fails: sensitivity, and label shift"
RUNS, SEED = 150, 1  # seed 0 was used to settle choices
ODDS = (1.5, 2.0, 3.0)

MANY = 400_000

NORMAL = np.sort(np.random.default_rng(0).normal(size=MANY))

SKEWED = np.sort(np.random.default_rng(1).exponential(size=MANY) - 1)

BOUNDED = {  # kind of outcome, rows, shift of the first feature, what is special
    "30 % positives": ("share", -1.0, 1000, 0.7, None),
    "30 % positives, 200 rows": ("share", -1.0, 200, 0.7, None),
    "30 % positives, 50 rows": ("share", -1.0, 50, 0.4, None),
    "2 % positives": ("share", -4.6, 2000, 0.5, None),
    "30 % positives, no shift": ("share", -1.0, 500, 0.0, None),
    "30 % positives, weights given": ("share", -1.0, 500, 0.7, "given"),
    "30 % positives, entropy balancing": ("share", -1.0, 500, 0.7, "entropy"),
    "categories alone": ("cells", -1.0, 500, 0.7, None),
    "normal, spread by x": ("normal", 0.0, 500, 0.7, None),
    "skewed, spread by x": ("skewed", 0.0, 500, 0.7, None),
    "skewed, 50 rows": ("skewed", 0.0, 50, 0.4, None),
}


def features(kind, n, shift, rng):
    X = rng.normal([shift, 0.0, 0.0], size=(n, 3))
    return (X > 0).astype(float) if kind == "cells" else X


def parts(kind, level, X):
    """Chance of a one; or mean and spread of a number."""
    if kind in ("share", "cells"):
        return 1 / (1 + np.exp(-(level + X[:, 0] + 0.8 * X[:, 1]))), None
    return X[:, 0] + 0.5 * X[:, 1] ** 2, np.exp(0.5 * X[:, 0])


def drawn_outcomes(kind, level, X, rng):
    h, s = parts(kind, level, X)
    if s is None:
        return (rng.uniform(size=len(h)) < h).astype(float)
    noise = rng.normal(size=len(h)) if kind == "normal" else rng.exponential(size=len(h)) - 1
    return h + s * noise


def bounds_of(kind, level, shift, L):
    """Smallest and largest mean in the target, from many rows and the known distribution."""
    X = features(kind, MANY, shift, np.random.default_rng(2))
    h, s = parts(kind, level, X)
    if s is None:
        return np.maximum(h / L, 1 - L * (1 - h)).mean(), np.minimum(L * h, 1 - (1 - h) / L).mean()
    e = NORMAL if kind == "normal" else SKEWED
    few = round(MANY / (1 + L))
    low = L * e[:few].sum() + e[few:].sum() / L
    high = L * e[-few:].sum() + e[:-few].sum() / L
    return tuple(float((h + s * end / MANY).mean()) for end in (low, high))


def free(y, w, L):
    """Largest weighted mean with weights in [w / L, w L], whatever they sum to."""
    order = np.argsort(-y)
    y, w = y[order], w[order]
    up, below = np.cumsum(w), np.cumsum(w * y)
    top = L * below + (below[-1] - below) / L
    return float((top / (L * up + (up[-1] - up) / L)).max())


def measure(name, run, seed=SEED):
    """Of each L: smallest and largest number, ends of the interval, and the free bounds."""
    kind, level, N, shift, special = BOUNDED[name]
    rng = np.random.default_rng([zlib.crc32(f"sensitivity/{name}".encode()), run, seed])
    X, T = features(kind, N, 0.0, rng), features(kind, N, shift, rng)
    y = drawn_outcomes(kind, level, X, rng)
    if y.min() == y.max():
        y[0] = 1 - y[0]
    weighter = EntropyBalancing() if special == "entropy" else None
    if special == "given":
        weighter = np.exp(shift * X[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = estimate(X, y, T, weighter=weighter)
        rows = [found.with_sensitivity(L).overall[0] for L in ODDS]
    w = found.weights
    return [
        [*row.sensitivity_bounds, *row.sensitivity_interval, -free(-y, w, L), free(y, w, L)]
        for row, L in zip(rows, ODDS, strict=True)
    ]


def rows_of(name, found):
    kind, level, _, shift, _ = BOUNDED[name]
    for k, L in enumerate(ODDS):
        low, high, least, most, free_low, free_high = np.array(found)[:, k].T
        real = bounds_of(kind, level, shift, L)
        held = [np.mean(least <= real[0]), np.mean(most >= real[1])]
        width, other = np.mean(high - low), np.mean(free_high - free_low)
        yield [
            *(name, f"{L:g}", len(low), f"{real[0]:.3f} to {real[1]:.3f}"),
            f"{low.mean():.3f} to {high.mean():.3f}",
            *(f"{100 * share:.1f} %" for share in held),
            f"{width / (real[1] - real[0]):.2f}",
            f"{other / (real[1] - real[0]):.2f}",
            f"{100 * np.mean(high - low > free_high - free_low):.0f} %",
        ]


def conformal(run, seed=SEED):
    """Coverage at 90 % of intervals where large scores are L times as frequent, by sensitivity."""
    rng = np.random.default_rng([7, run, seed])
    found = []
    for L in ODDS:
        X, T = rng.normal(size=(600, 2)), rng.normal([0.5, 0.0], size=(4000, 2))
        y = X[:, 0] + rng.normal(size=600)
        from_large = rng.uniform(size=4000) < L / (1 + L)  # of the 1 / (1 + L) largest scores
        edge = np.quantile(np.abs(NORMAL), 1 - 1 / (1 + L))
        e = rng.choice(NORMAL, size=400_000)
        large, small = e[np.abs(e) > edge], e[np.abs(e) <= edge]
        y_T = T[:, 0] + np.where(from_large, large[:4000], small[:4000])
        for s in (1.0, L):
            model = ConformalRegressor(LinearRegression(), sensitivity=s, random_state=run)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ends = model.fit(X, y, X_target=T[:600]).predict_interval(T, coverage=0.9)
            found.append(float(ends.covers(y_T).mean()))
    return found


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


LABELLED = {
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
    made, rng = LABELLED[name], np.random.default_rng([1, seed])
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
    made, rng = LABELLED["two classes, 300 rows"], np.random.default_rng([3, seed])
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


def per_cent(flags):
    return f"{100 * np.mean(flags):.1f}%"


def root(errors):
    return f"{np.sqrt(np.mean(np.square(errors))):.4f}"


def works(share, quick):
    """Bounds, conformal intervals, class shares, the control, metrics, sets."""
    bounded, labelled = list(BOUNDED), list(LABELLED)
    if quick:
        bounded, labelled = ["30 % positives, 50 rows", "skewed, 50 rows"], labelled[:1]
    many = range(1 if quick else runs(RUNS, share))
    few, shifts = range(2 if quick else len(many)), SHIFTS[:1] if quick else SHIFTS
    return [
        Work("bounds", measure, [(name, run) for run in few for name in bounded], 1.5),
        Work("conformal", conformal, [(run,) for run in many], 0.4),
        Work("shares", of_shares, [(name, k) for k in many for name in labelled], 1.2),
        Work("control", of_control, [(by, k) for k in many for by in shifts], 2.5),
        Work("metrics", of_metrics, [(k,) for k in many], 2.0),
        Work("sets", of_sets, [(k,) for k in many], 1.0),
    ]


def by_case(found):
    """Return the draws of each case, those that were refused as None."""
    cases = {}
    for (case, *_), line in found:
        cases.setdefault(case, []).append(line)
    return cases


def report(found):
    """Return all tables."""
    rows = [row for name, lines in by_case(found["bounds"]).items() for row in rows_of(name, lines)]
    head = ["outcome", "L", "runs", "truth", "mean bounds", "holds the smallest", "the largest"]
    head += ["width / truth", "free weights / truth", "wider than free weights"]
    covered = np.mean([line for _, line in found["conformal"]], axis=0).reshape(len(ODDS), 2)
    count = len(found["conformal"])
    return [
        "## Bounds where unseen reasons change the odds",
        "The target's outcomes given x are at the very bound. Held: by the 95 % interval around "
        "the bounds, one side each. Free weights: Zhao, Small and Bhattacharya (2019), bounds "
        f"without their sampling error. Seed {SEED}.",
        table(head, rows),
        "## Conformal intervals where unseen reasons change the odds",
        "At 90 %, where the largest scores are L times as frequent in the target:",
        table(
            ["L", "runs", "covered, plain", "covered, sensitivity=L"],
            [
                [f"{L:g}", count, *(f"{100 * part:.1f} %" for part in pair)]
                for L, pair in zip(ODDS, covered, strict=True)
            ],
        ),
        "## Label shift",
        *label_sections(found),
    ]


def label_sections(found):
    """Return the tables about label shift."""
    lines = []
    for name, draws in by_case(found["shares"]).items():
        known = [one for one in draws if one is not None]
        errors = np.array([one[0] for one in known])
        covered = [flag for one in known for flag in one[1]]
        level = [one[2] < 0.05 for one in known]
        cells = [per_cent(covered), per_cent(level), len(draws) - len(known)]
        lines.append([name, *map(root, errors.T), *cells])
    head = ["problem", "sample", "covariate shift", "BBSE", "MLLS", "covshift"]
    sections = [
        "Root mean square error of a class share; coverage of 95% intervals; rejections at 5%.",
        table([*head, "covered", "rejected", "refused"], lines),
    ]
    lines = []
    for by, draws in by_case(found["control"]).items():
        p, label, covariate = np.array(draws).T
        lines.append([by, per_cent(p < 0.05), root(label), root(covariate)])
    sections += [
        "### The control",
        "Covariate shift, 1000 rows of each sample.",
        table(["means moved by", "rejected", 'error of shift="label"', "of the default"], lines),
    ]
    lines = []
    for k, name in enumerate(("accuracy", "Brier score", "AUC")):
        columns = []
        for way in (0, 1):
            covered, errors = zip(*(line[k][way] for _, line in found["metrics"]), strict=True)
            columns += [per_cent(covered), root(errors)]
        lines.append([name, *columns])
    sections += [
        "### Metrics",
        "Metrics of a logistic regression, 300 rows: coverage of 95% intervals, and error.",
        table(["metric", "covered", "error", "covered, rows as they are", "error"], lines),
    ]
    draws = np.array([line for _, line in found["sets"] if line is not None])  # (runs, ways, 2)
    ways = ("no weights", "covariate shift", "label shift")
    lines = [
        [way, per_cent(draws[:, k, 0]), f"{draws[:, k, 1].mean():.2f}"]
        for k, way in enumerate(ways)
    ]
    return [
        *sections,
        "### Sets",
        "Sets of coverage 90%, three classes, 500 rows: coverage on the target, and classes.",
        table(["assumes", "covered", "classes"], lines),
    ]


if __name__ == "__main__":
    main(__file__)

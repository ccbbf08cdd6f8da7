"""Rare classes with and without by="class", and the default weighter of intervals again.

Every run draws new rows of the sample, of the target, and of those that judge. The weighters are
tried on drawn populations, of which one half settles and the other half reports; those of
`intervals.py` are real tables.

Outcomes of a few target rows as calibration rows: which rule keeps the coverage.

Populations are drawn, one half of them settles and the other half reports. Every run divides one
into a sample and a target, changes the outcome of the target given the features, and fits a
conformal model without labels; rules differ in what they make of the scores of the same labels.
"""

from __future__ import annotations

import zlib

import numpy as np
from harness import Work, main, runs, table
from intervals import WORDS, blocks
from intervals_problems import Lookup, Problem
from intervals_problems import measure as measure_weighters
from scipy.stats import binomtest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge

from covshift.conformal import ConformalClassifier, ConformalRegressor
from covshift.conformal.bands import Band
from covshift.conformal.held_out import plus_interval

TITLE = "Rare classes, the weighter, and outcomes of a few target rows"


RUNS, JUDGES = 40, 4000

MODELS = {
    "linear": LogisticRegression(max_iter=1000),
    "boosted": HistGradientBoostingClassifier(max_iter=50, max_leaf_nodes=8, random_state=0),
}

POPULATIONS = {  # logits of the positive class, and how far the first feature has moved
    "2 % positives": (lambda X: -5.2 + X[:, 0] + 1.2 * X[:, 1], 0.6),
    "5 % positives": (lambda X: -3.9 + X[:, 0] + 1.2 * X[:, 1], 0.6),
    "5 %, curved": (lambda X: -4.6 + X[:, 0] + 0.9 * X[:, 1] ** 2, 0.6),
}

CELLS = [
    (population, N, model, method)
    for population in POPULATIONS
    for N in (300, 1000)
    for model, method in (("linear", "split"), ("linear", "cv+"), ("boosted", "split"))
]


def draw(logits, mean, n, rng):
    """Five features, of which the first has moved; the rare class is 1."""
    X = rng.normal(size=(n, 5))
    X[:, 0] += mean
    return X, (rng.uniform(size=n) < 1 / (1 + np.exp(-logits(X)))).astype(int)


def measure(population, N, model, method, run, judges=JUDGES):
    """Coverage of all, of the common and of the rare class, and the mean size, by each way."""
    logits, mean = POPULATIONS[population]
    rng = np.random.default_rng([zlib.crc32(f"conformal/{population}/{N}".encode()), run])
    X, y = draw(logits, 0.0, N, rng)
    T, _ = draw(logits, mean, N, rng)
    new, truth = draw(logits, mean, judges, rng)
    if y.sum() < 2:
        return None
    found = []
    for by in (None, "class"):
        made = ConformalClassifier(
            MODELS[model], method=method, by=by, n_folds=5, random_state=run
        ).fit(X, y, X_target=T)
        sets = made.predict_set(new)
        inside = sets.covers(truth)
        by_class = [inside[truth == k].mean() for k in (0, 1)]
        found.append([inside.mean(), *by_class, sets.mean_size, sets.member[:, 1].mean()])
    return [*np.ravel(found), y.mean(), truth.mean()]


def rows_of(cell, lines):
    """Two rows of the table: ordinary sets, and those by class."""
    lines = np.array([line for line in lines if line is not None])
    rates = lines[:, -2:].mean(axis=0)
    for k, title in enumerate(("ordinary", 'by="class"')):
        part = lines[:, 5 * k : 5 * k + 5]
        error = part[:, 2].std(ddof=1) / np.sqrt(len(part))
        yield [
            *cell,
            " and ".join(f"{100 * rate:.1f} %" for rate in rates),
            len(part),
            title,
            *(f"{100 * value:.1f} %" for value in part[:, :2].mean(axis=0)),
            f"{100 * part[:, 2].mean():.1f} % ± {100 * error:.1f}",
            f"{part[:, 3].mean():.2f}",
            f"{100 * part[:, 4].mean():.1f} %",
        ]


def classes_section(found):
    """Return the section on classes."""
    by_cell = {}
    for job, line in found:
        by_cell.setdefault(job[:4], []).append(line)
    head = ["population", "N", "model", "method", "positives in sample and target", "runs", "sets"]
    head += ["all covered", "common class", "rare class", "classes in a set", "rare class in sets"]
    rows = [row for cell, part in by_cell.items() for row in rows_of(cell, part)]
    return [
        "## Rare classes",
        "Five normal features, of which the first has moved by 0.6 in the target; 90 % asked for; "
        "as many target rows as labelled ones; the default weights; coverage over 4000 new rows of "
        "the target in each run. Ordinary sets cover in total and leave out the rare class. By "
        "class, each is covered; where the sample has too few rows of it to leave it out, it is "
        "in every set (last column).",
        table(head, rows),
    ]


# The weighter: populations that are drawn, one half of which settles.

WEIGHTERS = ("cdf", "tilted-cdf", "discriminative", "entropy", "energy", "gaussian-ratio")

MODEL = {"linear": ("linear", {})}

SHIFTS = ("hard", "direction", "none")

DRAWN = {"settle": range(24), "report": range(100, 136)}

SIZES = {"200": (200, 2), "1000": (1000, 1)}  # rows of both samples, draws

WORDS |= {name: f'weighter="{name}"' for name in WEIGHTERS}


def columns(rng, n, numbers, directions):
    """Draw correlated features, their columns of several kinds, and directions among them."""
    d = int(rng.choice(numbers))
    Z = rng.normal(size=(n, d)) @ (np.eye(d) + 0.5 * rng.normal(size=(d, d)) / np.sqrt(d))
    Z /= Z.std(axis=0)
    X = Z.copy()
    for k in range(d):
        form = rng.integers(4)
        if form == 1:
            X[:, k] = np.exp(0.7 * Z[:, k])
        elif form == 2:
            X[:, k] = np.round(Z[:, k])
        elif form == 3:
            X[:, k] = Z[:, k] > 0.5
    return Z, X, [rng.normal(size=d) / np.sqrt(d) for _ in range(directions)]


def population(seed, kind, n=12_000):
    """Draw features of several kinds, and an outcome that varies more in some places."""
    rng = np.random.default_rng([zlib.crc32(b"population"), seed])
    Z, X, (b, c, e) = columns(rng, n, [3, 6, 12, 20], 3)
    mean = Z @ b + rng.uniform() * np.sin(2 * Z @ c)
    noise = np.exp(rng.uniform(0, 0.7) * (Z @ e)) * rng.standard_t(5, size=n)
    if kind == "classification":
        return X, (mean + 0.6 * noise > np.quantile(mean, 0.6)).astype(int)
    return X, mean + 0.6 * noise


def problem(seed, kind, shift, size, run):
    """Divide a population by a chance to be the target's, as `intervals_problems` does a table."""
    X, y = population(seed, kind)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    N = SIZES[size][0]
    rng = np.random.default_rng([zlib.crc32(f"{seed}/{kind}/{shift}/{size}".encode()), run])
    if shift == "none":
        p = np.full(len(y), 0.5)
    else:
        direction = rng.normal(size=Z.shape[1])
        if shift == "hard":  # where a linear model errs more
            fitted = np.column_stack([np.ones(len(y)), Z])
            error = np.abs(y - fitted @ np.linalg.lstsq(fitted, y, rcond=None)[0])
            direction = np.linalg.lstsq(fitted, error, rcond=None)[0][1:]
        score = Z @ direction
        p = 1 / (1 + np.exp(-1.5 * np.clip(score / score.std(), -3, 3)))
    in_target = rng.uniform(size=len(y)) < p
    labelled = rng.permutation(np.flatnonzero(~in_target))[:N]
    seen = rng.permutation(np.flatnonzero(in_target))[:N]
    rest = np.setdiff1d(np.arange(len(y)), np.concatenate([labelled, seen]))
    rest = rng.permutation(rest)[:JUDGES]
    left = p[rest] * (1 - N / in_target.sum()) + (1 - p[rest]) * (1 - N / (~in_target).sum())
    chance = p[rest] / left, (1 - p[rest]) / left
    X = np.ascontiguousarray(X)
    return Problem(
        f"{seed}/{shift}/{size}/{run}",
        kind,
        X[labelled],
        y[labelled],
        X[seen],
        X[rest],
        y[rest],
        *chance,
        Lookup(X, p / (1 - p)),
    )


def weigh_one(*cell):
    """One line of `intervals_contenders`, or None where a class is missing."""
    drawn = problem(*cell)
    if drawn.kind == "classification" and np.bincount(drawn.y).min() < 12:
        return None
    return measure_weighters(drawn, MODEL, dict.fromkeys(MODEL, WEIGHTERS))


def weighter_cells(half):
    """Populations, kinds, shifts, sizes and draws of one half."""
    return [
        (seed, "classification" if seed % 3 == 0 else "regression", shift, size, run)
        for seed in DRAWN[half]
        for shift in SHIFTS
        for size, (_, runs) in SIZES.items()
        for run in range(runs)
    ]


def weighter_section(half, lines):
    """Return the tables of one half."""
    shifted = [line for line in lines if "/none/" not in line["key"]]
    control = [line for line in lines if "/none/" in line["key"]]
    title = [f"### The half that {half}s", f"{len(lines)} problems."]
    found = [*title, blocks(shifted)]
    return [*found, "No shift:", blocks(control)] if control else found


WEIGHTERS_TEXT = (
    "Populations of 3 to 20 numbers, normal, skewed, rounded and binary, with outcomes of uneven "
    "spread, are divided by a logistic of a random direction, of the direction in which a linear "
    "model errs more (hard), or by a coin. Ridge and logistic regression, half of the rows "
    "calibrate, 90 % asked for. Columns as in `intervals.md`; a cell is one population, shift and "
    "size. Settled: CDF weights, the default before, cover too little where a shift costs five "
    "points or more; `discriminative` covers as much as the true ratios do, and has as many "
    "infinite intervals; `tilted-cdf` and `energy` are nearest to 90 % with few of these. The "
    "default is now `tilted-cdf`, as in `estimate`, and the half that reports agrees. Entropy "
    "balancing finds no weights in some problems (fewer runs), and the ratio of two normal "
    "densities fails where features are not normal."
)

LABEL_ROWS, LABEL_JUDGES, LABEL_DRAWS = (
    1000,
    2000,
    5,
)  # of both samples; target rows that judge; sets of labels

HALVES = {"settle": range(12), "report": range(100, 124)}

CHANGES = {  # of the outcome given the features, in the target: mean in units of noise, noise
    "none": (0.0, 1.0),
    "mean + 0.5": (0.5, 1.0),
    "mean + 1": (1.0, 1.0),
    "noise x 1.5": (0.0, 1.5),
    "noise x 0.7": (0.0, 0.7),
}

LABELS = {0.9: (5, 10, 25, 50, 100, 200), 0.99: (25, 50, 100, 200)}

OWN_COUNTS = (25, 50, 100, 200)  # labels, populations and changes of the library's own run

OWN_SEEDS, OWN_CHANGES = range(100, 112), ("none", "mean + 1", "noise x 1.5")

LEVEL = 0.1  # of the test

FOLDS = 5

CHOSEN = "alone, else the larger of both"


def label_population(seed, n=8000):
    """Draw features of several kinds, the mean of an outcome, and its noise."""
    rng = np.random.default_rng([zlib.crc32(b"labels"), seed])
    Z, X, (b, c, e, s) = columns(rng, n, [3, 6, 12], 4)
    mean = Z @ b + rng.uniform() * np.sin(2 * Z @ c)
    noise = 0.6 * np.exp(rng.uniform(0, 0.7) * (Z @ e)) * rng.standard_t(5, size=n)
    in_target = rng.uniform(size=n) < 1 / (1 + np.exp(-1.2 * np.clip(Z @ s / (Z @ s).std(), -3, 3)))
    return X, mean, noise, in_target


def label_problem(seed, kind, change, rows=LABEL_ROWS, judges=LABEL_JUDGES):
    """Sample, target rows with their outcomes, and target rows that judge."""
    X, mean, noise, in_target = label_population(seed)
    rng = np.random.default_rng([zlib.crc32(f"{kind}/{change}".encode()), seed])
    shift, factor = CHANGES[change]
    target = np.where(in_target, mean + shift * noise.std() + factor * noise, mean + noise)
    y = target if kind == "regression" else (target > np.quantile(mean, 0.6)).astype(int)
    sample = rng.permutation(np.flatnonzero(~in_target))[:rows]
    there = rng.permutation(np.flatnonzero(in_target))[: rows + judges]
    parts = sample, there[:rows], there[rows:]
    return [(X[part], y[part]) for part in parts]


def fitted(kind, method, seed, sample, T, **given):
    """A conformal model around ridge or logistic regression."""
    if kind == "regression":
        made = ConformalRegressor(Ridge(), method=method, n_folds=5, random_state=seed)
    else:
        model = LogisticRegression(max_iter=1000)
        made = ConformalClassifier(model, method=method, n_folds=5, random_state=seed)
    return made.fit(*sample, X_target=T, **given)


def scores(model, kind, X, y):
    """Score outcomes of rows that the model has not seen; of classes, all of them."""
    if kind == "regression":
        return np.abs(y - model.predict(X))
    return 1 - model.predict_proba(X)


def quantile(values, weights, own, coverage):
    """Smallest value up to which the weights reach the coverage; infinite where none does."""
    order = np.argsort(values)
    upto = np.cumsum(weights[order])
    needed = coverage * (upto[-1] + own) * (1 - 1e-12)
    return np.append(values[order], np.inf)[np.searchsorted(upto, needed)]


def rules(s, w, labels, own, coverage):
    """Thresholds of new rows of weight ``own`` (m,), by each rule."""
    L, ones = len(labels), np.ones_like(labels)
    rows = w.sum() ** 2 / (w @ w) / len(w)  # effective rows per row
    weighted = quantile(s, w, own, coverage)
    alone = np.broadcast_to(quantile(labels, ones, 1.0, coverage), own.shape)
    both, mass = np.concatenate([s, labels]), np.concatenate([w, ones])
    outside = int((labels > quantile(s, w, 1.0, coverage)).sum())
    differs = binomtest(outside, L, 1 - coverage).pvalue < LEVEL
    suffice = np.isfinite(alone)
    larger = np.maximum(weighted, np.where(suffice, alone, labels.max()))
    scaled = np.concatenate([rows * w, ones])
    return {
        "no labels": weighted,
        "weight one beside weighted rows": quantile(both, mass, own, coverage),
        "weight one beside effective rows": quantile(both, scaled, own, coverage),
        "alone where a test differs": np.where(suffice & differs, alone, weighted),
        "the larger of both": larger,
        "alone where they suffice": np.where(suffice, alone, weighted),
        CHOSEN: np.where(suffice, alone, larger),
    }


def of_rules(kind, change, seed, rows=LABEL_ROWS, judges=LABEL_JUDGES, draws=LABEL_DRAWS):
    """Lines ((kind, change, coverage, L, rule), (covered, size, infinite)) of one population.

    The size is that of the one threshold that would have the coverage among the rows that judge.
    """
    sample, (T, y_T), (new, truth) = label_problem(seed, kind, change, rows, judges)
    model = fitted(kind, "split", seed, sample, T)
    at, of_labels = scores(model, kind, new, truth), scores(model, kind, T, y_T)
    true = at
    if kind == "classification":
        of_labels = of_labels[np.arange(len(y_T)), y_T]
        true = at[np.arange(len(truth)), truth]
    own = model._shift.weigh(new, len(new))
    rng = np.random.default_rng([zlib.crc32(b"draws"), seed])
    found = []
    for coverage, counts in LABELS.items():
        best = np.quantile(true, coverage)
        for L in counts:
            for _ in range(draws):
                labels = of_labels[rng.choice(len(T), L, replace=False)]
                asked = rules(model.scores_, model.weights_, labels, own, coverage)
                for rule, q in asked.items():
                    finite = np.isfinite(q)
                    if kind == "regression":
                        size = q[finite].mean() / best if finite.any() else np.nan
                    else:
                        size = (at <= q[:, None]).sum() / (at <= best).sum()
                    line = (true <= q).mean(), size, 1 - finite.mean()
                    found.append(((kind, change, coverage, L, rule), line))
    return found


def of_library(kind, change, seed, rows=LABEL_ROWS, judges=LABEL_JUDGES, counts=OWN_COUNTS):
    """The same of `fit(y_target=)` at 90 %, one draw of labels; and of labels that also train."""
    sample, (T, y_T), (new, truth) = label_problem(seed, kind, change, rows, judges)
    rng = np.random.default_rng([zlib.crc32(b"library"), seed])
    found = []
    for L in counts:
        chosen = rng.permutation(len(T))[:L]
        labels = np.full(len(T), np.nan)
        labels[chosen] = y_T[chosen]
        for method in ("split", "cv+"):
            made = fitted(kind, method, seed, sample, T, y_target=labels)
            if kind == "regression":
                out = made.predict_interval(new)
                line = out.covers(truth).mean(), out.mean_width, out.share_infinite
            else:
                out = made.predict_set(new)
                line = out.covers(truth).mean(), out.mean_size, 0.0
            found.append(((kind, change, 0.9, L, f'fit(y_target=), method="{method}"'), line))
        if kind == "regression" and L >= FOLDS:
            low, high = trained(sample, (T[chosen], y_T[chosen]), new)
            inside = ((low <= truth) & (truth <= high)).mean()
            finite = np.isfinite(high)
            width = (high - low)[finite].mean() if finite.any() else np.nan
            line = inside, width, 1 - finite.mean()
            found.append(((kind, change, 0.9, L, "labels that train as well, CV+"), line))
    return found


def trained(sample, labels, new):
    """CV+ intervals of labels alone, by models of the sample and of the other labels."""
    (X, y), (T, y_T) = sample, labels
    fold = np.arange(len(y_T)) % FOLDS
    found, bands = np.empty(len(y_T)), []
    for k in range(FOLDS):
        kept = fold != k
        model = Ridge().fit(np.vstack([X, T[kept]]), np.concatenate([y, y_T[kept]]))
        found[~kept] = np.abs(y_T[~kept] - model.predict(T[~kept]))
        f = model.predict(new)
        bands.append(Band(f, f, np.ones(len(f))))
    return plus_interval(bands, fold, found, np.ones(len(y_T)), np.ones(len(new)), 0.9)


def by_key(parts):
    """Gather the lines of all jobs by their keys: one list for each population."""
    found = {}
    for _, lines in parts:
        own = {}
        for key, line in lines:
            own.setdefault(key, []).append(line)
        for key, several in own.items():
            found.setdefault(key, []).append(several)
    return found


def cell_of(populations, unit):
    """Mean coverage, its spread over fits, and the size, as text."""
    lines = np.concatenate([np.reshape(part, (-1, 3)) for part in populations])
    covered, sizes, infinite = lines.T
    size = np.nanmean(sizes) if np.isfinite(sizes).any() else np.inf
    text = f"{100 * covered.mean():.1f} ± {100 * covered.std(ddof=1):.1f} %, {size:.2f}{unit}"
    return text + (f" ({100 * infinite.mean():.0f} % inf)" if infinite.mean() >= 0.005 else "")


def rule_tables(found, unit=""):
    """One table for each kind of outcome and coverage: rows are changes and rules."""
    for kind in dict.fromkeys(key[0] for key in found):
        for coverage in dict.fromkeys(key[2] for key in found):
            own = {k: v for k, v in found.items() if (k[0], k[2]) == (kind, coverage)}
            if not own:
                continue
            counts = sorted({key[3] for key in own})
            rows = [
                [
                    change,
                    rule,
                    *(
                        cell_of(own[key], unit) if key in own else ""
                        for key in ((kind, change, coverage, L, rule) for L in counts)
                    ),
                ]
                for change in CHANGES
                for rule in dict.fromkeys(key[4] for key in own)
                if any(key[1] == change for key in own)
            ]
            yield f"{kind.capitalize()}, {100 * coverage:.0f} % asked for:"
            yield table(["change", "rule", *(f"L = {L}" for L in counts)], rows)


def lowest(found, rules_, counts=(25, 50, 100, 200)):
    """Lowest mean coverage at 90 % over kinds, changes and numbers of labels, for each rule."""
    rows = []
    for rule in rules_:
        means = {
            key: [np.mean([line[0] for line in part]) for part in populations]
            for key, populations in found.items()
            if key[4] == rule and key[2] == 0.9 and key[3] in counts
        }
        key = min(means, key=lambda key: np.mean(means[key]))
        none = [k for k in found if k[4] == rule and k[1] == "none" and k[:1] == ("regression",)]
        sizes = {
            k[3]: np.nanmean([line[1] for part in found[k] for line in part])
            for k in none
            if k[2] == 0.9
        }
        error = np.std(means[key], ddof=1) / np.sqrt(len(means[key]))
        where = f"{key[0]}, {key[1]}, L = {key[3]}"
        rows.append(
            [
                rule,
                f"{100 * np.mean(means[key]):.1f} % ± {100 * error:.1f}",
                where,
                *(f"{sizes[L]:.2f}" for L in counts),
            ]
        )
    head = ["rule", "lowest mean coverage ± its error", "where"]
    return table([*head, *(f"width without change, L = {L}" for L in counts)], rows)


LABELS_TEXT = (
    "Populations of 3 to 12 features of several kinds are divided by a logistic of a random "
    "direction into a sample and a target of 1000 rows each; the outcome of the target given the "
    "features is changed: its mean by so many standard deviations of the noise, or its noise by a "
    "factor. Ridge or logistic regression, the default weights, half of the sample calibrates; L "
    "target rows at random have an outcome. Judged by 2000 other target rows. A cell has the mean "
    "coverage, its standard deviation over fits, and the mean width (or number of classes) in "
    "units of the one threshold that would have the coverage."
)

SETTLED = (
    "Settled: labels alone as soon as their threshold is finite, L >= 1 / alpha - 1. It is the "
    "simplest rule that covers, and exact. Labels with weight one beside the weighted rows change "
    "little: the many rows that are wrong outvote them. A test (binomial, of the labels outside "
    "of the weighted threshold, at 10 %) is narrower with 25 labels where nothing has changed, and "
    "misses part of the changes. The larger of both covers as well, is wider, and stays too wide "
    "where the noise has become smaller. Where labels are too few, the larger of both (up to the "
    "most unusual label) gains most of what the sample alone loses; it covers L / (L + 1) whatever "
    "has changed."
)

LIBRARY = (
    "The chosen rule as `fit(y_target=)` has it, one draw of labels for each population, widths "
    "in units of the outcome. In CV+ the labels calibrate the model of all rows of the sample. "
    "Labels that train as well, each scored by models without it, make intervals narrower where "
    "the mean has changed and labels are many (by 8 % with 200), and nowhere else; the guarantee "
    "would be 1 - 2 alpha. So they train nothing."
)

KINDS = ("regression", "classification")


def class_works(share, quick):
    """Rare classes, and both halves of the populations."""
    if quick:
        return [
            Work("classes", measure, [(*CELLS[1], run, 200) for run in range(2)]),
            *(Work(half, weigh_one, weighter_cells(half)[:2]) for half in DRAWN),
        ]
    jobs = [(*cell, run) for run in range(runs(RUNS, share)) for cell in CELLS]
    halves = [Work(half, weigh_one, weighter_cells(half), 0.3) for half in DRAWN]
    return [Work("classes", measure, jobs, 0.25), *halves]


def label_works(share, quick):
    """Both halves of the populations, and the library on some of them."""
    del share  # a population is drawn once
    halves = {half: list(seeds)[: 2 if quick else None] for half, seeds in HALVES.items()}
    changes, size = list(CHANGES)[: 2 if quick else None], (200, 200) if quick else ()
    some, counts = list(OWN_SEEDS)[: 2 if quick else None], (OWN_COUNTS[:1],) if quick else ()
    return [
        *(
            Work(
                f"labels {half}",
                of_rules,
                [
                    (kind, change, seed, *size)
                    for kind in KINDS
                    for change in changes
                    for seed in own
                ],
                0.3,
            )
            for half, own in halves.items()
        ),
        Work(
            "library",
            of_library,
            [(k, c, seed, *size, *counts) for k in KINDS for c in OWN_CHANGES for seed in some],
            1.2,
        ),
    ]


def class_sections(found):
    """Return all tables."""
    sections = [*classes_section(found["classes"]), "## The weighter", WEIGHTERS_TEXT]
    for half in DRAWN:
        sections += weighter_section(half, [line for _, line in found[half] if line])
    return sections


def label_sections(found):
    """Return all tables."""
    sections = ["## Outcomes of a few target rows as calibration rows", LABELS_TEXT]
    for half in HALVES:
        lines = by_key(found[f"labels {half}"])
        names = list(dict.fromkeys(key[4] for key in lines))
        count = len({job[2] for job, _ in found[f"labels {half}"]})
        sections += [
            f"## Labels: the half that {half}s",
            f"{count} populations, {LABEL_DRAWS} draws of labels each.",
        ]
        sections += [SETTLED] * (half == "settle")
        sections += [lowest(lines, names), *rule_tables(lines)]
    count = len({job[2] for job, _ in found["library"]})
    sections += ["## The library", f"{count} populations."]
    return [*sections, LIBRARY, *rule_tables(by_key(found["library"]))]


def works(share, quick):
    """Rare classes, weighters, labels."""
    return [*class_works(share, quick), *label_works(share, quick)]


def report(found):
    """Return all tables."""
    return [*class_sections(found), *label_sections(found)]


if __name__ == "__main__":
    main(__file__)

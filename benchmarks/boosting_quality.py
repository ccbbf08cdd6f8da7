"""Boosted trees on the V-loss against unweighted and reweighted ones, on shifted problems.

The problems are generators of benchmarks/corrections.py, not the paper's. Every boosted contender
has the same trees (8 leaves of 5 rows or more) and the same lambda on a loss of unit scale, and
chooses its number of rounds by squared error on a fifth of the training rows, then fits all rows.
Contenders whose package is missing are left out, with a note. Ratios are taken on the same split:
to unweighted HistGradientBoosting, and to the same learner with V = I.
"""

from __future__ import annotations

import warnings
from importlib import import_module

import corrections
import numpy as np
from harness import Work, main, runs, table
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import covshift
from covshift import VSVC, VSVR, Reweighted
from covshift.corrections import Additive, Unweighted
from covshift.weights import CDFWeights, Discriminative

TITLE = "Boosted trees on the V-loss"
SEEDS, ROUNDS, LEAVES, ROWS, REG = 20, (10, 25, 50, 100, 200), 8, 5, 1.0
PROBLEMS = [
    "smooth logistic, n = 4",
    "steep logistic, n = 2",
    "linear logistic, n = 8",
    "ringnorm generator, n = 8",
    "survey, n = 8",
    "waves, n = 3",
    "Friedman 1, n = 10",
]
UNIT = {"symmetric": True, "normalize": True}
ONE_SIDED = Additive(normalize=True)  # the paper's, on the scale of the others
BASELINE = "HistGB, unweighted"


def hist(weighter=None):
    """HistGradientBoosting, unweighted or with weights for the target."""

    def fit(X, y, T, rounds, classify):
        make = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
        trees = make(
            max_iter=rounds,
            max_leaf_nodes=LEAVES,
            min_samples_leaf=ROWS,
            l2_regularization=REG,
            early_stopping=False,
            random_state=0,
        )
        if weighter is None:
            model = trees.fit(X, y)
        else:
            model = Reweighted(trees, weighter=weighter).fit(X, y, X_target=T).estimator_
        staged = model.staged_predict_proba if classify else model.staged_predict
        return lambda P: [f[:, 1] if classify else f for f in staged(P)]

    return fit


def engine(name, correction, rate=1.0, squash=None, from_train=False):
    """XGBoost or LightGBM with the V-loss; with V = I, their own squared error."""

    def fit(X, y, T, rounds, classify):
        module, y = import_module(name), np.asarray(y, dtype=float)
        objective = covshift.objectives.VObjective(
            X, None if from_train else T, correction, squash=squash if classify else None
        )
        common = {"n_estimators": rounds, "learning_rate": rate, "n_jobs": 1, "reg_lambda": REG}
        start = objective.constant(y)
        if name == "xgboost":
            trees = {"max_leaves": LEAVES, "max_depth": 0, "grow_policy": "lossguide"}
            trees |= {"min_child_weight": ROWS, "base_score": start}
            model = module.XGBRegressor(objective=objective, **trees, **common).fit(X, y)

            def raw(P, k):
                return model.predict(P, iteration_range=(0, k))
        else:
            trees = {"num_leaves": LEAVES, "min_child_samples": ROWS, "verbose": -1}
            model = module.LGBMRegressor(objective=objective, **trees, **common)
            model.fit(X, y, init_score=np.full(len(y), start))

            def raw(P, k):
                return start + model.predict(P, raw_score=True, num_iteration=k)

        def stage(P, k):
            return objective.probability(raw(P, k))[:, 1] if classify else raw(P, k)

        return lambda P: [stage(P, k) if k in (*ROUNDS, rounds) else None for k in _counts(rounds)]

    return fit


def _counts(rounds):
    return range(1, rounds + 1)


def vboost(correction, from_train=False, sign=1):
    """Trees on the V-loss; with sign -1 every feature is mirrored."""

    def fit(X, y, T, rounds, classify):
        X, T = sign * X, sign * T
        make = covshift.VBoostClassifier if classify else covshift.VBoostRegressor
        model = make(
            correction=correction,
            n_estimators=rounds,
            learning_rate=0.1,
            max_leaf_nodes=LEAVES,
            min_samples_leaf=ROWS,
            reg_lambda=REG,
            random_state=0,
        ).fit(X, y, X_target=None if from_train else T)

        staged = model.staged_predict_proba if classify else model.staged_predict
        return lambda P: [f[:, 1] if classify else f for f in staged(sign * P)]

    return fit


def kernel(correction, from_train=False):
    """The kernel machine; it chooses its penalty, and has no rounds."""

    def fit(X, y, T, rounds, classify):
        model = (VSVC if classify else VSVR)(correction)
        model.fit(X, y, X_target=None if from_train else T)
        return lambda P: [model.predict_proba(P)[:, 1] if classify else model.predict(P)]

    return fit


# A fit returns a function of rows: the predictions after each round, None where nobody asks.
CONTENDERS = {  # name: (fit, what it needs, whether it has rounds)
    BASELINE: (hist(), None, True),
    "HistGB, CDFWeights": (hist(CDFWeights(purpose="training", allow_no_overlap=True)), None, True),
    "HistGB, Discriminative": (hist(Discriminative()), None, True),
    "XGBoost, squared error": (engine("xgboost", Unweighted(), rate=0.1), "xgboost", True),
    "XGBoost, V additive, unit diagonal": (engine("xgboost", Additive(**UNIT)), "xgboost", True),
    "XGBoost, V blended": (engine("xgboost", "blended"), "xgboost", True),
    "XGBoost, V blended, sigmoid": (
        engine("xgboost", "blended", squash="sigmoid"),
        "xgboost",
        True,
    ),
    "control: XGBoost, V blended from training rows": (
        engine("xgboost", "blended", from_train=True),
        "xgboost",
        True,
    ),
    "LightGBM, squared error": (engine("lightgbm", Unweighted(), rate=0.1), "lightgbm", True),
    "LightGBM, V blended": (engine("lightgbm", "blended"), "lightgbm", True),
    "VBoost, V = I": (vboost("none"), None, True),
    "VBoost, V blended": (vboost("blended"), None, True),
    "control: VBoost, V blended from training rows": (
        vboost("blended", from_train=True),
        None,
        True,
    ),
    "VBoost, V additive, unit diagonal": (vboost(ONE_SIDED), None, True),
    "control: VBoost, V additive, mirrored features": (vboost(ONE_SIDED, sign=-1), None, True),
    "VSVC/VSVR, V = I": (kernel("none"), None, False),
    "VSVC/VSVR, V blended": (kernel("blended"), None, False),
    "control: VSVC/VSVR, V from training rows": (kernel("blended", from_train=True), None, False),
}


def available(need):
    try:
        return need is None or import_module(need) is not None
    except ImportError:
        return False


def rounds_by_holdout(fit, X, y, T, classify):
    """Return the number of rounds of least squared error on a fifth of the rows."""
    held = np.random.default_rng(0).permutation(len(X)) < len(X) // 5
    stages = fit(X[~held], y[~held], T, ROUNDS[-1], classify)(X[held])
    errors = []
    for rounds in ROUNDS:
        f = stages[rounds - 1]
        errors.append(np.mean((f - y[held]) ** 2))
    return ROUNDS[int(np.argmin(errors))]


def scores(p, y, classify):
    if not classify:
        return {"squared error": np.mean((p - y) ** 2)}
    q = np.clip(p, 0.001, 0.999)
    return {
        "Brier": np.mean((p - y) ** 2),
        "log-loss": -np.mean(y * np.log(q) + (1 - y) * np.log(1 - q)),
        "accuracy": np.mean((p >= 0.5) == y),
    }


def one_split(problem, seed, quick, *names):
    """Score every contender on one shifted split."""
    make, classify = corrections.PROBLEMS[problem]
    X, y, T, y_T = corrections.draw(make, seed)
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # weights on few rows, constant columns
        for name in names:
            fit, _, has_rounds = CONTENDERS[name]
            rounds = 2 if has_rounds else 0
            if has_rounds and not quick:
                rounds = rounds_by_holdout(fit, X, y, T, classify)
            found[name] = scores(fit(X, y, T, rounds, classify)(T)[-1], y_T, classify)
    return problem, classify, found


SAME_LEARNER = {
    "XGBoost": "XGBoost, squared error",
    "LightGBM": "LightGBM, squared error",
    "VBoost": "VBoost, V = I",
    "VSVC/VSVR": "VSVC/VSVR, V = I",
    "HistGB": BASELINE,
}


def ratio(mine, name, other, measure):
    """Geometric mean over splits of the ratio of two contenders, with its standard error."""
    logs = np.log([found[name][measure] / found[other][measure] for _, found in mine])
    mean = np.exp(logs.mean())
    if len(logs) == 1:
        return f"{mean:.3f}"
    return f"{mean:.3f} ± {mean * logs.std(ddof=1) / len(logs) ** 0.5:.3f}"


def summary(splits, names, classify):
    """Mean and spread of every score, and paired ratios with their standard errors."""
    mine = [(problem, found) for problem, kind, found in splits if kind == classify]
    measures = list(mine[0][1][names[0]])
    problems = list(dict.fromkeys(problem for problem, _ in mine))
    rows = []
    for name in names:
        row = [name]
        for measure in measures:
            values = [[f[name][measure] for p, f in mine if p == one] for one in problems]
            spread = np.mean([np.std(v, ddof=1) if len(v) > 1 else 0 for v in values])
            row.append(f"{np.mean([np.mean(v) for v in values]):.3f} ({spread:.3f})")
        learner = name.removeprefix("control: ").partition(",")[0]
        row += [ratio(mine, name, o, measures[0]) for o in (BASELINE, SAME_LEARNER[learner])]
        rows.append(row)
    ratios = [f"{measures[0]} to HistGB", "to same learner, V = I"]
    return table(["contender", *(f"{m} (std)" for m in measures), *ratios], rows)


def by_problem(splits, names, classify):
    mine = [(problem, found) for problem, kind, found in splits if kind == classify]
    measure = next(iter(mine[0][1][names[0]]))
    rows = []
    for name in names:
        row = [name]
        for one in dict.fromkeys(problem for problem, _ in mine):
            ratios = [f[name][measure] / f[BASELINE][measure] for p, f in mine if p == one]
            row.append(f"{np.exp(np.mean(np.log(ratios))):.3f}")
        rows.append(row)
    return table(["contender", *dict.fromkeys(problem for problem, _ in mine)], rows)


def works(share, quick):
    """Contenders on every split."""
    problems = ["steep logistic, n = 2", "waves, n = 3"] if quick else PROBLEMS
    seeds = range(1 if quick else runs(SEEDS, share))
    names = [name for name, (_, need, _) in CONTENDERS.items() if available(need)]
    outcomes = [name for name in names if "sigmoid" not in name]  # of a regression
    splits = [
        (name, seed, quick, *(names if corrections.PROBLEMS[name][1] else outcomes))
        for seed in seeds
        for name in problems
    ]
    return [Work("splits", one_split, splits, 9.0)]


def report(found):
    """Return all tables."""
    splits = [line for _, line in found["splits"]]
    names, outcomes = (
        next(job[3:] for job, line in found["splits"] if line[1] == kind) for kind in (True, False)
    )
    missing = [name for name in CONTENDERS if name not in names]
    return [
        f"N = {corrections.N_TRAIN} training rows, up to 1000 target rows; "
        f"scores on the labelled target. {LEAVES} leaves of at least {ROWS} rows and lambda = "
        f"{REG} throughout; rounds from {ROUNDS} by squared error on a fifth of the training rows. "
        "Learning rate 0.1; 1 for the engines' V-loss. Standard deviations are over seeds, "
        "ratios are geometric means over splits ± standard error; below one is better. "
        "Controls make V from the training rows alone, or mirror every feature, which changes "
        "nothing but a V that looks from one side.",
        f"Left out, not installed: {'; '.join(missing) or 'none'}.",
        "## Classification",
        summary(splits, names, True),
        by_problem(splits, names, True),
        "## Regression",
        summary(splits, outcomes, False),
        by_problem(splits, outcomes, False),
    ]


if __name__ == "__main__":
    main(__file__)

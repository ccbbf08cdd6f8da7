"""Which form of V is best on a plain Gaussian kernel? On problems other than the paper's.

    python benchmarks/defaults.py             the table of results/defaults.md
    python benchmarks/defaults.py --quick     one seed, three problems, as the tests run it

Shifted problems are made from generators and from data sets that come with scikit-learn: the
training rows are drawn with a probability that depends on the features, the target rows are the
rest. Every contender chooses its penalty by its own cross-validation on the training rows. The
score is the squared error of the predicted probability (or outcome) on the labelled target,
relative to ``correction="none"`` on the same split; smaller is better. Whether a correction helps
the machine that finds its kernel is the question of benchmarks/on_top.py.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from harness import machine, publish, table
from sklearn import datasets as bundled
from sklearn.preprocessing import StandardScaler

from covshift import VSVC, VSVR, Kernel
from covshift.corrections import Additive, Multiplicative, Sliced, Unweighted
from covshift.datasets import make_ringnorm, make_survey

N_TRAIN, SEEDS = 150, 20

CONTENDERS = {
    "none": Unweighted(),
    "additive (paper)": Additive(),
    "additive, normalised": Additive(normalize=True),
    "symmetric, normalised": Additive(symmetric=True, normalize=True),
    "symmetric, blend 0.25": Additive(symmetric=True, normalize=True, blend=0.25),
    "symmetric, blend 0.5": Additive(symmetric=True, normalize=True, blend=0.5),
    "symmetric, blend 0.75": Additive(symmetric=True, normalize=True, blend=0.75),
    "sliced, blend 0.5": Sliced(50, random_state=0, symmetric=True, normalize=True, blend=0.5),
    "multiplicative, blend 0.5": Multiplicative(symmetric=True, normalize=True, blend=0.5),
}
CHOSEN = "symmetric, blend 0.5"
CONTROL = "symmetric, blend 0.5, V from train"


def biased_split(X, rng, strength, N=N_TRAIN):
    """Draw N training rows, more of them where a random direction is high; rest: target."""
    direction = rng.normal(size=X.shape[1])
    score = StandardScaler().fit_transform(X) @ (direction / np.linalg.norm(direction))
    odds = np.exp(strength * score / score.std())
    train = rng.choice(len(X), size=N, replace=False, p=odds / odds.sum())
    target = np.setdiff1d(np.arange(len(X)), train)
    return train, rng.permutation(target)[:1000]


def smooth(rng, rows=3000):
    X = rng.normal(size=(rows, 4))
    p = 1 / (1 + np.exp(-(X[:, 0] + X[:, 1] ** 2 - 1)))
    return X, (rng.uniform(size=rows) < p).astype(int)


def steep(rng, rows=3000):
    X = rng.normal(size=(rows, 2))
    p = 1 / (1 + np.exp(-4 * np.sin(2 * X[:, 0]) - 2 * X[:, 1]))
    return X, (rng.uniform(size=rows) < p).astype(int)


def linear(rng, rows=3000):
    X = rng.normal(size=(rows, 8))
    p = 1 / (1 + np.exp(-X @ np.linspace(-1, 1, 8)))
    return X, (rng.uniform(size=rows) < p).astype(int)


def waves(rng, rows=3000):
    X = rng.uniform(-2, 2, size=(rows, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=rows)


def friedman(rng, rows=3000):
    return bundled.make_friedman1(rows, noise=1.0, random_state=int(rng.integers(1 << 31)))


def survey(rng):
    data = make_survey(N_TRAIN, 1000, random_state=int(rng.integers(1 << 31)))
    return data


def sklearn_data(load, classify):
    def problem(rng):
        X, y = load(return_X_y=True)
        return X, (y == y.min()).astype(int) if classify else y

    return problem


PROBLEMS = {  # name: (make, classification)
    "smooth logistic, n = 4": (smooth, True),
    "steep logistic, n = 2": (steep, True),
    "linear logistic, n = 8": (linear, True),
    "ringnorm generator, n = 8": (
        lambda rng: make_ringnorm(3000, 8, random_state=int(rng.integers(1 << 31))),
        True,
    ),
    "survey, n = 8": (survey, True),
    "breast cancer (WDBC), n = 30": (sklearn_data(bundled.load_breast_cancer, True), True),
    "digits, 0 against rest, n = 64": (sklearn_data(bundled.load_digits, True), True),
    "waves, n = 3": (waves, False),
    "Friedman 1, n = 10": (friedman, False),
    "diabetes progression, n = 10": (sklearn_data(bundled.load_diabetes, False), False),
}


def draw(make, seed):
    """Return training rows, outcomes, target rows and their outcomes, scaled by the former."""
    rng = np.random.default_rng(seed)
    data = make(rng)
    if isinstance(data, tuple):
        X, y = data
        train, target = biased_split(X, rng, strength=1.0)
        X, y, T, y_T = X[train], y[train], X[target], y[target]
    else:
        X, y, T, y_T = data.X, data.y, data.X_target, data.y_target
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), y, scaler.transform(T), y_T


def error(kernel, classify, correction, X, y, T, y_T, X_target):
    plain = {"kernel": Kernel(kernel, width="scale", coordinates="none")}
    plain |= {"probability": "clip"} if classify else {}
    estimator = (VSVC if classify else VSVR)(correction=correction, **plain)
    estimator.fit(X, y, X_target=X_target)
    f = estimator.predict_proba(T)[:, 1] if classify else estimator.predict(T)
    return float(np.mean((f - y_T) ** 2))


def compare(kernel, problems, seeds, contenders):
    ratios = {name: {} for name in [*contenders, CONTROL]}
    for problem, (make, classify) in problems.items():
        for seed in seeds:
            X, y, T, y_T = draw(make, seed)
            if len(np.unique(y)) < 2:
                continue
            found = {
                name: error(kernel, classify, correction, X, y, T, y_T, T)
                for name, correction in contenders.items()
            }
            found[CONTROL] = error(kernel, classify, CONTENDERS[CHOSEN], X, y, T, y_T, X)
            for name, value in found.items():
                ratios[name].setdefault(problem, []).append(value / found["none"])
    return ratios


def summary(ratios):
    rows = []
    for name, by_problem in ratios.items():
        means = np.array([np.exp(np.mean(np.log(found))) for found in by_problem.values()])
        every = np.concatenate([np.asarray(found) for found in by_problem.values()])
        rows.append(
            [
                name,
                f"{np.exp(np.mean(np.log(means))):.3f}",
                f"{means.max():.3f}",
                f"{every.std(ddof=1):.3f}",
                f"{100 * np.mean(every > 1.02):.0f} %",
                f"{np.quantile(every, 0.95):.2f}",
            ]
        )
    return table(
        [
            "correction",
            "geometric mean",
            "worst problem",
            "std over fits",
            "fits more than 2 % worse",
            "95th percentile",
        ],
        rows,
    )


def by_problem(ratios):
    names = list(next(iter(ratios.values())))
    rows = [
        [problem, *(f"{np.exp(np.mean(np.log(ratios[name][problem]))):.3f}" for name in ratios)]
        for problem in names
    ]
    return table(["problem", *ratios], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one seed, nothing written")
    quick = parser.parse_args().quick
    problems = dict(list(PROBLEMS.items())[:3]) if quick else PROBLEMS
    seeds = 1 if quick else SEEDS
    finalists = {name: CONTENDERS[name] for name in ("none", CHOSEN)}
    sections = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # faint V of the multiplicative contender, constants
        for kernel in ("rbf", "linear"):
            chosen = compare(kernel, problems, range(seeds), CONTENDERS)
            fresh = compare(kernel, problems, range(100, 100 + seeds), finalists)
            sections += [
                f"## Kernel {kernel}",
                summary(chosen),
                by_problem(chosen),
                f"Confirmation of the choice on fresh seeds, 100 to {99 + seeds}:",
                summary(fresh),
            ]
    publish(
        "defaults",
        "Which form of V on a plain kernel",
        f"N = {N_TRAIN} training rows, up to 1000 target rows, {seeds} seeds (0 to {seeds - 1}), "
        "width by the scale rule, penalty by 5-fold cross-validated squared error for each. "
        'Squared error on the target relative to `correction="none"` on the same split '
        "(geometric means). The last line is the control: the same V made from the training rows. "
        f'`"blended"` is the line "{CHOSEN}".',
        f"Machine: {machine()}.",
        *sections,
        "Command: `python benchmarks/defaults.py`.",
        write=not quick,
    )


if __name__ == "__main__":
    main()

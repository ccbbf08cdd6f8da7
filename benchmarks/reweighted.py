"""What weights of the training rows do to a learner of few rows: those for means, and flatter ones.

    python benchmarks/reweighted.py            results/reweighted.md (ten minutes of CPU)
    python benchmarks/reweighted.py --quick    one sample, as the tests run it

Four normal columns, of which the target's first two have moved; six outcomes, from a straight line
to none at all. The error is that of the learner's predictions against the mean of the outcome, on
target rows, relative to the same learner without weights. Seeds that nothing was chosen on.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from harness import machine, publish, table
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from covshift import Reweighted
from covshift.exceptions import NoOverlapError

OUTCOMES = {
    "line": lambda X: X[:, 0] + 0.5 * X[:, 1],
    "curve": lambda X: X[:, 0] ** 2 + X[:, 1],
    "step": lambda X: 2.0 * (X[:, 0] > 0.5) + X[:, 1],
    "sine": lambda X: np.sin(2 * X[:, 0]) + X[:, 2],
    "product": lambda X: X[:, 0] * X[:, 1] + X[:, 2],
    "nothing": lambda X: 0 * X[:, 0],
}
LEARNERS = {
    "ridge regression": Ridge(),
    "tree": DecisionTreeRegressor(max_depth=4, random_state=0),
    "forest": RandomForestRegressor(50, min_samples_leaf=3, random_state=0),
}
WEIGHTERS, SHIFTS, SIZES = ("cdf", "training"), (0.5, 1.0), (60, 150)
SEED, RUNS, NOISE, WORSE = 5000, 8, 0.7, 1.01


def rows(rng, size, shift):
    X = rng.normal(size=(size, 4))
    X[:, :2] += shift
    return X


def errors(mean, shift, N, seed):
    """Mean squared error on the target by learner: without weights, then by weighter.

    A sample that does not cover its target is drawn again.
    """
    try:
        return _errors(mean, shift, N, seed)
    except NoOverlapError:
        return errors(mean, shift, N, seed + 1000)


def _errors(mean, shift, N, seed):
    rng = np.random.default_rng([seed, N, int(10 * shift)])
    X, T, there = rows(rng, N, 0.0), rows(rng, 300, shift), rows(rng, 3000, shift)
    y = mean(X) + NOISE * rng.normal(size=N)
    found = []
    for learner in LEARNERS.values():
        weighted = [Reweighted(learner, weighter=name).fit(X, y, X_target=T) for name in WEIGHTERS]
        models = [clone(learner).fit(X, y), *weighted]
        found.append([float(np.mean((one.predict(there) - mean(there)) ** 2)) for one in models])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one sample, nothing written")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")  # few rows are the matter
    outcomes = dict(list(OUTCOMES.items())[: 1 if quick else None])
    lines = []
    for N in SIZES[: 1 if quick else None]:
        cells = np.array(
            [
                np.mean(
                    [errors(f, shift, N, SEED + k) for k in range(1 if quick else RUNS)], axis=0
                )
                for f in outcomes.values()
                for shift in SHIFTS
            ]
        )  # (cells, learners, 1 + weighters)
        for k, learner in enumerate(LEARNERS):
            for j, weighter in enumerate(WEIGHTERS, start=1):
                ratio = np.sqrt(cells[:, k, j] / cells[:, k, 0])
                mean = float(np.exp(np.mean(np.log(ratio))))
                worse = f"{int((ratio > WORSE).sum())} of {len(ratio)}"
                numbers = f"{mean:.3f}", f"{ratio.min():.2f}", f"{ratio.max():.2f}"
                lines.append([learner, N, weighter, *numbers, worse])
    publish(
        "reweighted",
        "Weights for means, and weights for training",
        f"Root mean squared error relative to the learner without weights, of {RUNS} samples a "
        f"cell (an outcome and a shift of .5 or 1), seeds from {SEED}; geometric mean over the "
        f"cells, best, worst, and how many are more than {WORSE - 1:.0%} worse. "
        '"training" is the default of `Reweighted`.',
        f"Machine: {machine()}.",
        table(["learner", "N", "weights", "error", "best", "worst", "cells worse"], lines),
        "Command: `python benchmarks/reweighted.py`.",
        write=not quick,
    )


if __name__ == "__main__":
    main()

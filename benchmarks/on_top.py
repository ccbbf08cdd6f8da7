"""Does a correction help a machine that finds its kernel? "none", "blended" and "auto" by N.

    python benchmarks/on_top.py             the table of results/on_top.md
    python benchmarks/on_top.py --quick     small sizes, as the tests run it

The generated problems of benchmarks/defaults.py, on seeds that no choice was made on: training rows
are drawn with a probability that depends on a random direction of the features, target rows are the
rest. Squared error on the target (of the probability, for classes) relative to "none" on the same
split; "control" is "blended" with the training rows as target, which tells regularisation from
correction. A linear kernel stands for a model that is too simple.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from defaults import biased_split, friedman, linear, smooth, steep, waves
from harness import machine, publish, table

from covshift import VSVC, VSVR, Kernel

PROBLEMS = {
    "smooth logistic, n = 4": (smooth, True),
    "steep logistic, n = 2": (steep, True),
    "linear logistic, n = 8": (linear, True),
    "waves, n = 3": (waves, False),
    "Friedman 1, n = 10": (friedman, False),
}
SEEDS = {150: 8, 1000: 2, 10_000: 1, 100_000: 1}
FIRST_SEED, CONTROL_ROWS = 500, 500


def draw(make, N, seed):
    rng = np.random.default_rng(seed)
    X, y = make(rng, rows=max(3000, 4 * N))
    train, target = biased_split(X, rng, 1.0, N)
    return X[train], y[train], X[target], y[target]


def error(classify, correction, kernel, X, y, T, y_T, X_target):
    made = (VSVC if classify else VSVR)(correction, kernel=kernel, random_state=0)
    start = time.process_time()
    made.fit(X, y, X_target=X_target)
    seconds = time.process_time() - start
    f = made.predict_proba(T)[:, 1] if classify else made.predict(T)
    return float(np.mean((f - y_T) ** 2)), seconds


def compare(kernel, sizes, seeds, problems):
    """Return one row per size and correction."""
    rows = []
    for N in sizes:
        ratios = {name: {} for name in ("blended", "auto", "control")}
        spent = {name: [] for name in ("none", "blended", "auto")}
        for problem, (make, classify) in problems.items():
            for seed in range(FIRST_SEED, FIRST_SEED + seeds[N]):
                data = draw(make, N, seed)
                X, T = data[0], data[2]
                found = {}
                for name in spent:
                    found[name], seconds = error(classify, name, kernel, *data, T)
                    spent[name].append(seconds)
                found["control"], _ = error(classify, "blended", kernel, *data, X[:CONTROL_ROWS])
                for name, kept in ratios.items():
                    kept.setdefault(problem, []).append(found[name] / found["none"])
        for name, by_problem in ratios.items():
            means = {k: float(np.exp(np.mean(np.log(v)))) for k, v in by_problem.items()}
            every = np.log(np.concatenate(list(by_problem.values())))
            worst = max(means, key=means.get)
            rows.append(
                [
                    f"{N:,}",
                    name,
                    f"{np.exp(every.mean()):.4f}",
                    f"{every.std(ddof=1) / np.sqrt(len(every)):.4f}",
                    f"{means[worst]:.3f} ({worst})",
                    f"{np.mean(spent[name]) / np.mean(spent['none']):.1f}" if name in spent else "",
                ]
            )
    header = ["N", "correction", "geometric mean", "s.e.", "worst problem", "CPU time of a fit"]
    return table(header, rows)


def costs(N, repeats=3):
    """Return CPU seconds of a fit, relative to the machine of before: one kernel, "blended"."""
    before = {"correction": "blended", "kernel": Kernel("rbf", width="scale", coordinates="none")}
    rows = []
    for n in (10, 30):
        rng = np.random.default_rng(n)
        X, T = rng.normal(size=(N, n)), rng.normal(0.5, 1, size=(N, n))
        y = np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=N)
        for made, outcome, clip in ((VSVR, y, {}), (VSVC, y > 0, {"probability": "clip"})):
            spent = {}
            for name, options in (
                ("before", before | clip),
                ("default", {}),
                ("fast", {"fast": True}),
                ("blended", {"correction": "blended"}),
            ):
                times = []
                for _ in range(repeats):
                    start = time.process_time()
                    made(random_state=0, **options).fit(X, outcome, X_target=T)
                    times.append(time.process_time() - start)
                spent[name] = min(times)
            first = spent.pop("before")
            ratios = [f"{seconds / first:.2f}" for seconds in spent.values()]
            rows.append([made.__name__, n, f"{first:.2f}", *ratios])
    return table(["machine", "n", "before, s", "default", "fast", "default, blended"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing written")
    quick = parser.parse_args().quick
    sizes = (60,) if quick else tuple(SEEDS)
    seeds = {60: 1} if quick else SEEDS
    problems = dict(list(PROBLEMS.items())[1:4:2]) if quick else PROBLEMS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows that the target does not see
        found = compare("cv", sizes, seeds, problems)
        restricted = compare("linear", sizes[:2], seeds, problems)
        cost = costs(60, repeats=1) if quick else costs(1000)
    publish(
        "on_top",
        "Does a correction help a machine that finds its kernel?",
        "Squared error on the target relative to no correction on the same split, geometric mean "
        f"over {len(problems)} generated problems and seeds from {FIRST_SEED} "
        f"({', '.join(f'N = {N:,}: {count}' for N, count in seeds.items())}); up to 1000 target "
        'rows. The standard error is that of the mean logarithm. "control" is "blended" with '
        f"{CONTROL_ROWS} training rows as target. CPU time is relative to no correction.",
        f"Machine: {machine()}.",
        '## The machine as it is, `kernel="cv"`',
        found,
        '## A model that is too simple, `kernel="linear"`',
        restricted,
        "## What a fit costs at N = M = 1000",
        "CPU time, best of three, relative to the machine before kernels were found: one Gaussian "
        'kernel of the scale width, "blended".',
        cost,
        "Command: `python benchmarks/on_top.py`.",
        write=not quick,
    )


if __name__ == "__main__":
    main()

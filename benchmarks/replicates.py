"""Is the error of replicates that of the weighted mean? A bootstrap and a jackknife of weights.

    python benchmarks/replicates.py            results/replicates.md (about an hour of CPU)
    python benchmarks/replicates.py --quick    few samples, as the tests run it

Samples of normal rows, a target whose means are moved by .4, a curved outcome. The control is the
standard deviation of the weighted mean over the samples; a weighter with an estimating equation,
entropy balancing, stands beside those without one.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from harness import machine, publish, table

from covshift.numerics.influence import Design
from covshift.numerics.resampling import replicate
from covshift.weights import as_weighter

WEIGHTERS = ("cdf", "tilted-cdf", "entropy")
M = 300


def draw(N, seed):
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(N, 3)), rng.normal(0.4, 1, size=(M, 3))
    return X, T, X[:, 0] + X[:, 1] ** 2 / 2 + rng.normal(size=N)


def measure(name, N, samples, replicated, counts):
    """Standard deviation of the weighted mean, and the root mean square of each kind of error."""
    means, errors = [], {kind: [] for kind in counts}
    for seed in range(samples):
        X, T, y = draw(N, seed)

        def weigh(d, v, X=X, T=T):
            more = {} if v is None else {"target_weight": v}
            return as_weighter(name).fit(X, X_target=(T,), sample_weight=d, **more).weights_

        w = weigh(np.ones(N), None)
        means.append(float(w @ y / w.sum()))
        if seed >= replicated:
            continue
        for kind, count in counts.items():
            designs = Design.simple(N), Design.simple(M)
            method = kind.split()[0]
            drawn = replicate(
                weigh, np.ones(N), *designs, kind=method, count=count, random_state=seed
            )
            errors[kind].append(drawn.plan.variance(y @ drawn.weights / N, means[-1]))
    return np.std(means, ddof=1), [float(np.sqrt(np.mean(errors[kind]))) for kind in counts]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few samples, nothing written")
    quick = parser.parse_args().quick
    N, samples, replicated = (40, 4, 1) if quick else (200, 150, 12)
    counts = {"bootstrap": 60, "jackknife of 40 groups": 40, "jackknife of single rows": N}
    if quick:
        counts = {"bootstrap": 5, "jackknife of 5 groups": 5}
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in WEIGHTERS[-1:] if quick else WEIGHTERS:
            spread, errors = measure(name, N, samples, replicated, counts)
            rows.append([f"`{name}`", f"{spread:.3f}", *(f"{error:.3f}" for error in errors)])
    publish(
        "replicates",
        "The error of replicate weights",
        f"Machine: {machine()}. {N} rows and {M} target rows; {samples} samples with seeds from 0, "
        f"replicates of the first {replicated}, root mean square.",
        table(["weights", "standard deviation", *counts], rows),
        write=not quick,
    )


if __name__ == "__main__":
    main()

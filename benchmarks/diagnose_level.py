"""How often a diagnosis finds a shift: where there is none, and where there is a small one.

    python benchmarks/diagnose_level.py --jobs 16    results/diagnose_level.md
    python benchmarks/diagnose_level.py --quick      a few small samples, as the tests run it

Of each pair of samples: the verdict (three tests: of features, of uncovered parts, of the
two-sample AUC), its test of features alone, the same with Kolmogorov-Smirnov distances only, as
before, and t-tests of all columns with Holm's correction, at the level of the whole verdict.
"""

from __future__ import annotations

import argparse
import zlib

import numpy as np
import pandas as pd
from harness import machine, publish, table
from joblib import Parallel, delayed
from scipy.stats import ttest_ind

from covshift import diagnose
from covshift.diagnostics.features import ks_p_value
from covshift.diagnostics.verdict import LEVEL
from covshift.numerics.statistics import holm
from covshift.numerics.support import STRONG

RUNS = 150


def normal(rng, n, d, moved):
    X = rng.normal(size=(n, d))
    X[:, 0] += moved
    return X


def correlated(rng, n, d, moved):
    X = np.sqrt(0.5) * rng.normal(size=(n, 1)) + np.sqrt(0.5) * rng.normal(size=(n, d))
    X[:, 0] += moved
    return X


def skewed(rng, n, d, moved):
    return np.exp(1.5 * normal(rng, n, d, moved))


def whole(rng, n, d, moved):
    return np.clip(np.round(normal(rng, n, d, moved) + 2), 0, 4)


def half_zero(rng, n, d, moved):
    X = normal(rng, n, d, moved)
    return np.where(X > 0, np.exp(X), 0.0)


def binary(rng, n, d, moved):
    share = np.full(d, 0.3)
    share[0] += moved
    return (rng.uniform(size=(n, d)) < share).astype(float)


def rare(rng, n, d, moved):
    return (rng.uniform(size=(n, d)) < 0.02).astype(float)


def spread(rng, n, d, moved):
    X = rng.normal(size=(n, d))
    X[:, 0] *= 1 + moved
    return X


def categories(rng, n, d, moved):
    """Categories of five levels, one-hot in the samples; the first has moved to its last level."""
    shares = np.tile([0.3, 0.3, 0.2, 0.1, 0.1], (d, 1))
    shares[0] += np.array([-1, 0, 0, 0, 1]) * moved
    columns = {f"c{k}": rng.choice(list("abcde"), size=n, p=shares[k]) for k in range(d)}
    return pd.DataFrame(columns)


CELLS = [
    (normal, 300, 300, 6, 0.0),
    (normal, 50, 50, 6, 0.0),
    (normal, 300, 300, 50, 0.0),
    (correlated, 300, 300, 20, 0.0),
    (skewed, 1000, 50, 6, 0.0),
    (whole, 1000, 200, 6, 0.0),
    (half_zero, 300, 300, 6, 0.0),
    (rare, 300, 300, 20, 0.0),
    (categories, 300, 300, 5, 0.0),
    (normal, 300, 300, 6, 0.25),
    (normal, 300, 300, 50, 0.35),
    (correlated, 300, 300, 6, 0.25),
    (normal, 1000, 200, 6, 0.25),
    (skewed, 300, 300, 6, 0.25),
    (whole, 300, 300, 6, 0.25),
    (half_zero, 300, 300, 6, 0.25),
    (binary, 300, 300, 6, 0.12),
    (categories, 300, 300, 5, 0.08),
    (spread, 300, 300, 6, 0.3),
]


def measure(cell, run):
    """Whether each way finds a shift."""
    draw, N, M, d, moved = cell
    name = f"{draw.__name__}/{N}/{M}/{d}/{moved}"
    rng = np.random.default_rng([zlib.crc32(name.encode()), run])
    X, T = draw(rng, N, d, 0.0), draw(rng, M, d, moved)
    found = diagnose(X, T, methods=())
    features = any(feature.p_value <= LEVEL for feature in found.features)
    auc = found.auc is not None and found.auc.interval[0] > 0.5
    gaps = any(part.excess >= STRONG for part in found.support.uncovered)
    if isinstance(X, pd.DataFrame):  # chi-square tests, as before
        both = pd.get_dummies(pd.concat([X, T])).to_numpy(float)
        before, Z, U = features, both[:N], both[N:]
    else:
        Z, U, share = X, T, np.full(M, 1 / M)
        p = [ks_p_value(X[:, k], T[:, k], share, float(M)) for k in range(d)]
        before = bool((holm(np.array(p)) <= LEVEL).any())
    with np.errstate(all="ignore"):
        of_t = np.nan_to_num(ttest_ind(Z, U).pvalue, nan=1.0)
    return [
        found.verdict != "no shift",
        features,
        before or auc or gaps,
        before,
        bool((holm(of_t) <= 0.05).any()),
    ]


def section(cells, runs, jobs):
    found = Parallel(n_jobs=jobs)(
        delayed(measure)(cell, run) for cell in cells for run in range(runs)
    )
    rows = []
    for k, (draw, N, M, d, moved) in enumerate(cells):
        rates = np.mean(found[k * runs : (k + 1) * runs], axis=0)
        shares = [f"{100 * rate:.1f} %" for rate in rates]
        rows.append([draw.__name__.replace("_", " "), N, M, d, moved or "", *shares])
    head = ["columns", "N", "M", "number", "first one moved by", "verdict", "its test of features"]
    head += ["verdict, before", "Kolmogorov-Smirnov alone", "t-tests, 5 %"]
    return table(head, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small samples, nothing written")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    cells, runs = (CELLS, RUNS)
    if options.quick:
        cells, runs = [(normal, 40, 40, 2, 0.5), (categories, 40, 40, 2, 0.0)], 3
    same = [cell for cell in cells if not cell[-1]]
    moved = [cell for cell in cells if cell[-1]]
    publish(
        "diagnose_level",
        "How often does a diagnosis find a shift?",
        f"{runs} pairs of samples in each row. The tests of features have the level 0.015, those "
        "of uncovered parts 0.01, the two-sample AUC 0.025: together 0.05. Before: features by "
        "Kolmogorov-Smirnov distances alone.",
        f"Machine: {machine()}.",
        "## Equal samples: at most 5 % (verdict) and 1.5 % (features)",
        section(same, runs, options.jobs),
        "## The first column has moved",
        "By so many standard deviations (of its logarithm: skewed), by a share (binary, "
        "categories), or its spread by this part of itself.",
        section(moved, runs, options.jobs),
        "Command: `python benchmarks/diagnose_level.py --jobs 16`.",
        write=not options.quick,
    )  # fmt: skip


if __name__ == "__main__":
    main()

"""Boosted trees against scikit-learn's histogram trees: time, error on a target, memory.

The peer fits the same rows in the same run: `HistGradientBoostingRegressor` with as many trees,
leaves and bins, without early stopping. It knows no target and solves each leaf by itself.
"""

from __future__ import annotations

import time
import tracemalloc
from importlib.util import find_spec

import numpy as np
from harness import Work, main, table
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from covshift import VBoostRegressor

TITLE = "Boosted trees"
FEATURES, SEED = 10, 0
CORRECTIONS = {
    "none": "none",
    "additive (paper)": "additive",
    "blended (default)": "blended",
}
GROWERS = ("sklearn", "lightgbm") if find_spec("lightgbm") else ("sklearn",)
SIGNALS = {
    "waves": lambda X: np.sin(2 * X[:, 0]) + X[:, 1] ** 2,
    "linear": lambda X: X @ np.arange(1, 7) / 6,
    "interaction": lambda X: np.tanh(2 * X[:, 0] * X[:, 1]) + X[:, 2] / 2,
}


def sample(N, M, seed=SEED):
    """Gaussian features, a target shifted by 0.3, and an outcome of two of the features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, FEATURES))
    y = np.sin(X[:, 0]) + X[:, 1] + rng.normal(size=N)
    return X, y, rng.normal(0.3, 1, size=(M, FEATURES))


def ours(correction, grower, trees=100):
    return VBoostRegressor(correction, n_estimators=trees, early_stopping=False, grower=grower)


def processor_time(work, repeats):
    """Least seconds of the processor in one thread: what else the machine does is left out."""
    times = []
    with threadpool_limits(1):
        for _ in range(repeats):
            start = time.process_time()
            work()
            times.append(time.process_time() - start)
    return min(times)


def speed(N, M, trees, repeats):
    """Rows of the table."""
    rows = []
    X, y, T = sample(N, M)
    peer = HistGradientBoostingRegressor(max_iter=trees, early_stopping=False)
    seconds = processor_time(lambda: peer.fit(X, y), repeats)
    predicts = processor_time(lambda: peer.predict(X), repeats)
    for name, correction in CORRECTIONS.items():
        row = [f"{N:,}", name, f"{seconds:.2f}"]
        for grower in GROWERS:
            model = ours(correction, grower, trees)
            fit = processor_time(lambda m=model: m.fit(X, y, X_target=T), repeats)
            row += [f"{fit:.2f}", f"{fit / seconds:.1f}"]
        predict = processor_time(lambda m=model: m.predict(X), repeats)
        rows.append([*row, f"{predicts:.3f}", f"{predict:.3f}", f"{predict / predicts:.1f}"])
    return rows


def errors(N, signal, levels, seed):
    """Squared error on the target, over that of the peer, by grower."""
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(N, 6)), rng.normal(0.5, 1, size=(2000, 6))
    if levels:
        X, T = np.round(X), np.round(T)
    f = SIGNALS[signal]
    y, truth = f(X) + 0.3 * rng.normal(size=N), f(T)
    peer = HistGradientBoostingRegressor(early_stopping=False).fit(X, y)
    base = np.mean((peer.predict(T) - truth) ** 2)
    models = (ours("blended", grower).fit(X, y, X_target=T) for grower in GROWERS)
    return [np.mean((model.predict(T) - truth) ** 2) / base for model in models]


def memory(N, M, trees):
    """Peak of what a fit allocates beyond its input."""
    X, y, T = sample(N, M)
    tracemalloc.start()
    ours("additive", "sklearn", trees).fit(X, y, X_target=T)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return [f"{N:,}", f"{peak:.0f}", f"{1e3 * peak / N:.2f}"]


def works(share, quick):
    """Time and error against the peer, and memory."""
    del share  # times are taken once
    if quick:
        return [
            Work("speed", speed, [(100, 50, 2, 1)]),
            Work("errors", errors, [(100, "waves", False, 0)]),
            Work("memory", memory, [(100, 50, 2), (200, 50, 2)]),
        ]
    problems = [
        (N, signal, levels, seed)
        for N, seeds in ((400, 10), (4000, 2))
        for signal in SIGNALS
        for levels in (False, True)
        for seed in range(seeds)
    ]
    return [
        Work("speed", speed, [(10**4, 1000, 100, 2), (10**5, 1000, 20, 1)], 60.0, True),
        Work("errors", errors, problems, 3.0),
        Work("memory", memory, [(N, 1000, 2) for N in (25_000, 50_000, 10**5)], 2.0),
    ]


def error_table(found):
    """Geometric means over seeds, with their standard errors."""
    cells = {}
    for (N, signal, levels, _), line in found:
        cells.setdefault((f"{N:,}", signal, "whole numbers" if levels else "any"), []).append(line)
    rows = []
    for key, lines in cells.items():
        logs = np.log(lines)
        spread = logs.std(axis=0, ddof=1) / len(logs) ** 0.5 if len(logs) > 1 else 0 * logs[0]
        means = zip(np.exp(logs.mean(axis=0)), spread, strict=True)
        rows.append([*key, str(len(logs)), *(f"{m:.3f} ± {m * s:.3f}" for m, s in means)])
    return table(["N", "signal", "values", "seeds", *GROWERS], rows)


def report(found):
    """Return all tables."""
    rows = [row for _, own in found["speed"] for row in own]
    fits = [name for grower in GROWERS for name in (f"{grower} s", "ratio")]
    header = ["N", "correction", "peer fits s", *fits]
    return [
        f"Trees of at most 31 leaves, n = {FEATURES}, 255 bins, learning rate "
        f"0.1, no early stopping, seed {SEED}; 100 trees at 10,000 rows and 20 at 100,000; seconds "
        "of the processor in one thread, best of two runs at 10,000 rows.",
        "## Time, against HistGradientBoostingRegressor on the same rows",
        "The peer sums gradients bin by bin, as LightGBM does; scikit-learn's single trees compare "
        "every cut. Here all leaves of a tree are then solved together under V.",
        table([*header, "peer predicts s", "predict s", "ratio"], rows),
        "## Error on the target",
        "Squared error to the truth with the blended V, over that of HistGradientBoostingRegressor "
        "on the same rows: geometric means over seeds ± standard error; 100 trees.",
        error_table(found["errors"]),
        "## Memory, additive",
        "Peak of what a fit of two trees allocates beyond its input.",
        table(["N", "memory above the input MB", "KB a row"], [row for _, row in found["memory"]]),
    ]


if __name__ == "__main__":
    main(__file__)

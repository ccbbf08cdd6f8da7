"""What large questions cost: time, processor time and memory, beside a named peer on the same rows.

    python benchmarks/cost.py             the tables of results/cost.md (ten minutes; 1 GB on disk)
    python benchmarks/cost.py --quick     small sizes, as the tests run it

Each job is a process of its own, so that its peak memory is its own; imports and the making of rows
are not counted, reading a file is. On a busy machine compare processor time and ratios, not
seconds: two threads that wait for each other count as work.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from harness import machine, publish, table

SHIFT = (0.5, -0.3)  # of the target's first two columns
MANY = {
    "rate 0.1, 31 leaves, 255 bins": {"learning_rate": 0.1, "max_leaf_nodes": 31},
    "rate 0.2, 15 leaves, 63 bins": {"learning_rate": 0.2, "max_leaf_nodes": 15, "max_bins": 63},
}
FEW = {
    "rate 0.05, 100 trees": {"learning_rate": 0.05, "max_iter": 100},
    "rate 0.1, 50 trees, 63 bins": {"learning_rate": 0.1, "max_iter": 50, "max_bins": 63},
}
COLUMNS = 20  # of the trees that are reported; settings were chosen at 50 and 6, with other seeds


def samples(N, n, seed=0):
    """Rows of both samples, and the outcome of the first."""
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(N, n)), rng.normal(size=(N, n))
    T[:, :2] += SHIFT
    return X, wavy(X) + rng.normal(size=N), T


def wavy(X):
    return X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + np.sin(X[:, 3])


def friedman(X):
    U = 1 / (1 + np.exp(-1.7 * X))
    top = 10 * np.sin(np.pi * U[:, 0] * U[:, 1]) + 20 * (U[:, 2] - 0.5) ** 2
    return (top + 10 * U[:, 3] + 5 * U[:, 4]) / 5


def products(X):
    pairs = sum(X[:, 2 * k] * X[:, 2 * k + 1] for k in range(5))
    return pairs / 2 + 0.3 * X[:, 10:20].sum(axis=1)


def steps(X):
    both = (X[:, 0] > 0) & (X[:, 1] > 0.5)
    return 2 * both + 1.5 * ((X[:, 2] > 0) ^ (X[:, 3] > 0)) + (np.abs(X[:, 4]) > 1)


OUTCOMES = {"curves": wavy, "Friedman": friedman, "products": products, "steps": steps}


# Jobs: each runs in a process of its own and prints a line of JSON


def job_estimate(N, n):
    from covshift import estimate

    X, y, T = samples(N, n)
    return lambda: estimate(X, y, T)


def job_evaluate(N, n):
    from sklearn.linear_model import LinearRegression

    from covshift import evaluate

    X, y, T = samples(N, n)
    model = LinearRegression().fit(X[:1000], y[:1000])
    return lambda: evaluate(model, X[1000:], y[1000:], T)


def job_trees(N, n):
    from sklearn.ensemble import HistGradientBoostingRegressor

    X, y, _ = samples(N, n)
    return lambda: HistGradientBoostingRegressor(random_state=0).fit(X, y)


def job_command(train, target):
    from covshift.cli import main

    return lambda: main(["estimate", train, target, "--outcome", "y"])


def job_pandas(train, target):
    import pandas as pd

    return lambda: [pd.read_csv(path) for path in (train, target)]


JOBS = {name.removeprefix("job_"): work for name, work in globals().items() if name[:4] == "job_"}


def run_job(name, given):
    """Do one job here, and print what it took."""
    work = JOBS[name](*given)
    start, before = time.perf_counter(), time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        work()
    wall, cpu = time.perf_counter() - start, time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )
    print(json.dumps({"wall": wall, "cpu": cpu, "peak": peak}))


def measured(name, *given):
    """Do one job in a process of its own."""
    command = [sys.executable, __file__, "--job", json.dumps([name, given])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def write_rows(path, N, seed, shift, outcome):
    """Write a CSV of nine features of six decimals, and the outcome."""
    rng, size = np.random.default_rng(seed), 100_000
    names = [*(f"x{k}" for k in range(9)), *(["y"] * outcome)]
    with Path(path).open("w") as file:
        file.write(",".join(names) + "\n")
        for start in range(0, N, size):
            X = rng.normal(size=(min(size, N - start), 9))
            X[:, :2] += shift
            columns = [X, (wavy(X) + rng.normal(size=len(X)))[:, None]][: 1 + outcome]
            line = ",".join(["%.6f"] * len(names)) + "\n"
            file.write((line * len(X)) % tuple(np.hstack(columns).ravel().tolist()))


def line(title, found, peer=None):
    ratio = "" if peer is None else f"{found['cpu'] / peer['cpu']:.1f}"
    return [
        title,
        f"{found['wall']:.1f}",
        f"{found['cpu']:.1f}",
        f"{found['peak'] / 2**30:.2f}",
        ratio,
    ]


def answers(quick):
    """Lines of the jobs beside their peers."""
    N, n, rows = (2000, 5, 3000) if quick else (100_000, 50, 10_000_000)
    trees = measured("trees", N, n)
    found = [
        line(f"one fit of HistGradientBoostingRegressor(), {N:,} x {n}", trees),
        *(
            line(f"{name}, {N:,} x {n} and as many target rows", measured(name, N, n), trees)
            for name in ("estimate", "evaluate")
        ),
    ]
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder) / name) for name in ("train.csv", "target.csv")]
        write_rows(files[0], rows, 1, 0.0, True)
        write_rows(files[1], rows // 10, 2, SHIFT, False)
        pandas = measured("pandas", *files)
        size = f"{rows:,} x 10 ({Path(files[0]).stat().st_size / 1e9:.2g} GB)"
        found.append(line(f"pandas.read_csv of both files, {size} and {rows // 10:,} x 9", pandas))
        found.append(
            line("covshift estimate of the same files", measured("command", *files), pandas)
        )
    return found


def trees(N, settings, seeds, **options):
    """Lines of the error and the cost of boosted trees, at target rows that were not seen."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    for name, outcome in OUTCOMES.items():
        cells = []
        for own in settings.values():
            error, cost = [], []
            for seed in seeds:
                rng = np.random.default_rng(seed)
                X, T = (rng.normal(size=(size, COLUMNS)) for size in (N, 30_000))
                T[:, :2] += SHIFT
                y = outcome(X) + rng.normal(size=N)
                start = time.process_time()
                with threadpool_limits(1):
                    fit = HistGradientBoostingRegressor(random_state=0, **own, **options)
                    fit.fit(X, y)
                cost.append(time.process_time() - start)
                error.append(np.mean((fit.predict(T) - outcome(T)) ** 2))
            cells += [f"{np.mean(error):.3f}", f"{np.mean(cost):.2f}"]
        # The outcome's own noise has variance one.
        change = np.sqrt((1 + float(cells[2])) / (1 + float(cells[0]))) - 1
        yield [f"{N:,}", name, *cells, f"{change:+.1%}"]


def of_trees(settings, lines):
    """Return the table of two settings."""
    before, after = settings
    head = ["rows", "outcome", f"error: {before}", "s", f"error: {after}", "s", "standard error"]
    return table(head, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing written")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        name, given = json.loads(options.job)
        run_job(name, given)
        return
    quick = options.quick
    stopped = {"max_iter": 20 if quick else 200, "early_stopping": True}
    many = trees(1_000 if quick else 60_000, MANY, (7, 8), **stopped)
    small, seeds = ((300,), (7,)) if quick else ((300, 1_000, 2_500), range(7, 17))
    few = [line for N in small for line in trees(N, FEW, seeds, max_leaf_nodes=8)]
    publish(
        "cost",
        "What large questions cost",
        f"Machine: {machine()}.",
        table(["job", "s", "processor s", "peak GiB", "processor time / peer"], answers(quick)),
        "The peer is the line above of another library, in the same run. On a busy machine compare "
        "processor time, not seconds.",
        "## Boosted trees",
        f"Mean squared error against the true function at shifted rows of {COLUMNS} columns, and "
        "processor seconds of a fit in one thread, means of two seeds beyond 20,000 rows and of "
        "ten below. The last column is what the standard error of a corrected mean changes by, "
        "were trees the whole outcome model.",
        of_trees(MANY, many),
        of_trees(FEW, few),
        "Command: `python benchmarks/cost.py`.",
        write=not quick,
    )


if __name__ == "__main__":
    main()

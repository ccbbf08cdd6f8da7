"""Does the interval of the calibration error hold? Coverage on the target, by simulation.

    python benchmarks/calibration.py --jobs 16    results/calibration.md
    python benchmarks/calibration.py --quick      a few small samples, as the tests run it

Three features, of which the first has moved by 0.6 in the target; the scores are the true
log-odds, times a factor or moved, so that the calibration error is known.
"""

from __future__ import annotations

import argparse
import warnings
import zlib

import numpy as np
from harness import machine, publish, table
from joblib import Parallel, delayed

from covshift import Predictions, evaluate

RUNS, MOVED = 20, 0.6
SCORES = {  # log-odds of the score, from the true ones
    "right": lambda z: z,
    "times 1.3": lambda z: 1.3 * z,
    "times 2": lambda z: 2 * z,
    "plus 0.3": lambda z: z + 0.3,
    "curved": lambda z: z + np.sin(2 * z),
}
RATES = {"30 % positives": -1.0, "5 % positives": -3.8}
CELLS = [(rate, score, N) for rate in RATES for score in SCORES for N in (300, 1000)]
METHODS = ("dr", "weights", "none")


def chances(z):
    return 1 / (1 + np.exp(-z))


def draw(rate, n, mean, rng):
    X = rng.normal([mean, 0, 0], size=(n, 3))
    return X, RATES[rate] + X[:, 0] + 1.2 * X[:, 1]


def truth(rate, score, mean):
    """Calibration error of a million rows of which the chances are known."""
    _, z = draw(rate, 1_000_000, mean, np.random.default_rng(1))
    s, p = chances(SCORES[score](z)), chances(z)
    place = np.minimum((10 * s).astype(int), 9)
    return float(np.abs(np.bincount(place, weights=p - s)).sum() / len(z))


def measure(cell, run):
    """Of each method [value, low, high, standard error]."""
    rate, score, N = cell
    rng = np.random.default_rng([zlib.crc32(f"calibration/{rate}/{N}".encode()), run])
    (X, z), (T, u) = draw(rate, N, 0.0, rng), draw(rate, N, MOVED, rng)
    y = (rng.uniform(size=N) < chances(z)).astype(int)
    scores = Predictions(chances(SCORES[score](z)), chances(SCORES[score](u)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = evaluate(scores, X, y, T, metrics="calibration_error").table
    lines = [found.where(method=method)[0] for method in METHODS]
    return [[line.value, *line.interval, line.standard_error] for line in lines]


def before(value, error):
    """The interval on the logit scale, by the signs that were seen."""
    if not 0 < value < 1:
        return value, value
    logit, half = np.log(value / (1 - value)), 1.96 * error / (value * (1 - value))
    return chances(logit - half), chances(logit + half)


def rows_of(cell, found):
    for k, method in enumerate(METHODS):
        value, low, high, error = np.array(found)[:, k].T
        real = truth(*cell[:2], MOVED if method != "none" else 0.0)
        old = np.array([before(*pair) for pair in zip(value, error, strict=True)]).T
        inside = [np.mean((a <= real) & (real <= b)) for a, b in ((low, high), old)]
        widths = [f"{np.mean(b - a):.3f}" for a, b in ((low, high), old)]
        shares = [f"{100 * share:.0f} %" for share in inside]
        yield [*cell, method, len(value), f"{real:.3f}", f"{value.mean():.3f}", *shares, *widths]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small samples, nothing written")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    cells, runs = (CELLS, RUNS) if not options.quick else ([("30 % positives", "right", 60)], 2)
    pairs = [(cell, run) for cell in cells for run in range(runs)]
    found = Parallel(n_jobs=options.jobs)(delayed(measure)(*pair) for pair in pairs)
    rows = [
        row
        for k, cell in enumerate(cells)
        for row in rows_of(cell, found[k * runs : k * runs + runs])
    ]
    head = ["outcome", "log-odds of the score", "N = M", "method", "runs", "truth", "mean value"]
    head += ["95 % interval holds", "before", "width", "before"]
    publish(
        "calibration",
        "Does the interval of the calibration error hold?",
        "Before: the interval of a share on the logit scale, by the signs of the gaps that were "
        'seen. "dr" is the default, on the target; "none" are the labelled rows as they are.',
        f"Machine: {machine()}.",
        table(head, rows),
        "Command: `python benchmarks/calibration.py --jobs 16`.",
        write=not options.quick,
    )


if __name__ == "__main__":
    main()

"""What a diagnosis costs, at several sizes: time on the wall, processor time, memory.

    python benchmarks/diagnose.py             the table of results/diagnose.md
    python benchmarks/diagnose.py --quick     small sizes, as the tests run it

Normal features of pairwise correlation 0.3; the target is moved by 0.2 in every feature.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc

import numpy as np
from harness import machine, publish, table

from covshift import diagnose

SEED = 0


def samples(N, M, n):
    rng = np.random.default_rng(SEED)

    def draw(rows):
        return np.sqrt(0.3) * rng.normal(size=(rows, 1)) + np.sqrt(0.7) * rng.normal(size=(rows, n))

    return draw(N), draw(M) + 0.2


def measure(N, M, n):
    X, T = samples(N, M, n)
    wall, processor = time.perf_counter(), time.process_time()
    found = diagnose(X, T)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    tracemalloc.start()
    try:
        diagnose(X, T, methods=("cdf",))
        memory = tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()
    return [
        f"{N:,}",
        f"{M:,}",
        n,
        f"{wall:.1f}",
        f"{processor:.1f}",
        f"{memory:.0f}",
        f"{(X.nbytes + T.nbytes) / 2**20:.0f}",
        found.verdict,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing written")
    quick = parser.parse_args().quick
    sizes = [(1000, 1000, 5), (10_000, 10_000, 20), (100_000, 100_000, 20)]
    sizes = [(200, 200, 3)] if quick else sizes
    header = ["N", "M", "features", "wall s", "processor s", "peak MB", "input MB", "verdict"]
    publish(
        "diagnose",
        "Diagnosis",
        f"`covshift.diagnose` with its four weighting methods, seed {SEED}, once. The demand: "
        "under 20 s on two cores for 100,000 rows of 20 features against as many. Memory is what "
        "is allocated beyond the input, with CDF weights alone; beyond the sizes that each part "
        "can afford, rows are drawn at random (docs/diagnosis.md).",
        f"Machine: {machine()}.",
        table(header, [measure(*size) for size in sizes]),
        "Command: `python benchmarks/diagnose.py`.",
        write=not quick,
    )


if __name__ == "__main__":
    main()

"""How good are the numbers of `covshift.estimate`? Coverage, error, balance beside it, and time.

    python benchmarks/estimates.py --part coverage    500 runs a cell (an hour on two cores)
    python benchmarks/estimates.py --part scale       a million rows of each sample (one minute)
    python benchmarks/estimates.py --part tables      in .venv-tables (a quarter of an hour)
    python benchmarks/estimates.py --part jobs        in .venv-tables: problems for balance
    python benchmarks/estimates.py --part margins     in .venv-tables: the target known by margins
    python benchmarks/estimates.py --write            no runs: results/estimates.md from the lines
    python benchmarks/estimates.py --quick            a few small samples, as the tests run it

Before --write: `benchmarks/estimates_balance.py out/balance_jobs.npz out/balance.jsonl`,
in an environment of its own. Every run is kept as one line of JSON under out/, and not repeated.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path

import estimates_coverage as coverage
import estimates_margins
import numpy as np
from estimates_coverage import Kept
from estimates_margins_summary import margins_sections
from harness import machine, publish, table

from covshift import estimate

OUT = Path(__file__).parents[1] / "out"
QUICK = [("share", 60, 50, "line for an outcome model"), ("linear", 60, 50, "defaults")]


def wavy(X):
    return X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3]


def scale_part(kept, sizes=(10_000, 100_000, 1_000_000)):
    """Time one estimate by the defaults; twenty features, five of which have moved by 0.3."""
    rng = np.random.default_rng(1)
    truth = float(wavy(rng.normal(size=(4_000_000, 4)) + 0.3).mean())
    for size in sizes:
        rng = np.random.default_rng(0)
        X, T = rng.normal(size=(size, 20)), rng.normal(size=(size, 20))
        T[:, :5] += 0.3
        y = wavy(X) + rng.normal(size=size)
        start = time.perf_counter()
        found = estimate(X, y, T)
        seconds = time.perf_counter() - start
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        kept.add(
            {
                "rows": size,
                "seconds": seconds,
                "gib": memory,
                "value": found.value,
                "low": found.interval[0],
                "high": found.interval[1],
                "truth": truth,
                "machine": machine(),
            }
        )


def scale_sections(kept):
    rows = [
        [
            f"{line['rows']:,}",
            f"{line['seconds']:.1f}",
            f"{line['gib']:.1f}",
            f"{line['value']:.4f}",
            f"{line['low']:.4f} to {line['high']:.4f}",
            f"{line['truth']:.4f}",
        ]
        for line in kept.lines()
    ]
    head = ["rows of each sample", "seconds", "peak GiB", "estimate", "interval", "truth"]
    return [
        "## Time",
        "One estimate by the defaults, its diagnosis included; twenty normal features, of which "
        "five have moved by 0.3; y = x0 + sin(2 x1) + x2 x3 + noise; seed 0; one run. The peak "
        "memory is that of the process, with the samples.",
        table(head, rows),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=("coverage", "scale", "tables", "jobs", "margins"))
    parser.add_argument("--write", action="store_true", help="write results/estimates.md")
    parser.add_argument("--runs", type=int, help="runs of a cell of the part margins, if not all")
    parser.add_argument("--jobs", type=int, help="processes; default: one per core")
    parser.add_argument("--quick", action="store_true", help="small samples, nothing kept")
    options = parser.parse_args()
    if options.quick:
        with tempfile.TemporaryDirectory() as folder:
            kept = Kept(Path(folder) / "runs.jsonl")
            coverage.measure(QUICK, 3, kept, n_jobs=1)
            known = Kept(Path(folder) / "margins.jsonl")
            estimates_margins.measure("generated", known, 1, runs=1, names=["discrete"])
            sections = [*coverage.sections(QUICK, 3, kept), *margins_sections(known.lines())]
            publish("estimates", "Estimates", *sections, write=False)
        return
    runs, real, times, known = (
        Kept(OUT / f"estimates_{name}.jsonl") for name in ("coverage", "tables", "scale", "margins")
    )
    n_jobs = options.jobs or len(os.sched_getaffinity(0))
    if options.part == "coverage":
        coverage.measure(coverage.CELLS, coverage.RUNS, runs, n_jobs)
    elif options.part == "scale":
        scale_part(times)
    elif options.part == "margins":
        for kind in ("generated", "tables"):
            estimates_margins.measure(kind, known, n_jobs, runs=options.runs)
    elif options.part is not None:
        import estimates_tables  # needs the packages that ship the tables

        if options.part == "jobs":
            estimates_tables.write_jobs(OUT / "balance_jobs.npz")
        else:
            estimates_tables.measure(real, n_jobs)
    if options.write:
        from estimates_summary import tables_sections

        publish(
            "estimates",
            "Numbers of the population: coverage, error, time",
            f"Machine: {machine()}.",
            "## Populations with known means",
            coverage.WORDS,
            *coverage.sections(coverage.CELLS, coverage.RUNS, runs),
            "## Real tables, induced shifts",
            *tables_sections(real, OUT / "balance.jsonl"),
            *margins_sections(estimates_margins.with_rows(known.lines(), real.lines())),
            *scale_sections(times),
            "Commands: see the head of `benchmarks/estimates.py`.",
            write=True,
        )


if __name__ == "__main__":
    main()

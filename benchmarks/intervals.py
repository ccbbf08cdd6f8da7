"""Do prediction intervals keep their coverage on the target? Coverage, width and time.

    python benchmarks/intervals.py --part settle       in .venv-tables: how defaults were chosen
    python benchmarks/intervals.py --part rows         in .venv-tables: the same
    python benchmarks/intervals.py --part tables       in .venv-tables: every cell, several draws
    python benchmarks/intervals.py --part extras       in .venv-tables: other scores and thresholds
    python benchmarks/intervals.py --part generated    problems with known density ratio
    python benchmarks/intervals.py --part overlap      little overlap, or none
    python benchmarks/intervals.py --part scale        1e5 calibration rows, 1e6 predictions
    python benchmarks/intervals.py --write             no runs: results/intervals.md
    python benchmarks/intervals.py --quick             a few small samples, as the tests run it

.venv-tables: benchmarks/tables-requirements.txt and pyarrow. MAPIE in an environment of its own
(benchmarks/intervals-requirements.txt), whose site-packages folder is named by MAPIE_FOLDER.
Every run is kept as one line of JSON under out/, and not repeated; --minutes stops early.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import intervals_problems as problems
import numpy as np
from estimates_coverage import Kept
from harness import machine, publish
from intervals_contenders import measure
from intervals_more import (
    extras_sections,
    generated_sections,
    overlap_sections,
    scale_sections,
)
from intervals_settle import CONTENDERS, FAMILIES, ROWS, rows_sections, settle_sections
from intervals_settle import RUNS as SETTLE
from intervals_summary import cells_sections, goals_sections
from sklearn.linear_model import LinearRegression

from covshift.conformal import ConformalRegressor

PARTS = ("settle", "rows", "tables", "extras", "generated", "overlap", "scale")
OUT = Path(__file__).parents[1] / "out"
SIZES = ("200", "1000", "4000", "10000", "1000, target of 50")
RUNS = {  # draws of each table, by shift and size
    "hard": dict(zip(SIZES, (10, 10, 5, 5, 3), strict=True)),
    "direction": dict(zip(SIZES, (5, 3, 2, 2, 1), strict=True)),
    "rank": dict(zip(SIZES, (5, 3, 2, 2, 1), strict=True)),
    "none": dict(zip(SIZES, (3, 2, 1, 1, 1), strict=True)),
}
EXTRAS = {"hard": {"1000": 2, "200": 2}, "direction": {"1000": 1}, "rank": {"1000": 1}}
MORE = {"1000": 2, "200": 2}
GENERATED = {"200": 20, "1000": 20, "4000": 8, "10000": 4, "1000, target of 50": 8}
LITTLE = {"200": 20, "1000": 20, "4000": 8}
CORE = {"linear": ("linear", {}), "boosted": ("boosted", {})}
WEIGHTERS = ("cdf", "cdf all", "discriminative", "entropy")
OTHERS = {
    "regression": {
        "linear": ("linear", {}),
        "linear, normalized": ("linear", {"conformity_score": "normalized"}),
        "boosted, quantile": ("quantile", {"conformity_score": "quantile"}),
        "linear, cv+": ("linear", {"method": "cv+"}),
    },
    "classification": {
        "linear": ("linear", {}),
        "linear, aps": ("linear", {"conformity_score": "aps", "randomized": True}),
        "linear, cv+": ("linear", {"method": "cv+"}),
    },
}


def core(problem):
    """Plain, weighted and oracle thresholds around two models."""
    contenders = dict.fromkeys(CORE, WEIGHTERS)
    return measure(problem, CORE, contenders, mapie=problem.key.endswith("/0"))


def extras(problem):
    """Doubly robust thresholds, other scores, expected coverage."""
    families = OTHERS[problem.kind]
    contenders = {title: ("cdf", "cdf dr") if title == "linear" else ("cdf",) for title in families}
    return measure(problem, families, contenders, asks=("linear",))


def settle(problem):
    """Thresholds and numbers of calibration rows."""
    return measure(problem, FAMILIES, CONTENDERS)


def fitted_rows(problem):
    """Weights fitted to the rows that train, and to all."""
    return measure(problem, CORE, dict.fromkeys(CORE, ("cdf", "cdf all")))


def table_jobs(runs, half="report"):
    """Cells of one half of the tables, the first draw of each first."""
    return [
        (name, shift, size, run)
        for run in range(max(max(part.values()) for part in runs.values()))
        for size in problems.SIZES
        for name in problems.names(half)
        for shift, part in runs.items()
        if run < part.get(size, 0)
    ]


def generated_jobs(names, runs):
    """Cells of generated problems, the first draw of each first."""
    return [
        (name, "generated", size, run)
        for run in range(max(runs.values()))
        for size in runs
        for name in names
        if run < runs[size]
    ]


def run_all(kept, jobs, work, until):
    """Run what is not kept yet, until the time is over."""
    done = {line["key"] for line in kept.lines()}
    for name, shift, size, run in jobs:
        key = f"{name}/{shift}/{size}/{run}"
        if key in done or time.monotonic() > until:
            continue
        drawn = (
            problems.generated(name, size, run)
            if shift == "generated"
            else problems.of_table(name, shift, size, run)
        )
        kept.add({"key": key, "absent": True} if drawn is None else work(drawn))


def scale_part(kept, n=100_000, m=1_000_000, width=10):
    """Time the default, and MAPIE's plain split, around a fitted linear regression."""
    rng = np.random.default_rng(0)
    X, T, new = (rng.normal(size=(rows, width)) for rows in (n, n, m))
    T[:, :3] += 0.3
    new[:, :3] += 0.3
    y, y_new = (
        part[:, 0] + np.exp(part[:, 0] / 2) * rng.normal(size=len(part)) for part in (X, new)
    )
    model = LinearRegression().fit(X[:1000], y[:1000])
    makers = {"ours": lambda: ConformalRegressor(model, prefit=True, random_state=0)}
    makers["ours, plain"] = lambda: ConformalRegressor(model, prefit=True, weighter=None)
    folder = os.environ.get("MAPIE_FOLDER")
    if folder is not None:
        sys.path.append(folder)
        from mapie.regression import SplitConformalRegressor

        makers["MAPIE, plain"] = lambda: SplitConformalRegressor(
            model, confidence_level=0.9, prefit=True
        )
    for title, make in makers.items():
        start = time.perf_counter(), time.process_time()
        made = make()
        if title.startswith("ours"):
            made.fit(X, y, X_target=T)
        else:
            made.conformalize(X, y)
        between = time.perf_counter(), time.process_time()
        found = made.predict_interval(new)
        end = time.perf_counter(), time.process_time()
        low, high = found if title.startswith("ours") else np.squeeze(found[1]).T
        kept.add(
            {
                "title": title,
                "rows": [n, m, width],
                "fit": [b - a for a, b in zip(start, between, strict=True)],
                "predict": [b - a for a, b in zip(between, end, strict=True)],
                "coverage": float(((low <= y_new) & (y_new <= high)).mean()),
                "machine": machine(),
            }
        )


def quick() -> None:
    """Run a few small problems, and keep nothing."""
    with tempfile.TemporaryDirectory() as folder:
        runs, more, little, times = (
            Kept(Path(folder) / f"{name}.jsonl") for name in ("runs", "more", "little", "times")
        )
        problems.SIZES["60"], problems.MOST_JUDGES = (60, 60), 200
        until = time.monotonic() + 600
        some = generated_jobs(("heteroscedastic", "four classes"), {"60": 2})
        run_all(runs, some, core, until)
        run_all(more, some[:1], extras, until)
        run_all(little, generated_jobs(("moved by 2",), {"60": 1}), core, until)
        scale_part(times, 500, 500, 2)
        sections = [
            *goals_sections([], runs.lines()),
            *cells_sections(runs.lines()),
            *extras_sections(more.lines()),
            *generated_sections(runs.lines()),
            *overlap_sections(little.lines()),
            *scale_sections(times.lines()),
        ]
        publish("intervals", "Intervals", *sections, write=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--write", action="store_true", help="write results/intervals.md")
    parser.add_argument("--quick", action="store_true", help="small samples, nothing kept")
    options = parser.parse_args()
    if options.quick:
        quick()
        return
    kept = {name: Kept(OUT / f"intervals_{name}.jsonl") for name in PARTS}
    until = time.monotonic() + 60 * options.minutes
    if options.part == "settle":
        run_all(kept["settle"], table_jobs(SETTLE, "settle"), settle, until)
    elif options.part == "rows":
        run_all(kept["rows"], table_jobs(ROWS, "settle"), fitted_rows, until)
    elif options.part == "tables":
        run_all(kept["tables"], table_jobs(RUNS), core, until)
    elif options.part == "extras":
        run_all(kept["extras"], table_jobs(EXTRAS), extras, until)
        names = [name for name in problems.GENERATED if name != "unshifted"]
        run_all(kept["extras"], generated_jobs(names, MORE), extras, until)
    elif options.part == "generated":
        run_all(kept["generated"], generated_jobs(problems.GENERATED, GENERATED), core, until)
    elif options.part == "overlap":
        run_all(kept["overlap"], generated_jobs(problems.LITTLE, LITTLE), core, until)
    elif options.part == "scale":
        scale_part(kept["scale"])
    if options.write:
        found = {name: part.lines() for name, part in kept.items()}
        publish(
            "intervals",
            "Do intervals keep their coverage on the target?",
            f"Machine: {machine()}; MAPIE 1.6.0.",
            *goals_sections(found["tables"], found["generated"]),
            *cells_sections(found["tables"]),
            *generated_sections(found["generated"]),
            *extras_sections(found["extras"]),
            *overlap_sections(found["overlap"]),
            *scale_sections(found["scale"]),
            *settle_sections(found["settle"]),
            *rows_sections(found["rows"]),
            "Commands: see the head of `benchmarks/intervals.py`.",
            write=True,
        )


if __name__ == "__main__":
    main()

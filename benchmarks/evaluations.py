"""How good are the numbers of `covshift.evaluate`? Error, coverage, NannyML beside it, and time.

    python benchmarks/evaluations.py --part tables      in .venv-tables (an hour on two cores)
    python benchmarks/evaluations.py --part monitored   in .venv-tables, with NANNYML_FOLDER set
    python benchmarks/evaluations.py --part jobs        in .venv-tables: problems for NannyML
    python benchmarks/evaluations.py --part scale       a hundred thousand rows (one minute)
    python benchmarks/evaluations.py --write            no runs: results/evaluations.md
    python benchmarks/evaluations.py --quick            a few small samples, as the tests run it

.venv-tables: benchmarks/tables-requirements.txt and pyarrow. Before --write, in an environment of
its own (benchmarks/evaluations-requirements.txt):
`benchmarks/evaluations_nannyml.py out/nannyml_tables`, and the same for out/nannyml_monitored.
Every run is kept as one line of JSON under out/, and not repeated.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from estimates_coverage import Kept
from evaluations_summary import monitored_sections, tables_sections
from harness import machine, publish, table
from sklearn.linear_model import LogisticRegression

from covshift import evaluate
from covshift.datasets import make_survey

OUT = Path(__file__).parents[1] / "out"
PARTS = ("tables", "monitored", "jobs", "scale")


def scale_part(kept, sizes=((10_000, 20), (100_000, 10), (100_000, 20))):
    """Time one evaluation by the defaults; five features have moved by 0.3."""
    for rows, width in sizes:
        rng = np.random.default_rng(0)
        X, T = (rng.normal(size=(rows, width)) for _ in range(2))
        T[:, :5] += 0.3
        y, y_T = (rng.uniform(size=rows) < _chance(part) for part in (X, T))
        more = rng.normal(size=(5000, width))
        model = LogisticRegression().fit(more, rng.uniform(size=5000) < _chance(more))
        start = time.perf_counter()
        found = evaluate(model, X, y, T)
        seconds = time.perf_counter() - start
        row = found["accuracy"]
        kept.add(
            {
                "rows": rows,
                "width": width,
                "seconds": seconds,
                "value": row.value,
                "interval": list(row.interval),
                "truth": float((model.predict(T) == y_T).mean()),
                "machine": machine(),
            }
        )


def _chance(X):
    return 1 / (1 + np.exp(-(X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3])))


def scale_sections(kept):
    """Return the table of times."""
    rows = [
        [
            f"{line['rows']:,}",
            line["width"],
            f"{line['seconds']:.1f}",
            f"{line['value']:.4f}",
            f"{line['interval'][0]:.4f} to {line['interval'][1]:.4f}",
            f"{line['truth']:.4f}",
        ]
        for line in kept.lines()
    ]
    head = ["rows of each sample", "features", "seconds", "accuracy", "interval", "realised"]
    return [
        "## Time",
        "One evaluation by the defaults (accuracy, AUC, Brier score, curves, diagnosis); normal "
        "features, of which five have moved by 0.3; a logistic regression judged; seed 0; one run.",
        table(head, rows),
    ]


def quick_line(kind, shift):
    """Run one small made-up problem."""
    from evaluations_problems import Problem, performance
    from evaluations_tables import evaluated

    survey = make_survey(160, 80, random_state=0)
    y, p = survey.y, survey.probability_target
    if kind == "regression":
        y, p = survey.X[:, 0], survey.X_target[:, 0]
    rng = np.random.default_rng(0)
    said, said_T = (0.4 * part + 0.6 * rng.uniform(size=len(part)) for part in (y, p))
    truth = performance(kind, p > 0.5 if kind == "classification" else p, said_T)
    trained = np.arange(160) < 80
    key = f"made up/{shift}/linear/small/0"
    problem = Problem(key, kind, survey.X, y, said, trained, survey.X_target, said_T, truth)
    return {"key": key, "kind": kind, "truth": truth, **evaluated(problem)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--write", action="store_true", help="write results/evaluations.md")
    parser.add_argument("--quick", action="store_true", help="small samples, nothing kept")
    options = parser.parse_args()
    if options.quick:
        with tempfile.TemporaryDirectory() as folder:
            runs, times = (Kept(Path(folder) / f"{name}.jsonl") for name in ("runs", "times"))
            for kind, shift in (("classification", "direction"), ("regression", "natural")):
                runs.add(quick_line(kind, shift))
            scale_part(times, ((200, 5),))
            sections = tables_sections(runs, Path(folder) / "absent")
            publish("evaluations", "Evaluations", *sections, *scale_sections(times), write=False)
        return
    runs, monitored, times = (
        Kept(OUT / f"evaluations_{name}.jsonl") for name in ("tables", "monitored", "scale")
    )
    if options.part == "scale":
        scale_part(times)
    elif options.part is not None:
        import evaluations_tables  # needs the packages that ship the tables

        if options.part == "tables":
            evaluations_tables.measure(runs, options.jobs, evaluations_tables.jobs())
        elif options.part == "jobs":
            evaluations_tables.write_jobs(OUT / "nannyml_tables")
        else:
            folder = OUT / "nannyml_monitored"
            evaluations_tables.measure_monitored(monitored, options.jobs, folder)
    if options.write:
        publish(
            "evaluations",
            "How good is the model there? Error, coverage, time",
            f"Machine: {machine()}.",
            *tables_sections(runs, OUT / "nannyml_tables" / "nannyml.jsonl"),
            *monitored_sections(monitored, OUT / "nannyml_monitored" / "nannyml.jsonl"),
            *scale_sections(times),
            "Commands: see the head of `benchmarks/evaluations.py`.",
            write=True,
        )


if __name__ == "__main__":
    main()

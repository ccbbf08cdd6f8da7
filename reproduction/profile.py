"""Where the time of a run goes: by contender, overhead, and how it scales with processes.

    python -m reproduction.profile out/reproduction

runs a slice of Experiment 4 with one and with two processes beside the trials in that folder, and
prints the page; `publish` writes it to ``results/profile.md``.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from .configuration import Job, Key, Settings, contenders_of, read_settings
from .reporting.layout import Table, label
from .runner import run_job, run_jobs
from .store import Store
from .trials import Trials

_SLICE = 40  # trials of the slice that is run with one and with two processes
_CELL = ("4", "banknote")
_PARTS = ("select", "sweep", "machine", "controls")


def main(argv: list[str]) -> int:
    """Measure overhead and scaling, keep them beside the trials, and print the page."""
    folder = Path(argv[0] if argv else "out/reproduction")
    settings = read_settings()
    measured = {"overhead": overhead(settings), "scaling": scaling(settings)}
    (folder / "scaling.json").write_text(json.dumps(measured), encoding="utf-8")
    trials = Trials(Store(folder / "trials.jsonl", settings.fingerprint).load(), settings)
    print(profile_page(trials, folder))
    return 0


def profile_page(trials: Trials, folder: Path) -> str:
    """The profile of the trials in ``folder`` as Markdown."""
    parts = [
        "# Where the time goes",
        "CPU seconds of the committed run, on one thread a process. Reproduced by "
        "`python -m reproduction.profile out/reproduction` after a run.",
        shares(trials),
        by_contender(trials).markdown(),
        by_experiment(trials).markdown(),
    ]
    kept = folder / "scaling.json"
    if kept.exists():
        parts.append(_words(json.loads(kept.read_text(encoding="utf-8"))))
    return "\n\n".join(parts) + "\n"


def is_timed(trials: Trials) -> bool:
    """Whether the trials carry times; committed ones do not."""
    return any("seconds" in one for found in trials.results.values() for one in found.values())


def shares(trials: Trials) -> str:
    """What the time was spent on, in words."""
    sums = _sums(_spent(trials))
    select, sweep, machine, controls = (100 * part / (sum(sums) or 1.0) for part in sums)
    return (
        f"{select:.0f} % of the time is the contenders' own selection and {sweep:.0f} % the sweeps "
        f"over their parameters; {machine:.0f} % is the kernel machine, with γ by cross-validation "
        f"for every method, and {controls:.0f} % the controls on V."
    )


def by_contender(trials: Trials) -> Table:
    """CPU seconds of each contender, by what they were spent on, and their share."""
    spent = _spent(trials)
    total = sum(sum(parts.values()) for parts in spent.values()) or 1.0
    ranked = sorted(spent.items(), key=lambda item: -sum(item[1].values()))
    rows = [
        [label(name)]
        + [f"{parts.get(part, 0.0):.1f}" for part in _PARTS]
        + [f"{100 * sum(parts.values()) / total:.1f} %"]
        for name, parts in ranked
    ]
    rows.append(["all", *(f"{value:.1f}" for value in _sums(spent)), "100 %"])
    header = ["contender", "selection", "parameter sweeps", "machine", "controls on V", "share"]
    return Table("CPU seconds by contender.", header, rows)


def by_experiment(trials: Trials) -> Table:
    """CPU seconds and trials of each experiment."""
    rows = []
    for experiment in ("1", "2", "3", "4", "5", "robustness"):
        found = [one for key, one in trials.results.items() if key.experiment == experiment]
        seconds = sum(sum(c.get("seconds", {}).values()) for one in found for c in one.values())
        if found:
            rows.append(
                [experiment, str(len(found)), f"{seconds:.0f}", f"{seconds / len(found):.2f}"]
            )
    header = ["experiment", "trials", "CPU seconds", "a trial"]
    return Table("CPU seconds by experiment.", header, rows)


def _spent(trials: Trials) -> dict[str, dict[str, float]]:
    """CPU seconds of each contender, by part."""
    spent: dict[str, dict[str, float]] = {}
    for found in trials.results.values():
        for name, one in found.items():
            for part, seconds in one.get("seconds", {}).items():
                at = spent.setdefault(name, {})
                at[part] = at.get(part, 0.0) + seconds
    return spent


def _sums(spent: dict[str, dict[str, float]]) -> list[float]:
    return [sum(parts.get(part, 0.0) for parts in spent.values()) for part in _PARTS]


def overhead(settings: Settings) -> dict[str, float]:
    """CPU seconds of a few trials, and the part that no contender accounts for."""
    jobs = _jobs(settings, 4)
    run_job(jobs[0], settings)  # imports, and the data from disk
    start = time.process_time()
    inside = 0.0
    for job in jobs:
        found = run_job(job, settings)
        inside += sum(sum(one["seconds"].values()) for one in found.values())
    return {"cpu": time.process_time() - start, "contenders": inside}


def scaling(settings: Settings) -> dict[str, Any]:
    """Wall and CPU seconds of the slice with one and with two processes."""
    found = {}
    for processes in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            store = Store(Path(folder) / "trials.jsonl", settings.fingerprint)
            before, start = _cpu(), time.perf_counter()
            run_jobs(_jobs(settings, _SLICE), settings, store, processes, quiet=True)
            found[str(processes)] = {
                "wall": time.perf_counter() - start,
                "cpu": _cpu() - before,
            }
    return found


def _jobs(settings: Settings, count: int) -> list[Job]:
    names = tuple(contenders_of(settings, *_CELL))
    return [Job(Key(*_CELL, trial), names) for trial in range(count)]


def _cpu() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _words(measured: dict[str, Any]) -> str:
    over, one, two = measured["overhead"], measured["scaling"]["1"], measured["scaling"]["2"]
    share = 100 * (1 - over["contenders"] / over["cpu"])
    return (
        f"Overhead: {share:.1f} % of a trial's CPU time is spent outside the contenders (drawing, "
        f"kernels, seeds, bookkeeping).\n\nScaling, {_SLICE} trials of Experiment "
        f"{' '.join(_CELL)}: {one['wall']:.1f} s of wall time with one process, {two['wall']:.1f} "
        f"s with two (start of the processes included); CPU time {one['cpu']:.1f} s and "
        f"{two['cpu']:.1f} s, so that the two had {two['cpu'] / two['wall']:.2f} cores to "
        f"themselves. With all of two cores it would be {two['cpu'] / 2:.1f} s."
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

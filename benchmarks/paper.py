"""The paper's experiments: the trials of `reproduction`, in the parts of the benchmarks.

The trials are those of `python -m reproduction`; its settings, its seeds, its reports. What is done
here is added to out/reproduction/trials.jsonl, from which `python -m reproduction.publish` fills
docs/reproduction.md and the files beside it. Real data are read from COVSHIFT_DATA; a data set that
is not there is left out.
"""

from __future__ import annotations

from harness import ROOT, Work, main, table

from reproduction import data
from reproduction.cli import choose, parser
from reproduction.configuration import Job, Key, dataset_of, read_settings
from reproduction.reporting.claims import claims
from reproduction.runner import run_job
from reproduction.store import Store
from reproduction.trials import Trials

TITLE = "The paper's experiments"
OUT = ROOT / "out" / "reproduction"


def trial(experiment, cell, number, *contenders):
    """Run one trial."""
    return run_job(Job(Key(experiment, cell, number), contenders), read_settings())


def works(share, quick):
    """All trials of all experiments; with a share, the first ones of each cell."""
    settings = read_settings()
    wanted = choose(parser().parse_args(["--quick"] if quick else []), settings)
    real = {dataset_of(key.cell) for key in wanted if key.experiment not in ("1", "2")}
    absent = data.absent(real, "real")
    jobs, numbers = [], {}
    for key, names in wanted.items():
        if key.experiment not in ("1", "2") and dataset_of(key.cell) in absent:
            continue
        numbers.setdefault((key.experiment, key.cell), []).append(key.trial)
        jobs.append((key.experiment, key.cell, key.trial, *names))
    last = {cell: max(1, round(share * len(trials))) for cell, trials in numbers.items()}
    jobs = [job for job in jobs if job[2] < last[job[:2]]]
    if quick:
        jobs = [job for job in jobs if job[0] == "1"]
    return [
        Work(f"experiment {name}", trial, [job for job in jobs if job[0] == name], 2.0)
        for name in dict.fromkeys(job[0] for job in jobs)
    ]


def report(found):
    """Return which claims hold, and how many trials there are; keep the trials."""
    settings = read_settings()
    results = {Key(*job[:3]): dict(line) for part in found.values() for job, line in part}
    trials, counts = Trials(results, settings), {}
    for key in results:
        cell = key.experiment, key.cell
        counts[cell] = counts.get(cell, 0) + 1
    sections = [
        "## Trials",
        table(["experiment", "cell", "trials"], ((*c, n) for c, n in counts.items())),
    ]
    if len(found) > 1:
        keep_trials(results, settings)
        rows = [[claim.title, claim.standing] for claim in claims(trials)]
        sections = ["## Claims of the paper", table(["claim", "here"], rows), *sections]
    return sections


def keep_trials(results, settings):
    """Add the trials to those that `reproduction.publish` reads."""
    store = Store(OUT / "trials.jsonl", settings.fingerprint)
    store.repair()
    done = store.load()
    for key, found in results.items():
        if found.keys() - done.get(key, {}).keys():
            store.append(key, found)


if __name__ == "__main__":
    main(__file__)

"""The command: choose trials, run what is missing, write the reports."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from . import data
from .configuration import (
    EXPERIMENTS,
    Job,
    Key,
    Settings,
    cells,
    contenders_of,
    dataset_of,
    read_settings,
)
from .contenders import CONTENDERS
from .reporting.write import write_reports
from .runner import run_jobs
from .store import Results, Store
from .trials import Trials

_NAMED = 10  # failed trials that are named

DESCRIPTION = """\
Reproduce the experiments of Mazaheri, Jain and Bruck (2020), with the controls they lack.

Finished trials are kept in the output folder: the same command goes on where it was interrupted.
The full run takes under half an hour on two cores, --quick under two minutes.
"""


def main(argv: list[str]) -> int:
    """Run the command; return its exit status."""
    arguments = parser().parse_args(argv)
    settings = read_settings(arguments.data, arguments.seed)
    output = Path(arguments.output)
    store = Store(output / "trials.jsonl", settings.fingerprint)
    if arguments.fresh:
        store.path.unlink(missing_ok=True)
    wanted = choose(arguments, settings)
    missing = data.absent({dataset_of(key.cell) for key in wanted if _is_real(key)}, arguments.data)
    for name, reason in missing.items():
        print(f"The {name} data are absent: {reason}", file=sys.stderr)
    wanted = {key: names for key, names in wanted.items() if _present(key, missing)}
    if not wanted:
        print("Nothing to run: no data set of those chosen is there.", file=sys.stderr)
        return 1
    store.repair()
    done = store.load()
    jobs = remaining(wanted, done)
    print(f"{len(wanted)} trials, {len(wanted) - len(jobs)} of them done before.", file=sys.stderr)
    try:
        failed = run_jobs(jobs, settings, store, arguments.processes, quiet=arguments.quiet)
    except KeyboardInterrupt:
        print("\nInterrupted; the same command goes on from here.", file=sys.stderr)
        return 130
    trials = Trials(kept(store.load(), wanted), settings)
    write_reports(trials, output, missing)
    for key, error in list(failed.items())[:_NAMED]:
        where = f"Experiment {key.experiment}, {key.cell}, trial {key.trial}"
        print(f"{where} failed: {type(error).__name__}: {error}", file=sys.stderr)
    if len(failed) > _NAMED:
        print(f"{len(failed) - _NAMED} more trials failed.", file=sys.stderr)
    return 1 if failed else 0


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = argparse.ArgumentParser(
        "python -m reproduction",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    size = made.add_mutually_exclusive_group()
    size.add_argument("--full", action="store_true", help="the paper's trials (the default)")
    size.add_argument("--quick", action="store_true", help="few trials of every cell")
    size.add_argument("--trials", type=_positive, help="so many trials of every cell")
    made.add_argument(
        "--only", action="append", choices=EXPERIMENTS, help="this experiment; may be repeated"
    )
    made.add_argument(
        "--dataset", action="append", choices=list(data.LOADERS), help="this data set; likewise"
    )
    made.add_argument(
        "--method",
        action="append",
        choices=list(CONTENDERS),
        metavar="METHOD",
        help=f"this contender, beside the unweighted one; likewise. One of {', '.join(CONTENDERS)}",
    )
    made.add_argument(
        "--processes", type=_positive, default=_cores(), help="processes (default: all cores)"
    )
    made.add_argument(
        "--output", default="out/reproduction", help="folder of the results (default: %(default)s)"
    )
    made.add_argument(
        "--data",
        choices=("real", "generated"),
        default="real",
        help='"generated": new ringnorm and twonorm rows, where the data sets are not to be had',
    )
    made.add_argument("--seed", type=int, help="another seed than that of the settings")
    made.add_argument("--fresh", action="store_true", help="forget the trials of earlier runs")
    made.add_argument("--quiet", action="store_true", help="no progress bar")
    return made


def choose(arguments: argparse.Namespace, settings: Settings) -> dict[Key, list[str]]:
    """Return the trials asked for, and their contenders; the unweighted one is always there."""
    size = "quick" if arguments.quick else "full"
    wanted: dict[Key, list[str]] = {}
    for experiment in arguments.only or EXPERIMENTS:
        trials = arguments.trials or settings["trials"][size][experiment]
        for cell in cells(settings, experiment):
            real = experiment not in ("1", "2")
            if arguments.dataset and not (real and dataset_of(cell) in arguments.dataset):
                continue
            names = contenders_of(settings, experiment, cell)
            if arguments.method:
                names = [name for name in names if name in ("unweighted", *arguments.method)]
            count = 1 if experiment == "1" else trials
            wanted |= {Key(experiment, cell, trial): names for trial in range(count)}
    return wanted


def remaining(wanted: dict[Key, list[str]], done: Results) -> list[Job]:
    """Return a job for each trial that lacks a contender; first trials first, over all cells."""
    jobs = []
    for key, names in sorted(wanted.items(), key=lambda item: item[0].trial):
        lacking = tuple(name for name in names if name not in done.get(key, {}))
        if lacking:
            jobs.append(Job(key, lacking))
    return jobs


def kept(done: Results, wanted: dict[Key, list[str]]) -> Results:
    """Return what was asked for, from all that is there."""
    return {
        key: {name: done[key][name] for name in names if name in done.get(key, {})}
        for key, names in wanted.items()
        if key in done
    }


def _is_real(key: Key) -> bool:
    return key.experiment not in ("1", "2")


def _present(key: Key, missing: dict[str, str]) -> bool:
    return not _is_real(key) or dataset_of(key.cell) not in missing


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

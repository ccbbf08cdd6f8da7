"""``covshift demo``: the whole path on an embedded survey, from two CSV files to a report."""

from __future__ import annotations

import argparse
import csv
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Any

from ..exceptions import InputError
from . import console, options

_LABEL = "chronic_condition"


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = options.add_command(
        commands,
        "demo",
        "Write two CSV files, a survey that some people answer more often than others and a "
        "sample of the population; then estimate, diagnose, compare, fit, predict and report.",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        default="out/demo",
        help="folder to write to (default: out/demo)",
    )
    parser.add_argument("--rows", type=int, default=500, help="number of answers (default: 500)")
    parser.add_argument(
        "--force", action="store_true", help="overwrite files not written by a demo"
    )
    parser.add_argument("--files-only", action="store_true", help="write only the CSV files")
    options.add_seed(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the files, then call the commands as a user would, and say what each did."""
    folder = Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    answers, population = folder / "survey.csv", folder / "population.csv"
    if args.rows < 100:
        raise InputError(f"--rows {args.rows}: the demonstration needs at least 100.")
    _refuse_other_files(answers, args.force)
    _write_survey(answers, population, args.rows, args.seed)
    if args.files_only:
        print(f"Wrote {answers} and {population}.")
        return 0
    print(
        f"A made-up health survey. {answers} holds the people who answered, with the\n"
        f"outcome {_LABEL}; older and richer people answered more often. {population}\n"
        "is a random sample of the population. In practice its outcome would be unknown; here\n"
        "it is known, and used only to check the results.\n"
    )
    both = [str(answers), str(population), "--id", "person"]
    files = [*both, "--label", _LABEL]
    model, predictions, report = (
        str(folder / name) for name in ("model.covshift", "predictions.csv", "report.html")
    )
    step = partial(_step, args.parse)
    step("1. What is it in the population?", ["estimate", *both, "--outcome", _LABEL])
    truth = 100 * _mean(population, _LABEL)
    print(f"The truth, by the outcome in {population}: {truth:.1f} %.\n")
    step("2. Is there a shift, and where?", ["diagnose", *files])
    found = step("3. Which correction helps, if any?", ["compare", *files]).found
    fit = ["fit", *files, "--method", found.recommended, "-o", model, "--force"]
    step("4. Fit what was recommended.", fit)
    step(
        "5. Predict for the population.",
        ["predict", model, str(population), "-o", predictions, "--force"],
    )
    _check(answers, population, Path(predictions))
    step("6. Put it all in one file.", ["report", *files, "-o", report, "--force"], found)
    print(f"Open the report in a browser: {report}")
    return 0


def _refuse_other_files(answers: Path, force: bool) -> None:
    """Overwrite what an earlier demonstration wrote, and nothing else."""
    if force or not answers.exists():
        return
    with answers.open(encoding="utf-8", errors="replace") as file:
        if not file.readline().startswith("person,"):
            raise InputError(
                f"{answers} exists and was not written by a demo. Name another folder with -o, "
                "or pass --force to overwrite it."
            )


def _step(parse: Any, question: str, command: list[str], found: Any = None) -> argparse.Namespace:
    """Run a command; a comparison that was ``found`` before is not made again."""
    print(console.paint(question, "bold", sys.stdout))
    print(f"$ {shlex.join(['covshift', *command])}", flush=True)
    args: argparse.Namespace = parse(command)
    args.argv, args.found = command, found
    before, console.quiet = console.quiet, True
    try:
        args.run(args)
    finally:
        console.quiet = before
    print(flush=True)
    return args


def _write_survey(answers: Path, population: Path, rows: int, seed: int) -> None:
    from ..datasets import make_survey

    survey = make_survey(rows, 2 * rows, random_state=seed)
    names = ["person", *survey.feature_names, _LABEL]
    for path, X, y in (
        (answers, survey.X, survey.y),
        (population, survey.X_target, survey.y_target),
    ):
        letter = path.name[0]
        with console.text_file(str(path)) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(names)
            for k, (x, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True), start=1):
                writer.writerow([f"{letter}{k}", *(f"{value:g}" for value in x), label])


def _check(answers: Path, population: Path, predictions: Path) -> None:
    """Say how far the sample and the model are from the truth."""
    said = _mean(answers, _LABEL)
    predicted = _mean(predictions, "probability_1")
    truth = _mean(population, _LABEL)
    print(
        f"In the survey {said:.1%} have the condition. For the population the model predicts "
        f"{predicted:.1%}; the truth is {truth:.1%}.\n"
    )


def _mean(path: Path, column: str) -> float:
    with path.open(encoding="utf-8", newline="") as file:
        values = [float(row[column]) for row in csv.DictReader(file)]
    return sum(values) / len(values)

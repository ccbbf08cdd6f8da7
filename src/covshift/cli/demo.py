"""``covshift demo``: the whole path on an embedded survey, from two CSV files to a report."""

from __future__ import annotations

import argparse
import csv
import shlex
import sys
from pathlib import Path
from typing import Any

from . import console, options

_LABEL = "chronic_condition"


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = options.add_command(
        commands,
        "demo",
        "the whole path on an embedded survey, in less than a minute",
        "Write two CSV files, a survey that some people answer more often and a sample of the "
        "population, then diagnose, compare, fit, predict and report.",
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", default="out/demo", help="folder (default: out/demo)"
    )
    parser.add_argument("--rows", type=int, default=600, help="answers (default: 600)")
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: 0)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the files, then call the commands as a user would, and say what each did."""
    from .run import run_command

    folder = Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    answers, population = folder / "survey.csv", folder / "population.csv"
    _write_survey(answers, population, max(100, args.rows), args.seed)
    print(
        f"A made-up health survey. {answers}: who answered, with the outcome {_LABEL}; older and "
        f"richer people\nanswered more often. {population}: a fair sample of the population. It "
        "knows the outcome too, as no real\nproblem does; it is used only to check.\n"
    )
    files = [str(answers), str(population), "--id", "person", "--label", _LABEL]
    model, report = str(folder / "model.covshift"), str(folder / "report.html")
    predictions = str(folder / "predictions.csv")
    steps: list[tuple[str, list[str]]] = [
        ("Is there a shift, and where?", ["diagnose", *files]),
        ("Which correction helps, if any?", ["compare", *files]),
        ("Fit a model for the population.", ["fit", *files, "-o", model, "--force"]),
        (
            "Predict for the population.",
            ["predict", model, str(population), "-o", predictions, "--force"],
        ),
        ("Put it all in one file.", ["report", *files, "-o", report, "--force"]),
    ]
    for number, (question, command) in enumerate(steps, start=1):
        print(console.paint(f"{number}. {question}", "bold", sys.stdout))
        print(f"$ {shlex.join(['covshift', *command])}", flush=True)
        code = run_command([*command, "--quiet"] + ["--debug"] * args.debug)
        if code:
            return code
        print(flush=True)
    _check(answers, population, Path(predictions))
    print(f"\nThe report to open: {report}")
    return 0


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
        f"The survey alone says {said:.1%} have the condition; the model predicts {predicted:.1%} "
        f"of the population; the truth is {truth:.1%}."
    )


def _mean(path: Path, column: str) -> float:
    with path.open(encoding="utf-8", newline="") as file:
        values = [float(row[column]) for row in csv.DictReader(file)]
    return sum(values) / len(values)

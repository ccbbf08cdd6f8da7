"""``covshift demo``: four questions about a biased survey, answered and checked."""

from __future__ import annotations

import argparse
import csv
import io
import itertools
import math
import re
import shlex
import sys
from collections.abc import Iterable
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from ..exceptions import InputError
from . import console, options

_MODEL, _INTERVALS, _REPORT = "model.covshift", "intervals.csv", "report.html"
_AGES = (18, 30, 40, 50, 60, 70, 91)
_BAR = 24  # characters of the longest bar
_OPTIONS = """
-o, --output DIR  folder to write to (default: out/demo)
--rows ROWS:int  number of answers (default: 500)
--force  overwrite files not written by a demo
--files-only  write only survey.csv and population.csv
"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = options.add_command(
        commands,
        "demo",
        "Make up a survey that some people answer more often than others, and a sample of the "
        "population; then ask what a number is there, how good a model is there, how sure its "
        "predictions are, where the two differ, and whether a correction helps. The truth is "
        "known, and every answer is checked against it.",
    )
    defaults: Any = {"output": {"default": "out/demo"}, "rows": {"default": 500}}
    options.add_options(parser, _OPTIONS, **defaults)
    options.add_seed(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the files, then call the commands as a user would, and check what they say."""
    folder = Path(args.output)
    answers, population = folder / SURVEY, folder / POPULATION
    if args.rows < 100:
        raise InputError(f"--rows {args.rows}: the demonstration needs at least 100.")
    refuse_other_files(answers, args.force)
    folder.mkdir(parents=True, exist_ok=True)
    write_survey(folder, args.rows, args.seed)
    if args.files_only:
        print(f"Wrote {answers} and {population}.")
        return 0
    print(
        "A made-up health survey: older and richer people answer more often. survey.csv holds\n"
        "those who answered, population.csv a random sample of everybody. It was generated\n"
        f"(seed {args.seed}), so the truth is known; the answers are checked against it, and do "
        "not use it.\n"
    )
    print(f"$ cd {shlex.quote(str(folder))}\n")
    with chdir(folder):
        _tell(Steps(args.parse, args.seed), args.rows)
    print(
        f"The report: {folder / _REPORT} (open it in a browser). With your own files:\n\n"
        "  covshift estimate sample.csv population.csv --outcome COLUMN\n"
        "  covshift evaluate sample.csv population.csv --label COLUMN --score COLUMN\n"
        "  covshift report   sample.csv population.csv --label COLUMN -o report.html"
    )
    return 0


def _tell(step: Steps, rows: int) -> None:
    """Ask the questions in the folder of the files, one after the other."""
    survey = [SURVEY, POPULATION, "--id", "person"]
    sport = [SPORT_POPULATION, "--id", "person", "--label", SPORT]

    step.ask("1. How many have a chronic condition?")
    step("estimate", *survey, "--outcome", CONDITION, head=4)
    print(f"The truth: {column(POPULATION, CONDITION).mean():.1%} of population.csv.\n")

    step.ask("2. How good is a model there? Minutes of sport, by a random forest")
    write_sport(Path(), rows, step.seed)
    judged = ["--prediction", FOREST, "--metric", "mae"]
    step("evaluate", HELD_OUT, *sport, *judged, head=1)
    truth, forest = column(SPORT_POPULATION, SPORT), column(SPORT_POPULATION, FOREST)
    print(
        f"The truth: {abs(truth - forest).mean():.3g}. On the answers it looks better than it is: "
        "the young, whose sport\nvaries most, seldom answer.\n"
    )

    step.ask("3. How sure is a prediction there? Intervals for 90%")
    step("fit", TRAIN, *sport, "--method", "none", "-o", _MODEL, "--force", head=1)
    predict = ["predict", _MODEL, SPORT_POPULATION, "--interval", "90"]
    predict += ["--calibration", HELD_OUT, "-o", _INTERVALS, "--force"]
    step(*predict, grep="^Coverage", stderr=True)
    low, high, middle = (column(_INTERVALS, name) for name in ("lower", "upper", "prediction"))
    inside = ((low <= truth) & (truth <= high)).mean()
    plain = (abs(truth - middle) <= step.plain_width()).mean()
    print(f"The truth: {inside:.1%} are inside. Without weights: {plain:.1%}.\n")

    step.ask("4. Where do the samples differ, and can weights repair it?")
    step("diagnose", *survey, "--label", CONDITION, head=4)
    step("weigh", *survey, "--label", CONDITION, "-o", "weights.csv", "--force")
    print(_picture())

    step.ask("5. Which correction helps a model, if any? Minutes of sport, by a linear model")
    lines = "^(Use|Keep|method|none|cdf|vsvm)"
    step("compare", TRAIN, *sport, "--learner", "linear", grep=lines)
    print("Truth: squared error in the population, which had no part in the choice.\n")

    step.ask("All of it in one file, for the chronic condition")
    report = ["--label", CONDITION, "--learner", "linear", "-o", _REPORT, "--force"]
    step("report", *survey, *report)
    print()


class Steps:
    """Runs commands as a user would, and shows the first lines of what they print."""

    def __init__(self, parse: Any, seed: int) -> None:
        self.parse, self.seed = parse, seed

    def ask(self, question: str) -> None:
        """Say what comes."""
        print(console.paint(question, "bold", sys.stdout))

    def __call__(self, *command: str, head: int = 0, grep: str = "", stderr: bool = False) -> None:
        """Run a command; show the lines of its output that the pipe after it would let through."""
        pipe = f" | head -n {head}" if head else f" | grep -E {shlex.quote(grep)}" if grep else ""
        shown = shlex.join(["covshift", *command]) + (" 2>&1" if stderr else "") + pipe
        print(f"$ {shown}", flush=True)
        lines = self.run(*command, stderr=stderr).splitlines()
        kept = [line for line in lines if re.search(grep, line)] if grep else lines[:head]
        if kept:
            print("\n".join(kept), flush=True)

    def run(self, *command: str, stderr: bool = False) -> str:
        """Run a command, and return what it prints; warnings go where they always go."""
        args: argparse.Namespace = self.parse(list(command))
        args.argv = list(command)
        before, console.quiet = console.quiet, not stderr
        printed = io.StringIO()
        try:
            with redirect_stdout(printed):
                if stderr:
                    with redirect_stderr(printed):
                        args.run(args)
                else:
                    args.run(args)
        finally:
            console.quiet = before
        return printed.getvalue()

    def plain_width(self) -> float:
        """Half the width of ordinary 90% intervals, from the same model and held-out rows."""
        self.run("predict", _MODEL, HELD_OUT, "-o", "held_out_predictions.csv", "--force")
        said = column("held_out_predictions.csv", "prediction")
        errors = sorted(abs(column(HELD_OUT, SPORT) - said))
        return float(errors[math.ceil(0.9 * (len(errors) + 1)) - 1])


def _picture() -> str:
    """Draw the ages of the survey, of the population, and of the survey once weighted."""
    import numpy as np

    answers, people = column(SURVEY, "age"), column(POPULATION, "age")
    pairs = ((answers, None), (people, None), (answers, column("weights.csv", "weight")))
    counts = [np.histogram(ages, _AGES, weights=w)[0] for ages, w in pairs]
    bars = [count / count.sum() for count in counts]
    longest = max(map(max, bars))
    heads = ("survey", "population", "survey, weighted")
    lines = ["  age    " + "".join(f"{head:<{_BAR + 6}}" for head in heads).rstrip()]
    for k, (low, high) in enumerate(itertools.pairwise(_AGES)):
        cells = [
            f"{'#' * round(_BAR * share[k] / longest)} {share[k]:.0%}".ljust(_BAR + 6)
            for share in bars
        ]
        lines.append(f"  {low}-{high - 1}  " + "".join(cells).rstrip())
    return "\n".join(lines) + "\n"


# The files of ``covshift demo``: a survey that some people answer more often than others.


CONDITION, SPORT = "chronic_condition", "sport_minutes"
SURVEY, POPULATION = "survey.csv", "population.csv"
TRAIN, HELD_OUT, SPORT_POPULATION = "sport_train.csv", "sport_held_out.csv", "sport_population.csv"
FOREST = "forest"


def refuse_other_files(answers: Path, force: bool) -> None:
    """Overwrite what an earlier demonstration wrote, and nothing else."""
    if force or not answers.exists():
        return
    with answers.open(encoding="utf-8", errors="replace") as file:
        if not file.readline().startswith("person,"):
            raise InputError(
                f"{answers} exists and was not written by a demo. Name another folder with -o, "
                "or pass --force to overwrite it."
            )


def write_survey(folder: Path, rows: int, seed: int) -> None:
    """Write who answered, and a sample of the population, with the chronic condition of both."""
    from ..datasets import make_survey

    survey = make_survey(rows, 2 * rows, random_state=seed)
    names = [*survey.feature_names, CONDITION]
    _write(folder / SURVEY, names, survey.X, survey.y)
    _write(folder / POPULATION, names, survey.X_target, survey.y_target)


def write_sport(folder: Path, rows: int, seed: int) -> None:
    """Write a second survey, about sport, with the predictions of a random forest.

    The forest is trained on the first half of the answers, as a user's own model would be.
    """
    from sklearn.ensemble import RandomForestRegressor

    from ..datasets import make_survey

    sport = make_survey(2 * rows, 2 * rows, outcome="sport", random_state=seed)
    X, y, T = sport.X, sport.y, sport.X_target
    forest = RandomForestRegressor(min_samples_leaf=5, random_state=seed).fit(X[:rows], y[:rows])
    names = [*sport.feature_names, SPORT]
    _write(folder / TRAIN, names, X[:rows], y[:rows])
    names.append(FOREST)
    _write(folder / HELD_OUT, names, X[rows:], y[rows:], forest.predict(X[rows:]))
    _write(folder / SPORT_POPULATION, names, T, sport.y_target, forest.predict(T))


def _write(path: Path, names: list[str], X: Any, *columns: Any) -> None:
    rows: Iterable[Any] = zip(X.tolist(), *(column.tolist() for column in columns), strict=True)
    with console.text_file(str(path)) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["person", *names])
        for k, (x, *outcomes) in enumerate(rows, start=1):
            writer.writerow([f"{path.name[0]}{k}", *(f"{value:g}" for value in (*x, *outcomes))])


def column(path: str, name: str) -> Any:
    """Read the numbers of a column: an array."""
    from ..files.table import read_table

    return read_table(path, {name: "number"})[name]

"""``covshift demo``: four questions about a biased survey, answered and checked."""

from __future__ import annotations

import csv
import itertools
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..exceptions import InputError
from . import console
from .options import Seed

CONDITION, SPORT, FOREST = "chronic_condition", "sport", "forest"
SURVEY, POPULATION, REPORT = "survey.csv", "population.csv", "report.html"
SPORT_SURVEY, REST, SPORT_POPULATION = "sport_survey.csv", "sport_rest.csv", "sport_population.csv"
_AGES = (18, 30, 40, 50, 60, 70, 91)
_BAR = 24  # characters of the longest bar


@dataclass(frozen=True, kw_only=True)
class Arguments(Seed):
    """Make up a survey that some people answer more often than others, and a sample of the
    population; then ask what a number is there, how good a model is there, how far off its
    predictions may be, and whether a model needs a correction. The truth is known, and every answer
    is checked against it.

    Output:
      -o, --output DIR  folder to write to (default: out/demo)
      --rows ROWS:int  number of answers (default: 500)
      --force  overwrite files not written by a demo
      --files-only  write only survey.csv and population.csv
    """

    output: str = "out/demo"
    rows: int = 500
    force: bool = False
    files_only: bool = False


def run(options: Arguments) -> int:
    """Write the files, ask the library, and check what it answers."""
    folder = Path(options.output)
    if options.rows < 100:
        raise InputError(f"--rows {options.rows}: the demonstration needs at least 100.")
    refuse_other_files(folder / SURVEY, options.force)
    folder.mkdir(parents=True, exist_ok=True)
    write_survey(folder, options.rows, options.seed)
    if options.files_only:
        print(f"Wrote {folder / SURVEY} and {folder / POPULATION}.")
        return 0
    print(
        "A made-up survey of health and minutes of sport per week: older and richer people answer\n"
        f"more often. It was generated (seed {options.seed}), so the truth is known; the answers "
        "are checked against\nit, and do not use it. The commands below give the same answers from "
        f"the files in\n{shlex.quote(str(folder))}.\n"
    )
    ask(folder, options.rows, options.seed)
    print(
        f"The report: {folder / REPORT} (open it in a browser). With your own files:\n\n"
        "  covshift estimate sample.csv population.csv --outcome COLUMN\n"
        "  covshift evaluate sample.csv population.csv --label COLUMN --score COLUMN\n"
        "  covshift report   sample.csv population.csv --label COLUMN -o report.html"
    )
    return 0


def ask(folder: Path, rows: int, seed: int) -> None:
    """Ask the four questions of a second survey, and write the report of the answers."""
    import pyarrow as pa
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.linear_model import LinearRegression

    from .. import ConformalRegressor, Predictions, Reweighted, compare, estimate, evaluate, report
    from ..datasets import make_survey

    made = make_survey(2 * rows, 2 * rows, outcome="sport", random_state=seed)
    X, y, T, truth = made.X, made.y, made.X_target, made.y_target
    forest = RandomForestRegressor(min_samples_leaf=5, random_state=seed).fit(X[:rows], y[:rows])
    judged, predicted = forest.predict(X[rows:]), forest.predict(T)
    names = [*made.feature_names]
    survey = pa.table(dict(zip([*names, SPORT], [*X.T, y], strict=True)))
    population = pa.table(dict(zip(names, T.T, strict=True)))
    rest = survey.slice(rows)
    _write(folder / SPORT_SURVEY, [*names, SPORT], X, y)
    _write(folder / REST, [*names, SPORT, FOREST], X[rows:], y[rows:], judged)
    _write(folder / SPORT_POPULATION, [*names, FOREST], T, predicted)
    files = f"{SPORT_SURVEY} {SPORT_POPULATION}"

    _question("1. What is it in the population? Minutes of sport per week")
    mean = estimate(survey, SPORT, population, random_state=seed)
    _answer(mean.sentence, f"{truth.mean():.1f}")
    print(picture(X[:, 0], T[:, 0], mean.weights))
    _command(f"estimate {files} --outcome {SPORT}", seed)

    _question("2. How good is my model there? A random forest that predicts them")
    scores = Predictions({FOREST: judged}, {FOREST: predicted}, task="numbers")
    error = evaluate(scores, rest, SPORT, population, metrics="mae", random_state=seed)
    _answer(error.sentence, f"{abs(truth - predicted).mean():.1f}")
    judge = f"evaluate {REST} {SPORT_POPULATION} --label {SPORT}"
    _command(f"{judge} --prediction {FOREST} --metric mae", seed)

    _question("3. How wrong can a prediction be? Intervals of the forest for 90%")
    conformal = ConformalRegressor(forest, prefit=True, random_state=seed)
    conformal.fit(X[rows:], y[rows:], X_target=T)
    intervals = conformal.predict_interval(T, coverage=0.9)
    held = f"{intervals.covers(truth).mean():.1%} are inside"
    _answer(f"Expected coverage: {conformal.expected_coverage(0.9)}.", held)
    print("  Intervals of our own models: covshift fit --calibrate, then covshift predict.\n")

    _question("4. Does my model need a correction? A linear one")
    choice = compare(
        survey, SPORT, population, learner="linear", methods=["cdf"], random_state=seed
    )
    risks = [
        ((model.predict(T) - truth) ** 2).mean()
        for model in (
            LinearRegression().fit(X, y),
            Reweighted(LinearRegression(), weighter="cdf").fit(X, y, X_target=T),
        )
    ]
    _answer(choice.sentence, f"{risks[0]:,.0f} without the correction, {risks[1]:,.0f} with it")
    _command(f"compare {files} --label {SPORT} --learner linear --method cdf", seed)

    text = report.build(mean, error, choice, intervals, title="Minutes of sport, a made-up survey")
    with console.text_file(str(folder / REPORT)) as file:
        file.write(text)


def _question(text: str) -> None:
    print(console.paint(text, "bold", sys.stdout), flush=True)


def _answer(sentence: str, truth: str) -> None:
    print(f"{sentence}\nThe truth: {truth}.\n", flush=True)


def _command(command: str, seed: int) -> None:
    print(f"  covshift {command}" + (f" --seed {seed}" if seed else "") + "\n")


def picture(answers: Any, people: Any, weights: Any) -> str:
    """Draw the ages of the survey, of the population, and of the survey once weighted."""
    import numpy as np

    pairs = ((answers, None), (people, None), (answers, weights))
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
    for name, X, y in (
        (SURVEY, survey.X, survey.y),
        (POPULATION, survey.X_target, survey.y_target),
    ):
        people = [f"{name[0]}{k}" for k in range(1, len(X) + 1)]
        _write(folder / name, names, X, y, person=people)


def _write(
    path: Path, names: list[str], X: Any, *more: Any, person: list[str] | None = None
) -> None:
    cells = [*X.T, *more]
    columns = [[f"{value:.12g}" for value in column.tolist()] for column in cells]
    with console.text_file(str(path)) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names if person is None else ["person", *names])
        writer.writerows(zip(*columns if person is None else (person, *columns), strict=True))

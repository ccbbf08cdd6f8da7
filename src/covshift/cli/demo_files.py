"""The files of ``covshift demo``: a survey that some people answer more often than others."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..exceptions import InputError
from . import console

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


def column(path: str, name: str) -> list[float]:
    """Read the numbers of a column."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        return [float(row[name]) for row in csv.DictReader(file)]

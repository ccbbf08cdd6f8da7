"""--weight has no scale and --frequency counts rows, in every command that takes them."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from command import covshift

rng = np.random.default_rng(0)
N, M = 60, 50
ROWS = np.round(np.column_stack([rng.normal(size=(N, 2)), rng.integers(1, 4, N)]), 3)
Y = (ROWS[:, 0] + 0.5 * rng.normal(size=N) > 0).astype(int)
SCORE = np.round(1 / (1 + np.exp(-ROWS[:, 0])), 4)
TARGET = np.round(np.column_stack([rng.normal(0.4, 1, size=(M, 2)), rng.integers(1, 4, M)]), 3)
TARGET_SCORE = np.round(1 / (1 + np.exp(-TARGET[:, 0])), 4)
UNEVEN = np.round(rng.uniform(0.5, 3, N), 2)

COMMANDS = {
    "diagnose": ["--label", "y", "--drop", "p"],
    "weigh": ["--label", "y", "--drop", "p"],
    "compare": ["--label", "y", "--drop", "p", "--learner", "linear"],
    "fit": ["--label", "y", "--drop", "p", "--learner", "linear", "--method", "entropy"],
    "estimate": ["--outcome", "y", "--drop", "p"],
    "evaluate": ["--label", "y", "--score", "p"],
    "report": ["--label", "y", "--drop", "p", "--learner", "linear"],
}
WRITES = ("weigh", "fit", "report")
PASSING = {"seconds", "file", "n_train", "n_written", "rows"}  # times, paths and other counts


def write(path, rows, y, p, **more):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", *(["y"] if y is not None else []), "p", *more])
        columns = [*rows[:, :2].T, *([y] if y is not None else []), p, *more.values()]
        writer.writerows(zip(*columns, strict=True))
    return path


def run(command, folder, train, target, *options):
    out = folder / f"{command}.out"
    write(folder / "new.csv", TARGET, None, TARGET_SCORE)
    given = ["-o", out, "--force"] if command in WRITES else []
    result = covshift(command, train, target, *COMMANDS[command], "--json", *given, *options)
    assert result.code == 0, result.err
    found = numbers(json.loads(result.out))
    if command == "fit":
        said = csv.DictReader(io.StringIO(covshift("predict", out, folder / "new.csv").out))
        found |= {("p", k): float(row["probability_1"]) for k, row in enumerate(said)}
        assert len(found) >= M
    if command == "weigh":
        with out.open() as file:
            found |= {("w", k): float(row["weight"]) for k, row in enumerate(csv.DictReader(file))}
    return found


def numbers(data, at=()):
    """All numbers of the output, by where they stand."""
    if isinstance(data, dict):
        parts = [(key, part) for key, part in data.items() if key not in PASSING]
    elif isinstance(data, list):
        parts = list(enumerate(data))
    else:
        is_number = isinstance(data, int | float) and not isinstance(data, bool)
        return {at: float(data)} if is_number else {}
    return {key: value for name, part in parts for key, value in numbers(part, (*at, name)).items()}


def agree(one, other, tolerance):
    assert one.keys() == other.keys()
    for key, value in one.items():
        assert value == pytest.approx(other[key], rel=tolerance, abs=tolerance), key


@pytest.mark.parametrize("command", COMMANDS)
def test_the_scale_of_weights_changes_nothing(command, tmp_path):
    target = write(tmp_path / "t.csv", TARGET, None, TARGET_SCORE, v=TARGET[:, 2])
    found = []
    for scale in (1, 10, 0.001)[: 2 if command == "report" else 3]:
        train = write(tmp_path / f"{scale}.csv", ROWS, Y, SCORE, d=scale * UNEVEN)
        options = ("--weight", "d", "--target-weight", "v")
        found.append(run(command, tmp_path, train, target, *options))
    agree(found[0], found[1], 1e-6)
    agree(found[0], found[-1], 1e-6)
    same = write(tmp_path / "same.csv", ROWS, Y, SCORE, d=np.full(N, 10))
    plain = write(tmp_path / "plain.csv", ROWS, Y, SCORE)
    given = ("--target-weight", "v")
    agree(
        run(command, tmp_path, same, target, "--weight", "d", *given),
        run(command, tmp_path, plain, target, *given),
        1e-9,
    )


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - {"weigh"}))
def test_frequencies_are_repeated_rows(command, tmp_path):
    times, seen = ROWS[:, 2].astype(int), TARGET[:, 2].astype(int)
    counted = write(tmp_path / "counted.csv", ROWS, Y, SCORE, n=times)
    there = write(tmp_path / "there.csv", TARGET, None, TARGET_SCORE, m=seen)
    rows, again = np.repeat(np.arange(N), times), np.repeat(np.arange(M), seen)
    repeated = write(tmp_path / "repeated.csv", ROWS[rows], Y[rows], SCORE[rows])
    target = write(tmp_path / "target.csv", TARGET[again], None, TARGET_SCORE[again])
    options = ("--frequency", "n", "--target-frequency", "m")
    agree(
        run(command, tmp_path, counted, there, *options),
        run(command, tmp_path, repeated, target),
        1e-9,
    )


def test_fractions_are_weights_and_no_frequencies(tmp_path):
    train = write(tmp_path / "a.csv", ROWS, Y, SCORE, d=UNEVEN)
    target = write(tmp_path / "t.csv", TARGET, None, TARGET_SCORE)
    for command in ("diagnose", "weigh", "compare"):
        options = COMMANDS[command]
        result = covshift(command, train, target, *options, "--frequency", "d")
        assert result.code == 2
        assert "no whole numbers" in result.err
        assert "are --weight" in result.err

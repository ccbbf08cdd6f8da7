"""``covshift plan``: the library's rows, in a file with a column to fill in."""

from __future__ import annotations

import csv
import json

import numpy as np
import pandas as pd
import pytest
from command import covshift, rows, write

from covshift import Predictions, plan

N, M = 46, 70
FILE = ("-o", "to_label.csv")
TRAIN = rows(N)
TARGET = rows(M, 0.4, seed=1, label=False)


def scored(table, chances):
    lines = zip(table[1:], chances, strict=True)
    return [[*table[0], "p"], *([*row, f"{chance:.3f}"] for row, chance in lines)]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "train.csv", TRAIN)
    write(tmp_path / "target.csv", TARGET)
    return tmp_path


def call(*options):
    return covshift("plan", "train.csv", "target.csv", "--outcome", "y", *options)


def written(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_rows_are_written_as_they_are_with_a_column_to_fill_in(files):
    assert call("--count", "20").code == 0
    assert sorted(path.name for path in files.iterdir()) == ["target.csv", "train.csv"]
    done = call("--count", "20", *FILE)
    assert done.code == 0
    assert "Label 20 of 70 target rows" in done.out
    lines = written("to_label.csv")
    assert list(lines[0]) == ["row", *TARGET[0], "y", "probability"]
    assert len(lines) == 20
    for line in lines:
        assert [line[name] for name in TARGET[0]] == TARGET[int(line["row"])]
        assert line["y"] == ""
        assert 0 < float(line["probability"]) <= 1


def test_the_plan_is_that_of_the_library(files):
    done = call("--count", "20", "--json", "--seed", "3", "-o", "next.csv")
    train, target = pd.read_csv("train.csv"), pd.read_csv("target.csv")
    found = plan(train, "y", target, count=20, random_state=3)
    data = json.loads(done.out)
    assert data["rows"] == (found.rows + 1).tolist()
    assert data["half_width"] == pytest.approx(found.half_width)
    chances = [float(line["probability"]) for line in written("next.csv")]
    assert chances == pytest.approx(found.probability[found.rows].tolist())


@pytest.mark.thorough
def test_metrics_of_a_model_can_be_planned_for(files):
    rng = np.random.default_rng(0)
    chances = rng.uniform(size=N).round(3), rng.uniform(size=M).round(3)
    write(files / "train.csv", scored(TRAIN, chances[0]))
    write(files / "target.csv", scored(TARGET, chances[1]))
    done = call("--score", "p", "--metric", "roc_auc", "--count", "20", "--json")
    train, target = pd.read_csv("train.csv"), pd.read_csv("target.csv")
    found = plan(train, "y", target, model=Predictions("p"), what="roc_auc", count=20)
    data = json.loads(done.out)
    assert data["rows"] == (found.rows + 1).tolist()
    assert data["table"][0]["what"] == "AUC"


def test_a_file_is_never_overwritten_unless_told(files):
    assert call("--count", "20", *FILE).code == 0
    before = (files / "to_label.csv").read_bytes()
    again = call("--count", "30", *FILE)
    assert (again.code, (files / "to_label.csv").read_bytes()) == (2, before)
    assert "--force" in again.err
    assert call("--count", "30", "--force", *FILE).code == 0
    assert len(written("to_label.csv")) == 30


def test_columns_of_the_targets_that_the_file_needs_are_left_out(files):
    named = [
        ["row", *TARGET[0], "y"],
        *([str(7 * k), *row, "1"] for k, row in enumerate(TARGET[1:])),
    ]
    write(files / "target.csv", named)
    done = call("--count", "20", "--drop", "row", *FILE)
    assert "called 'row'" in done.err
    lines = written("to_label.csv")
    assert list(lines[0]) == ["row", *TARGET[0], "y", "probability"]
    assert {line["y"] for line in lines} == {""}
    assert [TARGET[int(line["row"])][0] for line in lines] == [line[TARGET[0][0]] for line in lines]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--half-width", "0.0001"], "--half-width 0.0001 cannot be reached"),
        (["--half-width", "0.1", "--count", "20"], "--count and --half-width"),
        (["--count", "500"], "--count 500, but the target has 70 rows"),
        (["--count", "2"], "--count 2 must be a whole number of at least 5."),
        (["--outcome", "age"], "one outcome"),
        (["--target-frequency", "age"], "--target-frequency"),
        (["--json", "-o", "-"], "--json"),
        (["--metric", "cost", "--score", "age"], "only Python"),
        (["--metric", "f1"], "--score"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_options(files, options, told):
    done = call(*options)
    assert done.code == 2
    assert told in done.err
    assert not (files / "to_label.csv").exists()


def test_the_target_is_a_file(files):
    done = covshift("plan", "train.csv", "-", "--outcome", "y", stdin=b"age\n1\n")
    assert (done.code, "name a file" in done.err) == (2, True)


@pytest.mark.thorough
@pytest.mark.parametrize("command", ["estimate", "evaluate"])
def test_a_plan_that_was_filled_in_is_taken_back(files, command):
    write(files / "train.csv", scored(TRAIN, np.linspace(0.1, 0.9, N)))
    write(files / "target.csv", scored(TARGET, np.linspace(0.9, 0.1, M)))
    said = ["--score", "p"] if command == "evaluate" else ["--drop", "p"]
    assert call("--count", "20", *said, *FILE).code == 0
    with open("to_label.csv", newline="", encoding="utf-8") as file:
        head, *lines = csv.reader(file)
    for k, line in enumerate(lines):
        line[head.index("y")] = str(k % 2)
    write(files / "to_label.csv", [head, *lines])
    label = "--outcome" if command == "estimate" else "--label"
    asked = [command, "train.csv", "target.csv", label, "y", *said]
    found = covshift(*asked, "--target-outcome", "to_label.csv", "--json")
    assert found.code == 0, found.err
    data = json.loads(found.out)
    assert (data["method"], data["n_labels"]) == ("both", 20)
    write(files / "other.csv", [["line", *head[1:]], *lines])
    refused = covshift(*asked, "--target-outcome", "other.csv")
    assert refused.code == 2
    assert "no column 'row'" in refused.err
    lines[0][0] = "999"
    write(files / "other.csv", [head, *lines])
    assert "target.csv has no row 999" in covshift(*asked, "--target-outcome", "other.csv").err


def test_labels_are_planned_for_the_scores_of_a_column(files):
    write(files / "train.csv", scored(TRAIN, np.linspace(0.1, 0.9, N)))
    write(files / "target.csv", scored(TARGET, np.linspace(0.9, 0.1, M)))
    done = call("--count", "20", "--score", "p")
    assert done.code == 0, done.err

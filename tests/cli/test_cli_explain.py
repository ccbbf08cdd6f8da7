"""``covshift explain``: the library's explanation, of an estimate or of a model."""

from __future__ import annotations

import csv
import json

import pandas as pd
import pytest
from command import covshift, rows, write

from covshift import Predictions, estimate, evaluate

TRAIN = rows(60)
TARGET = rows(70, 0.4, seed=1, label=False)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, table in (("train.csv", TRAIN), ("target.csv", TARGET)):
        chances = [f"{0.2 + 0.6 * (float(row[0]) > 0):.1f}" for row in table[1:]]
        lines = ([*row, p] for row, p in zip(table[1:], chances, strict=True))
        write(tmp_path / name, [[*table[0], "p"], *lines])
    return pd.read_csv("train.csv"), pd.read_csv("target.csv")


def call(*more):
    return covshift("explain", "train.csv", "target.csv", "--outcome", "y", *more)


@pytest.mark.thorough
def test_the_explanation_is_that_of_the_library(files):
    train, target = (part.drop(columns="p") for part in files)
    done = call("--drop", "p", "--json", "-o", "parts.csv")
    assert done.code == 0
    expected = estimate(train, "y", target).explain()
    data = json.loads(done.out)
    assert data["sentence"] == expected.sentence
    with open("parts.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [line["column"] for line in lines] == [row.column for row in expected.table]
    total = sum(float(line["value"]) for line in lines)
    assert total == pytest.approx(expected.change.value, abs=1e-9)


@pytest.mark.thorough
def test_a_metric_of_a_model_is_explained(files):
    train, target = files
    done = call("--score", "p", "--metric", "accuracy", "--threshold", "0.5")
    assert done.code == 0
    said = Predictions(train.pop("p"), target.pop("p"), threshold=0.5)
    expected = evaluate(said, train, "y", target, metrics=["accuracy"]).explain()
    assert expected.sentence in done.out


@pytest.mark.thorough
def test_columns_are_joined_and_wrong_ones_refused(files):
    names = ",".join(TARGET[0][:2])
    done = call("--drop", "p", "--join", f"both={names}")
    assert done.code == 0
    assert "both" in done.out
    assert call("--drop", "p", "--join", "both=zebra").code == 2
    done = call("--join", "both")
    assert done.code == 2
    assert "NAME=COL,COL" in done.err
    done = call("--score", "p", "--what", "median")
    assert done.code == 2
    assert "--what is for numbers" in done.err
    done = call("--join", "one=x0", "--join", "one=x1")
    assert done.code == 2
    assert "--join: two groups have the same name" in done.err


@pytest.mark.parametrize("option", [("--shift", "label"), ("--sensitivity", "2"), ("--null", "0")])
def test_options_that_explain_nothing_are_refused(files, option):
    done = call(*option)
    assert done.code == 2
    assert f"no option {option[0]}" in done.err

"""What is left out, and what nobody named, is told where it matters."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from command import covshift

from covshift import diagnose, estimate
from covshift.encoding.cells import read_cells
from covshift.encoding.left_out import LeftOut, missed


def messy(words: bool, shift: float, seed: int, size: int = 300) -> pd.DataFrame:
    """A column of amounts in two currencies, which stays text."""
    rng = np.random.default_rng(seed)
    sales = rng.lognormal(6 + shift, 0.7, size).round()
    marks = np.where(np.arange(size) % 5 > 0, "$", "about €")
    frame = pd.DataFrame({"x": rng.normal(size=size).round(3), "key": rng.permutation(size)})
    frame["sales"] = [f"{m}{v:,.0f}" for m, v in zip(marks, sales, strict=True)]
    frame["y"] = (np.log(sales) + rng.normal(size=size)).round(3)
    if not words:
        frame["y"] = rng.normal(size=size).round(3)
    return frame


def warned(found) -> list[str]:
    return [note.text for note in found.notes if note.severity == "warning"]


def test_a_column_that_was_left_out_and_matters_is_a_warning_beside_the_answer(tmp_path):
    train, target = messy(True, 0.5, 0), messy(True, 0.0, 1).drop(columns="y")
    ours = estimate(train, "y", target, method="weights")
    assert len(warned(ours)) == 1
    assert "differs between the samples and goes with the outcome" in warned(ours)[0]
    assert "Warning: 'sales' was left out" in str(ours)
    paths = tmp_path / "a.csv", tmp_path / "b.csv"
    for frame, path in zip((train, target), paths, strict=True):
        frame.to_csv(path, index=False)
    result = covshift("estimate", *paths, "--outcome", "y", "--method", "weights", "--json")
    theirs = [
        note["text"] for note in json.loads(result.out)["notes"] if "'sales' was" in note["text"]
    ]
    assert theirs == [
        warned(ours)[0].replace(
            'X_target=Target(rows, kinds={"sales": "category"})', "--categorical sales"
        )
    ]
    dropped = covshift(
        "estimate", *paths, "--outcome", "y", "--method", "weights", "--drop", "sales"
    )
    assert "'sales'" not in dropped.out
    assert len(warned(diagnose(train[["x", "sales"]], target[["x", "sales"]], methods=()))) == 1


def test_a_column_that_was_left_out_and_does_not_matter_is_no_warning():
    train, target = messy(False, 0.0, 0), messy(False, 0.0, 1).drop(columns="y")
    assert not warned(estimate(train, "y", target, method="weights"))


@pytest.mark.parametrize(
    ("column", "y", "many"),
    [
        (["a", "b", None] * 40, [0.0, 1.0, np.nan] * 40, 1),
        (["a", "b", "c"] * 40, ["u", "v", "v"] * 40, 1),
        (["a", "b", "c"] * 40, [0.0] * 120, 0),
        ([f"p{k}" for k in range(120)], list(range(120)), 0),  # different in every row
        ([1.0, 2.0, np.nan] * 40, [True, False, None] * 40, 1),
    ],
)
def test_what_goes_with_an_outcome_of_any_kind_is_found(column, y, many):
    cells = read_cells(pd.DataFrame({"c": column}), "X")
    assert len(LeftOut(cells, cells).warnings(y)) == many
    assert not LeftOut(cells, cells).warnings()


def test_chance_seldom_warns():
    rng = np.random.default_rng(0)
    words = np.array([f"w{k}" for k in range(30)])
    alarms = 0
    for _ in range(200):
        here, there = (
            read_cells(pd.DataFrame({"c": rng.choice(words, size)}), "X") for size in (80, 120)
        )
        alarms += len(LeftOut(here, there).warnings(rng.normal(size=80)))
    assert alarms <= 4


def weighted(seed: int, size: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "x": rng.normal(size=size).round(3),
            "perweight": rng.uniform(1, 3, size).round(3),
            "weight": rng.normal(70, 10, size).round(1),
            "y": rng.normal(size=size).round(3),
        }
    )


def test_survey_weights_and_known_outcomes_are_named_with_what_uses_them(tmp_path):
    train, target = weighted(0), weighted(1)
    target.loc[30:, "y"] = np.nan
    ours = [note.text for note in estimate(train, "y", target, method="weights").notes]
    for frame, name in ((train, "a.csv"), (target, "b.csv")):
        frame.to_csv(tmp_path / name, index=False)
    files = tmp_path / "a.csv", tmp_path / "b.csv"
    result = covshift("estimate", *files, "--outcome", "y", "--method", "weights")
    for python, option in (
        ('sample_weight="perweight"', "--weight perweight"),
        ('target_weight="perweight"', "--target-weight perweight"),
        ('sample_weight="weight"', "--weight weight"),
        ('y_target="y"', "--target-outcome y"),
    ):
        assert any(python in text for text in ours)
        assert option in result.err
    used = diagnose(train.drop(columns="y"), target.drop(columns="y"), methods=())
    assert {feature.name for feature in used.features} == {"x", "weight"}
    known = estimate(train, "y", target, y_target="y", sample_weight="perweight")
    assert not [note for note in known.notes if note.kind == "known outcomes"]


def test_copies_and_weights_are_not_missed():
    train, target = weighted(0), weighted(1)
    target["perweight"] *= 3
    twins = [frame.assign(twin=frame["x"]) for frame in (train, target.drop(columns="y"))]
    found = estimate(twins[0], "y", twins[1], method="weights")
    assert not [note for note in found.notes if note.kind == "left out"]
    assert missed(["twin", "x"], found.notes) == []

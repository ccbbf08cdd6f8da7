"""Several targets at once, in Python and on the command line."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from command import covshift, rows, write

from covshift import diagnose
from covshift.diagnostics import diagnose_batches
from covshift.exceptions import InputError


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("batches")
    write(folder / "train.csv", rows(150))
    write(folder / "may.csv", rows(120, seed=1, label=False))
    write(folder / "june.csv", rows(120, 0.8, seed=2, label=False))
    far = rows(120, seed=3, label=False)
    for row in far[1:31]:
        row[2] = "z"
    write(folder / "july.csv", far)
    return folder


def test_each_target_is_diagnosed_as_if_alone():
    X, a, b = np.random.default_rng(0).normal(size=(3, 80, 2))
    given = {"methods": ("cdf",)}
    found = diagnose_batches(X, {"a": a, "b": b + 1}, **given)
    assert list(found.batches) == ["a", "b"]
    assert found.batches["b"].to_dict() == diagnose(X, b + 1, **given).to_dict()
    assert found.verdict == found.batches["b"].verdict
    lines = str(found).splitlines()
    assert lines[0] == f"Verdict: {found.verdict} (1 of 2 targets: b)"
    assert [line.split()[0] for line in lines[2:5]] == ["target", "a", "b"]
    assert lines[6].startswith("Any correction assumes")
    assert found.batches["b"].worst[0].name in lines[4]
    assert set(found.to_dict()) == {"sentence", "assumption", "verdict", "targets", "notes"}
    json.dumps(found.to_dict(), allow_nan=False)


def test_frame_and_picture_have_a_place_for_every_target():
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    X, a = np.random.default_rng(0).normal(size=(2, 40, 2))
    found = diagnose_batches(X, {"a": a, "few": a[:5]}, methods=())
    frame = found.to_frame()
    assert frame.index.tolist() == ["a", "few"]
    assert frame["rows"].tolist() == [40, 5]
    display = found.plot()
    assert display.values[0, 0] == found.batches["a"].auc.value
    assert np.isnan(display.values[1, 0])  # too few rows for an AUC
    labels = display.ax_.get_legend_handles_labels()[1]
    assert labels == ["no shift", "target against training rows"]


def test_weights_of_target_rows_come_by_the_names_of_the_targets():
    X, a, b = np.random.default_rng(0).normal(size=(3, 30, 2))
    v = np.linspace(1, 2, 30)
    found = diagnose_batches(X, {"a": a, "b": b}, target_weight={"b": v}, methods=())
    assert found.batches["a"] == diagnose(X, a, methods=())
    assert found.batches["b"] == diagnose(X, b, target_weight=v, methods=())
    for bad in (v, {"c": v}):
        with pytest.raises(InputError, match="names of the targets"):
            diagnose_batches(X, {"a": a}, target_weight=bad)
    for bad in ({}, [a]):
        with pytest.raises(InputError, match="not a dict of target rows"):
            diagnose_batches(X, bad)


@pytest.mark.thorough
def test_the_command_has_one_line_per_file(files):
    names = ["may.csv", "june.csv", "july.csv"]
    paths = [files / name for name in names]
    result = covshift("diagnose", files / "train.csv", *paths, "--label", "y")
    assert result.code == 0, result.err
    lines = result.out.splitlines()
    assert lines[0] == "Verdict: no overlap (1 of 3 targets: july.csv)"
    assert [line.split()[0] for line in lines[3:6]] == names
    assert "town" in lines[5]
    assert "z 0%" in lines[5]
    strict = covshift("diagnose", files / "train.csv", paths[2], "--label", "y", "--strict")
    assert strict.code == 3
    spoken = covshift("diagnose", files / "train.csv", *paths[:2], "--label", "y", "--json")
    data = json.loads(spoken.out)
    alone = covshift("diagnose", files / "train.csv", paths[1], "--label", "y", "--json")
    one = json.loads(alone.out)
    assert list(data["targets"]) == names[:2]
    assert data["targets"]["june.csv"]["features"] == one["features"]


def test_the_flags_of_rows_are_a_table(files):
    out = files / "flags.csv"
    given = [files / "train.csv", files / "july.csv", "--label", "y", "-o", out, "--force"]
    result = covshift("diagnose", *given)
    assert result.out.startswith("Verdict: no overlap")
    with out.open(encoding="utf-8", newline="") as file:
        table = list(csv.reader(file))
    assert table[0] == ["row", "overlap", "why"]
    assert table[1] == ["1", "no", "has 'town' = 'z', which no training row has"]
    assert [row[1] for row in table[1:]].count("no") == 30
    assert table[120] == ["120", "yes", ""]
    given.insert(1, files / "may.csv")
    assert covshift("diagnose", *given).code == 0
    with out.open(encoding="utf-8", newline="") as file:
        table = list(csv.reader(file))
    assert table[0] == ["target", "row", "overlap", "why"]
    assert len(table) == 241


def test_other_outputs_hold_what_is_printed(files):
    given = [files / "train.csv", files / "may.csv", "--label", "y"]
    covshift("diagnose", *given, "-o", files / "said.txt", "--force")
    printed = covshift("diagnose", *given).out
    assert (files / "said.txt").read_text(encoding="utf-8") == printed


def test_several_targets_cannot_come_from_a_pipe(files):
    result = covshift("diagnose", files / "train.csv", files / "may.csv", "-")
    assert result.code == 2
    assert "name files" in result.err


def test_weights_can_be_restricted_to_the_covered_part(files):
    given = ["weigh", files / "train.csv", files / "july.csv", "--label", "y", "--json", "--force"]
    given += ["--restrict", "overlap", "-o", files / "w.csv"]
    result = covshift(*given)
    assert result.code == 0, result.err
    said = json.loads(result.out)
    assert said["verdict"] != "no overlap"
    assert any("30: has 'town' = 'z'" in note["text"] for note in said["notes"])
    assert "75% of the target" in result.err

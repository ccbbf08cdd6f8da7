"""``covshift margins`` and ``covshift weigh`` with what it writes."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from command import covshift, rows, write

from covshift import Margins, estimate
from covshift.weights import Raking


@pytest.fixture
def files(tmp_path):
    write(tmp_path / "train.csv", rows(120))
    write(tmp_path / "target.csv", rows(200, 0.4, seed=1, label=False))
    return tmp_path


def written(path):
    with path.open() as file:
        return [float(line["weight"]) for line in csv.DictReader(file)]


def make(files, *options, name="margins.json"):
    done = covshift("margins", files / "target.csv", "-o", files / name, *options)
    assert done.code == 0, done.err
    return files / name, done


def test_margins_are_written_and_shown(files):
    path, done = make(files, "--bins", "4", "--source", "made up", "--cross", "town,age")
    margins = Margins.from_json(path)
    assert margins.columns == ["age", "income", "town"]
    assert margins.source == "made up"
    assert margins.size == 200
    assert margins.tables[0].columns == ("town", "age")
    assert str(margins) in done.out
    again, _ = make(files, "--bins", "4", name="margins.csv")
    assert Margins.from_csv(again).single.keys() == margins.single.keys()


def test_margins_go_to_standard_output(files):
    done = covshift("margins", files / "target.csv")
    assert json.loads(done.out)["format"] == "covshift margins"


def test_no_cell_of_the_file_holds_few_rows(files):
    path, _ = make(files, "--min-count", "25")
    data = json.loads(path.read_text())["columns"]
    shares = [cell[-1] for part in data.values() for cell in next(iter(part.values()))]
    assert min(shares) * 200 >= 25 - 1e-9


@pytest.mark.parametrize("method", ["cdf", "entropy", "raking"])
@pytest.mark.parametrize("name", ["margins.json", "margins.csv"])
def test_weights_follow_from_a_file_of_margins(files, method, name):
    path, _ = make(files, "--bins", "5", name=name)
    out = files / "w.csv"
    done = covshift("weigh", files / "train.csv", path, "--method", method, "-o", out)
    assert done.code == 0, done.err
    w = written(out)
    assert len(w) == 120
    assert np.mean(w) == pytest.approx(1)
    assert "Largest difference from the margins" in done.out
    assert "no margin tells about 'y'" in done.err


def test_the_command_s_weights_are_the_library_s(files):
    import pandas as pd

    path, _ = make(files, "--bins", "5")
    out = files / "w.csv"
    assert covshift("weigh", files / "train.csv", path, "--method", "raking", "-o", out).code == 0
    train = pd.read_csv(files / "train.csv")[["age", "income", "town"]]
    expected = Raking().fit(train, X_target=Margins.from_json(path)).weights_
    np.testing.assert_allclose(written(out), expected)


def test_poststratification_uses_the_cells_that_by_names(files):
    path, _ = make(files, "--bins", "3", "--cross", "town,age")
    out = files / "w.csv"
    base = ["weigh", files / "train.csv", path, "--method", "poststratification", "-o", out]
    assert "Choose with by=" in covshift(*base).err
    for by in ("town", "town,age"):
        assert covshift(*base, "--by", by, "--force").code == 0
    assert "is for poststratification" in covshift(*base[:4], "raking", "--by", "town").err


def test_design_weights_are_part_of_the_final_ones(files):
    table = rows(120)
    design = np.linspace(0.5, 2.5, 120)
    weighted = [
        [*table[0], "d"],
        *([*row, f"{d}"] for row, d in zip(table[1:], design, strict=True)),
    ]
    write(files / "train.csv", weighted)
    path, _ = make(files, "--bins", "3")
    out = files / "w.csv"
    asked = ["--method", "raking", "--weight", "d", "-o", out, "--json"]
    done = covshift("weigh", files / "train.csv", path, *asked)
    facts = json.loads(done.out)
    assert facts["gap_after"] < 1e-8 < 0.05 < facts["gap_before"]
    margins, w = Margins.from_json(path), np.array(written(out))
    ages = np.array([float(row[0]) for row in table[1:]])
    margin = margins.single["age"]
    share = np.average(ages <= margin.cells.upper[0], weights=w)
    assert share == pytest.approx(margin.share[0])
    assert facts["effective_sample_size"] == pytest.approx(w.sum() ** 2 / (w @ w))


def estimated(path):
    with path.open() as file:
        return {(line["method"], line["group"]): line for line in csv.DictReader(file)}


def test_estimates_follow_from_a_file_of_margins(files):
    import pandas as pd

    path, _ = make(files, "--bins", "4")
    out = files / "table.csv"
    base = ["estimate", files / "train.csv", path, "--outcome", "y", "-o", out, "--force"]
    done = covshift(*base, "--by", "town")
    assert done.code == 0, done.err
    assert "corrected for who answered" in done.out
    train = pd.read_csv(files / "train.csv")
    margins = Margins.from_json(path)
    expected = estimate(train.y, train[["age", "income", "town"]], margins, by="town")
    found = estimated(out)
    assert len(found) == len(expected.table)
    for row in expected.table:
        assert float(found[row.method, row.group or ""]["value"]) == pytest.approx(row.value)
    whole = expected.table.where(method="dr", group=None)[0]
    assert covshift(*base, "--what", "total").code == 0
    assert float(estimated(out)["dr", ""]["value"]) == pytest.approx(200 * whole.value)
    assert covshift(*base, "--weighter", "raking", "--what", "median", "--weight", "y").code == 2


def test_the_outcome_s_own_margin_is_not_used(files):
    write(files / "target.csv", rows(200, 0.4, seed=1))
    path, _ = make(files)
    done = covshift("estimate", files / "train.csv", path, "--outcome", "y", "--drop", "income")
    assert done.code == 0, done.err
    assert "the margins of 'income', 'y' are not used" in done.err
    assert "margins of 2 columns" in done.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--regressor", "age"], "the weights that `covshift weigh` writes"),
        (["--restrict", "overlap"], "--restrict needs target rows"),
        (["--weighter", "kmm"], "Use cdf, entropy, raking or poststratification"),
        (["--target-weight", "d"], "margins have none"),
        (["--by", "y2"], "by names a column"),
        (["--drop", "age", "--drop", "income", "--drop", "town"], "no margin besides"),
    ],
)
def test_estimates_that_need_rows_are_refused(files, options, words):
    path, _ = make(files)
    done = covshift("estimate", files / "train.csv", path, "--outcome", "y", *options)
    assert done.code == 2
    assert words in done.err


def test_a_sample_is_diagnosed_with_a_file_of_margins(files):
    path, _ = make(files, "--bins", "4")
    done = covshift("diagnose", files / "train.csv", path, "--label", "y", "--json")
    assert done.code == 0, done.err
    data = json.loads(done.out)
    assert data["verdict"] == "correctable"
    assert [margin["name"] for margin in data["margins"]] == ["age", "income", "town"]
    assert len(data["numbers"]) == 4 + 4 + 3
    text = covshift("diagnose", files / "train.csv", path, "--label", "y").out
    assert "Margins cannot tell whether columns go together" in text
    Margins({"age": {(-9, 9): 0.6, (9, 99): 0.4}}).to_json(files / "far.json")
    far = covshift("diagnose", files / "train.csv", files / "far.json", "--strict")
    assert far.code == 3
    assert "NO OVERLAP" in far.err


@pytest.mark.parametrize("command", ["compare", "evaluate", "fit", "report"])
def test_commands_that_need_rows_refuse_margins(files, command):
    path, _ = make(files)
    more = {
        "compare": ["--label", "y"],
        "evaluate": ["--label", "y", "--score", "age"],
        "fit": ["--label", "y", "-o", files / "m.covshift"],
        "report": ["--label", "y", "-o", files / "r.html"],
    }
    done = covshift(command, files / "train.csv", path, *more.get(command, []))
    assert done.code == 2
    assert "holds margins, and this command needs rows" in done.err
    assert "`covshift weigh` takes margins" in done.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--method", "kmm"], "Use cdf, entropy, raking or poststratification"),
        (["--target-weight", "d"], "margins have none"),
    ],
)
def test_what_margins_cannot_do_is_said(files, options, words):
    path, _ = make(files)
    done = covshift("weigh", files / "train.csv", path, *options)
    assert done.code == 2
    assert words in done.err


def test_bad_files_are_refused(files):
    (files / "bad.json").write_text("{}")
    assert "holds no margins" in covshift("weigh", files / "train.csv", files / "bad.json").err
    assert "must name two columns" in covshift("margins", files / "target.csv", "--cross", "a").err
    assert "no column 'zz'" in covshift("margins", files / "target.csv", "--drop", "zz").err
    few = covshift("margins", files / "target.csv", "--min-count", "500")
    assert "200 rows, fewer than min_count=500" in few.err

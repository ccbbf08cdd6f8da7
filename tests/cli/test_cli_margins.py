"""``covshift margins`` and ``covshift weigh`` with what it writes."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from command import covshift, rows, write

from covshift import Margins, compare, estimate, load
from covshift.files.frame import read_frame
from covshift.weights import Raking


@pytest.fixture
def files(tmp_path):
    write(tmp_path / "train.csv", rows(120))
    write(tmp_path / "target.csv", rows(200, 0.4, seed=1, label=False))
    return tmp_path


def written(path):
    with path.open() as file:
        return [float(line["weight"]) for line in csv.DictReader(file)]


def make(files, *options):
    path = files / "margins.json"
    done = covshift("margins", files / "target.csv", "-o", path, *options)
    assert done.code == 0, done.err
    return path, done


def test_margins_are_written_and_shown(files):
    path, done = make(files, "--bins", "4", "--source", "made up", "--cross", "town,age")
    margins = Margins.from_json(path)
    assert margins.columns == ["age", "income", "town"]
    assert margins.source == "made up"
    assert margins.size == 200
    assert margins.tables[0].columns == ("town", "age")
    assert str(margins) in done.out


def test_margins_go_to_standard_output(files):
    done = covshift("margins", files / "target.csv")
    assert json.loads(done.out)["format"] == "covshift margins"


def test_no_cell_of_the_file_holds_few_rows(files):
    path, _ = make(files, "--min-count", "25")
    data = json.loads(path.read_text())["columns"]
    shares = [cell[-1] for part in data.values() for cell in next(iter(part.values()))]
    assert min(shares) * 200 >= 25 - 1e-9


@pytest.mark.parametrize("method", ["cdf", "entropy", "raking"])
def test_weights_follow_from_a_file_of_margins(files, method):
    path, _ = make(files, "--bins", "5")
    out = files / "w.csv"
    done = covshift("weigh", files / "train.csv", path, "--method", method, "-o", out)
    assert done.code == 0, done.err
    w = written(out)
    assert len(w) == 120
    assert np.mean(w) == pytest.approx(1)
    assert "Largest difference from the margins" in done.out
    assert "No margin covers 'y'" in done.err


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


def with_columns(table, **more):
    """A table with columns of numbers beside."""
    beside = zip(*more.values(), strict=True)
    lines = zip(table[1:], beside, strict=True)
    return [[*table[0], *more], *([*row, *map(str, new)] for row, new in lines)]


def test_design_weights_are_part_of_the_final_ones(files):
    table = rows(120)
    write(files / "train.csv", with_columns(table, d=np.linspace(0.5, 2.5, 120)))
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


@pytest.mark.parametrize("method", ["cdf", "entropy", "raking", "poststratification"])
def test_weights_have_no_scale_and_frequencies_are_repeated_rows(files, method):
    rng = np.random.default_rng(0)
    table, d, times = rows(120), rng.uniform(0.5, 2.5, 120), rng.integers(0, 3, 120)
    d[5] = 0.0
    write(files / "counted.csv", with_columns(table, d=d, n=times))
    again = np.repeat(np.arange(120), times * (d > 0))
    repeated = [table[0], *(table[1 + k] for k in again)]
    write(files / "repeated.csv", with_columns(repeated, d=1000 * d[again]))
    path, _ = make(files, "--bins", "3")
    asked = ["--method", method, "--weight", "d", "--json", "--force"]
    asked += ["--by", "town"] if method == "poststratification" else []
    found = []
    for name, more in (("counted", ["--frequency", "n"]), ("repeated", [])):
        out = files / f"{name}.w.csv"
        done = covshift("weigh", files / f"{name}.csv", path, *asked, "-o", out, *more)
        assert done.code == 0, done.err
        found.append((np.array(written(out)), json.loads(done.out)))
    (w, facts), (expected, same) = found
    np.testing.assert_allclose(w[again], expected, atol=1e-6)
    assert not w[(times == 0) | (d == 0)].any()
    assert facts["n_train"] == same["n_train"] == len(again)
    assert (facts["n_written"], same["n_written"]) == (120, len(again))
    for key in ("effective_sample_size", "largest_weight", "gap_before", "gap_after"):
        assert facts[key] == pytest.approx(same[key], abs=1e-6)


def test_margins_of_weighted_rows_have_no_scale_and_count_frequencies(files):
    rng = np.random.default_rng(0)
    table, v, times = rows(200, label=False), rng.uniform(1, 3, 200), rng.integers(0, 3, 200)
    again = np.repeat(np.arange(200), times)
    write(files / "target.csv", with_columns(table, v=v, m=times))
    path, _ = make(files, "--weight", "v", "--frequency", "m")
    repeated = [table[0], *(table[1 + k] for k in again)]
    write(files / "target.csv", with_columns(repeated, v=1000 * v[again]))
    one = Margins.from_json(path)
    path.unlink()
    other = Margins.from_json(make(files, "--weight", "v")[0])
    assert one.columns == other.columns == ["age", "income", "town"]
    assert one.size == pytest.approx(other.size)
    for name in one.columns:
        np.testing.assert_allclose(one.single[name].share, other.single[name].share)


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
    assert "Adjusted to the target population" in done.out
    train = pd.read_csv(files / "train.csv")
    margins = Margins.from_json(path)
    expected = estimate(train[["age", "income", "town"]], train.y, margins, by="town")
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
    assert "The margins of 'income', 'y' are not used" in done.err
    assert "margins of 2 columns" in done.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--regressor", "age"], "the weights that `covshift weigh` writes"),
        (["--restrict", "overlap"], "--restrict needs target rows"),
        (["--weighter", "kmm"], "Use cdf, entropy, raking or poststratification"),
        (["--target-weight", "d"], "--target-weight needs target rows"),
        (["--by", "y2"], "no column 'y2', which --by names"),
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
    assert data["verdict"] == "moderate"
    assert [margin["name"] for margin in data["margins"]] == ["age", "income", "town"]
    assert len(data["numbers"]) == 4 + 4 + 3
    text = covshift("diagnose", files / "train.csv", path, "--label", "y").out
    assert "Margins cannot show whether columns are related" in text
    Margins({"age": {(-9, 9): 0.6, (9, 99): 0.4}}).to_json(files / "far.json")
    far = covshift("diagnose", files / "train.csv", files / "far.json", "--strict")
    assert far.code == 3
    assert "NO OVERLAP" in far.err


def test_evaluate_needs_rows_and_says_what_margins_are_enough_for(files):
    path, _ = make(files)
    done = covshift("evaluate", files / "train.csv", path, "--label", "y", "--score", "age")
    assert done.code == 2
    assert "holds margins, and this command needs rows" in done.err
    assert "`covshift compare`" in done.err
    assert "`weigh`" in done.err


# compare


@pytest.mark.thorough
def test_methods_are_compared_for_a_file_of_margins(files):
    import pandas as pd

    path, _ = make(files, "--bins", "4", "--cross", "town,age")
    asked = ["compare", files / "train.csv", path, "--label", "y", "--learner", "linear"]
    done = covshift(*asked, "--json")
    assert done.code == 0, done.err
    data = json.loads(done.out)
    assert data["verdict"] == "moderate"
    methods = ["none", "cdf", "entropy", "raking", "vsvm:none", "vsvm:blended"]
    assert [row["method"] for row in data["rows"]] == methods
    assert "Left out, since they need target rows: discriminative," in done.err
    train = pd.read_csv(files / "train.csv")
    frame = train[["age", "income", "town"]]
    weights = Raking().fit(frame, X_target=Margins.from_json(path)).weights_
    size = weights.sum() ** 2 / (weights @ weights)
    row = data["rows"][methods.index("raking")]
    assert row["effective_sample_size"] == pytest.approx(size)
    assert row["gap_after"] < 1e-6 < 0.02 < row["gap_before"]
    text = covshift(*asked).out
    assert "gap: mean absolute difference from the published numbers" in text
    assert "Shift: moderate." in text


def test_a_comparison_in_python_decides_about_columns_as_the_command_does(files):
    pandas = pytest.importorskip("pandas")
    table = rows(120)
    path, _ = make(files, "--bins", "3")
    write(files / "ids.csv", [["id", *table[0]], *([f"p{k}", *r] for k, r in enumerate(table[1:]))])
    asked = ["--label", "y", "--learner", "linear", "--method", "cdf", "--json"]
    done = covshift("compare", files / "ids.csv", path, *asked)
    assert done.code == 0, done.err
    frame = pandas.read_csv(files / "ids.csv").astype({"y": str})
    found = compare(frame, "y", Margins.from_json(path), learner="linear", methods=["cdf"])
    assert any("'id': looks like a row identifier" in str(note) for note in found.notes)
    for row, line in zip(found.rows, json.loads(done.out)["rows"], strict=True):
        assert row["risk"] == pytest.approx(line["risk"])
        assert row["effective_sample_size"] == pytest.approx(line["effective_sample_size"])


@pytest.mark.thorough
def test_a_comparison_of_margins_repeats_rows_and_keeps_design_weights(files):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    rng = np.random.default_rng(0)
    table, d, times = rows(120), rng.uniform(0.5, 2.5, 120), rng.integers(0, 3, 120)
    d[times == 2] = 0.0  # rows that are not there
    write(files / "counted.csv", with_columns(table, d=d, n=times))
    again = np.repeat(np.arange(120), times * (d > 0))
    repeated = [table[0], *(table[1 + k] for k in again)]
    write(files / "repeated.csv", with_columns(repeated, d=1000 * d[again]))
    path, _ = make(files, "--bins", "3")
    found = []
    for name, more in (("counted", ["--frequency", "n"]), ("repeated", [])):
        asked = ["--label", "y", "--learner", "linear", "--weight", "d", "--json", *more]
        done = covshift("compare", files / f"{name}.csv", path, *asked)
        assert done.code == 0, done.err
        found.append(json.loads(done.out)["rows"][3])
        asked = ["--weight", "d", "--json", "-o", files / f"{name}.html", *more]
        told = covshift("report", files / f"{name}.csv", path, "--drop", "y", *asked)
        assert told.code == 0, told.err
        page = (files / f"{name}.html").read_text()
        assert f"{len(again)} training rows, margins of 3 columns" in page
    for key in ("risk", "gain", "effective_sample_size", "gap_before", "gap_after"):
        assert found[0][key] == pytest.approx(found[1][key], abs=1e-6)


# report


@pytest.mark.thorough
def test_a_report_is_written_for_a_file_of_margins(files, monkeypatch):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    path, _ = make(files, "--bins", "4")
    asked = ["report", files / "train.csv", path, "-o", files / "r.html", "--force"]
    done = covshift(*asked, "--label", "y", "--learner", "linear", "--max-rows", "40")
    assert done.code == 0, done.err
    html = (files / "r.html").read_text()
    sentence = done.out.partition("\n")[0]
    beside = covshift("estimate", files / "train.csv", path, "--outcome", "y")
    assert beside.out.partition("\n")[0] == sentence
    assert f'<h2 id="answer">{sentence}</h2>' in html
    assert "Which method helps" in html
    assert "need rows of the target" in html
    assert "margins.json" in html  # in the command, to do it again
    alone = covshift(*asked, "--drop", "y")
    assert alone.code == 0, alone.err
    assert alone.out.startswith("Shift: moderate.")
    html = (files / "r.html").read_text()
    assert "The published numbers" in html
    assert "Which method helps" not in html


def test_a_report_on_margins_without_overlap_has_no_number(files, monkeypatch):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    monkeypatch.setattr("covshift.cli.report.comparison_of", lambda *_: None)
    Margins({"age": {(-9, 9): 0.6, (9, 99): 0.4}}).to_json(files / "far.json")
    asked = ["report", files / "train.csv", files / "far.json", "--label", "y"]
    done = covshift(*asked, "-o", files / "r.html", "--strict")
    assert done.code == 3
    assert "NO OVERLAP" in done.err
    html = (files / "r.html").read_text()
    assert "There is no number for this population." in html
    assert "do not use them as a correction" in html
    assert "40.0% of the target has age in cells without training rows" in html


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--method", "kmm"], "Use cdf, entropy, raking or poststratification"),
        (["--target-weight", "d"], "--target-weight needs target rows"),
        (["--target-frequency", "d"], "--target-frequency needs target rows"),
    ],
)
def test_what_margins_cannot_do_is_said(files, options, words):
    path, _ = make(files)
    done = covshift("weigh", files / "train.csv", path, *options)
    assert done.code == 2
    assert words in done.err


def test_bad_files_are_refused(files):
    (files / "bad.json").write_text("{}")
    assert (
        "is JSON, but not a table" in covshift("weigh", files / "train.csv", files / "bad.json").err
    )
    assert "must name two columns" in covshift("margins", files / "target.csv", "--cross", "a").err
    assert "no column 'zz'" in covshift("margins", files / "target.csv", "--drop", "zz").err
    few = covshift("margins", files / "target.csv", "--min-count", "500")
    assert "200 rows, fewer than min_count=500" in few.err


# fit


@pytest.mark.part(6)
@pytest.mark.parametrize("method", ["blended", "additive", "cdf", "raking", "none"])
@pytest.mark.parametrize("learner", ["vsvm", "vboost"])
def test_a_model_is_fitted_to_margins_and_predicts(files, learner, method):
    path, _ = make(files, "--bins", "4")
    asked = "--label", "y", "--method", method, "--learner", learner, "-o", files / "model"
    done = covshift("fit", files / "train.csv", path, *asked)
    assert done.code == 0, done.err
    assert "on 120 rows for margins." in done.out
    assert "to score" not in done.err
    done = covshift("predict", files / "model", files / "target.csv", "-o", files / "found.csv")
    assert done.code == 0, done.err
    with (files / "found.csv").open() as file, (files / "target.csv").open() as target:
        found, ages = list(csv.DictReader(file)), [float(r["age"]) for r in csv.DictReader(target)]
    p = [float(line["probability_1"]) for line in found]
    assert np.corrcoef(ages, p)[0, 1] > 0.6


@pytest.mark.thorough
def test_margins_of_every_value_give_the_model_of_the_rows(files):
    path, _ = make(files, "--bins", "1000", "--min-count", "1")
    found = []
    for target in (path, files / "target.csv"):
        asked = "--label", "y", "--method", "blended", "--learner", "vboost", "-o", files / "model"
        done = covshift("fit", files / "train.csv", target, *asked, "--force")
        assert done.code == 0, done.err
        model = load(files / "model")
        found.append(model.predict_proba(read_frame(str(files / "target.csv"))))
    assert found[0] == pytest.approx(found[1], abs=1e-8)


def test_a_fit_says_what_margins_cannot_do(files):
    path, _ = make(files, "--bins", "4")
    ask = "fit", files / "train.csv", path, "--label", "y", "-o", files / "model"
    assert "use 'additive' or 'blended'" in covshift(*ask, "--method", "multiplicative").err
    assert "needs target rows" in covshift(*ask, "--method", "kliep").err
    for option in ("--target-weight", "--target-frequency"):
        assert f"{option} needs target rows" in covshift(*ask, option, "w").err


def test_a_fit_by_margins_uses_what_compare_recommends(files, monkeypatch):
    from covshift.comparison import Comparison

    monkeypatch.setattr(Comparison, "recommended", "raking")
    path, _ = make(files, "--bins", "4", "--cross", "town,age")
    found = []
    for method in ("auto", "raking"):
        asked = "--label", "y", "--learner", "linear", "--method", method, "-o", files / method
        done = covshift("fit", files / "train.csv", path, *asked)
        assert done.code == 0, done.err
        assert "method: raking" in done.out
        assert "Shift:  moderate" in done.out
        found.append(load(files / method).estimator.coef_)
    np.testing.assert_allclose(*found)


def test_the_weights_of_a_fit_are_those_of_all_margins_and_tables(files):
    import pandas as pd
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    path, _ = make(files, "--bins", "4", "--cross", "town,age")
    asked = "--label", "y", "--learner", "linear", "--method", "raking", "-o", files / "model"
    assert covshift("fit", files / "train.csv", path, *asked).code == 0
    train = pd.read_csv(files / "train.csv")
    frame = train[["age", "income", "town"]]
    w = Raking().fit(frame, X_target=Margins.from_json(path)).weights_
    hot = pd.get_dummies(train.town).to_numpy(dtype=float)
    Z = StandardScaler().fit_transform(np.column_stack([train[["age", "income"]], hot]))
    expected = LogisticRegression(max_iter=2000).fit(Z, train.y, sample_weight=w)
    np.testing.assert_allclose(load(files / "model").estimator.coef_, expected.coef_, atol=1e-6)


def test_a_fit_tells_of_columns_and_levels_that_one_side_lacks(files):
    margins = Margins({"town": {"u": 0.4, "v": 0.2, "w": 0.1, "z": 0.3}})
    margins.to_json(files / "some.json")
    ask = "fit", files / "train.csv", files / "some.json", "--label", "y", "--method", "additive"
    done = covshift(*ask, "-o", files / "model", "--force")
    assert done.code == 0, done.err
    assert "No margin covers 'age', 'income'" in done.err
    assert "30% of the target has 'town' in z, where there are no training rows" in done.err
    Margins({"town": {"u": 0.5, "v": 0.5}}).to_json(files / "some.json")
    assert "has 'w' (40 of 120 rows), and the margins" in covshift(*ask, "-o", files / "other").err
    Margins({"height": {(0, None): 1.0}}).to_json(files / "some.json")
    assert "lacks 'height', which the margins have" in covshift(*ask, "-o", files / "other").err


@pytest.mark.part(20)
@pytest.mark.parametrize("method", ["cdf", "entropy", "raking"])
@pytest.mark.parametrize("target", ["margins.json", "target.csv"])
def test_limits_bound_the_weights_and_say_what_that_costs(files, method, target):
    make(files, "--bins", "3")
    out, label = files / "w.csv", ["--label", "y"]
    asked = ["weigh", files / "train.csv", files / target, "--method", method, "-o", out, *label]
    done = covshift(*asked, "--limits", "0.5", "1.5", "--json")
    assert done.code == 0, done.err
    w, facts = np.array(written(out)), json.loads(done.out)
    assert w.min() >= 0.5 - 1e-9
    assert w.max() <= 1.5 + 1e-9
    cost = facts["limits"]
    assert cost["effective_sample_size"] == pytest.approx(facts["effective_sample_size"])
    assert cost["effective_sample_size_without"] < cost["effective_sample_size"]
    assert "column " not in cost["worst"]
    if target == "margins.json":
        assert cost["gap"] == pytest.approx(facts["gap_after"])


def test_the_cost_of_limits_is_a_line_of_its_own(files):
    path, _ = make(files, "--bins", "3")
    asked = ["--method", "raking", "-o", files / "w.csv", "--limits", "0.5", "1.5"]
    done = covshift("weigh", files / "train.csv", path, *asked)
    line = next(line for line in done.out.splitlines() if line.startswith("Weights from"))
    assert "Weights from 0.5 to 1.5: largest gap " in line
    assert "; without limits 0.000 and " in line


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--method", "poststratification"], "--limits is for cdf, entropy or raking, not"),
        (["--method", "raking", "--limits", "1.5", "2"], "must be a low and a high bound"),
    ],
)
def test_limits_that_cannot_be_are_refused(files, options, words):
    path, _ = make(files)
    done = covshift("weigh", files / "train.csv", path, "--limits", "0.5", "2", *options)
    assert done.code == 2
    assert words in done.err


def test_missing_outcomes_are_left_out_with_margins_too(files):
    path, _ = make(files, "--bins", "4")
    table = [list(row) for row in rows(120)]
    at = table[0].index("y")
    for k in range(1, 21):
        table[k][at] = "NA" if k % 2 else ""
    for k in range(21, 121):
        table[k][at] = "yes" if str(table[k][at]) == "1" else "no"
    write(files / "gaps.csv", table)
    out = files / "table.csv"
    done = covshift("estimate", files / "gaps.csv", path, "--outcome", "y", "-o", out)
    assert done.code == 0, done.err
    with out.open() as file:
        found = list(csv.DictReader(file))
    assert not any("NA" in line.values() for line in found)
    assert {line["rows"] for line in found if line["method"] == "dr"} == {"100"}


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (["--label", "typo"], "no column 'typo', which --label names"),
        (["--drop", "typo"], "no column 'typo', which --drop names"),
    ],
)
def test_options_that_margins_cannot_follow_are_refused(files, option, words):
    path, _ = make(files)
    done = covshift("weigh", files / "train.csv", path, *option)
    assert done.code == 2
    assert words in done.err

"""The commands as people use them: outputs, exit codes, files, signals."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from command import covshift, rows, write

from covshift import load
from covshift.cli import console, main
from covshift.cli.commands import parse
from covshift.comparison import Comparison
from covshift.data import Samples
from covshift.exceptions import InputError

REAL = [sys.executable, "-m", "covshift"]
ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


@pytest.fixture
def files(tmp_path):
    """A training and a target file, without and with labels; ids in both."""

    def named(table, letter):
        return [["person", *table[0]], *([f"{letter}{k}", *r] for k, r in enumerate(table[1:]))]

    write(tmp_path / "train.csv", named(rows(60), "t"))
    write(tmp_path / "target.csv", named(rows(50, 0.4, seed=1, label=False), "g"))
    write(tmp_path / "scored.csv", named(rows(50, 0.4, seed=1), "g"))
    return tmp_path


def pair(files, target="target.csv"):
    return [files / "train.csv", files / target, "--id", "person", "--label", "y"]


@pytest.fixture
def model(files):
    assert covshift("fit", *pair(files), "-o", files / "m.covshift").code == 0
    return files / "m.covshift"


def lines(text_of_csv):
    return list(csv.DictReader(io.StringIO(text_of_csv)))


# diagnose


def test_diagnose_gives_its_verdict_first_and_notes_apart(files):
    result = covshift("diagnose", *pair(files))
    assert result.code == 0
    verdicts = ("no shift", "moderate", "strong", "no overlap")
    assert any(verdict in result.out.partition("\n")[0].lower() for verdict in verdicts)
    assert "note:" not in result.out


def test_diagnose_speaks_json(files):
    data = json.loads(covshift("diagnose", *pair(files), "--json").out)
    assert data["verdict"] in ("no shift", "moderate", "strong", "no overlap")


def test_json_holds_the_notes_of_the_table_and_of_the_diagnosis(files):
    text = (files / "train.csv").read_text(encoding="utf-8").splitlines()
    few = write(files / "few.csv", "\n".join(text[:8]).encode())
    given = [few, files / "target.csv", "--drop", "person", "--drop", "y"]
    data = json.loads(covshift("diagnose", *given, "--json").out)
    shown = covshift("diagnose", *given)
    assert "few rows" in [note["kind"] for note in data["notes"]]
    assert "Note: No AUC" in shown.out
    told = [line.removeprefix("note: ") for line in shown.err.splitlines() if "note: " in line]
    assert set(told) <= {note["text"] for note in data["notes"]}


def test_no_overlap_is_loud_and_strict_makes_it_code_three(files):
    far = write(files / "far.csv", rows(50, 30.0, seed=1, label=False))
    loud = covshift("diagnose", files / "train.csv", far, "--drop", "person", "--drop", "y")
    assert loud.code == 0
    assert "NO OVERLAP" in loud.err
    strict = [files / "train.csv", far, "--drop", "person", "--label", "y", "--strict"]
    assert covshift("diagnose", *strict).code == 3
    assert covshift("weigh", *strict, "-o", files / "w.csv").code == 3
    assert (files / "w.csv").exists()


# compare


@pytest.mark.thorough
def test_compare_recommends_first_and_shows_truth_only_where_it_is_known(files):
    blind = covshift("compare", *pair(files), "--learner", "linear")
    assert blind.code == 0
    assert blind.out.startswith(("Keep the unweighted model", "Use "))
    assert "truth" not in blind.out
    seeing = covshift("compare", *pair(files, "scored.csv"), "--learner", "linear")
    assert "truth: risk on the target's labels, which had no part" in seeing.out
    assert "used only to score" in seeing.err


@pytest.mark.thorough
def test_compare_speaks_json_with_the_baseline_first(files):
    result = covshift("compare", *pair(files), "--learner", "linear", "--json")
    data = json.loads(result.out)
    assert data["rows"][0]["method"] == "none"
    assert data["learner"] == "linear"
    assert data["verdict"]
    assert "kind of label" in [note["kind"] for note in data["notes"]]


def test_compare_needs_ten_rows_and_a_label(files):
    few = write(files / "few.csv", rows(8))
    result = covshift("compare", few, files / "target.csv", "--label", "y", "--drop", "person")
    assert result.code == 2
    assert "at least ten" in result.err
    assert covshift("compare", *pair(files)[:2]).code == 2


# fit and predict


def test_an_estimator_saved_in_python_has_no_table_to_predict_for(files):
    from covshift import save
    from covshift.weights import GaussianRatio

    X = np.random.default_rng(0).normal(size=(30, 2))
    save(GaussianRatio().fit(X, X_target=X + 0.1), files / "weights.covshift")
    result = covshift("predict", files / "weights.covshift", files / "target.csv")
    assert result.code == 2
    assert "holds a GaussianRatio without the columns of a table" in result.err


def test_predictions_keep_ids_order_and_probabilities(files, model):
    found = lines(covshift("predict", model, files / "target.csv").out)
    assert [line["person"] for line in found] == [f"g{k}" for k in range(50)]
    p = np.array([[float(line["probability_0"]), float(line["probability_1"])] for line in found])
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=2e-6)
    assert [line["prediction"] for line in found] == [str(int(b >= 0.5)) for b in p[:, 1]]


def test_a_terminal_shows_the_first_predictions_and_how_to_write_all(files, model, monkeypatch):
    screen = type("Screen", (io.StringIO,), {"isatty": lambda _: True})
    monkeypatch.setattr("command.io.StringIO", screen)
    monkeypatch.setenv("NO_COLOR", "1")
    result = covshift("predict", model, files / "target.csv", "--quiet")
    head, *shown = result.out.splitlines()
    assert head.split()[:2] == ["person", "prediction"]
    assert [line.split()[0] for line in shown] == [f"g{k}" for k in range(10)]
    told = covshift("predict", model, files / "target.csv").err
    assert "shown are 10 of 50 predictions. To write all: covshift predict " in told
    assert told.rstrip().endswith("target.csv -o predictions.csv")


def test_predictions_are_those_of_the_library(files, model):
    from read_files import read_samples
    from sklearn.preprocessing import StandardScaler

    from covshift import VSVC
    from covshift.encoding import scaled

    both = read_samples(files / "train.csv", files / "target.csv", "y", "person")
    y = [line["y"] for line in lines((files / "train.csv").read_text())]
    scaler = StandardScaler().fit(both.X)
    X, T = scaled(scaler, both.X), scaled(scaler, both.T)
    machine = VSVC().fit(X, y, X_target=T)
    found = lines(covshift("predict", model, files / "target.csv").out)
    p = [float(line["probability_1"]) for line in found]
    np.testing.assert_allclose(p, machine.predict_proba(T)[:, 1], atol=1e-6)


def test_blocks_do_not_change_predictions(files, model, monkeypatch):
    from covshift.cli import predict

    whole = covshift("predict", model, files / "target.csv").out
    monkeypatch.setattr(predict, "_ROWS", 7)
    assert covshift("predict", model, files / "target.csv").out == whole


def test_predicting_aligns_by_name_and_lists_the_rest(files, model):
    table = [line.split(",") for line in (files / "target.csv").read_text().splitlines()]
    moved = [
        [row[3], "extra" if k == 0 else "5", row[1], row[0], row[2]] for k, row in enumerate(table)
    ]
    result = covshift("predict", model, write(files / "moved.csv", moved))
    assert result.out == covshift("predict", model, files / "target.csv").out
    assert "not used: 'extra'" in result.err
    lacking = write(files / "lacking.csv", [[row[0], row[1], row[3]] for row in table])
    result = covshift("predict", model, lacking)
    assert result.code == 2
    assert "lacks 1 of the 3 columns that the model needs: 'income'" in result.err


def test_predicting_reports_unseen_levels_and_missing_values(files, model):
    new = "age,income,town\n1,2,u\n1,2,nowhere\n"
    result = covshift("predict", model, "-", stdin=new.encode())
    assert result.code == 0
    assert "levels that fit was not given: 'nowhere' (1 of 2 rows" in result.err
    assert [line["row"] for line in lines(result.out)] == ["1", "2"]
    gaps = covshift("predict", model, "-", stdin=b"age,income,town\n1,,u\n1,2,\n")
    assert gaps.code == 0
    assert "column 'income' has 1 gap, and fit was given none" in gaps.err
    assert "column 'town' has gaps, and fit was given none (1 of 2 rows" in gaps.err
    infinite = covshift("predict", model, "-", stdin=b"age,income,town\n1,inf,u\n")
    assert infinite.code == 2
    assert "column 'income' (1 inf)" in infinite.err
    word = covshift("predict", model, "-", stdin=b"age,income,town\n1,2,u\n1,x,u\n")
    assert word.code == 2
    assert "line 3: 'x' in column 'income' is not a number" in word.err
    assert covshift("predict", model, "-", stdin=b"age,income,town\n1e308,2,u\n").code == 2


def test_a_model_fitted_with_imputation_predicts_with_it(files):
    holes = rows(60)
    holes[3][0] = ""
    train, model = write(files / "holes.csv", holes), files / "i.covshift"
    target = write(files / "g.csv", rows(50, 0.4, seed=1, label=False))
    assert covshift("fit", train, target, "--label", "y", "-o", model).code == 0
    result = covshift("predict", model, "-", stdin=b"age,income,town\n,2,u\n1,,u\n")
    assert result.code == 0
    assert "column 'income' has 1 gap, and fit was given none" in result.err
    assert "'age'" not in result.err  # of which training had gaps
    assert len(lines(result.out)) == 2


@pytest.mark.thorough
@pytest.mark.parametrize("learner", ["vsvm", "linear"])
def test_numbers_are_predicted_in_their_unit(files, learner):
    table = rows(60)
    table = [table[0], *([*row[:3], f"{100 + 7 * float(row[0]):.4f}"] for row in table[1:])]
    train, model = write(files / "n.csv", table), files / "n.covshift"
    target = write(files / "g.csv", rows(50, 0.4, seed=1, label=False))
    options = ["--label", "y", "--learner", learner, "--unit", "mmHg", "-o", model, "--json"]
    result = covshift("fit", train, target, *options)
    assert json.loads(result.out)["unit"] == "mmHg"
    assert "taken as a number" in result.err
    found = lines(covshift("predict", model, target).out)
    assert list(found[0]) == ["row", "prediction"]
    truth = [100 + 7 * float(row[0]) for row in rows(50, 0.4, seed=1)[1:]]
    error = np.abs(np.array([float(line["prediction"]) for line in found]) - truth)
    assert np.median(error) < 2


def test_hostile_names_reach_the_terminal_as_text(files):
    bad = [["x\x1b[31m", "<b>", "y"], *([row[0], row[1], row[3]] for row in rows(60)[1:])]
    train = write(files / "bad.csv", bad)
    target = write(files / "far.csv", [row[:2] for row in bad])
    result = covshift("fit", train, target, "--label", "y", "-o", files / "b.covshift")
    assert result.code == 0
    assert "\x1b" not in result.out + result.err
    assert "x\\x1b[31m, <b>" in result.out


@pytest.mark.thorough
def test_fit_can_take_what_compare_recommends(files):
    fit = ["fit", *pair(files), "--learner", "linear", "--method", "auto", "--json"]
    result = covshift(*fit, "-o", files / "a.covshift")
    chosen = json.loads(covshift("compare", *pair(files), "--learner", "linear", "--json").out)
    assert result.code == 0
    assert json.loads(result.out)["method"] == chosen["recommended"]


@pytest.mark.parametrize("target", ["target.csv", "margins.json"])
@pytest.mark.parametrize(
    ("curve", "n", "chosen", "why"),
    [
        (lambda x: np.exp(3 * x), 300, "cdf", "Use cdf (linear)"),
        (lambda x: 2 * x, 300, "none", "Keep the unweighted model (linear)"),
        (lambda x: 2 * x, 8, "none", "8 rows are too few"),
    ],
)
def test_a_learner_is_weighted_where_held_out_rows_gain(tmp_path, target, curve, n, chosen, why):
    rng = np.random.default_rng(4)
    x, t = rng.normal(0, 0.5, n), rng.normal(0.8, 0.2, 200)
    y = curve(x) + 0.3 * rng.normal(size=n)
    table = [[str(a), str(b)] for a, b in zip(x, y, strict=True)]
    train = write(tmp_path / "train.csv", [["x", "y"], *table])
    rows_file = write(tmp_path / "target.csv", [["x"], *([str(value)] for value in t)])
    covshift("margins", rows_file, "-o", tmp_path / "margins.json")
    given = train, tmp_path / target, "--label", "y", "--task", "regression", "--learner", "linear"
    found = covshift("fit", *given, "-o", tmp_path / "m.covshift")
    assert found.code == 0, found.err
    assert f"(method: {chosen})" in found.out
    assert f"\nWhy:    {why}" in found.out
    assert "covshift compare tries more corrections" in found.err
    assert load(tmp_path / "m.covshift").about["correction_reason"] in found.out


@pytest.mark.thorough
@pytest.mark.part(20)
@pytest.mark.parametrize("target", ["target.csv", "margins.json"])
def test_the_kernel_machine_chooses_its_correction_and_says_why(tmp_path, target):
    table = rows(80)
    curved = ([*row[:3], f"{np.sin(5 * float(row[0])) + float(row[1]):.3f}"] for row in table[1:])
    train = write(tmp_path / "train.csv", [table[0], *curved])
    rows_file = write(tmp_path / "target.csv", rows(200, 0.4, seed=1, label=False))
    covshift("margins", rows_file, "-o", tmp_path / "margins.json")
    out = tmp_path / "m.covshift"
    asked = "fit", train, tmp_path / target, "--label", "y", "-o", out
    found = covshift(*asked)
    assert found.code == 0, found.err
    model = load(out)
    assert model.estimator.correction is None
    assert f"(method: {model.estimator.selection_report_['chosen']})" in found.out
    assert f"\nWhy:    {model.estimator.correction_reason_}\n" in found.out
    assert "covshift compare tries more corrections" in found.err
    facts = json.loads(covshift(*asked, "--force", "--json").out)
    assert facts["method"] == model.method == model.estimator.selection_report_["chosen"]
    assert facts["correction_reason"] == model.estimator.correction_reason_
    assert load(out).about["correction_reason"] == facts["correction_reason"]
    again = covshift("predict", out, rows_file, "--interval", "90", "-o", tmp_path / "p.csv")
    assert "--learner vsvm --calibrate 0.5" in again.err  # and no method, which it chooses
    asked_for = covshift(*asked, "--force", "--method", "none")
    assert "Why:" not in asked_for.out
    assert "compare" not in asked_for.err


def test_boosted_trees_are_fitted_saved_and_used(files):
    fit = ("fit", *pair(files), "--learner", "trees", "--method", "entropy", "--json")
    result = covshift(*fit, "-o", files / "t.covshift")
    assert result.code == 0, result.err
    assert json.loads(result.out)["learner"] == "trees"
    result = covshift("predict", files / "t.covshift", files / "target.csv", "-o", files / "p.csv")
    assert result.code == 0, result.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "magic"], "'magic' is unknown"),
        (["--learner", "linear", "--method", "blended"], "needs a learner that takes V"),
    ],
)
def test_models_that_cannot_be_are_refused_before_any_work(files, options, message):
    result = covshift("fit", "no.csv", "such.csv", "--label", "y", "-o", files / "m", *options)
    assert result.code == 2
    assert message in result.err


def test_damaged_models_are_bad_input(files, model):
    model.write_bytes(model.read_bytes()[:-100])
    result = covshift("predict", model, files / "target.csv", "-o", files / "p.csv")
    assert result.code == 2
    assert "damaged" in result.err
    assert not (files / "p.csv").exists()


# weigh and report


def test_weights_have_mean_one_and_keep_ids(files):
    result = covshift("weigh", *pair(files), "-o", files / "w.csv")
    assert result.code == 0
    assert "Effective sample size" in result.out
    found = lines((files / "w.csv").read_text())
    assert [line["person"] for line in found] == [f"t{k}" for k in range(60)]
    np.testing.assert_allclose(np.mean([float(line["weight"]) for line in found]), 1)


def test_weights_on_stdout_are_data_alone(files):
    result = covshift("weigh", files / "train.csv", files / "target.csv", "--drop", "person")
    assert [line["row"] for line in lines(result.out)] == [str(k) for k in range(1, 61)]
    assert "Effective sample size" in result.err
    assert covshift("weigh", *pair(files), "--json").code == 2


@pytest.mark.thorough
def test_the_report_is_one_html_file(files):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    options = ["--learner", "linear", "-o", files / "r.html"]
    result = covshift("report", *pair(files, "scored.csv"), *options)
    assert result.code == 0, result.err
    html = (files / "r.html").read_text()
    assert "<html" in html
    sentence = result.out.partition("\n")[0]
    assert sentence.startswith("Sample")
    assert f'<h2 id="answer">{sentence}</h2>' in html
    asked = ["--id", "person", "--outcome", "y"]
    beside = covshift("estimate", files / "train.csv", files / "scored.csv", *asked)
    assert beside.out.partition("\n")[0] == sentence
    assert "--learner linear" in html  # the command, to do it again
    assert "Wrote the report" in result.out


@pytest.mark.thorough
def test_the_report_shows_the_weights_that_the_comparison_recommends(files, monkeypatch):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    monkeypatch.setattr(Comparison, "recommended", "entropy")
    options = ["--learner", "linear", "-o", files / "r.html"]
    result = covshift("report", *pair(files, "scored.csv"), *options)
    assert result.code == 0, result.err
    page = (files / "r.html").read_text()
    weights = json.loads(re.search(r"\"weights\":\s*(\{.*?\})", page)[1])
    assert weights["by"] == "entropy"
    assert 1 < weights["effective_sample_size"] < 60


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("values", "what"),
    [(["a", "b", "c"] * 20, "proportion"), ([f"{k / 7:.3f}" for k in range(60)], "mean")],
)
def test_the_report_asks_for_shares_of_classes_or_for_a_mean(files, monkeypatch, values, what):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    monkeypatch.setattr("covshift.cli.report.comparison_of", lambda *_: None)
    table = [line.split(",") for line in (files / "train.csv").read_text().splitlines()]
    cells = zip(table[1:], values, strict=True)
    write(files / "other.csv", [table[0], *([*row[:4], value] for row, value in cells)])
    given = [files / "other.csv", *pair(files)[1:], "--json", "-o", files / "r.html"]
    found = json.loads(covshift("report", *given).out)["estimate"]
    assert found["what"] == what
    assert {row["outcome"] for row in found["table"]} == {"y"}
    assert found["sentence"] in (files / "r.html").read_text()


@pytest.mark.thorough
def test_without_overlap_the_report_has_no_number(files, monkeypatch):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    monkeypatch.setattr("covshift.cli.report.comparison_of", lambda *_: None)
    far = write(files / "far.csv", rows(50, 30.0, seed=1, label=False))
    given = [files / "train.csv", far, "--drop", "person", "--label", "y"]
    result = covshift("report", *given, "-o", files / "r.html")
    assert result.code == 0, result.err
    assert "do not cover the target" in result.out
    assert "--drop age --drop income" in result.out
    html = (files / "r.html").read_text()
    assert "There is no number for this population." in html
    assert "Adjusted to" not in html
    monkeypatch.setattr("covshift.report.build", lambda *_, **__: "")
    again = covshift("report", *given, "-o", files / "r.html", "--force", "--json")
    assert "do not cover the target" in json.loads(again.out)["estimate"]["refused"]


# Habits


def test_an_existing_file_is_kept_without_force(files):
    write(files / "w.csv", "mine")
    result = covshift("weigh", *pair(files), "-o", files / "w.csv")
    assert result.code == 2
    assert "--force" in result.err
    assert (files / "w.csv").read_text() == "mine"
    assert covshift("weigh", *pair(files), "-o", files / "w.csv", "--force").code == 0
    assert (files / "w.csv").read_text().startswith("person,weight")


def test_outputs_that_cannot_be_written_are_refused_first(files):
    for place in (files, files / "none" / "w.csv"):
        result = covshift("weigh", "no.csv", "such.csv", "-o", place)
        assert result.code == 2
        assert "folder" in result.err


def test_quiet_silences_notes_and_not_warnings(files):
    assert covshift("weigh", *pair(files), "-q", "-o", files / "w.csv").err == ""


def test_help_names_every_command_and_the_exit_codes():
    result = covshift("--help")
    assert result.code == 0
    commands = "estimate diagnose compare fit predict weigh report demo"
    for word in commands.split():
        assert word in result.out
    assert "exit codes" in result.out
    assert covshift("diagnose", "--help").code == 0
    assert covshift("--version").out.startswith("covshift ")
    assert covshift("nonsense").code == 2


def test_internal_errors_are_code_one_with_a_traceback_on_request(files, monkeypatch, capsys):
    def broken(*_, **__):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("covshift.files.frame.read_frame", broken)
    result = covshift("diagnose", *pair(files))
    assert result.code == 1
    assert "ZeroDivisionError: oh" in result.err
    assert "--debug" in result.err
    assert main(["diagnose", "a", "b", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_what_numpy_cannot_compute_inside_is_a_bug_and_no_bad_input(files, monkeypatch):
    of_rows = Samples.of_rows

    def mismatched(*given, **more):
        found = of_rows(*given, **more)
        return dataclasses.replace(found, T=np.hstack([found.T, found.T]))

    monkeypatch.setattr(Samples, "of_rows", mismatched)
    result = covshift("diagnose", *pair(files))
    assert "(ValueError: " in result.err
    assert "This is a bug, not your input" in result.err
    assert result.code == 1


def test_what_covshift_refuses_is_bad_input(files, monkeypatch):
    of_rows = Samples.of_rows
    monkeypatch.setattr(Samples, "of_rows", lambda X, T, **more: of_rows(X, None, **more))
    result = covshift("diagnose", *pair(files))
    assert result.code == 2
    assert "nothing to compare" in result.err
    assert "bug" not in result.err


def test_a_missing_extra_is_named_with_its_remedy(files, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.dataset", None)
    write(files / "p.parquet", b"PAR1 and more")
    result = covshift("weigh", files / "p.parquet", files / "target.csv")
    assert result.code == 2
    assert 'install covshift with its extra "cli"' in result.err


def test_ctrl_c_is_code_130_and_leaves_no_file(files, monkeypatch, model):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("covshift.persistence.Model.predict_proba", interrupted)
    before = sorted(files.iterdir())
    result = covshift("predict", model, files / "target.csv", "-o", files / "p.csv")
    assert result.code == 130
    assert sorted(files.iterdir()) == before


def test_a_failed_write_keeps_the_old_file(files, model):
    write(files / "p.csv", "old")
    broken = (files / "target.csv").read_text() + "g99,x,1,u\n"
    write(files / "late.csv", broken)
    result = covshift("predict", model, files / "late.csv", "-o", files / "p.csv", "--force")
    assert result.code == 2
    assert (files / "p.csv").read_text() == "old"
    assert not list(files.glob(".*"))


def test_colour_needs_a_terminal_and_no_no_color(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b[" in console.paint("x", "error", Terminal())
    assert console.paint("x", "error", io.StringIO()) == "x"
    monkeypatch.setenv("NO_COLOR", "1")
    assert console.paint("x", "error", Terminal()) == "x"


def test_json_is_strict():
    assert json.loads(console.as_json({"a": [float("nan"), np.float64(1)]})) == {"a": [None, 1.0]}


# The real process


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from covshift.cli import main; main(['--help']);"
        "sys.exit(bool({'numpy', 'scipy', 'sklearn', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0


def test_the_real_command_weighs(files):
    done = subprocess.run(
        [*REAL, "weigh", "-", str(files / "target.csv"), "--drop", "person", "--drop", "y"],
        input=(files / "train.csv").read_bytes(),
        capture_output=True,
        env=ENVIRONMENT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"row,weight,design_weight,factor\n")
    assert b"\x1b" not in done.stderr


@pytest.mark.thorough
def test_a_reader_that_leaves_is_no_error(files, model):
    table = (files / "target.csv").read_text().splitlines()
    big = write(files / "big.csv", "\n".join([table[0], *table[1:] * 4000]) + "\n")
    with subprocess.Popen(
        [*REAL, "predict", str(model), str(big), "-q"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        error = process.stderr.read()
        assert process.wait() == 141
    assert error == b""


@pytest.mark.thorough
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_no_half_file(files, model, number, code):
    table = (files / "target.csv").read_text().splitlines()
    with subprocess.Popen(
        [*REAL, "predict", str(model), "-", "-o", str(files / "p.csv")],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=ENVIRONMENT,
    ) as process:
        process.stdin.write("\n".join([table[0], *table[1:] * 1000]).encode() + b"\n")
        process.stdin.flush()
        for _ in range(600):  # until it has begun to write
            if list(files.glob(".p.csv*")):
                break
            time.sleep(0.1)
        assert list(files.glob(".p.csv*"))
        process.send_signal(number)
        assert process.wait(timeout=60) == code
        process.stdin.close()
    assert not list(files.glob("*p.csv*")) + list(files.glob(".p.csv*"))


@pytest.mark.thorough
def test_the_demo_runs_from_files_to_report(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    monkeypatch.chdir(tmp_path)
    result = covshift("demo", "--rows", "100")
    assert result.code == 0, result.err
    assert "survey.csv" in {path.name for path in Path("out/demo").iterdir()}
    assert Path("out/demo/report.html").stat().st_size > 10_000
    questions = re.findall(r"^\d\. (.*?\?)", result.out, flags=re.MULTILINE)
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert questions == re.findall(r"^### (.*)$", readme, flags=re.MULTILINE)
    assert len(re.findall(r"^The truth: ", result.out, flags=re.MULTILINE)) == 4
    monkeypatch.chdir("out/demo")  # where its commands print what it shows
    commands = re.findall(r"^  covshift (\w+ sport_.*)$", result.out, flags=re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["estimate", "evaluate", "compare"]
    for command in commands:
        assert covshift(*command.split()).out.splitlines()[0] in result.out


def test_an_interrupted_command_says_what_it_wrote(tmp_path, monkeypatch):
    from covshift.cli import demo

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "ask", stop)
    result = covshift("demo", "-o", "d")
    assert result.code == 130
    wrote = f"Before that it wrote {Path('d/survey.csv')}, {Path('d/population.csv')}."
    assert wrote in result.err
    monkeypatch.setattr(demo, "write_survey", stop)
    assert "Nothing was written." in covshift("demo", "-o", "d").err


def test_atomic_files_go_through_links_and_keep_their_permissions(tmp_path):
    from covshift.files.writing import atomic_file, check_writable

    place, link = write(tmp_path / "a", "old"), tmp_path / "link"
    place.chmod(0o640)
    link.symlink_to(place)
    with atomic_file(link) as file:
        file.write(b"new")
    assert (place.read_text(), link.is_symlink()) == ("new", True)
    assert place.stat().st_mode & 0o777 == 0o640
    with atomic_file(os.devnull) as file:
        file.write(b"nothing")
    with pytest.raises(InputError, match="exists"):
        check_writable(place, force=False)


def test_no_command_at_all_is_a_question_for_help():
    result = covshift()
    assert result.code == 0
    assert "covshift estimate" in result.out


@pytest.mark.parametrize("command", ["compare", "diagnose", "fit", "report", "weigh"])
def test_the_label_may_be_called_outcome(command):
    arguments = [command, "a.csv", "b.csv", "--outcome", "y", "-o", "c"]
    assert parse(arguments[: 5 if command in ("compare", "diagnose") else None]).label == "y"


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["estmate", "a.csv", "b.csv"], "Did you mean estimate?"),
        (["estimate", "a.csv", "b.csv", "--outcom", "y"], "Did you mean --outcome?"),
        (["estimate", "a.csv", "b.csv", "--method", "wieghts"], "Did you mean weights?"),
        (["estimate", "a.csv", "b.csv", "--xyzzy", "y"], "covshift estimate --help"),
        (["weigh", "a", "b", "--drop", "x", "y", "--json"], "Repeat --drop for each: --drop x --d"),
        (["weigh", "--keep", "x", "y", "a", "b"], "Repeat --keep for each: --keep x --keep y.\n"),
        (["weigh", "a", "b", "c"], "extra argument (c)\n"),
        (["weigh", "a", "b", "--id", "x", "y"], "extra argument (y)\n"),
    ],
)
def test_misspelt_and_superfluous_words_are_explained(arguments, meant):
    result = covshift(*arguments)
    assert result.code == 2
    assert meant in result.err


def test_misspelt_columns_are_guessed(files):
    result = covshift("estimate", *pair(files), "--outcome", "incme")
    assert result.code == 2
    assert "Did you mean 'income'?" in result.err

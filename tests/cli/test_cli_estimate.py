"""``covshift estimate``: the library's numbers, from files, with every option's meaning kept."""

from __future__ import annotations

import csv
import io
import json
import shlex
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from command import covshift, rows, write

from covshift import (
    CDF,
    Coefficients,
    Difference,
    Labels,
    Proportion,
    Quantile,
    Ratio,
    Total,
    estimate,
)
from covshift.engine.measures import METHODS
from covshift.estimates import Median, Trimmed
from covshift.files.frame import read_frame

N, M = 90, 80


def with_column(table, name, values):
    lines = zip(table[1:], values, strict=True)
    return [[*table[0], name], *([*row, str(value)] for row, value in lines)]


def with_cells(table, column, cells):
    table = [list(row) for row in table]
    for row, cell in cells.items():
        table[row][table[0].index(column)] = cell
    return table


TRAIN = rows(N)
TARGET = rows(M, 0.4, seed=1, label=False)
SIZE = [f"{50 + 5 * float(row[0]):.2f}" for row in TRAIN[1:]]
PARTY = ["left" if float(row[0]) < 0 else "right" for row in TRAIN[1:]]
FEATURES = ["age", "income", "town=v", "town=w"]  # of a category all levels but the first
COLUMNS = ("age", "income", "town=u", "town=v", "town=w")
OUTCOMES = with_column(with_column(TRAIN, "size", SIZE), "party", PARTY)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("estimate")
    write(folder / "train.csv", OUTCOMES)
    write(folder / "target.csv", TARGET)
    return folder


def call(files, *options, outcome="y", train="train.csv", target="target.csv"):
    others = [name for name in ("y", "size", "party") if name != outcome]
    dropped = [part for name in others for part in ("--drop", name)]
    paths = [files / train, files / target]
    return covshift("estimate", *paths, "--outcome", outcome, *dropped, *options)


def library(files, y=None, **options):
    """The same numbers by the library."""
    train, target = (read_frame(str(files / name)) for name in ("train.csv", "target.csv"))
    y = np.array([float(row[3]) for row in TRAIN[1:]]) if y is None else y
    found = estimate(train.drop_columns(["y", "size", "party"]), y, target, **options)
    told = ("categories", "columns of one sample")  # on stderr
    return replace(found, notes=tuple(note for note in found.notes if note.kind not in told))


def lines(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture(scope="module")
def plain(files):
    """The plainest call, with JSON and with a file."""
    return call(files, "--json", "-o", files / "table.csv")


@pytest.fixture(scope="module")
def truth(files):
    return library(files)


@pytest.fixture
def handed(monkeypatch, truth):
    """What the library is called with; its answer is always the same."""
    given = {}

    def called(samples, **options):
        given.update(options, samples=samples, finite_population=samples.finite_population)
        return truth

    monkeypatch.setattr("covshift.estimates.estimate", called)
    return given


# What is printed


def test_the_first_line_is_the_sentence_and_the_table_follows(files, truth):
    result = call(files)
    assert result.code == 0, result.err
    assert result.out.splitlines()[0] == truth.sentence
    assert result.out.rstrip() == str(truth)


def test_the_methods_section_follows_with_a_checklist_that_names_options(files, truth):
    result = call(files, "--methods")
    assert result.out.startswith(str(truth))
    assert truth.methods_text() in result.out
    checklist = result.out.partition("where to look")[2]
    assert "--sensitivity 1.5" in checklist
    assert "with_sensitivity" not in checklist


def test_label_is_another_name_of_outcome(files, handed):
    paths = [files / "train.csv", files / "target.csv"]
    assert covshift("estimate", *paths, "--label", "y", "--drop", "size").code == 0
    assert handed["samples"].y.column_names == ["y"]


def test_json_holds_all_numbers_and_the_notes_of_the_files(files, plain, truth, handed):
    data = json.loads(plain.out)
    assert data["sentence"] == truth.sentence
    for line, row in zip(data["table"], truth.to_dict()["table"], strict=True):
        assert line.keys() == row.keys()
        assert line["value"] == pytest.approx(row["value"])
        assert line["interval"] == pytest.approx(row["interval"])
    assert data["covered_share"] == 1
    assert [note["kind"] for note in data["notes"]] == ["categories"]
    noted = json.loads(call(files, "--json", target="train.csv").out)["notes"]
    assert [note["kind"] for note in noted] == ["categories", "known outcomes"]


@pytest.mark.thorough
def test_the_file_holds_every_method(files, plain, truth):
    found = lines((files / "table.csv").read_text())
    assert list(found[0]) == [
        "outcome", "what", "group", "method", "value", "standard_error", "low", "high", "rows",
        "effective_sample_size",
    ]  # fmt: skip
    assert [line["method"] for line in found] == list(METHODS)
    for line, row in zip(found, truth.table, strict=True):
        assert (line["outcome"], line["what"], line["group"]) == ("y", "mean", "")
        numbers = [float(line[k]) for k in ("value", "standard_error", "low", "high")]
        np.testing.assert_allclose(numbers, [row.value, row.standard_error, *row.interval])
    kept = call(files, "-o", files / "table.csv")
    assert kept.code == 2
    assert "--force" in kept.err


def test_the_table_can_go_to_stdout_and_the_words_to_stderr(files, truth):
    result = call(files, "--sensitivity", "1.5", "-o", "-")
    found = lines(result.out)
    assert len(found) == 4
    for line, row in zip(found, truth.with_sensitivity(1.5).table, strict=True):
        if row.method == "none":
            assert line["sensitivity_low"] == line["sensitivity_high"] == ""
            continue
        assert float(line["sensitivity_low"]) == pytest.approx(row.sensitivity_interval[0])
        assert float(line["sensitivity_high"]) == pytest.approx(row.sensitivity_interval[1])
    assert "Adjusted to the target population" in result.err
    refused = call(files, "--json", "-o", "-")
    assert refused.code == 2
    assert "name a file" in refused.err


def test_a_tsv_file_has_tabs(files, handed):
    assert call(files, "-o", files / "t.tsv").code == 0
    assert (files / "t.tsv").read_text().startswith("outcome\twhat\tgroup\tmethod\t")


# Outcomes of some target rows


@pytest.fixture(scope="module")
def labelled(files):
    known = ["1" if k % 4 == 0 else "0" if k % 4 == 1 else "" for k in range(M)]
    chance = ["0.8" if k % 3 else "0.4" for k in range(M)]
    there = with_column(with_column(TARGET, "seen", known), "chance", chance)
    write(files / "labelled.csv", there)
    write(files / "same.csv", with_column(TARGET, "y", known))
    return known, chance


@pytest.mark.thorough
@pytest.mark.part(20)
@pytest.mark.parametrize("probability", [False, True])
def test_outcomes_of_target_rows_are_those_of_the_library(files, labelled, probability):
    known, chance = labelled
    options = ["--target-outcome", "seen"]
    options += ["--target-probability", "chance"] if probability else []
    result = call(files, *options, "--json", target="labelled.csv")
    assert result.code == 0, result.err
    y_target = [float(cell) if cell else None for cell in known]
    given = Labels(y_target, [float(cell) for cell in chance] if probability else None)
    expected = library(files, y_target=given)
    found = json.loads(result.out)
    assert (found["method"], found["n_labels"]) == ("both", expected.n_labels)
    for row, other in zip(found["table"], expected.to_dict()["table"], strict=True):
        assert row["value"] == pytest.approx(other["value"])
        assert row["interval"] == pytest.approx(other["interval"])


@pytest.mark.thorough
def test_the_column_of_the_outcome_may_hold_them(files, labelled):
    by_name = call(files, "--target-outcome", "y", target="same.csv")
    assert by_name.code == 0, by_name.err
    other = call(files, "--target-outcome", "seen", target="labelled.csv")
    assert by_name.out.splitlines()[0] == other.out.splitlines()[0]
    assert "using 40 of its own outcomes" in by_name.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--target-outcome", "sen"], "Did you mean 'seen'"),
        (["--target-probability", "chance"], "name them with --target-outcome"),
        (["--target-outcome", "seen", "--target-outcome", "town"], "one for each"),
        (["--drop", "age,town"], "Repeat --drop for each column"),
        (["--drop", "age,twon"], "Its columns are"),
    ],
)
def test_outcomes_of_target_rows_that_cannot_be(files, labelled, options, said):
    result = call(files, *options, target="labelled.csv")
    assert result.code == 2
    assert said in result.err


# Quantities and groups


@pytest.mark.thorough
def test_groups_of_both_files_are_those_of_frames(files):
    result = call(files, "--by", "town", "--json")
    assert result.code == 0, result.err
    frames = [pd.DataFrame(part[1:], columns=part[0]) for part in (TRAIN, TARGET)]
    train, target = (part.astype({"age": float, "income": float}) for part in frames)
    expected = estimate(train.astype({"y": float}), "y", target, by="town")
    found = json.loads(result.out)["estimates"]
    assert [row["group"] for row in found] == [None, "u", "v", "w"]
    np.testing.assert_allclose(
        [row["value"] for row in found], [row.value for row in expected.estimates]
    )


def test_groups_of_the_training_file_alone_are_no_feature(files, handed):
    write(files / "wave.csv", with_column(OUTCOMES, "wave", [f"0{k % 2}" for k in range(N)]))
    result = call(files, "--by", "wave", train="wave.csv")
    assert result.code == 0, result.err
    assert handed["samples"].groups.labels == ("00", "01")  # as they are written
    assert list(handed["samples"].encoder.columns) == [
        "age",
        "income",
        "town=u",
        "town=v",
        "town=w",
    ]


def test_rows_without_a_group_are_a_group(files, handed):
    write(files / "lost.csv", with_cells(OUTCOMES, "town", {2: ""}))
    assert call(files, "--by", "town", train="lost.csv").code == 0
    assert handed["samples"].groups.labels == ("(missing)", "u", "v", "w")


@pytest.mark.thorough
def test_text_gives_proportions(files):
    data = json.loads(call(files, "--json", outcome="party").out)
    assert data["what"] == "proportion"
    assert [row["what"] for row in data["estimates"]] == ["left", "right"]
    expected = library(files, y=np.array(PARTY), what="proportion")
    np.testing.assert_allclose([row["value"] for row in data["estimates"]], expected.value)


def test_numbers_are_means(files, handed):
    assert call(files, outcome="size").code == 0
    assert handed["what"] is None  # which are means
    assert handed["samples"].y["size"].to_pylist() == [float(value) for value in SIZE]


@pytest.mark.parametrize(
    ("options", "what", "expected"),
    [
        (["--quantile", "0.25", "--quantile", "0.9"], Quantile([0.25, 0.9]), {}),
        (["--category", "1"], Proportion(["1"]), {}),
        (["--population-size", "5e6"], Total(5e6), {}),
        (["--at", "0", "--at", "-1.5"], CDF([0.0, -1.5]), {}),
        (["--by", "town", "--reference", "u"], Difference("u"), {}),
        (["--family", "logistic"], Coefficients(FEATURES, "logistic"), {}),
        (["--what", "median"], Median(), {}),
        (["--restrict", "overlap"], None, {"restrict": "overlap"}),
        (["--finite-population"], None, {"finite_population": True}),
        (["--replicates", "50"], None, {"replicates": 50}),
        (
            ["--method", "model", "--confidence", "0.9"],
            None,
            {"method": "model", "confidence": 0.9},
        ),
        (
            ["--weighter", "entropy", "--seed", "3"],
            None,
            {"weighter": "entropy", "random_state": 3},
        ),
    ],
)
def test_options_are_arguments_of_the_library(files, handed, options, what, expected):
    result = call(files, *options)
    assert result.code == 0, result.err
    assert (type(handed["what"]), handed["what"]) == (type(what), what)
    assert {name: handed[name] for name in expected} == expected


def test_limits_and_sensitivity_reach_the_answer(files, handed, truth):
    result = call(
        files, "--sensitivity", "1.5", "--max-weight", "9", "--weighter", "entropy", "--json"
    )
    assert result.code == 0, result.err
    limited = handed["weighter"]
    assert (type(limited), limited.max_weight, limited.weighter) == (Trimmed, 9, "entropy")
    found = json.loads(result.out)
    assert found["sensitivity"] == 1.5
    wide = truth.with_sensitivity(1.5).overall[0].sensitivity_interval
    assert found["estimates"][0]["sensitivity_interval"] == pytest.approx(wide)


@pytest.mark.thorough
def test_a_null_is_what_the_line_is_about(files, truth):
    result = call(files, "--null", "0.9")
    assert result.code == 0, result.err
    said = truth.robustness(0.9).sentence
    assert said in " ".join(result.out.split())
    assert said.startswith("To move the answer to 90%, an unobserved factor would have to be")
    refused = call(files, "--null", "nan")
    assert refused.code == 2
    assert "--null nan must be a finite number" in refused.err


def test_a_factor_of_odds_is_checked_before_files_are_read(files):
    result = call(files, "--sensitivity", "0.1", "--outcome", "nothing")
    assert result.code == 2
    assert "--sensitivity 0.1 must be a number of at least 1" in result.err


def test_several_outcomes_are_asked_for_at_once(files, handed):
    paths = [files / "train.csv", files / "target.csv"]
    assert covshift("estimate", *paths, "--outcome", "y", "--outcome", "size").code == 0
    assert handed["samples"].y.column_names == ["y", "size"]


def test_text_beside_numbers_needs_an_answer(files):
    paths = [files / "train.csv", files / "target.csv"]
    mixed = covshift("estimate", *paths, "--outcome", "size", "--outcome", "party")
    assert mixed.code == 2
    assert "The outcome 'party' holds text" in mixed.err


def test_regressors_are_columns_of_the_file(files, handed):
    assert call(files, "--regressor", "age", "--regressor", "town", outcome="size").code == 0
    assert handed["what"].regressors == ["age", "town=v", "town=w"]
    assert call(files, "--what", "coefficients", outcome="size").code == 0
    assert handed["what"].regressors == ["age", "income", "town=v", "town=w"]
    assert call(files, "--regressor", "town=u", outcome="size").code == 0
    assert handed["what"].regressors == ["town=u"]
    unknown = call(files, "--regressor", "height", outcome="size")
    assert unknown.code == 2
    assert "'height' is not one of the features: 'age', 'income', 'town'" in unknown.err


def test_a_ratio_and_a_design_come_from_columns_that_are_no_features(files, handed):
    table = with_column(OUTCOMES, "rooms", [2 + k % 3 for k in range(N)])
    table = with_column(with_column(table, "block", [k // 5 for k in range(N)]), "s", "ab" * 45)
    write(files / "design.csv", table)
    write(files / "design_target.csv", with_column(TARGET, "s", "ab" * 40))
    design = ["--denominator", "rooms", "--cluster", "block", "--strata", "s"]
    names = {"train": "design.csv", "target": "design_target.csv"}
    result = call(files, *design, outcome="size", **names)
    assert result.code == 0, result.err
    assert isinstance(handed["what"], Ratio)
    assert handed["what"].denominator.to_pylist() == [2.0 + k % 3 for k in range(N)]
    assert handed["samples"].strata.tolist() == list("ab" * 45)
    assert handed["samples"].cluster.tolist() == [str(k // 5) for k in range(N)]
    assert list(handed["samples"].encoder.columns) == [
        "age",
        "income",
        "town=u",
        "town=v",
        "town=w",
    ]
    assert "design_target.csv has 's' as well: not used" in result.err


def test_design_weights_are_of_any_scale(files, handed):
    d, v = 0.25 + np.arange(N) / N, 100 + np.arange(M) / 7
    write(files / "drawn.csv", with_column(OUTCOMES, "d", d))
    write(files / "weighted.csv", with_column(TARGET, "v", v))
    options = ["--weight", "d", "--target-weight", "v"]
    result = call(files, *options, train="drawn.csv", target="weighted.csv")
    assert result.code == 0, result.err
    np.testing.assert_allclose(handed["samples"].sample_weight, d / d.mean())
    np.testing.assert_allclose(handed["samples"].target_weight, v / v.mean())
    assert handed["samples"].X.shape == (N, 5)


@pytest.mark.thorough
def test_design_weights_give_the_librarys_number(files):
    d = 0.25 + np.arange(N) / N
    write(files / "drawn.csv", with_column(OUTCOMES, "d", d))
    data = json.loads(call(files, "--weight", "d", "--json", train="drawn.csv").out)
    expected = library(files, sample_weight=d)
    assert data["estimates"][0]["value"] == pytest.approx(expected.value)
    assert data["estimates"][0]["standard_error"] == pytest.approx(expected.standard_error)


# What stands in the files


@pytest.mark.thorough
def test_rows_without_the_outcome_are_counted_and_named(files):
    write(files / "holes.csv", with_cells(OUTCOMES, "y", {3: "", 7: "NA"}))
    result = call(files, train="holes.csv")
    assert result.code == 0, result.err
    y = np.array([float(row[3]) for row in TRAIN[1:]])
    y[[2, 6]] = np.nan
    assert result.out.splitlines()[0] == library(files, y=y).sentence
    assert "'y' is missing in 2 of 90 rows" in result.out


def test_missing_categories_are_missing(files, handed):
    write(files / "few.csv", with_cells(OUTCOMES, "party", {5: "", 6: "-"}))
    assert call(files, "--missing", "-", outcome="party", train="few.csv").code == 0
    assert handed["samples"].y["party"].to_pylist() == [*PARTY[:4], None, None, *PARTY[6:]]


def test_an_outcome_in_the_target_is_not_used(files, handed):
    write(files / "known.csv", rows(M, 0.4, seed=1))
    unknown = call(files)
    assert "not used" not in unknown.err
    without = handed["samples"].T
    known = call(files, target="known.csv")
    assert "known.csv has the outcome 'y' in 80 of 80 rows, which were not used" in known.err
    assert "--target-outcome y uses them" in known.err
    np.testing.assert_array_equal(handed["samples"].T, without)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "nowhere"], "has no column 'nowhere', which --by names"),
        (["--strata", "none"], "has no column 'none', which --strata names"),
        (["--by", "y"], "'y' cannot be the outcome and what --by names"),
        (["--outcome", "y"], "names 'y' more than once"),
        (["--weighter", "magic"], "'magic' is unknown"),
        (["--what", "quantile"], "--what quantile needs --quantile"),
        (["--what", "total"], "--what total needs --population-size"),
        (["--what", "difference"], "name their column with --by"),
        (["--what", "median", "--at", "3"], "--at belongs to --what cdf, not to --what median"),
        (["--confidence", "95"], "confidence"),
        (["--denominator", "town"], "line 2: 'u' in column 'town' is not a number"),
    ],
)
def test_what_cannot_be_asked_is_refused(files, options, message):
    result = call(files, *options)
    assert result.code == 2
    assert message in result.err
    assert result.out == ""


def test_an_unknown_outcome_lists_the_columns(files):
    result = covshift("estimate", files / "train.csv", files / "target.csv", "--outcome", "z")
    assert result.code == 2
    assert "has no column 'z', which --outcome names. Its columns are: 'age'" in result.err


@pytest.mark.parametrize(
    ("cells", "options", "message"),
    [
        ({4: "?"}, ["--ask"], "numbers and text (such as '?')"),
        ({4: "?"}, ["--what", "median", "--ask"], "holds numbers and text (such as '?')"),
        ({k: f"name {k}" for k in range(1, N + 1)}, [], "90 different values"),
        ({4: "1_000"}, ["--ask"], "numbers and text (such as '1_000')"),
        (dict.fromkeys(range(1, N + 1), ""), [], "missing in every row"),
        ({4: "inf"}, [], "infinite"),
    ],
)
def test_outcomes_that_can_be_read_in_two_ways_are_refused(files, cells, options, message):
    write(files / "odd.csv", with_cells(OUTCOMES, "size", cells))
    result = call(files, *options, outcome="size", train="odd.csv")
    assert result.code == 2
    assert message in result.err


def test_hostile_names_reach_the_terminal_as_text(files):
    names = ["<script>\x1b[31m", "=cmd()", "town", "y\x07</script>"]
    write(files / "bad.csv", [names, *TRAIN[1:]])
    write(files / "bad_target.csv", [names[:3], *TARGET[1:]])
    options = ["--outcome", names[3], "--by", names[2], "--method", "none"]
    result = covshift("estimate", files / "bad.csv", files / "bad_target.csv", *options)
    assert result.code == 0, result.err
    assert "\x1b" not in result.out + result.err
    assert "\x07" not in result.out + result.err


# Overlap


def test_without_overlap_there_is_no_number_but_of_the_covered_part(files):
    far = [
        row if k % 2 else [str(float(row[0]) + 30), *row[1:]] for k, row in enumerate(TARGET[1:])
    ]
    write(files / "far.csv", [TARGET[0], *far])
    refused = call(files, "-o", files / "none.csv", target="far.csv")
    assert refused.code == 2
    assert "do not cover the target" in refused.err
    assert "--restrict overlap" in refused.err
    assert refused.out == ""
    assert not (files / "none.csv").exists()
    part = call(files, "--restrict", "overlap", "--json", target="far.csv")
    assert part.code == 0, part.err
    data = json.loads(part.out)
    assert data["covered_share"] == pytest.approx(0.5, abs=0.1)
    assert "restricted target" in [note["kind"] for note in data["notes"]]


def test_a_split_by_dates_is_refused_with_whole_commands_that_work(tmp_path):
    rng = np.random.default_rng(0)
    days = np.datetime64("2022-01-03") + np.arange(1200)
    x, y = rng.normal(size=(2, 1200)).round(3)
    lines = [[str(day), str(a), str(b)] for day, a, b in zip(days, x, y, strict=True)]
    train = write(tmp_path / "early days.csv", [["the date", "x", "y"], *lines[:800]])
    target = write(tmp_path / "late.csv", [["the date", "x"], *(row[:2] for row in lines[800:])])
    refused = covshift("estimate", train, target, "--outcome", "y")
    assert refused.code == 2
    ways = [shlex.split(line) for line in refused.err.splitlines() if line.startswith("  covshift")]
    assert [way[-2] for way in ways] == ["--drop", "--season"]
    for way in ways:
        answered = covshift(*way[1:])
        assert answered.code == 0, answered.err
        assert "do not cover" not in answered.err


@pytest.mark.parametrize("by", [[], ["--by", "town"]])
def test_a_level_that_only_the_target_has_is_not_covered(files, by):
    other = [[*row[:2], "z"] if k % 2 else row for k, row in enumerate(TARGET[1:])]
    write(files / "other.csv", [TARGET[0], *other])
    result = call(files, *by, target="other.csv")
    assert result.code == 2
    assert "'town' = 'z'" in result.err


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (["--confidence", "1.5"], "--confidence 1.5 must be"),
        (["--replicates", "1"], "--replicates 1 must be"),
        (["--quantile", "2"], "--quantile 2.0 must be"),
        (["--max-weight", "-1"], "--max-weight -1.0 must be"),
        (["--sensitivity", "0.5"], "--sensitivity 0.5 must be"),
        (["--null", "inf"], "--null inf must be"),
    ],
)
def test_a_refused_parameter_is_named_as_an_option(files, given, named):
    done = call(files, *given, outcome="size")
    assert done.code == 2
    assert named in done.err

"""``covshift evaluate``: the library's numbers, from files, with every option's meaning kept."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from command import covshift, rows, write
from read_files import read_samples

from covshift import Predictions, evaluate

N, M = 90, 80


def with_column(table, name, values):
    lines = zip(table[1:], values, strict=True)
    return [[*table[0], name], *([*row, str(value)] for row, value in lines)]


def scores_of(table):
    return [round(1 / (1 + np.exp(-float(row[0]))), 4) for row in table[1:]]


TRAIN, TARGET = rows(N), rows(M, 0.4, seed=1)
P, Q = scores_of(TRAIN), scores_of(TARGET)
Y = np.array([row[3] for row in TRAIN[1:]])


def told(table):
    """A table with a score, a predicted class, a number and a predicted number."""
    p = scores_of(table)
    table = with_column(table, "p", p)
    return with_column(table, "c", [int(value > 0.5) for value in p])


def without(table, name):
    at = table[0].index(name)
    return [row[:at] + row[at + 1 :] for row in table]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluate")
    write(folder / "train.csv", told(TRAIN))
    write(folder / "target.csv", without(told(TARGET), "y"))
    write(folder / "labelled.csv", told(TARGET))
    write(folder / "unscored.csv", without(without(told(TARGET), "y"), "p"))
    return folder


def call(files, *options, target="target.csv", score=("--score", "p", "--drop", "c")):
    given = [files / "train.csv", files / target, "--label", "y", *score, *options]
    return covshift("evaluate", *given)


@pytest.fixture(scope="module")
def samples(files):
    return read_samples(files / "train.csv", files / "target.csv", "y", "p", "c")


@pytest.fixture(scope="module")
def truth(samples):
    metrics = ["roc_auc", "accuracy", "brier"]  # AUC first, since there are scores
    return evaluate(Predictions({"p": P}, {"p": Q}), samples.X, Y, samples.T, metrics=metrics)


@pytest.fixture
def handed(monkeypatch, truth):
    """What the library is called with; its answer is always the same."""
    given = {}

    def called(said, samples, **options):
        given.update(options, model=said.model, said=said, samples=samples)
        return truth

    monkeypatch.setattr("covshift.evaluations.evaluate", called)
    return given


def test_the_first_line_is_the_sentence_and_the_table_follows(files, truth):
    result = call(files)
    assert result.code == 0, result.err
    assert result.out.splitlines()[0] == truth.sentence
    assert truth.sentence.startswith("AUC: 0.")
    assert result.out.rstrip() == str(truth)


def test_json_and_the_file_hold_every_method(files, truth):
    result = call(files, "--json", "-o", files / "table.csv")
    data = json.loads(result.out)
    for line, row in zip(data["table"], truth.to_dict()["table"], strict=True):
        assert line.keys() == row.keys()
        assert line["value"] == pytest.approx(row["value"])
    assert data["notes"][0]["kind"] == "kind of label"
    with open(files / "table.csv") as file:
        lines = list(csv.DictReader(file))
    assert [(line["metric"], line["method"]) for line in lines] == [
        (row.metric, row.method) for row in truth.table
    ]
    values = [float(line["value"]) for line in lines]
    assert values == pytest.approx([row.value for row in truth.table])
    assert "--force" in call(files, "-o", files / "table.csv").err
    assert call(files, "--json", "-o", "-").code == 2


def test_sensitivity_and_a_null_reach_the_answer(files, handed, truth):
    result = call(files, "--sensitivity", "1.5", "--null", "0.5", "--json")
    assert result.code == 0, result.err
    found = json.loads(result.out)
    assert found["sensitivity"] == 1.5
    wide = truth.with_sensitivity(1.5).performances[0].sensitivity_interval
    assert found["performances"][0]["sensitivity_interval"] == pytest.approx(wide)
    assert truth.robustness(0.5).sentence in found["assumption"]


@pytest.mark.thorough
def test_groups_are_those_of_both_files(files):
    result = call(files, "--by", "town", "--metric", "accuracy", "--json")
    found = json.loads(result.out)["performances"]
    assert [row["group"] for row in found] == [None, "u", "v", "w"]


def test_scores_are_no_features_and_options_reach_the_library(files, handed):
    options = "--metric f1 --metric roc_auc --method pape --weighter entropy --confidence 0.9"
    options += " --threshold 0.4 --positive 0 --restrict overlap --cluster town --seed 3"
    assert call(files, *options.split()).code == 0
    assert list(handed["samples"].encoder.columns) == ["age", "income"]
    assert handed["metrics"] == ["f1", "roc_auc"]
    assert (handed["method"], handed["weighter"]) == ("pape", "entropy")
    assert (handed["confidence"], handed["said"].threshold, handed["said"].positive) == (
        0.9,
        0.4,
        "0",
    )
    assert (handed["restrict"], handed["random_state"]) == ("overlap", 3)
    assert handed["samples"].cluster.tolist() == [row[2] for row in TRAIN[1:]]
    assert handed["y_target"] is None


def test_labels_of_the_target_only_check(files, handed):
    result = call(files, target="labelled.csv")
    assert result.code == 0
    assert handed["y_target"] == [row[3] for row in TARGET[1:]]
    assert "used only to score" in result.err
    assert handed["method"] == "model"


def test_labels_that_are_named_make_the_intervals(files, handed):
    options = ["--target-outcome", "y", "--target-probability", "chance"]
    with open(files / "labelled.csv") as file:
        head, *given = csv.reader(file)
    table = [[*head, "chance"], *([*row, "0.5"] for row in given)]
    write(files / "chosen.csv", table)
    result = call(files, *options, target="chosen.csv")
    assert result.code == 0, result.err
    assert handed["method"] is None
    assert handed["y_target"].y == [row[3] for row in TARGET[1:]]
    assert handed["y_target"].probability.tolist() == [0.5] * len(table[1:])


@pytest.mark.thorough
def test_predicted_classes_alone_and_beside_scores(files, truth):
    alone = call(files, "--json", score=("--prediction", "c", "--drop", "p"))
    rows_of = [r for r in json.loads(alone.out)["table"] if r["method"] == "none"]
    assert [row["metric"] for row in rows_of] == ["accuracy"]
    right = np.mean([(p > 0.5) == (y == "1") for p, y in zip(P, Y, strict=True)])
    assert rows_of[0]["value"] == pytest.approx(right)
    both = call(files, "--json", score=("--score", "p", "--prediction", "c"))
    metrics = dict.fromkeys(row["metric"] for row in json.loads(both.out)["table"])
    assert list(metrics) == ["roc_auc", "accuracy", "brier"]


@pytest.mark.thorough
def test_a_regression_is_judged_by_its_predictions(files, tmp_path):
    for name, table in (("train.csv", TRAIN), ("target.csv", TARGET)):
        numbers = [f"{2 * float(row[0]) + float(row[1]):.3f}" for row in table[1:]]
        said = [f"{2 * float(row[0]):.3f}" for row in table[1:]]
        table = with_column(without(table, "y"), "said", said)
        write(tmp_path / name, with_column(table, "y", numbers) if name[1] == "r" else table)
    result = call(tmp_path, "--json", score=("--prediction", "said"))
    found = {r["metric"]: r for r in json.loads(result.out)["table"] if r["method"] == "none"}
    assert list(found) == ["rmse", "mae", "r2"]
    income = np.array([float(row[1]) for row in TRAIN[1:]])
    assert found["rmse"]["value"] == pytest.approx(np.sqrt(np.mean(income**2)), rel=1e-3)


def test_a_model_file_is_applied_to_both_files(files, handed):
    paths = [files / "train.csv", files / "target.csv", "--label", "y", "--drop", "p"]
    model, said = files / "model.covshift", files / "said.csv"
    fitted = covshift("fit", *paths, "--drop", "c", "--learner", "linear", "-o", model)
    assert fitted.code == 0, fitted.err
    assert covshift("predict", model, files / "target.csv", "-o", said).code == 0
    result = call(files, score=("--model", model, "--drop", "p", "--drop", "c"))
    assert result.code == 0, result.err
    assert "looks better than it is" in result.err
    judged = handed["model"]["model.covshift"]
    with open(said) as file:
        expected = [float(line["probability_1"]) for line in csv.DictReader(file)]
    found = judged.scores[1][:, 1]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert len(judged.classes[0]) == N


@pytest.mark.thorough
def test_a_model_file_gets_numbers(files):
    model = files / "other.covshift"
    paths = [files / "train.csv", files / "target.csv", "--label", "y", "--drop", "p"]
    fitted = covshift("fit", *paths, "--drop", "c", "--learner", "linear", "-o", model)
    assert fitted.code == 0, fitted.err
    asked = ("--model", model, "--drop", "p", "--drop", "c")
    result = call(files, "--json", score=asked)
    assert result.code == 0, result.err
    data = json.loads(result.out)
    assert data["sentence"].startswith("AUC: ")
    assert "own training rows" in [note["kind"] for note in data["notes"]]


def test_rows_that_trained_the_model_are_marked(files, tmp_path, handed):
    trained = [k % 2 for k in range(N)]
    write(tmp_path / "train.csv", with_column(told(TRAIN), "seen", trained))
    write(tmp_path / "target.csv", without(told(TARGET), "y"))
    assert call(tmp_path, "--trained-on", "seen").code == 0
    assert handed["said"].trained_on.tolist() == [k == 1 for k in trained]
    refused = call(tmp_path, "--trained-on", "age")
    assert refused.code == 2
    assert "must be 1 where the row trained" in refused.err


def test_scores_beyond_zero_and_one_have_no_brier_score(tmp_path, handed):
    for name, table in (("train.csv", TRAIN), ("target.csv", without(TARGET, "y"))):
        write(tmp_path / name, with_column(table, "p", [3 * float(row[0]) for row in table[1:]]))
    assert call(tmp_path, score=("--score", "p")).code == 0
    assert handed["metrics"] == ["roc_auc", "accuracy"]


@pytest.fixture(scope="module")
def months(tmp_path_factory):
    """Both files have months, the target other ones and late labels of a few rows."""
    folder = tmp_path_factory.mktemp("months")
    write(folder / "train.csv", with_column(told(TRAIN), "month", ["1"] * N))
    target = with_column(told(TARGET), "month", [10 if k < 40 else 2 for k in range(M)])
    write(folder / "both.csv", with_column(target, "late", [""] * M))
    late = [row[3] if k % 4 == 0 else "" for k, row in enumerate(TARGET[1:])]
    target = without(with_column(target, "late", late), "y")
    write(folder / "target.csv", target)
    gap = [row[:-2] + (["", row[-1]] if k == 5 else row[-2:]) for k, row in enumerate(target)]
    write(folder / "gap.csv", gap)
    few = [[*row[:-1], "late" if k == 0 else row[-1] * (k < 14)] for k, row in enumerate(target)]
    write(folder / "few.csv", few)
    return folder


@pytest.mark.thorough
def test_every_batch_of_the_target_gets_its_numbers(months, monkeypatch):
    given, found = {}, []

    def called(model, samples, **options):
        given.update(options, names=samples.names, batch=samples.beside["batch"])
        found.append(evaluate(model, samples, **options))
        return found[0]

    monkeypatch.setattr("covshift.evaluations.evaluate", called)
    options = ("--batch", "month", "--metric", "accuracy", "--drop", "late")
    result = call(months, *options, "-o", months / "table.csv")
    assert result.code == 0, result.err
    assert "'month' as well: not used" in result.err  # other months than those of the target
    assert sorted(given["names"]) == ["age", "income", "town=u", "town=v", "town=w"]
    assert given["batch"].to_pylist() == ["10" if k < 40 else "2" for k in range(M)]
    assert result.out.rstrip() == str(found[0])
    assert list(found[0].batches) == ["2", "10"]  # in the order of their numbers
    with open(months / "table.csv") as file:
        lines = list(csv.DictReader(file))
    assert list(dict.fromkeys(line["batch"] for line in lines)) == ["", "2", "10"]
    values = [float(line["value"]) for line in lines if line["batch"] == "10"]
    assert values == [row.value for row in found[0].batches["10"].table]


def test_labels_of_the_target_may_have_a_column_of_their_own(months, handed):
    result = call(months, "--target-label", "late", "--drop", "month")
    assert result.code == 0, result.err
    expected = [row[3] if k % 4 == 0 else None for k, row in enumerate(TARGET[1:])]
    assert handed["y_target"] == expected
    assert handed["samples"].encoder.columns == ("age", "income", "town=u", "town=v", "town=w")
    assert "has the label 'late' in 20 of 80 rows" in result.err


def test_late_labels_replace_the_column_of_the_label(months, handed):
    result = call(months, "--target-label", "late", target="both.csv")
    assert result.code == 0, result.err
    assert handed["y_target"] is None
    assert "has 'y' as well: not used" in result.err


def test_too_few_labels_of_the_target_are_said_not_used(months, handed):
    result = call(months, "--target-label", "late", target="few.csv", score=("--score", "p"))
    assert result.code == 0, result.err
    assert "4 labels of the target are too few" in result.err
    assert handed["y_target"] is None


def test_notes_speak_of_options(tmp_path):
    def table(rows, scores):
        return [["x", "p", "y"], *([f"{k % 9}", f"{scores + k % 7}", f"{k % 2}"] for k in rows)]

    train = write(tmp_path / "train.csv", table(range(60), 2))
    target = write(tmp_path / "target.csv", table(range(40), 3))
    done = covshift("evaluate", train, target, "--label", "y", "--score", "p")
    assert "are cut at 0, unless you pass --threshold." in " ".join(done.out.split()), done
    assert "Predictions" not in done.out


@pytest.mark.thorough
def test_the_report_holds_the_evaluation(files, handed, truth):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    path = files / "report.html"
    result = call(files, "--report", path)
    assert result.code == 0, result.err
    assert result.out.splitlines()[0] == truth.sentence
    page = path.read_text(encoding="utf-8")
    assert truth.sentence in page
    assert "--report" in page  # the command that made it
    assert "--force" in call(files, "--report", path).err
    assert "name the same file" in call(files, "--report", "one", "-o", "one").err
    assert "is an input file" in call(files, "--report", files / "train.csv", "--force").err
    assert call(files, "--report", "-").code == 2


def test_training_rows_without_a_label_are_left_out(files, tmp_path, handed):
    gaps = [[*row[:3], "" if k % 9 == 1 else row[3], *row[4:]] for k, row in enumerate(told(TRAIN))]
    write(tmp_path / "train.csv", gaps)
    kept = np.array([k for k in range(N) if k % 9 != 0])
    result = call(tmp_path, target=files / "target.csv")
    assert result.code == 0, result.err
    assert "is missing in 10 of 90 rows, which were left out" in result.err
    assert [str(int(y)) for y in handed["samples"].y["y"].to_pylist()] == [str(y) for y in Y[kept]]
    assert handed["model"]["p"].tolist() == np.array(P)[kept].tolist()
    assert len(handed["samples"].X) == len(kept)


def test_a_model_file_does_not_judge_rows_without_a_label(files, tmp_path, handed):
    model = tmp_path / "model.covshift"
    drop = ("--label", "y", "--drop", "p", "--drop", "c")
    paths = (files / "train.csv", files / "target.csv")
    assert covshift("fit", *paths, *drop, "--learner", "linear", "-o", model).code == 0
    asked = ("--model", model, "--drop", "p", "--drop", "c")
    assert call(files, score=asked).code == 0
    judged = handed["model"]["model.covshift"]
    everywhere = judged.scores[0]
    gaps = [[*row[:3], "" if k % 9 == 1 else row[3], *row[4:]] for k, row in enumerate(told(TRAIN))]
    write(tmp_path / "train.csv", gaps)
    assert call(tmp_path, target=files / "target.csv", score=asked).code == 0
    judged = handed["model"]["model.covshift"]
    kept = [k for k in range(N) if k % 9 != 0]
    assert judged.scores[0].tolist() == everywhere[kept].tolist()


def test_no_label_at_all_is_an_error(files, tmp_path):
    table = [[*row[:3], "y" if k == 0 else "", *row[4:]] for k, row in enumerate(told(TRAIN))]
    write(tmp_path / "train.csv", table)
    result = call(tmp_path, target=files / "target.csv")
    assert result.code == 2
    assert "is missing in every row" in result.err


def test_one_score_cannot_tell_three_classes(tmp_path):
    classes = [f"class {k % 3}" for k in range(N)]
    write(tmp_path / "train.csv", with_column(without(told(TRAIN), "y"), "y", classes))
    write(tmp_path / "target.csv", without(told(TARGET), "y"))
    result = call(tmp_path)
    assert result.code == 2
    assert "has 3 classes, for which one column of scores is not enough" in result.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--batch", "week"), "has no column 'week', which --batch names"),
        (("--batch", "age"), "different values in 80 rows: fewer than 5 rows each"),
        (("--metric", "cost"), "which only Python takes"),
        (("--batch", "y"), "cannot be the label and what --batch names"),
        (("--batch", "town", "--by", "town"), "cannot be what --batch and what --by names"),
        (("--target-label", "week"), "has no column 'week', which --target-label names"),
        (("--target-label", "p"), "cannot be the label and what --score names"),
        (("--target-label", "town"), "classes that training lacks: 'u', 'v', 'w'"),
    ],
)
def test_errors_of_batches_and_target_labels(months, options, said):
    result = call(months, *options)
    assert result.code == 2
    assert said in result.err


def test_a_row_without_a_batch_is_an_error(months):
    result = call(months, "--batch", "month", target="gap.csv")
    assert result.code == 2
    assert "'month', which --batch names, is empty in 1 of 80 rows" in result.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"score": ()}, "name a column of both files with --score"),
        ({"score": ("--score", "z")}, "has no column 'z', which --score names"),
        ({"target": "unscored.csv"}, "has no column 'p', which --score names"),
        ({"score": ("--prediction", "p")}, "probabilities and other scores with --score"),
        ({"score": ("--score", "town")}, "line 2: 'u' in column 'town' is not a number"),
        ({"score": ("--score", "y")}, "cannot be the label"),
        ({"score": ("--score", "p", "--model", "m")}, "leave out --score"),
        ({"score": ("--score", "p", "--metric", "auc")}, "'auc', which is not a metric"),
        ({"score": ("--score", "p", "--weighter", "magic")}, "'magic' is unknown"),
    ],
)
def test_errors_say_what_to_do(files, options, said):
    result = call(files, **options)
    assert result.code == 2
    assert said in result.err


def test_a_column_without_overlap_that_the_model_does_not_use_is_named(tmp_path):
    rng = np.random.default_rng(0)

    def table(n, day, label=True):
        head = ["x", "day", "y"][: 3 if label else 2]
        x = rng.normal(size=n)
        y = (x + rng.normal(size=n) > 0).astype(int)
        values = zip(x, day + rng.uniform(size=n), y, strict=True)
        return [head, *([str(value) for value in row[: len(head)]] for row in values)]

    paths = write(tmp_path / "a.csv", table(80, 0)), write(tmp_path / "b.csv", table(60, 9, False))
    label, model = ("--label", "y"), tmp_path / "m.covshift"
    fitted = covshift("fit", *paths, *label, "--drop", "day", "--learner", "linear", "-o", model)
    assert fitted.code == 0, fitted.err
    found = covshift("evaluate", *paths, *label, "--model", model)
    assert found.code == 2
    assert "--drop day" in found.err
    assert "The model does not use 'day'." in found.err
    assert covshift("evaluate", *paths, *label, "--model", model, "--drop", "day").code == 0

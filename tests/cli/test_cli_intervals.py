"""``covshift fit --calibrate``, and ``covshift predict`` with intervals and sets."""

from __future__ import annotations

import csv
import json
import shlex

import numpy as np
import pytest
from command import covshift, write
from sklearn.base import clone

from covshift import load
from covshift.cli import held_out, predict
from covshift.conformal import ConformalClassifier, ConformalRegressor
from covshift.exceptions import OverlapWarning
from covshift.files.frame import read_frame


def sample(count, shift, seed, label="spend", far=0):
    """Two numbers and a category; the outcome follows the first, with noise that grows with it."""
    rng = np.random.default_rng(seed)
    table = [["person", "age", "income", "town", *([label] if label else [])]]
    for k in range(count):
        age, income = rng.normal(shift, 1, size=2)
        y = age + np.exp(0.4 * age) * rng.normal()
        age += 30 * (k < far)
        cells = [f"p{k}", f"{40 + 10 * age:.2f}", f"{30 + income:.3f}", "uvw"[k % 3]]
        if label:
            cells.append(f"{y:.3f}" if label == "spend" else ("no", "yes", "a|b")[classed(y)])
        table.append(cells)
    return table


def classed(y):
    return int(np.digitize(y, [0.0, 1.5]))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Tables, and models of each kind: calibrated, and plain."""
    folder = tmp_path_factory.mktemp("intervals")
    for label, short in (("spend", "s"), ("buys", "b")):
        write(folder / f"{short}-train.csv", sample(160, 0, 0, label))
        write(folder / f"{short}-more.csv", sample(90, 0, 1, label))
        shown = ["--json"] if label == "buys" else ["--unit", "EUR"]
        for name, options in (("calibrated", ["--calibrate", 0.5, *shown]), ("plain", shown)):
            done = fit(folder, short, label, *options, "-o", folder / f"{short}-{name}")
            assert done.code == 0, done.err
            write(folder / f"{short}-{name}.out", done.out)
    write(folder / "target.csv", sample(120, 0.5, 2, None))
    return folder


@pytest.fixture
def one_level(monkeypatch):
    """A fit that estimates one expected coverage, which takes its time, in place of three."""
    monkeypatch.setattr(held_out, "LEVELS", (0.9,))


def fit(folder, short, label, *options, target="target.csv"):
    write(folder / "target.csv", sample(120, 0.5, 2, None))
    given = [folder / f"{short}-train.csv", folder / target, "--label", label, "--id", "person"]
    return covshift("fit", *given, "--learner", "linear", "--method", "none", *options)


def encoded(model, path):
    return model.encode(read_frame(str(path)))


def outcomes(path, label):
    with path.open() as file:
        return np.array([row[label] for row in csv.DictReader(file)])


def written(path):
    with path.open() as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def asked(folder, model, *options, table="target.csv"):
    """Predict into a file; return how it ended and the columns."""
    out = folder / "out.csv"
    done = covshift("predict", folder / model, folder / table, *options, "-o", out, "--force")
    assert done.code == 0, done.err
    return done, written(out)


# fit --calibrate


@pytest.mark.thorough
def test_fit_holds_rows_out_and_says_what_to_expect(files):
    out = (files / "s-calibrated.out").read_text()
    assert "on 80 rows for 120 target rows." in out
    model = load(files / "s-calibrated").estimator
    expected = model.expected_coverage(0.9)
    assert (
        f"Calibrated: by 80 rows, {model.effective_sample_size_:.0f} effective for the target; "
        f"expected coverage at 90%: {expected}\n" in out
    )
    assert 0.7 < expected.value <= 1
    assert f"covshift predict {files / 's-calibrated'} NEW.csv --interval 90 -o" in out
    plain = (files / "s-plain.out").read_text()
    assert "alibrat" not in plain
    assert "NEW.csv -o predictions.csv" in plain


@pytest.mark.thorough
def test_fit_tells_the_calibration_in_json(files):
    data = json.loads((files / "b-calibrated.out").read_text())
    model = load(files / "b-calibrated").estimator
    assert (data["n_train"], data["n_calibration"]) == (80, 80)
    assert data["effective_calibration"] == pytest.approx(model.effective_sample_size_)
    assert data["expected_coverage"].keys() == {"80", "90", "95"}
    for percent, found in data["expected_coverage"].items():
        assert found["value"] == pytest.approx(model.expected_coverage(int(percent) / 100).value)
    assert "n_calibration" not in json.loads((files / "b-plain.out").read_text())


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("short", "label", "kind"),
    [("s", "spend", ConformalRegressor), ("b", "buys", ConformalClassifier)],
)
def test_a_calibrated_file_is_the_split_form_of_the_library(files, short, label, kind):
    model = load(files / f"{short}-calibrated")
    X = model.scaled(encoded(model, files / f"{short}-train.csv"))
    T = model.scaled(encoded(model, files / "target.csv"))
    y = outcomes(files / f"{short}-train.csv", label)
    y = y.astype(float) if label == "spend" else y
    split = kind(clone(model.estimator.estimator_), calibration_size=0.5, random_state=0)
    split.fit(X, y, X_target=T)
    np.testing.assert_allclose(model.estimator.scores_, split.scores_, rtol=1e-9)
    np.testing.assert_allclose(model.estimator.weights_, split.weights_, rtol=1e-6)
    found, expected = model.estimator.expected_coverage(0.9), split.expected_coverage(0.9)
    assert found.value == pytest.approx(expected.value, abs=1e-6)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--calibrate", "50"], "'50' is not a share between 0 and 1, such as 0.5"),
        (["--calibrate", "half"], "'half' is not a share"),
        (["--calibrate", "0.99"], "leaves no row of the class"),
    ],
)
def test_shares_that_cannot_be_held_out_are_refused(files, options, words):
    done = fit(files, "b", "buys", *options, "-o", files / "none")
    assert done.code == 2
    assert words in done.err
    assert not (files / "none").exists()


@pytest.mark.thorough
def test_design_weights_are_those_of_the_rows_that_were_held_out(files, one_level):
    table = sample(160, 0, 0)
    rng = np.random.default_rng(3)
    weights = rng.uniform(0.2, 3, size=160).round(2)
    extra = [["d"], *([f"{w}"] for w in weights)]
    write(files / "w-train.csv", [row + more for row, more in zip(table, extra, strict=True)])
    done = fit(
        files, "w", "spend", "--weight", "d", "--calibrate", 0.5, "-o", files / "w", "--force"
    )
    assert done.code == 0, done.err
    model = load(files / "w")
    X = model.scaled(encoded(model, files / "w-train.csv"))
    T = model.scaled(encoded(model, files / "target.csv"))
    y = outcomes(files / "w-train.csv", "spend").astype(float)
    split = ConformalRegressor(clone(model.estimator.estimator_), random_state=0)
    split.fit(X, y, X_target=T, sample_weight=weights)
    ours, theirs = model.estimator.weights_, split.weights_
    np.testing.assert_allclose(ours / ours.sum(), theirs / theirs.sum(), rtol=1e-5)
    np.testing.assert_allclose(model.estimator.scores_, split.scores_, atol=0.01)  # of a penalty


def test_a_model_is_calibrated_for_margins(files, one_level):
    made = covshift(
        "margins", files / "target.csv", "--drop", "person", "--bins", 5, "-o", files / "m.json"
    )
    assert made.code == 0, made.err
    done = fit(files, "s", "spend", "--calibrate", 0.5, "-o", files / "m", target="m.json")
    assert done.code == 0, done.err
    assert "on 80 rows for margins." in done.out
    assert "Calibrated: by 80 rows" in done.out
    model = load(files / "m")
    assert not np.allclose(model.estimator.weights_, 1)
    _, found = asked(files, "m", "--interval", 90)
    expected = model.predict_interval(encoded(model, files / "target.csv"), 0.9)
    np.testing.assert_allclose(found["lower"].astype(float), expected.lower)


# predict


def test_intervals_are_those_of_the_model_and_summed_up(files):
    done, found = asked(files, "s-calibrated", "--interval", 90)
    assert list(found) == ["person", "prediction", "lower", "upper"]
    model = load(files / "s-calibrated")
    expected = model.predict_interval(encoded(model, files / "target.csv"), 0.9)
    for name, values in (
        ("prediction", expected.prediction),
        ("lower", expected.lower),
        ("upper", expected.upper),
    ):
        np.testing.assert_array_equal(found[name].astype(float), values)
    assert found["person"].tolist() == [f"p{k}" for k in range(120)]
    assert done.out == ""
    assert (
        f"Coverage asked: 90%; expected on the target of the fit: {expected.expected_coverage}\n"
        in done.err
    )
    size = f"{expected.effective_sample_size:.0f}"
    assert f"Calibration: 80 rows, effective calibration size {size}" in done.err
    assert f"mean width {expected.mean_width:.4g} EUR; 0.0% infinite" in done.err
    quiet, _ = asked(files, "s-calibrated", "--interval", 90, "-q")
    assert quiet.err == ""


def test_intervals_cover_the_target(files):
    table = sample(400, 0.5, 9)
    write(files / "known.csv", table)
    _, found = asked(files, "s-calibrated", "--interval", 90, table="known.csv")
    y = np.array([float(row[-1]) for row in table[1:]])
    inside = (found["lower"].astype(float) <= y) & (y <= found["upper"].astype(float))
    assert 0.84 < inside.mean() < 1


def test_sets_are_those_of_the_model_with_their_classes_joined(files):
    done, found = asked(files, "b-calibrated", "--set", "90%")
    assert list(found)[-1] == "set"
    model = load(files / "b-calibrated")
    expected = model.predict_set(encoded(model, files / "target.csv"), 0.9)
    spelled = {"a|b": "a\\|b", "no": "no", "yes": "yes"}
    sets = ["|".join(spelled[str(c)] for c in labels) for labels in expected.labels]
    assert found["set"].tolist() == sets
    assert len({text.count("|") for text in sets}) > 1
    assert (
        f"Sets: {expected.mean_size:.2f} classes on average; {expected.share_whole:.1%}" in done.err
    )
    assert f"expected on the target of the fit: {expected.expected_coverage}" in done.err


@pytest.mark.parametrize("percent", [50, 80])
@pytest.mark.parametrize(
    ("name", "option"), [("s-calibrated", "--interval"), ("b-calibrated", "--set")]
)
def test_blocks_change_nothing(files, monkeypatch, name, option, percent):
    whole, rows = asked(files, name, option, percent, "--json")
    monkeypatch.setattr(predict, "_ROWS", 7)
    parts, again = asked(files, name, option, percent, "--json")
    for column, values in rows.items():
        if column in ("person", "set"):
            np.testing.assert_array_equal(again[column], values)
        elif column != "prediction" or option == "--interval":
            np.testing.assert_allclose(again[column].astype(float), values.astype(float))
    data, other = json.loads(whole.out), json.loads(parts.out)
    size = "mean_width" if option == "--interval" else "mean_size"
    assert data.pop(size) == pytest.approx(other.pop(size))
    assert data == other


def test_json_is_the_summary_of_the_library(files):
    done, _ = asked(files, "s-calibrated", "--interval", 80, "--json")
    data = json.loads(done.out)
    model = load(files / "s-calibrated")
    expected = model.predict_interval(encoded(model, files / "target.csv"), 0.8).to_dict()
    width = expected.pop("mean_width")
    assert data["mean_width"] == pytest.approx(width)
    assert {key: data[key] for key in expected} == expected
    assert data["file"] == str(files / "out.csv")


def test_a_coverage_that_was_not_estimated_is_not_known(files):
    done, _ = asked(files, "s-calibrated", "--interval", 85)
    assert "not known: the file keeps no calibration rows" in done.err
    assert "estimated before saving for 0.8, 0.9, 0.95" in done.err
    done, _ = asked(files, "s-calibrated", "--interval", 85, "--json")
    assert json.loads(done.out)["expected_coverage"]["value"] is None


def test_rows_beyond_the_training_rows_have_infinite_intervals_and_a_note(files, one_level):
    write(files / "far.csv", sample(120, 0.5, 2, None, far=40))
    given = ("--calibrate", 0.5, "-o", files / "f")
    refused = fit(files, "s", "spend", *given, target="far.csv")
    assert refused.code == 2
    assert "largest training value of 'age'" in refused.err
    assert "--restrict overlap" in refused.err
    assert not (files / "f").exists()
    done = fit(files, "s", "spend", *given, "--restrict", "overlap", target="far.csv")
    assert done.code == 0, done.err
    assert "expected coverage at 90%: not known" in done.out
    told, found = asked(files, "f", "--interval", 90, table="far.csv")
    infinite = np.isinf(found["lower"].astype(float))
    assert infinite[:40].all()
    assert infinite.mean() < 0.6
    assert (found["lower"][:40] == "-inf").all()
    assert (found["upper"][:40] == "inf").all()
    assert f"{infinite.mean():.1%} infinite" in told.err
    model = load(files / "f")
    gap = model.estimator._shift.gaps[0]
    ages = read_frame(str(files / "s-train.csv"))["age"].to_pylist()
    largest = gap.value * model.scale[0] + model.center[0]
    assert np.isclose(ages, largest).any()
    assert (
        f"lies above {largest:.6g}, the largest training value of 'age': intervals are" in told.err
    )
    write(files / "apart.csv", sample(40, 0.5, 2, None, far=40))
    calibrating = ["--calibration", files / "s-more.csv"]
    for options in (["f", "--interval", 90], ["s-plain", "--interval", 90, *calibrating]):
        model, *more = options
        nothing = covshift("predict", files / model, files / "apart.csv", *more)
        assert nothing.code == 2
        assert "largest training value of 'age'" in nothing.err
        assert "--drop" in nothing.err
    calibrated, found = asked(
        files, "s-plain", "--interval", 90, "--calibration", files / "s-more.csv", table="far.csv"
    )
    assert "largest training value of 'age'" in calibrated.err
    assert "column 0" not in calibrated.err
    assert (found["lower"][:40] == "-inf").all()


def test_values_beyond_the_training_rows_are_warned_of_calibrated_or_not(files):
    far = str(write(files / "beyond.csv", sample(40, 0.5, 2, None, far=40)))
    for name in ("s-plain", "s-calibrated"):
        done, _ = asked(files, name, table="beyond.csv")
        assert f"warning: 100% of {far} lies above" in done.err
        with pytest.warns(OverlapWarning, match="100% of X lies above .* value of 'age'"):
            load(files / name).predict(read_frame(far))
        assert "lies above" not in asked(files, name)[0].err


# predict --calibration


@pytest.mark.thorough
@pytest.mark.part(20)
@pytest.mark.parametrize(
    ("short", "label", "option", "kind"),
    [("s", "spend", "--interval", ConformalRegressor), ("b", "buys", "--set", ConformalClassifier)],
)
@pytest.mark.parametrize("name", ["plain", "calibrated"])
def test_rows_of_a_file_calibrate_as_the_library_does(files, short, label, option, kind, name):
    more = files / f"{short}-more.csv"
    done, found = asked(files, f"{short}-{name}", option, 80, "--calibration", more)
    model = load(files / f"{short}-{name}")
    inner = model.estimator.estimator_ if name == "calibrated" else model.estimator
    X, T = (model.scaled(encoded(model, path)) for path in (more, files / "target.csv"))
    y = outcomes(more, label)
    y = y.astype(float) if label == "spend" else y
    prefit = kind(inner, prefit=True, random_state=0).fit(X, y, X_target=T)
    if label == "spend":
        expected = prefit.predict_interval(T, 0.8)
        np.testing.assert_allclose(found["lower"].astype(float), expected.lower)
        np.testing.assert_allclose(found["upper"].astype(float), expected.upper)
    else:
        expected = prefit.predict_set(T, 0.8)
        sizes = [text.replace("\\|", "").count("|") + bool(text) for text in found["set"]]
        assert sizes == expected.member.sum(axis=1).tolist()
    said = expected.expected_coverage if name == "plain" else ""
    assert f"expected on {files / 'target.csv'}: {said}" in done.err
    assert "90 rows, effective calibration size" in done.err


@pytest.mark.thorough
def test_classes_calibrate_with_their_own_rows(files, one_level):
    more = files / "b-more.csv"
    done, found = asked(files, "b-plain", "--set", 80, "--calibration", more, "--by-class")
    model = load(files / "b-plain")
    X, T = (model.scaled(encoded(model, path)) for path in (more, files / "target.csv"))
    prefit = ConformalClassifier(model.estimator, by="class", prefit=True, random_state=0)
    expected = prefit.fit(X, outcomes(more, "buys"), X_target=T).predict_set(T, 0.8)
    sizes = [text.replace("\\|", "").count("|") + bool(text) for text in found["set"]]
    assert sizes == expected.member.sum(axis=1).tolist()
    assert "\n  yes: " in done.err
    options = ["--calibrate", 0.5, "--by-class", "--json", "-o", files / "b-by-class"]
    assert fit(files, "b", "buys", *options).code == 0
    saved = load(files / "b-by-class").estimator
    assert saved.by == "class"
    assert saved.expected_coverage(0.9).groups.keys() == {"a|b", "no", "yes"}
    _, found = asked(files, "b-by-class", "--set", 90)
    ordinary = load(files / "b-calibrated").predict_set(encoded(model, files / "target.csv"), 0.9)
    assert [text.replace("\\|", "").count("|") + bool(text) for text in found["set"]] != (
        ordinary.member.sum(axis=1).tolist()
    )
    _, again = asked(files, "b-by-class", "--set", 80, "--calibration", more)  # it stays so
    assert [text.count("|") for text in again["set"]] != [text.count("|") for text in found["set"]]


@pytest.mark.parametrize(
    ("short", "label", "options", "words"),
    [
        ("s", "spend", ["--calibrate", 0.5], "--by-class is for classes, and the label is a"),
        ("b", "buys", [], "--by-class is for the rows of --calibrate: add --calibrate 0.5"),
    ],
)
def test_fit_by_class_needs_classes_that_calibrate(files, short, label, options, words):
    done = fit(files, short, label, "--by-class", *options, "-o", files / "none")
    assert done.code == 2
    assert words in done.err


@pytest.mark.thorough
def test_calibration_rows_have_weights_and_some_have_no_label(files):
    table = sample(90, 0, 1)
    weights = np.random.default_rng(4).uniform(0.1, 4, size=90).round(2)
    rows = [[*table[0], "d"], *([*r, f"{w}"] for r, w in zip(table[1:], weights, strict=True))]
    rows[1][4] = rows[5][4] = ""
    write(files / "weighted.csv", rows)
    given = "--calibration", files / "weighted.csv", "--weight", "d"
    done, found = asked(files, "s-plain", "--interval", 90, *given)
    assert "label 'spend' is missing in 2 of 90 rows, which were left out" in done.err
    model = load(files / "s-plain")
    X = model.scaled(encoded(model, files / "weighted.csv"))
    T = model.scaled(encoded(model, files / "target.csv"))
    y = np.array([float(row[4] or "nan") for row in rows[1:]])
    kept = np.isfinite(y)
    prefit = ConformalRegressor(model.estimator, prefit=True, random_state=0)
    prefit.fit(X[kept], y[kept], X_target=T, sample_weight=weights[kept])
    np.testing.assert_allclose(found["lower"].astype(float), prefit.predict_interval(T).lower)


def test_only_one_table_is_standard_input(files):
    more = (files / "s-more.csv").read_bytes()
    given = [files / "s-plain", files / "target.csv", "--interval", 90, "--calibration", "-"]
    done = covshift("predict", *given, stdin=more)
    assert done.code == 0, done.err
    assert done.out.startswith("person,prediction,lower,upper\n")
    given[1] = "-"
    assert "Only one of the two files" in covshift("predict", *given, stdin=more).err


def test_without_calibration_both_ways_are_named(files):
    given = [
        "predict",
        files / "s-plain",
        files / "target.csv",
        "--interval",
        90,
        "-o",
        files / "x",
    ]
    done = covshift(*given)
    assert done.code == 2
    sentence = done.err.removeprefix("covshift: ").strip()
    assert sentence.count(". ") == 0
    again = "--label spend --learner linear --method none --calibrate 0.5 -o MODEL"
    assert f"`covshift fit TRAIN TARGET {again}`" in sentence
    command = shlex.join([*map(str, given), "--calibration", "FILE"])
    assert f"`covshift {command}`" in sentence
    fixed = [*given, "--calibration", files / "s-more.csv", "--force"]
    assert covshift(*fixed).code == 0


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        (
            "b-calibrated",
            ["--interval", 90],
            "predicts classes, which have no intervals: use --set 90",
        ),
        ("s-calibrated", ["--set", 75], "predicts numbers, which have no sets: use --interval 75"),
        ("s-calibrated", ["--interval", 80, "--interval", 90], "one coverage at a time"),
        ("s-calibrated", ["--interval", 80, "--set", 90], "one coverage at a time"),
        ("s-calibrated", ["--interval", "80,90"], "'80,90' is not one percentage"),
        ("s-calibrated", ["--interval", "0.9"], "did you mean 90?"),
        ("s-calibrated", ["--interval", 100], "between 0 and 100"),
        ("s-calibrated", ["--interval", 0], "between 0 and 100"),
        ("s-calibrated", ["--interval", "nan"], "between 0 and 100"),
        ("s-calibrated", ["--json"], "--json belongs to --interval or --set"),
        ("s-calibrated", ["--calibration", "x.csv"], "--calibration belongs to --interval"),
        ("s-calibrated", ["--interval", 90, "--weight", "d"], "--weight is for the rows of --cal"),
        ("b-calibrated", ["--by-class"], "--by-class belongs to --interval or --set"),
        ("b-calibrated", ["--set", 90, "--by-class"], "--by-class is for --set, with the rows"),
        ("s-calibrated", ["--interval", 90, "--json"], "name a file for the predictions with -o"),
    ],
)
def test_what_cannot_be_asked_is_said(files, model, options, words):
    done = covshift("predict", files / model, files / "target.csv", *options)
    assert done.code == 2
    assert words in done.err
    assert done.out == ""


def test_calibration_files_that_do_not_fit_are_refused(files):
    def refused(content, model="s-plain", *options):
        write(files / "bad.csv", content)
        kind = "--set" if model.startswith("b") else "--interval"
        given = [kind, 90, "--calibration", files / "bad.csv", *options]
        done = covshift("predict", files / model, files / "target.csv", *given)
        assert done.code == 2
        return done.err

    good = sample(6, 0, 1)
    assert "has no column 'spend', the label of" in refused(sample(6, 0, 1, None))
    assert "has no column 'd', --weight" in refused(good, "s-plain", "--weight", "d")
    assert "lacks 1 of the 3 columns" in refused([r[:1] + r[2:] for r in good])
    assert "1 of 6 rows have the label" in refused([*good[:2], *([*r[:4], ""] for r in good[2:])])
    wrong = [*good[:2], [*good[2][:4], "much"]]
    assert "line 3: 'much' in column 'spend' is not a number" in refused(wrong)
    classes = sample(6, 0, 1, "buys")
    assert "'maybe', none of the model's classes" in refused(
        [*classes[:3], [*classes[3][:4], "maybe"]], "b-plain"
    )


def test_a_table_without_rows_or_with_one_is_no_target(files):
    write(files / "one.csv", sample(1, 0, 0, None))
    given = ["--interval", 90, "--calibration", files / "s-more.csv"]
    done = covshift("predict", files / "s-plain", files / "one.csv", *given)
    assert (done.code, "fewer than two rows" in done.err) == (2, True)
    done, found = asked(files, "s-calibrated", "--interval", 90, table="one.csv")
    assert len(found["lower"]) == 1
    write(files / "none.csv", sample(0, 0, 0, None))
    done = covshift("predict", files / "s-calibrated", files / "none.csv", "--interval", 90)
    assert done.code == 0
    assert "no rows" in done.err
    assert done.out == "person,prediction,lower,upper\n"


@pytest.mark.thorough
def test_a_calibrated_model_still_predicts_and_is_judged(files):
    _, found = asked(files, "b-calibrated")
    assert "set" not in found
    given = [files / "b-more.csv", files / "target.csv", "--label", "buys", "--id", "person"]
    done = covshift("evaluate", *given, "--model", files / "b-calibrated", "--metric", "accuracy")
    assert done.code == 0, done.err


def test_a_model_without_calibration_has_no_intervals_in_python(files):
    model = load(files / "s-plain")
    with pytest.raises(ValueError, match="covshift fit --calibrate"):
        model.predict_interval(np.zeros((1, 5)))
    with pytest.raises(ValueError, match="for classes"):
        load(files / "s-calibrated").predict_set(np.zeros((1, 5)))

"""The comparison of methods: its baseline, its sums, its honesty."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import covshift
from covshift import Reweighted, TableEncoder
from covshift.comparison import (
    Comparison,
    Method,
    imbalance,
    target,
)
from covshift.comparison.methods import (
    fit_method,
    found_once,
    methods_for,
    out_of_fold,
    resolve,
)
from covshift.data import Samples
from covshift.datasets import make_survey
from covshift.encoding import encoded
from covshift.exceptions import InputError
from covshift.numerics.statistics import paired_gains
from covshift.weights import CDFWeights

DATA = make_survey(200, 250, random_state=0)
BASELINE = Method("none", "baseline")


def compare(**options):
    options = {"learner": "linear", **options}
    return covshift.compare(DATA.X, DATA.y, DATA.X_target, **options)


def test_risk_and_paired_gain_are_those_of_a_plain_loop():
    methods = [BASELINE, Method("gaussian-ratio", "weights")]
    found = compare(methods=methods)
    scaler = StandardScaler().fit(DATA.X)
    X, T = scaler.transform(DATA.X), scaler.transform(DATA.X_target)
    w = CDFWeights(random_state=0).fit(X, X_target=T).weights_
    v = fit_weights_of("gaussian-ratio", X, T)
    losses = np.zeros((2, 200))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for train, test in folds.split(X, DATA.y):
        for k, weight in enumerate((None, v[train])):
            model = LogisticRegression(max_iter=2000).fit(X[train], DATA.y[train], weight)
            p = model.predict_proba(X[test])[:, 1]
            losses[k, test] = (p - DATA.y[test]) ** 2
    risks = [row["risk"] for row in found.rows]
    np.testing.assert_allclose(risks, losses @ w / w.sum(), rtol=1e-5)
    difference = losses[0] - losses[1]
    gain = difference @ w / w.sum()
    error = np.sqrt(200 / 199 * ((w * (difference - gain)) ** 2).sum()) / w.sum()
    row = found.rows[1]
    np.testing.assert_allclose([row["gain"], row["gain_standard_error"]], [gain, error], rtol=1e-4)


def fit_weights_of(name, X, T):
    from covshift.weights import WEIGHTERS

    return WEIGHTERS[name]().fit(X, X_target=T).weights_


def test_every_weighter_and_the_baseline_have_a_row_with_the_promised_keys():
    found = compare(y_target=DATA.y_target).to_dict()
    assert [row["method"] for row in found["rows"]] == [m.name for m in methods_for("linear", 8)]
    assert found["rows"][0]["kind"] == "baseline"
    assert {"learner", "loss", "recommended", "recommendation", "scored_on_target_labels"} <= set(
        found
    )
    keys = {
        "method", "kind", "risk", "standard_error", "true_risk", "effective_sample_size",
        "smd_before", "smd_after", "seconds", "note",
    }  # fmt: skip
    assert all(keys <= set(row) for row in found["rows"])
    json.dumps(found, allow_nan=False)


def test_target_labels_score_and_change_nothing_else():
    methods = [BASELINE, Method("cdf", "weights")]
    blind = compare(methods=methods).to_dict()
    seeing = compare(methods=methods, y_target=DATA.y_target).to_dict()
    flipped = compare(methods=methods, y_target=1 - DATA.y_target).to_dict()
    assert blind["recommended"] == seeing["recommended"] == flipped["recommended"]
    for a, b, c in zip(blind["rows"], seeing["rows"], flipped["rows"], strict=True):
        assert a["risk"] == b["risk"] == c["risk"]
        assert a["true_risk"] is None
        assert b["true_risk"] != c["true_risk"]
    assert (blind["scored_on_target_labels"], seeing["scored_on_target_labels"]) == (False, True)


def test_the_true_risk_is_that_of_the_model_of_all_rows():
    found = compare(methods=[BASELINE], y_target=DATA.y_target)
    scaler = StandardScaler().fit(DATA.X)
    model = LogisticRegression(max_iter=2000).fit(scaler.transform(DATA.X), DATA.y)
    p = model.predict_proba(scaler.transform(DATA.X_target))[:, 1]
    truth = ((p - DATA.y_target) ** 2).mean()
    np.testing.assert_allclose(found.rows[0]["true_risk"], truth, rtol=1e-6)


def test_a_method_that_fails_has_a_row_that_says_why(monkeypatch):
    real = target.fit_weights

    def broken(name, *args, **more):
        if name == "kmm":
            raise RuntimeError("no luck")
        return real(name, *args, **more)

    monkeypatch.setattr(target, "fit_weights", broken)
    found = compare(methods=[BASELINE, Method("kmm", "weights"), Method("cdf", "weights")])
    assert found.rows[1]["note"] == "failed: no luck"
    assert found.to_dict()["rows"][1]["risk"] is None
    assert found.to_dict()["rows"][2]["risk"] > 0
    assert "failed: no luck" in str(found)


def table(*gains):
    rows = [{"method": "none", "risk": 0.5, "gain": 0.0, "gain_standard_error": 0, "note": ""}]
    for k, (gain, error) in enumerate(gains):
        rows.append(
            {"method": f"m{k}", "risk": 0.5 - gain, "gain": gain, "gain_standard_error": error}
            | {"note": ""}
        )
    return rows


@pytest.mark.parametrize(
    ("gains", "chosen", "words"),
    [
        ([(-0.1, 0.01)], "none", "m0 has no lower"),
        ([(0.02, 0.03)], "none", "by 0.0200 (0.7 s.e.), short of the 1.7 needed."),
        ([(0.02, 0.03), (0.05, 0.01)], "m1", "Use m1"),
        (
            [(0.016, 0.01), (0.05, 0.06)],
            "none",
            "m1, the best, improves the risk by 0.0500",
        ),
        ([(0.02, 0.01), (0.05, 0.06)], "m0", "Use m0"),
        ([(0.02, 0.01), (0.018, 0.001)], "m0", "Use m0"),
        ([(0.02, 0.0)], "m0", "Use m0"),
        ([(np.nan, np.nan)], "none", "nothing could be compared"),
    ],
)
def test_the_best_of_those_that_are_clear_is_chosen_else_the_unweighted_model(gains, chosen, words):
    found = Comparison(table(*gains), 1.7, learner="linear")
    assert found.recommended == chosen
    assert words in found.recommendation
    assert ("Keep the unweighted model" in found.recommendation) == (chosen == "none")


def test_a_control_is_told_by_its_flag_whatever_its_note_says():
    rows = table((0.05, 0.01))
    assert "learner helps" not in Comparison(rows, 1.7).recommendation
    rows[1]["note"] = "control"
    assert "learner helps" not in Comparison(rows, 1.7).recommendation
    rows[1] |= {"note": "", "control": True}
    assert "learner helps" in Comparison(rows, 1.7).recommendation
    controls = [m.name for m in methods_for("trees", 8) if m.control]
    assert controls == ["vsvm:none"]


def test_a_failed_baseline_recommends_nothing_else():
    rows = table((0.05, 0.01))
    rows[0]["risk"] = np.nan
    found = Comparison(rows, 1.7)
    assert (found.recommended, found.best) == ("none", "none")
    assert "nothing could be compared" in found.recommendation


def test_both_comparisons_give_one_table_with_one_rule():
    """The same model, weights and folds: by name, and as estimators."""
    scaler = StandardScaler().fit(DATA.X)
    X, T = scaler.transform(DATA.X), scaler.transform(DATA.X_target)
    model = LogisticRegression(max_iter=2000)
    by_name = compare(methods=[BASELINE, Method("entropy", "weights")])
    given = covshift.compare(
        X,
        DATA.y,
        T,
        estimators={"entropy": Reweighted(model, weighter="entropy")},
        weighter=CDFWeights(random_state=0, allow_no_overlap=True),
    )
    assert type(by_name) is type(given) is Comparison
    assert by_name.to_dict().keys() == given.to_dict().keys()
    assert [row.keys() for row in by_name.rows] == [row.keys() for row in given.rows]
    assert [row["method"] for row in given.rows] == ["none", "entropy"]
    # The baseline is the same to the last bit; the weights are those of all rows, or of each fold.
    assert given.rows[0]["risk"] == pytest.approx(by_name.rows[0]["risk"], rel=1e-6)
    assert given.needed == pytest.approx(by_name.needed)
    columns = [str(found).splitlines()[2].split() for found in (by_name, given)]
    assert columns[0] == ["method", "risk", "s.e.", "gain", "s.e.", "ESS", "balance", "time", "s"]
    assert columns[1] == ["method", "risk", "s.e.", "gain", "s.e.", "time", "s"]
    json.dumps(given.to_dict(), allow_nan=False)


def test_the_rule_is_that_of_all_paired_losses():
    methods = [BASELINE, Method("gaussian-ratio", "weights"), Method("entropy", "weights")]
    found = compare(methods=methods)
    scaler = StandardScaler().fit(DATA.X)
    X, T = scaler.transform(DATA.X), scaler.transform(DATA.X_target)
    w = CDFWeights(random_state=0).fit(X, X_target=T).weights_
    losses = np.zeros((3, 200))
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, DATA.y):
        for k, name in enumerate((None, "gaussian-ratio", "entropy")):
            weight = None if name is None else fit_weights_of(name, X, T)[train]
            model = LogisticRegression(max_iter=2000).fit(X[train], DATA.y[train], weight)
            losses[k, test] = (model.predict_proba(X[test])[:, 1] - DATA.y[test]) ** 2
    expected = paired_gains(losses[0], losses[1:], w).needed()
    assert found.needed == pytest.approx(expected, abs=1e-3)
    assert found.to_dict()["needed_standard_errors"] == found.needed


@pytest.mark.thorough
def test_a_misspecified_line_is_clearly_better_when_weighted():
    rng = np.random.default_rng(0)
    X, T = rng.normal(0, 1, size=(300, 1)), rng.normal(1.0, 0.4, size=(300, 1))
    y = X[:, 0] ** 2 + 0.1 * rng.normal(size=300)
    y_target = T[:, 0] ** 2
    found = covshift.compare(X, y, T, learner="linear", task="regression", y_target=y_target)
    assert found.recommended != "none"
    truth = {row["method"]: row["true_risk"] for row in found.rows}
    assert truth[found.recommended] < truth["none"] / 2


def test_balance_is_the_mean_absolute_standardised_difference():
    X, T = np.array([[0.0, 5.0], [2.0, 5.0]]), np.array([[3.0, 5.0], [5.0, 5.0]])
    found = imbalance(X, T), imbalance(X, T, np.array([0.0, 1.0]))
    np.testing.assert_allclose(found, [3 / 2, 2 / 2])  # (4 - 1) / sqrt((1 + 1) / 2), and zero
    found = imbalance(X, T, None, np.array([1.0, 0.0]))
    np.testing.assert_allclose(found, 2 / np.sqrt(0.5) / 2)


def test_large_samples_are_thinned_and_it_is_said():
    found = compare(methods=[BASELINE], max_rows=100)
    assert found.rows[0]["effective_sample_size"] == 100
    assert "Compared on 100 of 200 training rows" in found.notes[0].text
    assert found.to_dict()["notes"][0]["kind"] == "thinned"


@pytest.mark.thorough
def test_a_machine_with_corrections_and_a_machine_beside_trees():
    names = [m.name for m in methods_for("vsvm", 2)]
    assert {"none", "cdf", "blended", "additive", "pairwise", "multiplicative"} <= set(names)
    methods = [BASELINE, Method("cdf", "weights"), Method("blended", "correction")]
    found = compare(learner="vsvm", methods=methods, max_rows=80)
    assert [row["effective_sample_size"] is None for row in found.rows] == [False, False, True]
    trees = [BASELINE, Method("vsvm:none", "correction", control=True)]
    found = compare(learner="trees", methods=trees, max_rows=80)
    assert np.isfinite(found.rows[1]["risk"])


@pytest.mark.parametrize(
    ("learner", "method", "message"),
    [
        ("forest", "cdf", "learner='forest' is unknown"),
        ("linear", "blended", "needs a learner that takes V"),
        ("vsvm", "magic", "'magic' is unknown"),
    ],
)
def test_unknown_names_are_refused(learner, method, message):
    with pytest.raises(ValueError, match=message):
        resolve(learner, method)


def test_losses_of_classes_are_refused_for_numbers():
    with pytest.raises(ValueError, match="is for classes"):
        compare(task="regression", loss="log_loss")
    with pytest.raises(ValueError, match="loss='hinge' must be"):
        compare(loss="hinge")


def test_machines_and_importance_weights_meet():
    w = np.linspace(0.5, 1.5, 200)
    model = fit_method(
        "vsvm",
        "cdf",
        "classification",
        DATA.X / 50,
        DATA.y,
        DATA.X_target / 50,
        weights=w,
        options={"reg": 1.0, "kernel": "rbf"},
    )
    np.testing.assert_array_equal(model.correction_.weights, w)


def test_columns_without_spread_have_no_balance():
    zeros, ones = np.zeros((5, 1)), np.ones((4, 1))
    assert imbalance(zeros, ones) == np.inf
    assert imbalance(zeros, zeros[:4]) == 0
    mixed = np.column_stack([zeros, np.arange(5.0)])
    assert np.isfinite(imbalance(mixed, np.column_stack([ones, np.arange(4.0)])))


# One function, and what its result can do


def test_compare_is_a_function_whatever_was_imported():
    import importlib

    importlib.import_module("covshift.comparison.core")
    importlib.import_module("covshift.cli.compare")
    assert callable(covshift.compare)
    assert covshift.compare is covshift.comparison.compare


def test_the_result_fits_a_method_to_all_rows_as_they_were_given():
    found = compare(methods=["entropy"], max_rows=100)
    scaler = StandardScaler().fit(DATA.X)
    X, T = scaler.transform(DATA.X), scaler.transform(DATA.X_target)
    w = fit_weights_of("entropy", X, T)
    np.testing.assert_allclose(found.weights("entropy"), w, rtol=1e-10)
    expected = LogisticRegression(max_iter=2000).fit(X, DATA.y, w).predict_proba(T)
    model = found.fit("entropy")
    np.testing.assert_allclose(model.predict_proba(DATA.X_target), expected, rtol=1e-6)
    assert found.fit() is not None
    with pytest.raises(ValueError, match="'kmm' was not compared"):
        found.fit("kmm")


def test_the_result_fits_a_contender_to_all_rows():
    model = Reweighted(DecisionTreeClassifier(max_depth=2, random_state=0), weighter="entropy")
    found = covshift.compare(
        DATA.X, DATA.y, DATA.X_target, estimators={"e": model}, weighter="entropy"
    )
    expected = model.fit(DATA.X, DATA.y, X_target=DATA.X_target)
    np.testing.assert_array_equal(found.fit("e").predict(DATA.X), expected.predict(DATA.X))
    np.testing.assert_allclose(found.weights(), expected.weighter_.weights_, rtol=1e-10)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"estimators": {}, "max_rows": 100}, "max_rows belongs to a learner's name"),
        ({"cv": 3}, "cv belongs to estimators"),
        ({"methods": ["magic"]}, "'magic' is unknown"),
    ],
)
def test_options_of_the_other_kind_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        covshift.compare(DATA.X, DATA.y, DATA.X_target, **given)


@pytest.mark.parametrize(("rows", "shared"), [(149, False), (150, True)])
def test_folds_share_a_kernel_where_rows_are_many(monkeypatch, rows, shared):
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(rows, 2)), rng.normal(size=(40, 2))
    y = (X[:, 0] + rng.normal(size=rows) > 0).astype(int)
    seen = []

    def fit(*given, options=None, **more):
        seen.append(options)
        return fit_method("linear", "none", "classification", *given[3:])

    monkeypatch.setattr("covshift.comparison.methods.fit_method", fit)
    found = out_of_fold("vsvm", "none", "classification", X, y, T, options={"kernel": "rbf"})
    assert seen == 5 * [{"kernel": "rbf"} if shared else None]
    assert found.shape == (rows, 2)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    whole = LogisticRegression(max_iter=2000).fit(X, y).predict_proba(X)
    assert 0 < np.abs(found - whole).max() < 0.2


def test_what_was_found_once_is_the_kernel_of_the_first_fit():
    rows = DATA.X[:60], DATA.y[:60], DATA.X_target[:60]
    found = covshift.compare(*rows, learner="vsvm", methods=["none", "entropy"]).rows_compared
    assert found.options("entropy")["kernel"] is found.options("none")["kernel"]
    assert compare(methods=["none"]).rows_compared.options("none") == {}


@pytest.mark.parametrize(
    ("kind", "task"),
    [("minutes", "regression"), ("decimals", "regression"), ("digits", "classification")],
)
def test_what_outcomes_are_follows_from_their_values(kind, task):
    """Numbers of many values were taken for as many classes."""
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(80, 2)), rng.normal(0.3, 1, size=(60, 2))
    y = 3 * X[:, 0] + rng.normal(size=80)
    y = {"minutes": np.round(100 * y), "decimals": np.round(y) / 2, "digits": np.round(y) % 3}[kind]
    options = {"learner": "linear", "methods": ["cdf"], "n_folds": 2}
    found, told = (covshift.compare(X, y, T, **options, **more) for more in ({}, {"task": task}))
    assert [row["risk"] for row in found.rows] == [row["risk"] for row in told.rows]


def test_a_shared_kernel_sees_the_same_columns_in_every_fold():
    """A level of one row is constant without it: all methods failed, and columns were mixed up."""
    rng = np.random.default_rng(1)
    town = np.array([*"abcd" * 20, "rare"])
    X = pd.DataFrame({"age": rng.normal(size=81), "town": town})
    T = pd.DataFrame({"age": rng.normal(0.3, 1, size=60), "town": town[:60]})
    y = X.age + (town == "b") + 0.3 * rng.normal(size=81)
    found = covshift.compare(X, y, T, task="regression", methods=["cdf"])
    assert all(np.isfinite(row["risk"]) for row in found.rows), found
    frame = TableEncoder.learn(X, T)
    Z, part = frame.encode(X, "X"), np.flatnonzero(town != "rare")
    Z = encoded(StandardScaler().fit_transform(Z), frame.groups)
    rows = [Z, np.asarray(y), frame.encode(T, "X_target")]
    whole = fit_method("vsvm", "none", "regression", *rows)
    options = found_once("vsvm", "none", whole)
    for kept in (part, part[1::2], part[::3]):
        some = Z[kept], rows[1][kept], rows[2]
        model = fit_method("vsvm", "none", "regression", *some, options=options)
        np.testing.assert_array_equal(model._columns, whole._columns)


def test_notes_name_columns_and_end_with_a_sentence():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"age": rng.normal(size=60), "town": [*"abc" * 20]})
    T = pd.DataFrame({"age": rng.normal(9, 1, size=60), "town": ["a"] * 60})
    y = X.age + rng.normal(size=60)
    found = covshift.compare(X, y, T, learner="linear", task="regression")
    notes = [row["note"] for row in found.rows] + [note.text for note in found.notes]
    assert any("'age'" in note for note in notes)
    assert not any(re.search(r"columns? \[?\d", note) for note in notes), notes
    ended = [note for note in notes if note and not note.startswith("control")]
    assert all(note.endswith(".") for note in ended), ended


def test_any_estimator_is_a_learner():
    rng = np.random.default_rng(0)
    sample, there = (
        pd.DataFrame({"town": rng.choice(["a", "b"], 90), "x": rng.normal(size=90)})
        for _ in range(2)
    )
    encoder = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    pipeline = make_pipeline(encoder, LogisticRegression())
    options = {"learner": pipeline, "methods": ["entropy", "raking"]}
    found = covshift.compare(sample, rng.integers(0, 2, 90), there, **options)
    assert [row["method"] for row in found.rows] == ["none", "entropy", "raking"]
    assert [row["kind"] for row in found.rows] == ["baseline", "weights", "weights"]
    assert np.isfinite(found.rows[1]["risk"])
    assert found.fit("entropy").predict(there).shape == (90,)


@pytest.mark.parametrize("learner", [LogisticRegression, 3, None])
def test_what_is_no_learner_is_refused_in_words(learner):
    with pytest.raises(InputError, match="an estimator such as"):
        compare(learner=learner)
    with pytest.raises(InputError, match="not both"):
        compare(learner=LogisticRegression(), baseline=LogisticRegression())


def test_samples_of_numbers_name_their_columns_in_notes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    names = ["far", "near"]
    frames = [pd.DataFrame(rows, columns=names) for rows in (X, X + np.array([50, 0]))]
    y = np.repeat([0, 1], 30)
    found = [
        covshift.compare(rows, y, target, learner="linear", methods=["entropy"])
        for rows, target in (frames, (Samples.of_rows(*frames), None))
    ]
    assert found[0].rows[1]["note"] == found[1].rows[1]["note"]
    assert "column 0" not in found[1].rows[1]["note"]

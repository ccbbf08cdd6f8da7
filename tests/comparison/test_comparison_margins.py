"""A comparison for a target known by its margins: judged by weights that meet them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

import covshift
from covshift import Margins, Reweighted
from covshift.comparison import Method, compare
from covshift.comparison.methods import methods_for
from covshift.exceptions import InputError
from covshift.margins.target_rows import encoded
from covshift.registry import TABLE, corrections, weighters
from covshift.weights import CDFWeights, EntropyBalancing, Raking

pd = pytest.importorskip("pandas")

rng = np.random.default_rng(0)
AGE = rng.integers(18, 80, 150)
TOWN = rng.choice(["u", "v", "w"], 150)
FRAME = pd.DataFrame({"age": AGE, "town": TOWN, "height": rng.normal(170, 9, 150)})
Y = (rng.random(150) < 1 / (1 + np.exp((50 - AGE) / 15))).astype(int)
DESIGN = rng.uniform(0.5, 2.0, 150)
MARGINS = Margins(
    {
        "age": {(18, 39): 0.5, (40, 59): 0.3, (60, None): 0.2},
        "town": {"u": 0.2, "v": 0.5, "w": 0.3},
    }
)
BASELINE = Method("none", "baseline")


def numbers(frame=FRAME):
    hot = np.column_stack([frame.town == level for level in "uvw"])
    return np.column_stack([frame.age, hot, frame.height]).astype(float)


@pytest.mark.parametrize("design", [None, DESIGN])
def test_risks_and_gains_are_those_of_a_plain_loop(design):
    methods = [BASELINE, Method("raking", "weights")]
    given = {"learner": "linear", "methods": methods, "sample_weight": design}
    found = compare(FRAME, Y, MARGINS, **given)
    known = FRAME[["age", "town"]]
    d = np.ones(150) if design is None else design / design.mean()
    judge = d * CDFWeights().fit(known, X_target=MARGINS, sample_weight=design).weights_
    raked = d * Raking().fit(known, X_target=MARGINS, sample_weight=design).weights_
    X = StandardScaler().fit_transform(numbers(), sample_weight=design)
    losses = np.zeros((2, 150))
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, Y):
        for k, w in enumerate((d, raked)):
            inside = w[train] / d[train].mean()  # design weights have mean one in every fit
            model = LogisticRegression(max_iter=2000).fit(X[train], Y[train], inside)
            losses[k, test] = (model.predict_proba(X[test])[:, 1] - Y[test]) ** 2
    risks = [row["risk"] for row in found.rows]
    np.testing.assert_allclose(risks, losses @ judge / judge.sum(), rtol=1e-5)
    gain = (losses[0] - losses[1]) @ judge / judge.sum()
    assert found.rows[1]["gain"] == pytest.approx(gain, rel=1e-3)
    row = found.rows[1]
    assert row["effective_sample_size"] == pytest.approx(raked.sum() ** 2 / (raked @ raked))
    gaps = [abs(b.gap) for b in MARGINS.balance(known, d)]
    assert row["gap_before"] == pytest.approx(np.mean(gaps))
    assert row["gap_after"] < 1e-8
    assert row["smd_before"] is None


def test_margins_of_every_value_compare_as_the_rows_do():
    T = np.random.default_rng(1).normal(0.4, 1, size=(120, 2)).round(2)
    X = np.random.default_rng(2).normal(size=(80, 2)).round(2)
    y = (X[:, 0] + 0.3 * X[:, 1] > 0.2).astype(int)
    y[:10] = 1 - y[:10]
    names = [("none", "baseline"), ("cdf", "weights"), ("blended", "correction")]
    given = {"methods": [Method(*pair) for pair in names], "n_folds": 3, "weighter": "cdf"}
    exact = Margins.from_rows(T, bins=None, min_count=1)
    by_rows, by_margins = (compare(X, y, target, **given) for target in (T, exact))
    for one, other in zip(by_rows.rows, by_margins.rows, strict=True):
        assert other["note"] == ""
        for key in ("risk", "gain", "gain_standard_error"):
            assert other[key] == pytest.approx(one[key], abs=2e-4)


def test_methods_that_need_rows_are_left_out_and_named():
    found = compare(FRAME, Y, MARGINS, learner="linear", max_rows=60, n_folds=2)
    methods = ["none", "cdf", "entropy", "raking", "vsvm:none", "vsvm:blended"]
    assert [row["method"] for row in found.rows] == methods
    assert all(np.isfinite(row["risk"]) for row in found.rows)
    texts = [str(note) for note in found.notes]
    left = next(text for text in texts if "need target rows" in text)
    assert {"kmm", "discriminative"} <= set(left.rstrip(".").split(": ")[1].split(", "))
    assert any("No margin covers 'height'" in text for text in texts)
    assert not any("columns without a margin" in row["note"] for row in found.rows)
    assert "gap: mean absolute difference from the published numbers" in str(found)
    one = MARGINS.select(["age"])
    assert "poststratification" in [m.name for m in methods_for("vsvm", 1, one)]
    assert "sliced" not in [m.name for m in methods_for("vsvm", 1, one)]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"methods": [BASELINE, Method("kmm", "weights")]}, "'kmm' needs target rows, .*use "),
        ({"methods": [BASELINE, Method("sliced", "correction")]}, "by blended, additive or"),
        ({"weighter": "kmm"}, "weighter 'kmm' needs target rows.*cdf, entropy, raking or"),
        ({"target_weight": np.ones(3)}, "target_weight is for target rows"),
        ({"y_target": Y}, "pass these rows as X_scored"),
    ],
)
def test_what_margins_are_not_enough_for_is_refused_by_name(given, words):
    with pytest.raises(InputError, match=words):
        compare(FRAME, Y, MARGINS, **given)


def test_rows_with_labels_score_methods_and_have_no_part_in_the_choice():
    methods = [BASELINE, Method("cdf", "weights")]
    given = {"learner": "linear", "methods": methods}
    scored = compare(FRAME, Y, MARGINS, y_target=Y, X_scored=FRAME, **given)
    plain = compare(FRAME, Y, MARGINS, **given)
    assert [row["risk"] for row in scored.rows] == [row["risk"] for row in plain.rows]
    model = LogisticRegression(max_iter=2000)
    X = StandardScaler().fit_transform(numbers())
    truth = np.mean((model.fit(X, Y).predict_proba(X)[:, 1] - Y) ** 2)
    assert scored.rows[0]["true_risk"] == pytest.approx(truth, rel=1e-4)


def test_means_alone_are_judged_by_entropy_balancing():
    means = Margins({"age": {"mean": 45.0, "sd": 17.0}})
    methods = [BASELINE, Method("entropy", "weights"), Method("blended", "correction")]
    found = compare(FRAME[["age"]], Y, means, methods=methods, n_folds=2)
    judged = compare(FRAME[["age"]], Y, means, methods=methods, n_folds=2, weighter="entropy")
    assert [row["risk"] for row in found.rows[:2]] == [row["risk"] for row in judged.rows[:2]]
    assert np.isfinite(found.rows[1]["gain"])
    assert "blended compares distribution functions" in found.rows[2]["note"]


def test_estimators_are_compared_with_weights_that_meet_the_margins():
    X = FRAME[["age", "height"]]
    margins = MARGINS.select(["age"])
    plain = LogisticRegression(max_iter=2000)
    contenders = {"raked": Reweighted(plain, weighter=Raking())}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the column without a margin
        found = compare(X, Y, (margins,), estimators=contenders, sample_weight=DESIGN)
        w = CDFWeights().fit(X, X_target=margins, sample_weight=DESIGN).weights_ * DESIGN
        losses = np.zeros((2, 150))
        folds = covshift.comparison.TargetSafeSplit().split(X, Y)
        for train, test in folds:
            rows, d = X.iloc[train], DESIGN[train]
            raking = Raking().fit(rows, X_target=margins, sample_weight=d)
            for k, weight in enumerate((d, d * raking.weights_)):
                model = LogisticRegression(max_iter=2000).fit(rows, Y[train], weight)
                losses[k, test] = (model.predict_proba(X.iloc[test])[:, 1] - Y[test]) ** 2
    risks = [row["risk"] for row in found.rows]
    np.testing.assert_allclose(risks, losses @ w / w.sum(), rtol=1e-4)


def test_a_contender_that_needs_rows_is_refused_by_its_name():
    X, margins = FRAME[["age"]], MARGINS.select(["age"])
    contenders = {"mine": Reweighted(LogisticRegression(), weighter="kliep")}
    with pytest.raises(InputError, match=r"The contender 'mine': .*KLIEP needs target rows: fit"):
        compare(X, Y, margins, estimators=contenders)
    with pytest.raises(InputError, match="The weighter 'kde' needs target rows"):
        compare(X, Y, margins, estimators=contenders, weighter="kde")
    with pytest.raises(InputError, match="target_weight is for target rows"):
        compare(X, Y, margins, estimators=contenders, target_weight=np.ones(3))


# The table of names


@pytest.mark.parametrize("name", [entry.name for entry in corrections()])
def test_the_table_says_which_corrections_take_margins(name):
    X = FRAME[["age"]].to_numpy(dtype=float)[:30]
    margins = Margins({0: {(18, 39): 0.5, (40, None): 0.5}})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            covshift.v_matrix(X, margins, name)
        able = True
    except InputError:
        able = False
    assert able == TABLE[name].takes_margins


@pytest.mark.parametrize("name", [entry.name for entry in weighters()])
def test_the_table_says_which_weighters_take_margins(name):
    X = FRAME[["age"]].to_numpy(dtype=float)[:30]
    margins = Margins({0: {(18, 39): 0.5, (40, None): 0.5}})
    if TABLE[name].takes_margins:
        assert len(TABLE[name].load()().fit(X, X_target=margins).weights_) == 30
    else:
        with pytest.raises(InputError, match="needs target rows"):
            TABLE[name].load()().fit(X, X_target=margins)


# Margins of encoded columns


def test_margins_follow_the_columns_that_learners_see():
    margins = Margins(
        {
            "age": {(18, 40): 0.5, (40, None): 0.5},
            "town": {"u": 0.2, "v": 0.5, "(other)": 0.3},
            "grade": {2: 0.1, 1: 0.9},
            "bmi": {"mean": 25.0, "sd": 4.0},
        }
    )
    columns = [("age", None), ("town", "u"), ("town", "w"), ("grade", None), ("bmi", None)]
    found = encoded(margins, [*columns, ("", None)], np.full(6, 10.0), np.full(6, 2.0))
    assert found.columns == ["0", "1", "3", "4"]
    np.testing.assert_allclose(found.single["0"].cells.lower, [4.0, 15.0])
    np.testing.assert_allclose(found.single["1"].share, [0.8, 0.2])
    np.testing.assert_allclose(found.single["1"].cells.upper, [-5.0, -4.5])
    np.testing.assert_allclose(found.single["3"].cells.upper, [-4.5, -4.0])
    np.testing.assert_allclose(found.single["3"].share, [0.9, 0.1])
    assert (found.single["4"].mean, found.single["4"].sd) == (7.5, 2.0)


def test_the_judge_of_the_comparison_is_not_a_contender_s_weighter():
    methods = [BASELINE, Method("entropy", "weights")]
    given = {"learner": "linear", "methods": methods}
    one = compare(FRAME, Y, MARGINS, weighter="entropy", **given)
    w = EntropyBalancing().fit(FRAME[["age", "town"]], X_target=MARGINS).weights_
    other = compare(FRAME, Y, MARGINS, **given)
    assert one.rows[0]["risk"] != other.rows[0]["risk"]
    assert one.rows[1]["effective_sample_size"] == pytest.approx(w.sum() ** 2 / (w @ w))

"""Importance-weighted cross-validation: an honest estimate of the target risk, and a baseline."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covshift import VSVC, Kernel, Reweighted
from covshift.comparison import (
    LOSSES,
    Comparison,
    ImportanceWeightedScorer,
    TargetSafeSplit,
    compare,
    log_loss,
    squared_error,
    zero_one,
)
from covshift.corrections import Correction, Unweighted
from covshift.datasets import make_survey

data = make_survey(400, 400, random_state=0)
X, y, T = data.X, data.y, data.X_target
LEARNER = make_pipeline(StandardScaler(), LogisticRegression())


def test_losses_are_what_their_names_say():
    model = DummyClassifier(strategy="prior").fit(X, y)
    p = y.mean()
    np.testing.assert_allclose(squared_error(model, X, y), (p - y) ** 2)
    np.testing.assert_allclose(log_loss(model, X, y), -np.log(np.where(y == 1, p, 1 - p)))
    np.testing.assert_allclose(zero_one(model, X, y), y != (p > 0.5))
    line = LinearRegression().fit(X, y)
    np.testing.assert_allclose(squared_error(line, X, y), (line.predict(X) - y) ** 2)
    assert set(LOSSES) == {"squared_error", "zero_one", "log_loss"}


@pytest.mark.parametrize("labels", [["a", "c"], ["b", "c"], ["a", "b"]])
def test_a_class_that_training_lacked_has_probability_zero(labels):
    """Whether it sorts before, between or after the classes that are known."""
    missing = ({"a", "b", "c"} - set(labels)).pop()
    points = np.zeros((4, 1))
    model = DummyClassifier(strategy="prior").fit(points, np.array([labels[0], *labels[1:] * 3]))
    outcome = np.array([missing, labels[0], labels[1], missing])
    p = {labels[0]: 0.25, labels[1]: 0.75, missing: 0.0}
    brier = [sum((p[c] - (c == came)) ** 2 for c in p) / 2 for came in outcome]
    np.testing.assert_allclose(squared_error(model, points, outcome), brier)
    expected = [-np.log(max(p[came], 1e-15)) for came in outcome]
    np.testing.assert_allclose(log_loss(model, points, outcome), expected)
    np.testing.assert_allclose(zero_one(model, points, outcome), outcome != labels[1])


def test_the_scorer_is_minus_the_weighted_loss():
    scorer = ImportanceWeightedScorer("gaussian-ratio", loss="zero_one").fit(X, X_target=T)
    model = LEARNER.fit(X, y)
    w = scorer.weighter_.weights_
    expected = -np.average(model.predict(X) != y, weights=w)
    assert scorer(model, X, y) == pytest.approx(expected)


@pytest.mark.thorough
def test_the_scorer_works_in_searches():
    scorer = ImportanceWeightedScorer("gaussian-ratio").fit(X, X_target=T)
    scores = cross_val_score(LEARNER, X, y, scoring=scorer, cv=3)
    assert (scores < 0).all()
    search = GridSearchCV(Ridge(), {"alpha": [1.0, 1e9]}, scoring=scorer).fit(X, y)
    assert search.best_params_ == {"alpha": 1.0}


def one_dimension(seed):
    """Training rows even on [-1, 1], target rows mostly on the right, a line through a curve."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, size=(400, 1))
    target = 2 * rng.uniform(size=(400, 1)) ** (1 / 3) - 1  # density ratio 3 (1 + t)^2 / 4
    noise = 0.05 * rng.normal(size=(2, 400))
    return points, points[:, 0] ** 2 + noise[0], target, target[:, 0] ** 2 + noise[1]


@pytest.mark.thorough
def test_the_weighted_estimate_is_nearer_to_the_target_risk():
    """Over seeds: weighted cross-validation against plain, both for the same line."""
    weighted, plain = [], []
    for seed in range(15):
        points, outcome, target, truth = one_dimension(seed)
        model = LinearRegression().fit(points, outcome)
        risk = np.mean((model.predict(target) - truth) ** 2)
        found = compare(
            points, outcome, target, estimators={}, baseline=LinearRegression(), weighter="ulsif"
        )
        weighted.append(found.rows[0]["risk"] - risk)
        losses = -cross_val_score(
            LinearRegression(), points, outcome, scoring="neg_mean_squared_error", cv=KFold(5)
        )
        plain.append(losses.mean() - risk)
    assert np.mean(np.abs(weighted)) < 0.5 * np.mean(np.abs(plain))


def test_compare_recommends_a_correction_that_helps():
    points, outcome, target, _ = one_dimension(0)
    model = Reweighted(LinearRegression(), weighter="ulsif")
    found = compare(points, outcome, target, estimators={"weighted": model}, weighter="ulsif")
    assert [row["method"] for row in found.rows] == ["none", "weighted"]
    assert found.recommended == found.best == "weighted"
    assert found.rows[1]["gain"] == pytest.approx(found.rows[0]["risk"] - found.rows[1]["risk"])


def test_compare_keeps_the_unweighted_model_when_nothing_helps():
    rng = np.random.default_rng(0)
    points, target = rng.normal(size=(300, 2)), rng.normal(size=(300, 2))
    outcome = points[:, 0] + rng.normal(size=300)
    contenders = {"weighted": Reweighted(LinearRegression(), weighter="gaussian-ratio")}
    found = compare(points, outcome, target, estimators=contenders, weighter="gaussian-ratio")
    assert found.recommended == "none"
    assert "Keep the unweighted model" in str(found)


def test_the_rule_counts_all_contenders_and_is_printed():
    points, outcome, target, _ = one_dimension(0)
    contenders = {
        name: Reweighted(LinearRegression(), weighter=name) for name in ("ulsif", "entropy")
    }
    both = compare(points, outcome, target, estimators=contenders, weighter="ulsif")
    one = compare(
        points, outcome, target, estimators={"ulsif": contenders["ulsif"]}, weighter="ulsif"
    )
    assert one.needed < both.needed < 2.0
    assert f"clear beyond {both.needed:.1f} s.e." in str(both)


def test_a_clear_contender_is_recommended_where_a_noisier_one_looks_better():
    rows = [
        {"method": name, "risk": 1 - gain, "gain": gain, "gain_standard_error": error}
        for name, gain, error in (("none", 0, 0), ("noisy", 0.5, 0.4), ("clear", 0.4, 0.1))
    ]
    found = Comparison(rows, needed=2.0)
    assert (found.best, found.recommended) == ("noisy", "clear")


@pytest.mark.thorough
def test_every_contender_gets_the_whole_target():
    lengths = []

    class Spy(Correction):
        def _build(self, X, T, share):
            lengths.append(len(T))
            return Unweighted().operator(X)

    fixed = {"kernel": Kernel("rbf", width="scale", coordinates="none")}
    compare(X, y, T, estimators={"spy": VSVC(Spy(), **fixed)}, weighter="gaussian-ratio")
    assert set(lengths) == {len(T)} == {len(X)}


@pytest.mark.thorough
def test_the_baseline_is_found_or_asked_for():
    found = compare(
        X[:100], y[:100], T, estimators={"v": VSVC("additive")}, weighter="gaussian-ratio"
    )
    assert found.rows[0]["method"] == "none"
    with pytest.raises(ValueError, match="baseline=LogisticRegression"):
        compare(X, y, T, estimators={"ridge": Ridge()}, weighter="gaussian-ratio")
    twice = {"none": LinearRegression(), "ridge": Ridge()}
    with pytest.raises(ValueError, match="given twice"):
        compare(X, y, T, estimators=twice, baseline=Ridge(), weighter="gaussian-ratio")
    given = compare(
        X,
        y,
        T,
        estimators={"ridge": Ridge()},
        baseline=LinearRegression(),
        weighter="gaussian-ratio",
    )
    assert [row["method"] for row in given.rows] == ["none", "ridge"]


def test_compare_gives_a_data_frame():
    found = compare(X, y, T, estimators={}, baseline=LEARNER, weighter="gaussian-ratio")
    frame = found.to_frame()
    assert list(frame["method"]) == ["none"]
    assert "risk" in frame
    assert "true_risk" not in frame  # a column that holds nothing


def test_the_splitter_spreads_classes_and_covers_every_row():
    folds = list(TargetSafeSplit(4).split(X, y))
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(400))
    shares = [y[test].mean() for _, test in folds]
    assert np.ptp(shares) < 0.02
    assert TargetSafeSplit(4).get_n_splits() == 4
    for model, test in TargetSafeSplit(3).fits(Ridge(), X, y):
        assert model.predict(X[test]).shape == test.shape


def test_bad_requests_are_refused():
    with pytest.raises(ValueError, match="loss='hinge' must be 'squared_error'"):
        compare(X, y, T, estimators={}, baseline=LEARNER, loss="hinge", weighter="gaussian-ratio")

    class HalfOut:
        def split(self, X, y):
            yield np.arange(200), np.arange(200, 400)

    with pytest.raises(ValueError, match="every row must be held out once"):
        compare(X, y, T, estimators={}, baseline=LEARNER, cv=HalfOut(), weighter="gaussian-ratio")

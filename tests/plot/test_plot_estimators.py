"""Displays made of fitted models and weighters, and of what these predicted."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

pytest.importorskip("matplotlib")

from covshift import ConformalRegressor, Predictions, Reweighted, estimate, evaluate
from covshift.diagnostics import diagnose_batches
from covshift.exceptions import InputError
from covshift.plot import (
    BatchesDisplay,
    ECDFDisplay,
    IntervalsDisplay,
    LovePlotDisplay,
    ReliabilityDisplay,
    ROCDisplay,
    SensitivityDisplay,
    WeightsDisplay,
)
from covshift.weights import CDFWeights


@pytest.fixture(autouse=True)
def _closed():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(80, 2)), rng.normal(0.5, 1.0, size=(60, 2))
    y = np.where(X[:, 0] + rng.normal(size=80) > 0, "yes", "no")
    return X, y, T, rng.uniform(0.5, 2.0, size=80)


def test_roc_curves_are_those_of_scikit_learn(data):
    X, y, _, w = data
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    p = model.predict_proba(X)[:, 1]
    display = ROCDisplay.from_estimator(model, X, y, w)
    (name, (x, high)), *more = display.curves.items()
    assert not more
    expected = roc_curve(y == "yes", p, sample_weight=w)
    np.testing.assert_allclose(x, expected[0])
    np.testing.assert_allclose(high, expected[1])
    area = roc_auc_score(y == "yes", p, sample_weight=w)
    assert name == f"LogisticRegression: AUC {area:.3f}"
    said = ROCDisplay.from_predictions(y, p, w, pos_label="yes", name="mine")
    np.testing.assert_allclose(said.curves[f"mine: AUC {area:.3f}"][1], high)


def test_the_other_class_turns_the_scores_round(data):
    X, y, _, _ = data
    for model in (LogisticRegression(), LinearSVC()):
        model.fit(X, y)
        areas = [
            next(iter(ROCDisplay.from_estimator(model, X, y, pos_label=label).curves))
            for label in ("yes", "no")
        ]
        assert areas[0] == areas[1]


def test_reliability_of_an_estimator_is_that_of_its_predictions(data):
    X, y, _, w = data
    model = LogisticRegression().fit(X, y)
    display = ReliabilityDisplay.from_estimator(model, X, y, w, n_bins=4, pos_label="no")
    p = model.predict_proba(X)[:, 0]
    expected = ReliabilityDisplay.from_predictions(y == "no", p, w, n_bins=4)
    np.testing.assert_allclose(
        display.curves["LogisticRegression"], expected.curves["model"], rtol=1e-12
    )


def test_displays_of_a_weighter_take_its_weights(data):
    X, _, T, _ = data
    weighter = CDFWeights().fit(X, X_target=T)
    w = weighter.weights_
    np.testing.assert_allclose(WeightsDisplay.from_estimator(weighter).weights, w)
    love = LovePlotDisplay.from_estimator(weighter, X, T)
    np.testing.assert_allclose(love.after, LovePlotDisplay.from_samples(X, T, w).after)
    curves = ECDFDisplay.from_estimator(weighter, X, T, feature=1).curves
    expected = ECDFDisplay.from_samples(X, T, w, feature=1).curves
    np.testing.assert_allclose(curves["corrected"], expected["corrected"])
    with pytest.raises(ValueError, match="weights has shape"):
        LovePlotDisplay.from_estimator(weighter, X[1:], T)


def test_weights_of_a_reweighted_model(data):
    X, y, T, _ = data
    model = Reweighted(LogisticRegression(), weighter="cdf").fit(X, y, X_target=T)
    np.testing.assert_allclose(WeightsDisplay.from_estimator(model).weights, model.weights_)


def test_intervals_of_predictions(data):
    X, _, T, _ = data
    model = ConformalRegressor(LinearRegression(), random_state=0).fit(X, X[:, 0], X_target=T)
    found = model.predict_interval(T, coverage=0.8)
    display = IntervalsDisplay.from_predictions(found, T[:, 0], x=T[:, 1])
    assert display.coverage == 0.8
    np.testing.assert_array_equal(display.prediction, found.prediction)
    assert display.share_covered == found.covers(T[:, 0]).mean()
    ends = [[0.0, 2.0], [-np.inf, 5.0], [-np.inf, np.inf]]
    plain = IntervalsDisplay.from_predictions(ends)
    np.testing.assert_array_equal(plain.prediction, [1.0, 5.0, 0.0])


def test_batches_of_a_diagnosis(data):
    X, _, T, _ = data
    found = diagnose_batches(X, {"May": T, "few": T[:5]}, methods=())
    display = BatchesDisplay.from_diagnosis(found)
    assert display.values[0, 0] == found.batches["May"].auc.value
    assert np.isnan(display.values[1]).all()


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda m, X, y: ROCDisplay.from_predictions(y, X[1:, 0]), "one number of each per row"),
        (lambda m, X, y: ROCDisplay.from_predictions(y[y == "no"], X[y == "no", 0]), "pos_label"),
        (lambda m, X, y: ROCDisplay.from_predictions(np.ones(80), X[:, 0]), "one class"),
        (lambda m, X, y: ROCDisplay.from_predictions(np.arange(80), X[:, 0]), "80 classes"),
        (lambda m, X, y: ROCDisplay.from_estimator(m, X, y, pos_label="maybe"), "'maybe'"),
        (lambda m, X, y: ROCDisplay.from_estimator(LogisticRegression(), X, y), "not fitted"),
        (lambda m, X, y: ReliabilityDisplay.from_estimator(m, X, y), "no predict_proba"),
        (lambda m, X, y: WeightsDisplay.from_estimator(m), "has no weights_"),
        (lambda m, X, y: IntervalsDisplay.from_predictions(X[:, 0]), "lower and upper ends"),
        (
            lambda m, X, y: ROCDisplay.from_estimator(LinearRegression().fit(X, X[:, 0]), X, y),
            "0 classes",
        ),
    ],
)
def test_bad_input_is_named(data, draw, message):
    X, y, _, _ = data
    with pytest.raises(ValueError, match=message):
        draw(LinearSVC().fit(X, y), X, y)


# how wrong an answer could be


@pytest.fixture(scope="module")
def doubtful():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(150, 2)), rng.normal(0.6, 1, size=(120, 2))
    y = (X[:, 0] + rng.normal(size=150) > 0).astype(int)
    return estimate(X, y, T, weighter="entropy", outcome_model=LogisticRegression())


def test_the_curve_of_odds_starts_at_the_interval_and_widens(doubtful):
    display = SensitivityDisplay.from_answer(doubtful, odds=[1, 1.5, 3], null=0.9)
    row = doubtful.overall[0]
    np.testing.assert_allclose(display.intervals[0], row.interval)
    np.testing.assert_allclose(display.bounds[0], row.value)
    last = doubtful.with_sensitivity(3.0).overall[0]
    np.testing.assert_allclose(display.bounds[-1], last.sensitivity_bounds)
    assert (np.diff(display.intervals[:, 0]) <= 0).all()
    assert (np.diff(display.intervals[:, 1]) >= 0).all()
    assert set(display.lines) == {"uncorrected", "null"}
    assert 1 <= display.reached["uncorrected"] < display.reached["null"] < 3
    assert display.ax_.get_ylabel().endswith("(%)")


def test_what_is_never_reached_is_not_marked():
    ends = [[0.0, 1.0], [-1.0, 2.0]]
    display = SensitivityDisplay([1, 2], ends, ends, lines={"far": 9.0, "near": 0.5})
    assert display.reached == {"near": 1.0}


@pytest.mark.thorough
def test_no_curve_of_what_has_no_bounds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] > 0).astype(int)
    scores = Predictions(1 / (1 + np.exp(-X[:, 0])), 1 / (1 + np.exp(-X[:, 0])))
    found = evaluate(scores, X, y, X, metrics="calibration_error", weighter="entropy")
    with pytest.raises(InputError, match="sensitivity of this number is not known"):
        SensitivityDisplay.from_answer(found, odds=[1, 2])

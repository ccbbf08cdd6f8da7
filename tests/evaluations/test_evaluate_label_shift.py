"""Metrics under label shift: labelled rows weigh as much as their classes' shares ask for."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics as sk
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression

from covshift import Target, estimate, evaluate
from covshift.exceptions import InputError

MEANS = np.array([[0.0, 0.0], [1.6, 0.0], [0.0, 1.6]])


class Known(ClassifierMixin, BaseEstimator):
    """Chances that are known beforehand."""

    def __init__(self, scale=0.5, K=2):
        self.scale = scale
        self.K = K

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.arange(self.K)
        return self

    def predict_proba(self, X):
        far = np.asarray(X)[:, None, :2] - MEANS[: self.K]
        odds = np.exp(-self.scale * np.sum(far**2, axis=2))
        return odds / odds.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


def draw(rng, rows, shares):
    y = rng.choice(len(shares), size=rows, p=shares)
    return rng.normal(size=(rows, 2)) + MEANS[y], y


rng = np.random.default_rng(0)
X, Y = draw(rng, 250, [0.5, 0.5])
T, Y_TARGET = draw(rng, 200, [0.8, 0.2])
MODEL = Known().fit(X, Y)
METRICS = ["accuracy", "roc_auc", "brier", "log_loss", "precision", "average_precision"]


@pytest.fixture(scope="module")
def found():
    metrics = [*METRICS, "calibration_curve", "calibration_error"]
    return evaluate(MODEL, X, Y, T, metrics=metrics, shift="label", outcome_model=Known())


def test_metrics_are_those_of_rows_that_weigh_as_their_classes(found):
    q = MODEL.predict_proba(X)
    r = estimate(X, Y, T, shift="label", outcome_model=Known()).value
    w = np.where(Y == 1, r / Y.mean(), (1 - r) / (1 - Y.mean()))
    assert found.weights == pytest.approx(w, rel=1e-6)
    by_hand = {
        "accuracy": sk.accuracy_score(Y, MODEL.predict(X), sample_weight=w),
        "roc_auc": sk.roc_auc_score(Y, q[:, 1], sample_weight=w),
        "brier": np.average((Y - q[:, 1]) ** 2, weights=w),
        "log_loss": sk.log_loss(Y, q, sample_weight=w),
        "precision": sk.precision_score(Y, MODEL.predict(X), sample_weight=w),
        "average_precision": sk.average_precision_score(Y, q[:, 1], sample_weight=w),
    }
    for name, value in by_hand.items():
        assert found[name].value == pytest.approx(value, rel=1e-6), name
    assert {row.method for row in found.table} == {"label", "none"}
    assert found.curves[0].roc.auc == pytest.approx(by_hand["roc_auc"])


@pytest.mark.thorough
def test_errors_count_rows_and_shares(found):
    """A bootstrap of both samples, with the chances as they are, sees the same errors."""
    draws = []
    for _ in range(300):
        i, j = rng.integers(0, len(X), len(X)), rng.integers(0, len(T), len(T))
        y, q, there = Y[i], MODEL.predict_proba(X[i]), MODEL.predict_proba(T[j])
        p = np.array([1 - y.mean(), y.mean()])
        C = np.column_stack([q[y == c].mean(axis=0) for c in (0, 1)])
        pi = np.linalg.solve(C, there.mean(axis=0))
        r = found.weights[Y == 1][0], found.weights[Y == 0][0]  # the scores stay
        a, b = (s / (s @ np.array([r[1], r[0]]))[:, None] for s in (q, there))
        C = np.column_stack([a[y == c].mean(axis=0) for c in (0, 1)])
        pi = np.clip(np.linalg.solve(C, b.mean(axis=0)), 0.001, 0.999)
        w = (pi / p)[y]
        draws.append(
            [
                np.average(y == MODEL.predict(X[i]), weights=w),
                np.average((y - q[:, 1]) ** 2, weights=w),
                sk.roc_auc_score(y, q[:, 1]),
                sk.average_precision_score(y, q[:, 1], sample_weight=w),
            ]
        )
    spread = np.std(draws, axis=0)
    for name, error in zip(
        ("accuracy", "brier", "roc_auc", "average_precision"), spread, strict=True
    ):
        assert found[name].standard_error == pytest.approx(error, rel=0.2), name


def test_the_calibration_curve_is_that_of_the_metric(found):
    curve = found.curves[0].reliability
    rows = [row for row in found.overall if row.metric.startswith("calibration ")]
    assert curve.share == pytest.approx([row.value for row in rows])
    assert curve.standard_error == pytest.approx([row.standard_error for row in rows])
    assert curve.interval == pytest.approx(np.array([row.interval for row in rows]))


def test_it_says_what_it_assumes_and_what_the_other_assumption_gives(found):
    assert "within each class" in found.assumption
    assert found.label_shift[0].p_value > 0.01
    (note,) = (note for note in found.notes if note.kind == "covariate shift")
    other = evaluate(MODEL, X, Y, T, outcome_model=Known(), metrics="accuracy")
    assert f"accuracy would be {other['accuracy'].value:.3f}." in note.text
    assert found.to_dict()["label_shift"][0]["outcome"] == "Known"
    assert "class shares (label shift) *" in str(found)


@pytest.mark.thorough
def test_three_classes_models_beside_one_another_and_batches():
    here = np.random.default_rng(1)
    X, y = draw(here, 250, [0.4, 0.3, 0.3])
    T, y_target = draw(here, 300, [0.1, 0.3, 0.6])
    models = {name: Known(s, 3).fit(X, y) for name, s in (("sharp", 0.5), ("flat", 0.1))}
    month = np.repeat(["May", "June"], 150)
    found = evaluate(
        models, X, y, Target(T, batch=month), shift="label", outcome_model=Known(0.5, 3)
    )
    true = sk.accuracy_score(y_target, models["sharp"].predict(T))
    assert abs(found["accuracy"].value - true) < 4 * found["accuracy"].standard_error
    brier = next(one for one in found.differences if one.metric == "brier")
    assert brier.value == pytest.approx(
        found["flat", "brier"].value - found["sharp", "brier"].value
    )
    assert brier.interval[0] > 0
    assert set(found.batches) == {"May", "June"}
    assert all(part.method == "label" for part in found.batches.values())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"by": (Y, Y_TARGET)}, "each group by itself"),
        ({"method": "weights"}, "rest on covariate shift"),
        ({"weighter": "entropy"}, "follow from the class shares"),
        ({"restrict": "overlap"}, "as a whole"),
        ({"y_target": Y_TARGET}, "tell the shares themselves"),
        ({"shift": "both"}, "shift='both'"),
        ({"model": LinearRegression().fit(X, X[:, 0]), "y": X[:, 0]}, "predicts numbers"),
        ({"y": np.r_[np.ones(3), np.zeros(247)]}, "fewer than 5 rows: '1' (3)"),
    ],
)
def test_what_label_shift_does_not_answer_is_refused(options, words):
    given = {"model": MODEL, "X": X, "y": Y, "X_target": T, "shift": "label"} | options
    with pytest.raises(InputError) as refused:
        evaluate(**given)
    assert words in str(refused.value)


@pytest.mark.thorough
def test_predictions_without_scores_have_metrics_too():
    class Decides(ClassifierMixin, BaseEstimator):
        classes_ = np.arange(2)

        def predict(self, X):
            return MODEL.predict(X)

    found = evaluate(Decides(), X, Y, T, metrics="accuracy", shift="label")
    assert found["accuracy"].value == pytest.approx((MODEL.predict(T) == Y_TARGET).mean(), abs=0.1)


def test_a_target_that_is_no_mixture_is_said_of_the_labels_not_of_the_model():
    moved = T + np.array([0.0, 2.0])
    found = evaluate(MODEL, X, Y, moved, metrics=["accuracy"], shift="label", outcome_model=Known())
    (note,) = (note.text for note in found.notes if note.kind == "label shift")
    assert "classes, as 'Known' scores them (p < 0.001)" in note

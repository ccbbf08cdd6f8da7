"""Labels of some target rows: metrics by the definition of prediction-powered inference."""

from __future__ import annotations

import json

import numpy as np
import pytest
import reference
from sklearn import metrics as sk
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from covshift import Labels, Predictions, evaluate
from covshift.exceptions import InputError

N, M, L = 70, 60, 30
_rng = np.random.default_rng(5)
X, T = _rng.normal(size=(N, 2)), _rng.normal(0.3, 1, size=(M, 2))
ASKED = np.sort(_rng.choice(M, L, replace=False))


def chance(X):
    return 1 / (1 + np.exp(-X[:, 0]))


class Known(ClassifierMixin, BaseEstimator):
    """An outcome model whose chances are known beforehand."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X):
        p = chance(np.asarray(X))
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return (chance(np.asarray(X)) > 0.5) * 1


class Size(RegressorMixin, BaseEstimator):
    """An outcome model of losses that is known beforehand."""

    def fit(self, X, y, sample_weight=None):
        return self

    def predict(self, X):
        return np.abs(np.asarray(X)[:, 0]) + 1


Y = (_rng.uniform(size=N) < chance(X)) * 1
ALL = (_rng.uniform(size=M) < chance(T)) * 1
SAID, SAID_TARGET = (1 / (1 + np.exp(-part[:, 0] - part[:, 1] / 2)) for part in (X, T))
SOME = [int(y) if k in ASKED else None for k, y in enumerate(ALL)]
Z, Z_ALL = X[:, 0] + _rng.normal(size=N), T[:, 0] + 1 + _rng.normal(size=M)
Z_SOME = np.where(np.isin(np.arange(M), ASKED), Z_ALL, np.nan)


def ask(y_target=SOME, **options):
    asked = {"outcome_model": Known(), "metrics": "accuracy", **options}
    return evaluate(Predictions(SAID, SAID_TARGET), X, Y, T, y_target=y_target, **asked)


def ask_numbers(y_target=Z_SOME, **options):
    asked = {"outcome_model": Size(), "metrics": "mae", **options}
    said = Predictions(X[:, 1], T[:, 1], task="numbers")
    return evaluate(said, X, Z, T, y_target=y_target, **asked)


@pytest.mark.parametrize("chances", [None, np.where(T[:, 0] > 0, 0.8, 0.3)])
def test_accuracy_is_a_mean_with_the_model_s_help(chances):
    given = SOME if chances is None else Labels(SOME, probability=chances)
    found = ask(given, weighter=np.ones(N))
    says = SAID_TARGET >= 0.5
    right = (says == ALL) * 1.0
    h = np.where(says, chance(T), 1 - chance(T))
    u = np.ones(L) if chances is None else 1 / chances[ASKED]
    value, _, variance = reference.prediction_powered(right[ASKED], h[ASKED], h, u)
    line = found["accuracy"]
    assert (found.method, found.n_labels, line.rows) == ("both", L, L)
    assert found.same(line, "labels").value == pytest.approx(np.average(right[ASKED], weights=u))
    low, high = line.interval
    assert low < value < high
    assert line.standard_error >= variance**0.5 * (1 - 1e-9)
    expected = found.same(line, "dr").value
    assert min(value, expected) - 1e-9 <= line.value <= max(value, expected) + 1e-9


def test_a_mean_of_losses_likewise():
    found = ask_numbers()
    e, h = np.abs(Z_ALL - T[:, 1]), np.abs(T[:, 0]) + 1
    value, power, variance = reference.prediction_powered(e[ASKED], h[ASKED], h, np.ones(L))
    line = found["mae"]
    assert 0 <= power <= 1
    assert line.interval[0] < value < line.interval[1]
    assert line.standard_error >= variance**0.5 * (1 - 1e-9)
    assert found.same(line, "labels").value == pytest.approx(e[ASKED].mean())


@pytest.mark.thorough
def test_labels_alone_are_what_scikit_learn_says():
    names = ["accuracy", "roc_auc", "average_precision", "log_loss", "brier", "f1"]
    found = ask(metrics=names)
    y, s = ALL[ASKED], SAID_TARGET[ASKED]
    expected = {
        "accuracy": sk.accuracy_score(y, s >= 0.5),
        "roc_auc": sk.roc_auc_score(y, s),
        "average_precision": sk.average_precision_score(y, s),
        "log_loss": sk.log_loss(y, s),
        "brier": sk.brier_score_loss(y, s),
        "f1": sk.f1_score(y, s >= 0.5),
    }
    for row in found.table.where(method="labels"):
        assert row.rows == L
        assert row.value == pytest.approx(expected[row.metric])
    without = ask(None, metrics=names)
    for row in without:
        assert found.same(row, row.method).value == row.value  # labels change no other number
        both = found[row.metric]
        assert both.interval[0] <= both.value <= both.interval[1]
    assert "using 30 target labels" in found.sentence
    assert "labels of the target" in str(found)
    assert json.loads(json.dumps(found.to_dict()))["changes"][0]["rows"] == L


def test_metrics_of_numbers_and_groups():
    by = (np.where(X[:, 1] > 0, "a", "b"), np.where(T[:, 1] > 0, "a", "b"))
    names = ["mse", "rmse", "mae", "r2", "bias", "median_absolute_error"]
    found = ask_numbers(metrics=names, by=by)
    for group in (None, "a", "b"):
        rows = ASKED if group is None else ASKED[by[1][ASKED] == group]
        y, f = Z_ALL[rows], T[rows, 1]
        expected = {
            "mse": sk.mean_squared_error(y, f),
            "rmse": sk.mean_squared_error(y, f) ** 0.5,
            "mae": sk.mean_absolute_error(y, f),
            "r2": sk.r2_score(y, f),
            "bias": np.mean(f - y),
        }
        for name, value in expected.items():
            row = found.table.where(metric=name, group=group, method="labels")[0]
            assert row.value == pytest.approx(value)
            assert row.rows == len(rows)
        row = found.table.where(metric="median_absolute_error", group=group, method="labels")[0]
        errors = np.sort(np.abs(y - f))
        assert row.value in errors
        assert np.mean(errors < row.value) <= 0.5 <= np.mean(errors <= row.value)
        assert row.interval[0] <= row.value <= row.interval[1]


def test_with_every_label_known_the_number_is_near_that_of_the_labels():
    found = ask([int(y) for y in ALL], metrics=["accuracy", "f1"])
    for line in found:
        low, high = line.interval
        assert low <= found.same(line, "labels").value <= high


def test_models_are_compared_by_labels():
    said = {"one": SAID, "other": 1 - SAID}
    there = {"one": SAID_TARGET, "other": 1 - SAID_TARGET}
    options = {"metrics": "accuracy", "outcome_model": Known(), "y_target": SOME}
    found = evaluate(Predictions(said, there), X, Y, T, **options)
    difference = found.differences[0]
    right = ((SAID_TARGET >= 0.5) == ALL)[ASKED].mean()
    assert difference.value == pytest.approx(1 - 2 * right, abs=0.15)
    assert difference.interval[0] < difference.value < difference.interval[1]


def test_a_method_that_is_asked_for_stays():
    assert ask(method="weights").method == "weights"


@pytest.mark.thorough
def test_interval_holds_where_the_outcome_given_the_features_has_changed():
    rng, held = np.random.default_rng(0), []
    for _ in range(25):
        X, T = rng.normal(size=(80, 2)), rng.normal(0.3, 1, size=(200, 2))
        y, truth = (rng.uniform(size=80) < chance(X)) * 1, (rng.uniform(size=200) < 0.5) * 1
        said = Predictions(chance(X), chance(T))
        some = np.where(np.arange(200) < 50, truth, np.nan)
        options = {"outcome_model": Known(), "metrics": "accuracy", "weighter": np.ones(80)}
        found = evaluate(said, X, y, T, y_target=some, **options)
        low, high = found["accuracy"].interval
        held.append(low <= 0.5 <= high)
    assert np.mean(held) >= 0.8  # 20 of 25: less than one in a hundred by chance, at 95 %


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([None] * M, "missing in every row"),
        ([1, 0] + [None] * (M - 2), "at least 5"),
        (Labels(SOME, probability=np.zeros(M)), "must be above 0"),
    ],
)
def test_bad_labels_are_refused_in_one_sentence(given, said):
    with pytest.raises(InputError, match=said):
        ask(given)


def test_a_group_without_labels_is_named():
    by = (np.where(X[:, 1] > 0, "a", "b"), np.where(T[:, 1] > 0, "a", "b"))
    some = [y if T[k, 1] > 0 else None for k, y in enumerate(SOME)]
    found = ask(some, by=by)
    note = next(note for note in found.notes if note.kind == "groups without outcomes")
    assert "No target row of b has" in note.text

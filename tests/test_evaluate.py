"""`evaluate`: metrics on masses and their errors, against scikit-learn, loops and known truths."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn import metrics as sk
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from covshift import diagnose, evaluate
from covshift.evaluations import masses as on
from covshift.evaluations.masses import Masses
from covshift.evaluations.metrics import CLASS_METRICS, class_metrics
from covshift.exceptions import InputError, InputTypeError

N, M = 90, 70
_rng = np.random.default_rng(0)
X, T = _rng.normal(size=(N, 2)), _rng.normal(0.4, 1, size=(M, 2))
W, V = _rng.exponential(size=N) + 0.1, _rng.exponential(size=M) + 0.1
SLOPES = np.array([1.0, -0.8])
Y = (_rng.uniform(size=N) < 1 / (1 + np.exp(-X @ SLOPES))).astype(int)
Z = 1 + X @ SLOPES + _rng.normal(size=N)
GROUPS, TARGET_GROUPS = _rng.integers(0, 2, N), _rng.integers(0, 2, M)
NAMES = [*CLASS_METRICS, "confusion_matrix", "f1_weighted", "recall_per_class"]


class Scorer(ClassifierMixin, BaseEstimator):
    """A fitted classifier of known scores, rounded so that there are ties."""

    classes_ = np.array([0, 1])

    def __init__(self, slopes=(0.9, -0.4), digits=1):
        self.slopes = slopes
        self.digits = digits

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        odds = np.round(0.3 + np.asarray(X)[:, :2] @ np.asarray(self.slopes), self.digits)
        p = 1 / (1 + np.exp(-odds))
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]


class Chance(RegressorMixin, BaseEstimator):
    """An outcome model that learns nothing: sigmoid(x @ slopes) of the first two columns."""

    def __init__(self, slopes=(1.0, -0.8)):
        self.slopes = slopes

    def fit(self, X, y):
        return self

    def predict(self, X):
        return 1 / (1 + np.exp(-np.asarray(X)[:, :2] @ np.asarray(self.slopes)))


@pytest.fixture(scope="module")
def diagnosis():
    return diagnose(X, T, methods=())


@pytest.fixture
def ask(diagnosis):
    def asked(model=None, X=X, y=Y, T=T, **options):
        usual = {"outcome_model": Chance(), "weighter": W, "diagnosis": diagnosis}
        return evaluate(model or Scorer(), X, y, T, **{**usual, **options})

    return asked


def values(found, method, group=None):
    return {row.metric: row.value for row in found.table.where(method=method, group=group)}


def by_sklearn(y, p, chosen, w=None):
    """Metrics of two classes by scikit-learn."""
    s = p[:, 1]
    options = {"sample_weight": w}
    return {
        "accuracy": sk.accuracy_score(y, chosen, **options),
        "balanced_accuracy": sk.balanced_accuracy_score(y, chosen, **options),
        "precision": sk.precision_score(y, chosen, **options),
        "recall": sk.recall_score(y, chosen, **options),
        "specificity": sk.recall_score(y, chosen, pos_label=0, **options),
        "f1": sk.f1_score(y, chosen, **options),
        "roc_auc": sk.roc_auc_score(y, s, **options),
        "average_precision": sk.average_precision_score(y, s, **options),
        "brier": sk.brier_score_loss(y, s, **options),
        "log_loss": sk.log_loss(y, p, **options),
        "f1_weighted": sk.f1_score(y, chosen, average="weighted", **options),
        "recall of 0": sk.recall_score(y, chosen, pos_label=0, **options),
    }


def test_with_weights_of_one_and_the_same_rows_every_metric_is_scikit_learns():
    model = Scorer()
    found = evaluate(model, X, Y, X, metrics=NAMES, weighter=np.ones(N), outcome_model=Chance())
    expected = by_sklearn(Y, model.predict_proba(X), model.predict(X))
    for method in ("none", "weights"):
        there = values(found, method)
        for name, value in expected.items():
            assert there[name] == pytest.approx(value, abs=1e-12), (method, name)
        table = sk.confusion_matrix(Y, model.predict(X)) / N
        assert there["share of 0 predicted 1"] == pytest.approx(table[0, 1])
        assert there["share of 1 predicted 1"] == pytest.approx(table[1, 1])


def test_weights_are_those_of_scikit_learn(ask):
    model = Scorer()
    found = values(ask(metrics=NAMES), "weights")
    expected = by_sklearn(Y, model.predict_proba(X), model.predict(X), W)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-12), name


def atoms(seed, K=2, n=40, signed=False):
    rng = np.random.default_rng(seed)
    mass = rng.exponential(size=(n, K)) + 0.05
    mass[rng.uniform(size=(n, K)) < 0.3] = 0.0
    if signed:
        mass -= 0.3 * rng.exponential(size=(n, K))
    scores = rng.integers(1, 12, size=(n, K)) / 12
    scores = scores / scores.sum(axis=1, keepdims=True)
    return Masses(mass, scores, rng.integers(0, K, size=n))


@pytest.mark.parametrize("signed", [False, True])
def test_auc_by_one_sort_is_that_of_all_pairs(signed):
    m = atoms(1, signed=signed)
    p, n = m.pair(1)
    s = m.scores[:, 1]
    order = (s[:, None] > s) + 0.5 * (s[:, None] == s)
    assert on.roc_auc(m, 1).value == pytest.approx(p @ order @ n / (p.sum() * n.sum()), abs=1e-12)


def test_average_precision_by_one_sort_is_that_of_all_pairs():
    m = atoms(2)
    p, n = m.pair(1)
    s = m.scores[:, 1]
    above = (s >= s[:, None]) * 1.0
    right = (above @ p) / (above @ (p + n))
    assert on.average_precision(m, 1).value == pytest.approx(p @ right / p.sum(), abs=1e-12)


def test_many_classes_are_scikit_learns():
    m = atoms(3, K=3, n=60)
    rows, y = np.nonzero(m.mass > 0)
    w, p, chosen = m.mass[rows, y], m.scores[rows], m.chosen[rows]
    found = {
        metric.name: metric.of(m).value
        for metric in class_metrics(
            [
                "accuracy",
                "f1",
                "f1_weighted",
                "precision_per_class",
                "roc_auc",
                "brier",
                "log_loss",
            ],
            ("a", "b", "c"),
            0,
            "probabilities",
            None,
            None,
        )
    }
    options = {"sample_weight": w}
    assert found["accuracy"] == pytest.approx(sk.accuracy_score(y, chosen, **options))
    for average in ("macro", "weighted"):
        name = "f1" if average == "macro" else "f1_weighted"
        assert found[name] == pytest.approx(sk.f1_score(y, chosen, average=average, **options))
    each = sk.precision_score(y, chosen, average=None, **options)
    assert [found[f"precision of {c}"] for c in "abc"] == pytest.approx(list(each))
    auc = sk.roc_auc_score(y, p, multi_class="ovr", **options)
    assert found["roc_auc"] == pytest.approx(auc)
    assert found["log_loss"] == pytest.approx(sk.log_loss(y, p, **options))
    square = np.sum((p - np.eye(3)[y]) ** 2, axis=1)
    assert found["brier"] == pytest.approx(np.average(square, weights=w))


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("name", [*NAMES, "cost"])
def test_derivatives_are_those_of_the_metric(name, K):
    m = atoms(4, K=K)
    costs = np.arange(K * K).reshape(K, K) if name == "cost" else None
    made = class_metrics(name, tuple("abc"[:K]), K - 1, "probabilities", None, costs)
    for metric in made:
        found = metric.of(m)
        for j, c in ((0, 0), (5, 1), (17, K - 1), (33, 0)):
            step = np.zeros_like(m.mass)
            step[j, c] = 1e-6 * (m.mass[j, c] + 0.1)
            up, down = (
                metric.of(Masses(m.mass + sign * step, m.scores, m.chosen)).value
                for sign in (1, -1)
            )
            slope = (up - down) / (2 * step[j, c])
            assert found.gradient[j, c] == pytest.approx(slope, abs=2e-6), metric.name
        twice = metric.of(Masses(2 * m.mass, m.scores, m.chosen))
        assert twice.value == pytest.approx(found.value)
        assert np.sum(m.mass * found.gradient) == pytest.approx(0, abs=1e-9)


def test_calibration_of_true_probabilities_is_ideal_and_matches_logistic_regression():
    s = np.linspace(0.05, 0.95, 60)
    truth = Masses(np.column_stack([1 - s, s]), np.column_stack([1 - s, s]), np.zeros(60, int))
    assert on.calibration_slope(truth, 1).value == pytest.approx(1)
    assert on.calibration_intercept(truth, 1).value == pytest.approx(0, abs=1e-12)
    assert on.calibration_error(truth, 1).value == pytest.approx(0, abs=1e-12)
    m = atoms(5)
    odds = np.log(m.scores[:, 1] / m.scores[:, 0])
    fitted = LogisticRegression(C=np.inf, tol=1e-10).fit(
        np.concatenate([odds, odds])[:, None],
        np.repeat([0, 1], len(odds)),
        sample_weight=m.mass.T.ravel(),
    )
    assert on.calibration_slope(m, 1).value == pytest.approx(fitted.coef_[0, 0], rel=1e-4)


@pytest.mark.parametrize("method", ["none", "weights", "dr"])
def test_errors_are_those_of_the_infinitesimal_jackknife(method):
    """Each row's influence is its weight times the derivative of the estimate by this weight."""
    rows, target = np.arange(24), np.arange(20)
    names = [name for name in NAMES if name != "confusion_matrix"]
    shared = {
        "metrics": names,
        "outcome_model": Chance((0.8, -0.5)),
        "diagnosis": diagnose(X[rows], T[target], methods=()),
        "n_folds": 2,
        "restrict": "overlap",
    }

    def estimates(w, v):
        given = {"sample_weight": w} if method == "none" else {"weighter": w}
        if method == "none":
            given["weighter"] = np.ones(len(rows))
        found = evaluate(
            Scorer(digits=2), X[rows], Y[rows], T[target], target_weight=v, **given, **shared
        )
        return found.table.where(method=method)

    base = estimates(W[rows], V[target])
    moves = []
    for weights, k in [(W[rows], 0), (V[target], 1)]:
        psi = np.empty((len(weights), len(base)))
        for i in range(len(weights)):
            pair = [W[rows], V[target]]
            ends = []
            for sign in (1, -1):
                moved = weights.copy()
                moved[i] *= 1 + sign * 1e-5
                pair[k] = moved
                ends.append([row.value for row in estimates(*pair)])
            psi[i] = (np.array(ends[0]) - ends[1]) / 2e-5
        moves.append(psi)
    expected = np.sqrt(
        sum(
            len(psi) / (len(psi) - 1) * np.sum((psi - psi.mean(axis=0)) ** 2, axis=0)
            for psi in moves
        )
    )
    for row, error in zip(base, expected, strict=True):
        if method == "dr" and row.metric == "average_precision":
            continue  # one step: its derivative holds second-order terms besides
        assert row.standard_error == pytest.approx(error, rel=1e-4), row.metric

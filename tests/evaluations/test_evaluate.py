"""`evaluate`: metrics on masses and their errors, against scikit-learn, loops and known truths."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from calls import evaluate_with
from sklearn import metrics as sk
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from covshift import Cost, Predictions, Target, diagnose, evaluate
from covshift.data import Samples
from covshift.engine.intervals import sum_of_gaps
from covshift.engine.weights import weigh
from covshift.evaluations import Predicted
from covshift.evaluations import masses as on
from covshift.evaluations.labelled import Labelled
from covshift.evaluations.masses import Masses
from covshift.evaluations.methods import Classified
from covshift.evaluations.metrics import class_metrics
from covshift.evaluations.problem import ScoredProblem
from covshift.evaluations.scored import Scored
from covshift.exceptions import InputError, InputTypeError, NoOverlapError
from covshift.numerics.crossfit import deals
from covshift.registry import METRICS

N, M = 90, 70
_rng = np.random.default_rng(0)
X, T = _rng.normal(size=(N, 2)), _rng.normal(0.4, 1, size=(M, 2))
W, V = _rng.exponential(size=N) + 0.1, _rng.exponential(size=M) + 0.1
SLOPES = np.array([1.0, -0.8])
Y = (_rng.uniform(size=N) < 1 / (1 + np.exp(-X @ SLOPES))).astype(int)
Z = 1 + X @ SLOPES + _rng.normal(size=N)
GROUPS, TARGET_GROUPS = _rng.integers(0, 2, N), _rng.integers(0, 2, M)
CLASS_METRICS = [
    name
    for name, entry in METRICS.items()
    if entry.task == "classes" and entry.of in ("classes", "one class")
]
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
        return self.classes_[(self.predict_proba(X)[:, 1] >= 0.5).astype(int)]


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
        usual = {"outcome_model": Chance(), "weighter": W}
        model = Scorer() if model is None else model
        return evaluate_with(diagnosis, model, X, y, T, **{**usual, **options})

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
    name = Cost(np.arange(K * K).reshape(K, K)) if name == "cost" else name
    made = class_metrics(name, tuple("abc"[:K]), K - 1, "probabilities", None)
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


@pytest.mark.parametrize("name", NAMES)
def test_where_no_row_is_there_a_metric_is_undefined_and_nothing_warns(name):
    m = atoms(6)
    nothing = Masses(0 * m.mass, m.scores, m.chosen)
    for metric in class_metrics(name, ("a", "b"), 1, "probabilities", None):
        found = metric.of(nothing)
        assert np.isnan(found.value), metric.name
        assert np.isnan(found.gradient).all()


def test_calibration_of_true_probabilities_is_ideal_and_matches_logistic_regression():
    s = np.linspace(0.05, 0.95, 60)
    truth = Masses(np.column_stack([1 - s, s]), np.column_stack([1 - s, s]), np.zeros(60, int))
    assert on.calibration_slope(truth, 1).value == pytest.approx(1)
    assert on.calibration_intercept(truth, 1).value == pytest.approx(0, abs=1e-12)
    assert on.calibration_error(truth, 1).value == pytest.approx(0, abs=1e-12)
    m = atoms(5)
    odds = np.log(m.scores[:, 1] / m.scores[:, 0])
    fitted = LogisticRegression(C=1e12, tol=1e-10).fit(
        np.concatenate([odds, odds])[:, None],
        np.repeat([0, 1], len(odds)),
        sample_weight=m.mass.T.ravel(),
    )
    assert on.calibration_slope(m, 1).value == pytest.approx(fitted.coef_[0, 0], rel=1e-4)


@pytest.mark.parametrize(
    ("name", "K"),
    [("", 2), ("", 3), ("_weighted", 3), ("_per_class", 3), ("_per_class", 2)],
)
def test_a_calibration_error_is_the_sum_of_its_absolute_gaps(name, K):
    m = atoms(4, K=K)
    for metric in class_metrics(
        f"calibration_error{name}", tuple("abc"[:K]), K - 1, "probabilities", None
    ):
        gaps = [gap.of(m) for gap in metric.gaps]
        assert sum(abs(gap.value) for gap in gaps) == pytest.approx(metric.of(m).value)
        signed = sum(np.sign(gap.value) * gap.gradient for gap in gaps)
        np.testing.assert_allclose(signed, metric.of(m).gradient, atol=1e-12)
        assert any(gap.value < 0 for gap in gaps)


@pytest.mark.parametrize("true", [0.0, 0.01, 0.03])
@pytest.mark.parametrize("spike", [False, True])
def test_sums_of_absolute_gaps_have_intervals_that_hold(true, spike):
    """Ten gaps with errors of .01: by the signs that were seen, 0 % where all of them are zero."""
    rng = np.random.default_rng(0)
    gaps, sizes = np.full(10, true) * (-1.0) ** np.arange(10), np.full(10, 0.01)
    gaps[1:] *= not spike
    found = [
        sum_of_gaps(gaps + sizes * rng.normal(size=10), sizes, 0.01 * np.sqrt(10), 1.96)
        for _ in range(400)
    ]
    inside = [number.low <= np.abs(gaps).sum() <= number.high for number in found]
    assert np.mean(inside) >= 0.93
    assert all(number.low <= number.value <= number.high for number in found)


@pytest.mark.thorough
def test_the_interval_of_a_calibration_error_reaches_down_to_zero_where_scores_are_right():
    rng = np.random.default_rng(3)
    rows, target = rng.normal(size=(2, 250, 2))
    p, t = (1 / (1 + np.exp(-part[:, 0])) for part in (rows, target))
    labels = (rng.random(250) < p).astype(int)
    found = evaluate(Predictions(p, t), rows, labels, target, metrics="calibration_error")
    for line in found.table:
        if line.method in ("dr", "weights", "none"):
            assert line.value > 0.005
            assert line.interval[0] == 0
            assert line.interval[1] < 0.2
    off = evaluate(Predictions(p**3, t**3), rows, labels, target, metrics="calibration_error")
    assert off["calibration_error"].interval[0] > 0.05


def judged(X, y, T, w, chance, digits=1):
    """Put a classifier, rows and weights together, as `evaluate` does."""
    nothing = dict.fromkeys(["by", "sample_weight", "target_weight", "strata", "cluster"])
    sample = Samples.of(X, None, T, **nothing)
    weights = weigh(sample, w, max_weight=None, random_state=0)
    p, t = map(Scorer(digits=digits).predict_proba, (X, T))
    chosen = [(part[:, 1] >= 0.5).astype(int) for part in (p, t)]
    scored = Scored("scores", p, t, "probabilities", ("0", "1"), 1, *chosen)
    problem = ScoredProblem(
        sample, weights, "dr", 0.95, 2, chance, False, 0, scores=scored.columns()
    )
    return Classified(problem, scored, y)


@pytest.fixture(scope="module")
def judge():
    return judged(X[:24], Y[:24], T[:20], W[:24], Chance((0.8, -0.5)), digits=2)


@pytest.mark.parametrize("method", ["none", "weights", "dr"])
@pytest.mark.parametrize("name", [*CLASS_METRICS, "f1_weighted"])
def test_influence_values_are_those_of_the_infinitesimal_jackknife(judge, name, method):
    """Each row's influence is its weight times the derivative of the estimate by this weight."""
    (metric,) = class_metrics(name, ("0", "1"), 1, "probabilities", None)
    d, w, v = W[:24][::-1], W[:24], V[:20]

    def found(d, w, v):
        problem = judge.problem.with_weights(d, w, v / v.sum())
        return replace(judge, problem=problem).influence(metric, method)

    base, step = found(d, w, v), 1e-5
    for i in (0, 7, 23):
        up, down = (np.where(np.arange(24) == i, 1 + sign * step, 1.0) for sign in (1, -1))
        move = (found(d * up, w * up, v).value - found(d * down, w * down, v).value) / (2 * step)
        assert base.train[i] == pytest.approx(move, abs=1e-8)
    for q in (0, 11):
        up, down = (np.where(np.arange(20) == q, 1 + sign * step, 1.0) for sign in (1, -1))
        move = (found(d, w, v * up).value - found(d, w, v * down).value) / (2 * step)
        if method == "dr":
            assert base.target[q] == pytest.approx(move, abs=1e-8)
        else:
            assert move == base.target[q] == 0


def shifted(seed, size=200, n_target=200):
    """Draw labelled rows around 0 and target rows around 0.5, with their density ratio."""
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(size, 2)), rng.normal([0.5, 0.0], 1, size=(n_target, 2))
    y = (rng.uniform(size=size) < Chance().predict(X)).astype(int)
    return X, y, T, np.exp(0.5 * X[:, 0] - 0.125)


@pytest.mark.thorough
@pytest.mark.parametrize("exact", ["outcome model", "weights"])
def test_the_doubly_robust_estimate_is_right_if_either_part_is(exact):
    rng = np.random.default_rng(1)
    T = rng.normal([0.5, 0.0], 1, size=(200_000, 2))
    model, names = Scorer(), ["accuracy", "brier", "roc_auc", "recall", "average_precision"]
    truth = (rng.uniform(size=len(T)) < Chance().predict(T)).astype(int)
    true = by_sklearn(truth, model.predict_proba(T), model.predict(T))
    expected = np.array([true[name] for name in names])
    metrics = class_metrics(names, ("0", "1"), 1, "probabilities", None)
    rounds = []
    for seed in range(40):
        X, y, T, ratio = shifted(seed)
        given = (
            (np.ones(len(X)), Chance()) if exact == "outcome model" else (ratio, Chance((0.3, 0.3)))
        )
        one = judged(X, y, T, *given)
        rounds.append([one.number(metric, "dr") for metric in metrics])
    found = np.array([[(n.value, n.low, n.high) for n in numbers] for numbers in rounds])
    miss = found[:, :, 0].mean(axis=0) - expected
    noise = found[:, :, 0].std(axis=0, ddof=1) / np.sqrt(len(found))
    assert (np.abs(miss) < 3.5 * noise).all()
    inside = (found[:, :, 1] <= expected) & (expected <= found[:, :, 2])
    assert (inside.mean(axis=0) > 0.85).all()


def test_scores_alone_give_the_same_as_their_model(ask):
    model = Scorer()
    s, s_t = model.predict_proba(X), model.predict_proba(T)
    first, second, third = (
        ask(metrics=NAMES),
        ask(s[:, 1], target_scores=s_t[:, 1], metrics=NAMES),
        ask(s, target_scores=s_t, metrics=NAMES),
    )
    for method in ("dr", "pape", "cbpe", "model", "none"):
        expected = values(first, method)
        assert values(second, method) == pytest.approx(expected, abs=1e-9)
        assert values(third, method) == pytest.approx(expected, abs=1e-9)


def test_scores_beyond_zero_and_one_have_ranks_and_signs(ask):
    odds, t = X @ SLOPES, T @ SLOPES
    found = ask(odds, target_scores=t)
    assert [row.metric for row in found] == ["accuracy", "roc_auc"]
    assert values(found, "none")["accuracy"] == pytest.approx(np.mean((odds >= 0) == Y))
    with pytest.raises(InputError, match="needs probabilities"):
        ask(odds, target_scores=t, metrics="brier")


def test_the_positive_class_and_the_threshold(ask):
    p = 1 - Scorer().predict_proba(X)[:, 1]
    t = 1 - Scorer().predict_proba(T)[:, 1]
    found = ask(
        p, target_scores=t, positive=0, threshold=0.6, metrics=["recall", "roc_auc", "log_loss"]
    )
    there = values(found, "none")
    assert there["recall"] == pytest.approx(np.mean(p[Y == 0] >= 0.6))
    assert there["roc_auc"] == pytest.approx(sk.roc_auc_score(Y == 0, p))
    assert there["log_loss"] == pytest.approx(sk.log_loss(Y == 0, p))


def test_calibrated_scores_are_those_of_a_logistic_regression_by_folds(ask):
    found = ask(metrics="brier")
    odds, t = (np.log(p[:, 1] / p[:, 0]) for p in map(Scorer().predict_proba, (X, T)))
    dealt = deals(X, Y.astype(float), 5, 5)
    for method, weight in (("cbpe", np.ones(N)), ("pape", W)):
        q = 0
        for fold, k in product(dealt, range(5)):
            kept = fold != k
            fitted = LogisticRegression(C=1e12).fit(odds[kept][:, None], Y[kept], weight[kept])
            q = q + fitted.predict_proba(t[:, None])[:, 1] / 25
        s = Scorer().predict_proba(T)[:, 1]
        expected = np.mean(q * (1 - s) ** 2 + (1 - q) * s**2)
        assert values(found, method)["brier"] == pytest.approx(expected, abs=2e-4)


def test_a_group_is_its_own_target(ask):
    found = ask(by=(GROUPS, TARGET_GROUPS), metrics=["accuracy", "roc_auc", "average_precision"])
    inside, there = GROUPS == 1, TARGET_GROUPS == 1
    alone = ask(X=X[inside], y=Y[inside], T=T[there], weighter=W[inside], metrics=["accuracy"])
    assert values(found, "weights", "1")["accuracy"] == pytest.approx(
        values(alone, "weights")["accuracy"]
    )
    s = Scorer().predict_proba(X)[inside, 1]
    assert values(found, "none", "1")["roc_auc"] == pytest.approx(sk.roc_auc_score(Y[inside], s))
    q = Chance().predict(X)
    rest = W * (Y - q) * np.where(Scorer().predict(X) == 1, 1, -1) / W.sum()
    chosen = Scorer().predict(T)
    hit = np.where(chosen == 1, Chance().predict(T), 1 - Chance().predict(T))
    expected = (rest[inside].sum() + hit[there].sum() / M) / there.mean()
    assert values(found, "dr", "1")["accuracy"] == pytest.approx(expected)
    with pytest.raises(InputError, match="pair"):
        ask(by=GROUPS)


@pytest.mark.thorough
def test_rows_that_trained_the_model_do_not_judge_it(ask):
    trained = np.arange(N) < 40
    tree = DecisionTreeClassifier(random_state=0).fit(X[trained], Y[trained])
    for marked in (trained, np.arange(40)):
        found = ask(tree, trained_on=marked, outcome_model=None)
        assert (found.n_train, found.n_learned) == (N - 40, 40)
        assert values(found, "none")["accuracy"] == pytest.approx(tree.score(X[40:], Y[40:]))
        assert not found.weights[:40].any()
        assert not any(note.kind == "perfect score" for note in found.notes)
    with pytest.raises(InputError, match="judge"):
        ask(tree, trained_on=np.ones(N, bool))
    with pytest.raises(InputError, match="trained_on must be"):
        ask(tree, trained_on=[N])


def test_the_outcome_model_learns_from_rows_that_trained_the_model(ask):
    """With all rows but a few marked, q is that of all rows outside the fold."""
    trained = np.arange(N) < 70
    found = ask(trained_on=trained, outcome_model=LogisticRegression(C=1.0), metrics="accuracy")
    q = 0
    for fold, k in product(deals(X[70:], Y[70:].astype(float), 5, 5), range(5)):
        rows = np.concatenate([np.arange(70, N)[fold != k], np.arange(70)])
        q = q + LogisticRegression(C=1.0).fit(X[rows], Y[rows]).predict_proba(T)[:, 1] / 25
    expected = np.mean(np.where(Scorer().predict(T) == 1, q, 1 - q))
    assert values(found, "model")["accuracy"] == pytest.approx(expected, abs=1e-4)


def test_a_perfect_score_is_a_warning_and_cv_refits(ask):
    tree = DecisionTreeClassifier(random_state=0).fit(X, Y)
    found = ask(tree, metrics="accuracy")
    assert [note.severity for note in found.notes if note.kind == "perfect score"] == ["warning"]
    again = ask(tree, metrics="accuracy", cv=3)
    assert values(again, "none")["accuracy"] == pytest.approx(
        np.mean(cross_val_predict(tree, X, Y, cv=3) == Y)
    )
    assert not any(note.kind == "perfect score" for note in again.notes)
    with pytest.raises(InputError, match="one of the two"):
        ask(tree, cv=3, trained_on=[0])


def test_disagreement_beyond_the_errors_is_a_warning(ask):
    wrong = ask(outcome_model=Chance((-3.0, 3.0)), metrics="accuracy")
    assert any(note.kind == "disagreement" and "'model'" in note.text for note in wrong.notes)
    right = ask(metrics="accuracy")
    assert not any(note.kind == "disagreement" and "'model'" in note.text for note in right.notes)


def test_models_are_compared_by_joint_errors(ask):
    pair = {"a": Scorer(), "b": Scorer((0.85, -0.45))}
    found = ask(pair, metrics=["brier", "roc_auc"])
    difference = found.differences[0]
    a, b = found["a", "brier"], found["b", "brier"]
    assert (difference.model, difference.reference, difference.metric) == ("b", "a", "brier")
    assert difference.value == pytest.approx(b.value - a.value)
    assert difference.standard_error < 0.5 * a.standard_error  # the models are much alike
    assert all(row.value == 0 for row in ask({"a": Scorer(), "b": Scorer()}).differences)


def test_numbers_are_scikit_learns_and_losses_of_ones_own():
    model = LinearRegression().fit(X[:30], Z[:30])
    names = ["mse", "rmse", "mae", "median_absolute_error", "r2", "bias", log_cosh]
    found = evaluate(model, X, Z, X, metrics=names, weighter=W, outcome_model=LinearRegression())
    f = model.predict(X)
    for method, w in (("none", None), ("weights", W)):
        expected = {
            "mse": sk.mean_squared_error(Z, f, sample_weight=w),
            "rmse": sk.root_mean_squared_error(Z, f, sample_weight=w),
            "mae": sk.mean_absolute_error(Z, f, sample_weight=w),
            "r2": sk.r2_score(Z, f, sample_weight=w),
            "bias": np.average(f - Z, weights=w),
            "log_cosh": np.average(log_cosh(Z, f), weights=w),
        }
        there = values(found, method)
        for name, value in expected.items():
            assert there[name] == pytest.approx(value), name
    median = np.sort(np.abs(Z - f))[N // 2 - 1]
    assert values(found, "none")["median_absolute_error"] == pytest.approx(median)
    assert {row.method for row in found.table} == {"dr", "weights", "model", "none"}


def log_cosh(y, f):
    return np.log(np.cosh(y - f))


@pytest.mark.thorough
def test_errors_of_rmse_and_r2_are_those_of_the_jackknife():
    f = X @ [0.7, -0.5]

    def found(w):
        return evaluate(
            Predictions(f, f),
            X,
            Z,
            X,
            metrics=["rmse", "r2"],
            weighter=w,
            outcome_model=Mean(),
        ).table.where(method="weights")

    base = found(W)
    left = np.array([_by_hand(Z, f, W, i) for i in range(N)])
    for row, psi in zip(base, left.T, strict=True):
        expected = np.sqrt(N / (N - 1) * np.sum((psi - psi.mean()) ** 2))
        assert row.standard_error == pytest.approx(expected, rel=1e-4)


class Mean(Chance):
    """An outcome model that always says zero."""

    def predict(self, X):
        return np.zeros(len(X))


def _by_hand(y, f, w, i):
    ends = []
    for sign in (1, -1):
        v = w.copy()
        v[i] *= 1 + sign * 1e-5
        ends.append(
            [
                sk.root_mean_squared_error(y, f, sample_weight=v),
                sk.r2_score(y, f, sample_weight=v),
            ]
        )
    return (np.array(ends[0]) - ends[1]) / 2e-5


def test_a_loss_of_classes_is_a_metric_of_masses(ask):
    def squared(y, s):
        return (y - s) ** 2

    found = ask(metrics=[squared, "brier"])
    for method in ("dr", "pape", "none"):
        there = values(found, method)
        assert there["squared"] == pytest.approx(there["brier"])


def test_costs_are_weighted_cells_of_the_table(ask):
    costs = [[0, 1], [5, -2]]
    found = ask(metrics=[Cost(costs), "confusion_matrix"])
    for method in ("dr", "weights"):
        there = values(found, method)
        cells = {(a, b): there[f"share of {a} predicted {b}"] for a in (0, 1) for b in (0, 1)}
        assert sum(cells.values()) == pytest.approx(1)
        expected = cells[0, 1] + 5 * cells[1, 0] - 2 * cells[1, 1]
        assert there["cost"] == pytest.approx(expected)


def test_three_classes_and_names_as_labels(ask):
    names = np.array(["low", "middle", "top"])
    y = names[np.digitize(Z, [0.0, 1.5])]
    model = LogisticRegression().fit(X[:45], y[:45])
    found = ask(
        model,
        y=y,
        outcome_model=LogisticRegression(),
        metrics=["accuracy", "f1_per_class", "roc_auc", "log_loss"],
    )
    there = values(found, "none")
    assert there["accuracy"] == pytest.approx(model.score(X, y))
    each = sk.f1_score(y, model.predict(X), average=None)
    assert [there[f"f1 of {name}"] for name in names] == pytest.approx(list(each))
    assert found["log_loss"].interval[0] < there["log_loss"] < found["log_loss"].interval[1] + 1
    assert "F1 of low" in str(found)


def test_a_model_that_only_predicts_has_no_scores(ask):
    class Labels(ClassifierMixin, BaseEstimator):
        classes_ = np.array([0, 1])

        def predict(self, X):
            return (np.asarray(X)[:, 0] > 0).astype(int)

    found = ask(Labels())
    assert [row.metric for row in found] == ["accuracy"]
    assert {row.method for row in found.table} == {"dr", "weights", "model", "none"}
    with pytest.raises(InputError, match="needs scores"):
        ask(Labels(), metrics="roc_auc")
    with pytest.raises(InputError, match="no scores"):
        ask(Labels(), threshold=0.3)
    with pytest.raises(InputError, match="calibrates scores"):
        ask(Labels(), method="cbpe")


def test_a_change_of_the_outcome_given_the_features_is_found():
    same, other = [], []
    for seed in range(30):
        X, y, T, ratio = shifted(seed)
        judge = judged(X, y, T, ratio, Chance((0.6, -0.6)))
        rng = np.random.default_rng(seed + 1000)
        for found, slopes in ((same, (1.0, -0.8)), (other, (-1.0, 0.8))):
            truth = (rng.uniform(size=60) < Chance(slopes).predict(T[:60])).astype(int)
            few = Labelled(np.arange(60), truth, np.full(60, 1 / 200))
            found.append(few.change_of_classes(judge).p_value)
    assert np.mean(np.array(same) < 0.1) <= 0.27  # 8 of 30: one in a hundred by chance
    assert np.mean(np.array(other) < 0.01) > 0.8


def test_a_changed_outcome_is_a_warning_also_for_numbers(ask):
    y = 1 + T @ SLOPES
    options = {"outcome_model": LinearRegression(), "metrics": ["mse", "r2", "bias"]}
    model = LinearRegression().fit(X, Z)
    assert ask(model, y=Z, y_target=y, **options).changes[0].p_value > 0.001
    found = ask(model, y=Z, y_target=y + 3 * T[:, 1] + 1, **options)
    assert any(note.kind == "changed outcome" for note in found.notes)
    f = model.predict(T)
    expected = [
        sk.mean_squared_error(y + 3 * T[:, 1] + 1, f),
        sk.r2_score(y + 3 * T[:, 1] + 1, f),
        np.mean(f - y - 3 * T[:, 1] - 1),
    ]
    assert [row.value for row in found.table.where(method="labels")] == pytest.approx(expected)


@pytest.mark.thorough
def test_every_batch_is_a_target_of_its_own():
    month = np.where(np.arange(M) < 40, "May", "June")
    options = {"outcome_model": Chance(), "metrics": "accuracy", "weighter": W}
    found = evaluate(Scorer(), X, Y, Target(T, batch=month), **options)
    assert list(found.batches) == ["May", "June"]
    alone = evaluate(Scorer(), X, Y, T[:40], **options)
    assert values(found.batches["May"], "dr") == values(alone, "dr")
    assert "batch: accuracy" in str(found)
    assert found.to_dict()["batches"]["May"]["n_target"] == 40
    with pytest.raises(InputError, match="no such column"):
        evaluate(Scorer(), X, Y, Target(T, batch="month"), **options)


@pytest.mark.thorough
def test_frames_with_categories_go_to_the_model_as_they_are():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(4)
    names = np.array(["north", "south"])
    frame, target = (
        pd.DataFrame(
            {"a": part[:, 0], "b": part[:, 1], "place": names[rng.integers(0, 2, len(part))]}
        )
        for part in (X, T)
    )
    encode = make_column_transformer((OneHotEncoder(), ["place"]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression()).fit(frame[:40], Y[:40])
    found = evaluate(
        Predictions(model, trained_on=np.arange(40)),
        frame,
        Y,
        Target(target, batch="place"),
        metrics="accuracy",
        by="place",
        outcome_model=model,
    )
    assert {row.group for row in found} == {None, "north", "south"}
    assert values(found, "none")["accuracy"] == pytest.approx(model.score(frame[40:], Y[40:]))
    assert list(found.batches) == ["north", "south"]


def test_what_is_not_covered_is_left_out_with_its_scores():
    far = T.copy()
    far[:30, 0] += 50
    s, t = Scorer().predict_proba(X)[:, 1], Scorer().predict_proba(far)[:, 1]
    options = {"metrics": "brier", "outcome_model": Chance(), "restrict": "overlap", "weighter": W}
    found = evaluate(Predictions(s, t), X, Y, far, **options)
    assert found.n_target < M
    assert found.covered_share < 0.6
    same = evaluate(Scorer(), X, Y, far, **options)
    assert found["brier"].value == pytest.approx(same["brier"].value)
    with pytest.raises(NoOverlapError):
        evaluate(Predictions(s, t), X, Y, far, **(options | {"restrict": None}))


def test_the_result_prints_and_stores_what_it_found(ask):
    found = ask(metrics=["roc_auc", "brier"], by=(GROUPS, TARGET_GROUPS))
    row = found["roc_auc"]
    assert found.sentence.startswith("AUC: 0.")
    assert "expected on the target (95% CI 0." in found.sentence
    assert "weighted calibration (PAPE)" in str(found)
    assert max(map(len, str(found).splitlines())) <= 130
    stored = json.loads(json.dumps(found.to_dict()))
    assert stored["performances"][0]["value"] == row.value
    assert stored["sentence"] == found.sentence
    assert "<table>" in found._repr_html_()
    assert "roc_auc" not in str(found.table)
    assert "AUC" in str(found.table)
    with pytest.raises(InputError, match="no metric 'f1'"):
        found["f1"]


def test_frames_and_pictures(ask):
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    found = ask(metrics=["roc_auc", "brier"])
    frame = found.to_frame(methods=True)
    assert list(frame["method"][:6]) == ["dr", "weights", "model", "cbpe", "pape", "none"]
    assert (frame["low"] <= frame["value"]).all()
    assert len(found.plot().ax_.get_yticks()) == 2


def test_rows_without_a_label_are_left_out(ask):
    y = Y.astype(float)
    y[[3, 8]] = np.nan
    found = ask(y=y, metrics="accuracy")
    kept = np.isfinite(y)
    right = Scorer().predict(X[kept]) == y[kept]
    assert values(found, "none")["accuracy"] == pytest.approx(right.mean())
    assert any("rows 3, 8" in note.text for note in found.notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": "acuracy"}, "not a metric for classes"),
        ({"metrics": "accuracy_weighted"}, "not a metric for classes"),
        ({"metrics": []}, "metrics is empty"),
        ({"metrics": 3}, "neither a name"),
        ({"metrics": [3]}, "neither a name"),
        ({"metrics": [lambda y, s: y, lambda y, s: s]}, "a name of its own"),
        ({"metrics": [lambda y, s: 1.0]}, "one number per row"),
        ({"metrics": [lambda y, s: np.where(y == 0, np.nan, s)]}, "NaN or infinite"),
        ({"metrics": "cost"}, r"pass Cost\("),
        ({"metrics": Cost(np.eye(3))}, "Pass 2 lines"),
        ({"method": "best"}, "method='best' must be"),
        ({"task": "ranking"}, "task='ranking' must be"),
        ({"threshold": np.nan}, "threshold=nan must be"),
        ({"confidence": 95}, "confidence=95 must be"),
        ({"positive": "yes"}, "not one of"),
        ({"target_scores": np.ones(M)}, "makes its own"),
        ({"y": np.array(["no", "maybe"])[Y]}, "the model knows"),
        ({"y": Y[1:]}, "rows, but X has"),
        ({"y": np.column_stack([Y, Y])}, "Pass one outcome per row"),
        ({"model": LogisticRegression()}, "not fitted"),
        ({"model": {}}, "empty dict"),
        ({"trained_on": [0.5]}, "trained_on must be"),
        ({"y_target": Y}, "but X_target has"),
        ({"y_target": np.full(M, 2)}, "y_target holds"),
        ({"y_target": [1, 0] + [None] * (M - 2)}, "at least 5"),
        ({"batch": np.arange(3)}, "but X_target has"),
        ({"batch": [None] + ["a"] * (M - 1)}, "some are missing"),
    ],
)
def test_bad_input_is_refused_in_plain_words(ask, options, message):
    with pytest.raises(InputError, match=message):
        ask(**options)


@pytest.mark.parametrize(
    ("scores", "target", "options", "message"),
    [
        (Y / 2, None, {}, "target_scores"),
        (Y[1:] / 2, T[:, 0], {}, r"has \d+ rows, but X"),
        (Y / 2, T[1:, 0], {}, r"has \d+ rows, but X"),
        (np.full(N, np.nan), T[:, 0], {}, "NaN or infinity"),
        (X, T[:, 0], {}, "the same columns"),
        (np.ones((N, 3)), np.ones((M, 3)), {}, "3 scores per row"),
        (Y / 2, T[:, 0], {"cv": 3}, "cv refits a model"),
        (Y / 2, T[:, 0], {"y": np.zeros(N), "task": "classes"}, "only the class 0"),
        (Z, T[:, 0], {"y": Z, "metrics": "accuracy"}, "not a metric for numbers"),
        (Z, T[:, 0], {"y": Z, "method": "cbpe"}, "for numbers use"),
        (Z, T[:, 0], {"y": Z, "metrics": Cost(np.eye(2))}, "is for classes"),
        ({"a": Y / 2}, {"b": T[:, 0]}, {}, "which the model does not"),
        ({"a": Y / 2}, T[:, 0], {}, "must be a dict"),
    ],
)
def test_bad_scores_are_refused_in_plain_words(ask, scores, target, options, message):
    with pytest.raises(InputError, match=message):
        ask(scores, target_scores=target, **options)


@pytest.mark.parametrize("model", [None, LogisticRegression, object()])
def test_what_is_neither_a_model_nor_scores_is_refused(model):
    with pytest.raises(InputTypeError):
        evaluate(Predictions(model, T[:, 0]), X, Y, T)


def test_a_name_that_is_no_column_of_scores_is_refused():
    with pytest.raises(InputError, match="model='LogisticRegression' names a column, but X has"):
        evaluate(Predictions("LogisticRegression", T[:, 0]), X, Y, T)


@pytest.mark.parametrize("scored", [True, False])
def test_what_a_classifier_said_is_judged_as_the_classifier(scored):
    names = np.array(["no", "yes"])[Y]
    model = LogisticRegression().fit(X[:40], names[:40])
    said = Predicted(
        (model.predict(X), model.predict(T)),
        (model.predict_proba(X), model.predict_proba(T)) if scored else None,
        model.classes_ if scored else None,
    )
    judged = model if scored else OnlyClasses(model)
    found, expected = (
        evaluate(Predictions({"m": one}, task="classes"), X, names, T) for one in (said, judged)
    )
    assert [row.value for row in found] == [row.value for row in expected]
    assert [row.interval for row in found] == [row.interval for row in expected]


class OnlyClasses(ClassifierMixin, BaseEstimator):
    """A fitted classifier without its scores."""

    def __init__(self, model):
        self.model = model

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, rows):
        return self.model.predict(rows)

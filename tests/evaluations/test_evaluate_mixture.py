"""The default of `evaluate`: the mixture of chances, and its doubly robust check."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from calls import evaluate_with
from reference import (
    auc_and_parts,
    judged_by_pairs,
    likeliest_on_a_grid,
    log_likelihood,
)
from scipy import stats
from sklearn import metrics as sk
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LinearRegression, LogisticRegression

from covshift import diagnose, evaluate
from covshift.data import Samples
from covshift.engine.intervals import Errors
from covshift.engine.stack import BoostedClasses, tree_settings
from covshift.engine.weights import weigh
from covshift.evaluations.chances import likeliest, mixed
from covshift.numerics.crossfit import Features, FoldFits
from covshift.numerics.influence import Design, Influence

N, M = 60, 50
_rng = np.random.default_rng(7)
X, T = _rng.normal(size=(N, 2)), _rng.normal([0.7, -0.3], 1, size=(M, 2))
TRUE = (1.0, -0.8)
NONE, PART, MOST = (1.0, 0.5), (0.5, -0.2), (-3.0, 3.0)
GROUPS, TARGET_GROUPS = _rng.integers(0, 2, N), _rng.integers(0, 2, M)


def chance(slopes, rows):
    return 1 / (1 + np.exp(-np.asarray(rows)[:, :2] @ np.asarray(slopes)))


Y = (_rng.uniform(size=N) < chance(TRUE, X)).astype(int)
Z = X @ TRUE + 0.5 * X[:, 0] ** 2 + _rng.normal(size=N)


class Scorer(ClassifierMixin, BaseEstimator):
    """A fitted classifier of known scores with ties."""

    classes_ = np.array([0, 1])

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        p = np.clip(np.round(chance((0.9, -0.4), X), 1), 0.1, 0.9)
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return (self.predict_proba(X)[:, 1] >= 0.5).astype(int)


class Chance(RegressorMixin, BaseEstimator):
    """An outcome model that learns nothing."""

    def __init__(self, slopes=TRUE):
        self.slopes = slopes

    def fit(self, X, y):
        return self

    def predict(self, X):
        return chance(self.slopes, X)


@pytest.fixture(scope="module")
def diagnosis():
    return diagnose(X, T, methods=())


@pytest.fixture
def ask(diagnosis):
    def asked(model=None, y=Y, **options):
        usual = {"outcome_model": Chance()}
        model = Scorer() if model is None else model
        return evaluate_with(diagnosis, model, X, y, T, **{**usual, **options})

    return asked


@pytest.fixture(scope="module")
def sample():
    nothing = dict.fromkeys(["by", "sample_weight", "target_weight", "strata", "cluster"])
    return Samples.of(X, None, T, **nothing)


@pytest.fixture(scope="module")
def weights(sample):
    return weigh(sample, None, max_weight=None, random_state=0)


def values(found, method="dr", group=None):
    return {row.metric: row.value for row in found.table.where(method=method, group=group)}


# The mixture


@pytest.mark.parametrize("parts", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_the_shares_are_the_likeliest_of_all(parts, seed):
    rng = np.random.default_rng(seed)
    seen = rng.beta(2 + np.arange(parts), 2, size=(25, parts))
    weight = rng.exponential(size=25)
    found = likeliest(seen, weight)
    best = likeliest_on_a_grid(seen, weight, steps=60 if parts == 3 else 400)
    assert found.sum() == pytest.approx(1)
    assert (found >= 0).all()
    assert log_likelihood(found, seen, weight) >= log_likelihood(best, seen, weight) - 1e-4
    assert found == pytest.approx(best, abs=0.03)


def test_a_weight_is_a_row_repeated():
    rng = np.random.default_rng(0)
    seen, weight = rng.uniform(size=(12, 3)), rng.integers(0, 4, size=12)
    found = likeliest(seen, weight.astype(float))
    again = likeliest(np.repeat(seen, weight, axis=0), np.ones(weight.sum()))
    assert found == pytest.approx(again, abs=1e-12)


def test_one_row_that_a_part_thought_impossible_does_not_decide():
    seen = np.column_stack([np.full(100, 0.9), np.full(100, 0.6)])
    seen[0, 0] = 0.0
    found = likeliest(seen, np.ones(100))
    assert found[0] > 0.9
    best = likeliest_on_a_grid(seen.tolist(), np.ones(100), steps=1000)
    assert found == pytest.approx(best, abs=0.005)


def test_a_row_that_all_parts_thought_impossible_tells_nothing():
    seen = np.column_stack([np.full(50, 0.9), np.full(50, 0.6)])
    seen[:2] = [0.0, 0.0], [0.0, 1e-6]
    assert likeliest(seen, np.ones(50)) == pytest.approx([1, 0], abs=1e-6)
    best = likeliest_on_a_grid(seen.tolist(), np.ones(50))
    assert best == [1, 0]


def test_a_part_that_is_never_right_has_no_share_and_one_always_right_has_all():
    middle = np.full(30, 0.5)
    assert likeliest(np.column_stack([middle, 0 * middle]), np.ones(30))[1] < 1e-6
    assert likeliest(np.column_stack([middle, 2 * middle]), np.ones(30))[1] > 1 - 1e-6


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_equal_parts_have_equal_shares(parts):
    seen = np.repeat(np.linspace(0, 1, 20)[:, None], parts, axis=1)
    assert likeliest(seen, np.ones(20)) == pytest.approx(np.full(parts, 1 / parts), abs=1e-12)


def test_predictions_are_mixed_without_parts_of_less_than_a_hundredth():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 40)
    right = rng.uniform(0.2, 0.9, size=(2, 40))
    fits, here, there = {}, [], []
    for name, p in zip("abc", [*right, np.zeros(40)], strict=True):
        train = np.column_stack([np.where(labels == c, p, 1 - p) for c in (0, 1)])
        more = np.vstack([train, np.full((5, 2), 0.5)])  # rows that trained the model judge nothing
        answer = rng.dirichlet([1, 1], size=7)
        fits[name] = (
            FoldFits(more, [lambda rows, a=answer: a] * 2),
            Features(more, np.zeros((7, 1))),
        )
        here.append(train)
        there.append(answer)
    found, names = mixed(fits, labels, np.ones(40))
    a, b = likeliest_on_a_grid(right.T.tolist(), np.ones(40), steps=1000)
    assert list(names) == ["a", "b"]
    assert found.train == pytest.approx(a * here[0] + b * here[1], abs=0.01)
    assert found.target == pytest.approx(a * there[0] + b * there[1], abs=0.01)
    assert found.folds.shape == (2, 7, 2)


@pytest.mark.thorough
def test_models_that_learn_from_training_rows_are_parts_of_the_mixture(ask):
    found = ask(outcome_model=None, trained_on=np.arange(10), metrics="brier")
    (parts,) = found.models.values()
    known = {"logistic", "boosted trees", "calibrated scores", "weighted calibration"}
    known |= {"logistic of all rows", "boosted trees of all rows"}
    assert set(parts) <= known
    assert sum(parts.values()) == pytest.approx(1)


@pytest.mark.part(3)
@pytest.mark.parametrize("positives", [1, 2])
def test_a_fold_that_has_one_class_alone_is_no_hindrance(ask, positives):
    y = np.zeros(N, dtype=int)
    y[:positives] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = ask(y=y, outcome_model=None, metrics=["accuracy", "brier", "roc_auc"])
    for method in ("dr", "model", "pape", "cbpe"):
        there = values(found, method)
        assert np.isfinite([there["accuracy"], there["brier"]]).all(), method
    assert values(found)["brier"] == pytest.approx(values(found, "weights")["brier"], abs=0.1)


@pytest.mark.thorough
def test_trees_of_many_rows_learn_of_a_class_of_one_row():
    """Above 10,000 rows scikit-learn holds some out, class by class."""
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(10_001, 1)), np.zeros(10_001)
    y[0] = 1
    settings = {**tree_settings(10_001), "max_iter": 1}
    assert BoostedClasses(**settings).fit(rows, y).predict_proba(rows[:3]).shape == (3, 2)
    y[1:2000] = 1
    assert BoostedClasses(**settings).fit(rows, y).do_early_stopping_


# The doubly robust check


@pytest.mark.part(3)
@pytest.mark.parametrize("slopes", [NONE, PART, MOST])
def test_metrics_are_those_of_all_pairs_of_masses(ask, weights, slopes):
    s, s_t = (Scorer().predict_proba(rows)[:, 1] for rows in (X, T))
    share = weights.final / weights.final.sum()
    even = np.full(M, 1 / M)
    q, q_t = chance(slopes, X), chance(slopes, T)
    expected = judged_by_pairs(Y, q, q_t, s, s_t, share, even)
    found = ask(outcome_model=Chance(slopes), metrics=list(expected))
    assert values(found) == pytest.approx(expected, abs=1e-9)
    alone = judged_by_pairs(Y, q, q_t, s, s_t, np.zeros(N), even)
    assert values(found, "model") == pytest.approx(alone, abs=1e-9)
    assert {row.metric: row.value for row in found} == pytest.approx(alone, abs=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("slopes", [NONE, PART])
def test_groups_have_numbers_whatever_the_model(ask, slopes):
    names = ["accuracy", "precision", "roc_auc", "average_precision", "brier", "log_loss"]
    found = ask(outcome_model=Chance(slopes), by=(GROUPS, TARGET_GROUPS), metrics=names)
    rows = [row for row in found if row.group is not None]
    assert len(rows) == 2 * len(names)
    assert all(np.isfinite(row.value) and np.isfinite(row.standard_error) for row in rows)
    numbers = ask(
        LinearRegression().fit(X, Z),
        y=Z,
        outcome_model=LinearRegression(),
        by=(GROUPS, TARGET_GROUPS),
        metrics=["mse", "r2", "bias", "median_absolute_error"],
    )
    assert np.isfinite([row.value for row in numbers]).all()


def test_on_the_same_rows_with_weights_of_one_the_doubly_robust_accuracy_is_scikit_learns():
    """What the outcome model says of the target, its residuals take back: a fixed one cancels."""
    found = evaluate(Scorer(), X, Y, X, weighter=np.ones(N), outcome_model=Chance(MOST))
    p = Scorer().predict_proba(X)[:, 1]
    assert values(found)["accuracy"] == pytest.approx(sk.accuracy_score(Y, p >= 0.5))
    assert values(found)["roc_auc"] == pytest.approx(sk.roc_auc_score(Y, p))


def test_the_error_of_the_plain_auc_is_delongs(ask):
    found = ask(metrics="roc_auc")
    (row,) = found.table.where(method="none")
    auc, above, below = auc_and_parts(Y, Scorer().predict_proba(X)[:, 1])
    assert row.value == pytest.approx(auc)
    variance = sum(np.var(part) / len(part) for part in (above, below))
    assert row.standard_error == pytest.approx(np.sqrt(N / (N - 1) * variance))


# A metric is what it is, whatever else is asked


def error(y, f):
    return np.abs(y - f)


def mse(y, f):
    return np.abs(y - f) ** 3


CLASSES = ["accuracy", "roc_auc", "average_precision", "brier", "calibration_slope"]
NUMBERS = ["rmse", "r2", "bias", "mae", "median_absolute_error", error, mse]


@pytest.mark.thorough
@pytest.mark.part(9)
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_the_value_of_a_metric_does_not_depend_on_the_others(ask, kind):
    if kind == "classes":
        options = {"outcome_model": LogisticRegression()}
        names, y_target = CLASSES, (np.arange(M) % 2).tolist()
    else:
        options = {"model": LinearRegression().fit(X[:20], Z[:20]), "y": Z}
        options["outcome_model"] = LinearRegression()
        names, y_target = NUMBERS, (T @ TRUE).tolist()
    together = ask(metrics=names, y_target=y_target, **options)
    back = ask(metrics=names[::-1], y_target=y_target, **options)
    for name in names:
        alone = ask(metrics=name, y_target=y_target, **options)
        (row,) = alone
        for found in (together, back):
            same = found[row.metric]
            assert (same.value, same.interval) == (row.value, row.interval), row.metric
            assert found.changes == alone.changes


# Intervals of what is positive


def test_the_interval_of_a_mean_square_is_that_of_its_logarithm(ask):
    model = LinearRegression().fit(X[:20], Z[:20])
    found = ask(model, y=Z, outcome_model=LinearRegression(), metrics=["mse", "rmse", "mae"])
    t = stats.t.ppf(0.975, N - 1)
    for row in found.table.where(method="none"):
        factor = np.exp(t * row.standard_error / row.value)
        assert row.interval == pytest.approx((row.value / factor, row.value * factor))
    for row in found.table:
        assert 0 < row.interval[0] < row.value < row.interval[1] < np.inf
    for method in ("dr", "weights", "model", "none"):
        square, root, _ = found.table.where(method=method)
        if method != "weights":  # what is unbalanced is measured on the scale of each
            assert np.sqrt(square.interval) == pytest.approx(root.interval)


def test_the_interval_of_the_log_loss_is_positive_and_others_are_as_they_were(ask):
    found = ask(metrics=["log_loss", "calibration_slope"])
    for row in found.table.where(method="dr"):
        low, high = row.interval
        middle = np.sqrt(low * high) if row.metric == "log_loss" else (low + high) / 2
        assert row.value == pytest.approx(middle)


def test_the_brier_score_of_three_classes_may_exceed_one(ask):
    y = np.digitize(Z, [-0.5, 0.8])
    s, s_t = (np.eye(3)[np.arange(len(rows)) % 3] * 0.97 + 0.01 for rows in (X, T))
    found = ask(s, y=y, target_scores=s_t, outcome_model=LogisticRegression(), metrics="brier")
    expected = np.mean(np.sum((s - np.eye(3)[y]) ** 2, axis=1))
    assert expected > 1.05
    assert values(found, "none")["brier"] == pytest.approx(expected)
    assert all(row.interval[0] < row.value < row.interval[1] for row in found.table)


@pytest.mark.parametrize("value", [1e-9, 1.0])
def test_a_large_error_leaves_positive_numbers_positive(value):
    psi = np.array([[40.0], [-40.0]])
    errors = Errors(Design.simple(2), 1, 2, 2, 0.95)
    found = errors.number(Influence(np.array([value]), psi, np.zeros((0, 1))), positive=True)
    assert 0 < found.low < value < found.high < np.inf


def test_a_positive_metric_estimated_below_zero_counts_as_zero():
    """Weighted residuals may take away more than there is; an interval from zero on is left."""
    errors = Errors(Design.simple(4), 3.0, 4.0, 4.0, 0.95)
    psi = np.array([[0.1], [-0.1], [0.2], [-0.2]])
    number = errors.number(Influence(np.array([-0.05]), psi, np.zeros((1, 1))), positive=True)
    assert number.value == number.low == 0
    assert 0 < number.high < np.inf

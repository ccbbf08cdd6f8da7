"""Cross-fitting: who predicts whom, how rows are dealt, and mixtures of models."""

from __future__ import annotations

import numpy as np
import pytest
from reference import averaged_cross_fit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

from covshift.engine.stack import mixture, predict
from covshift.exceptions import InputTypeError
from covshift.numerics.crossfit import CrossFit, Features, cross_fit, deal, deals, sharing_fits


class Rote(RegressorMixin, BaseEstimator):
    """Predicts how many rows it has learned from that are equal to a row."""

    def fit(self, X, y):
        self.seen_ = [tuple(row) for row in np.asarray(X)]
        return self

    def predict(self, X):
        return np.array([self.seen_.count(tuple(row)) for row in np.asarray(X)], dtype=float)


class WeightedMean(RegressorMixin, BaseEstimator):
    """Predicts the weighted mean of what it has learned from."""

    def fit(self, X, y, sample_weight=None):
        self.mean_ = np.average(y, weights=sample_weight)
        self.n_ = len(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def two_samples(seed=0, N=40, M=12):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, 2)), rng.normal(size=(M, 2)), rng.normal(size=N)


def test_no_row_is_predicted_by_a_model_that_has_seen_it():
    X, _, y = two_samples()
    fold = deal(X, y, 5)
    found = cross_fit(Rote(), Features(X, X), y, fold)
    assert not found.train.any()
    np.testing.assert_array_equal(found.target, np.full((40, 1), 4 / 5))  # four of five models


def test_predictions_are_those_of_a_loop_over_the_folds():
    X, T, y = two_samples()
    fold = deal(X, y, 4)
    found = cross_fit(LinearRegression(), Features(X, T), y, fold)
    for i in range(len(X)):
        kept = [j for j in range(len(X)) if fold[j] != fold[i]]
        model = LinearRegression().fit(X[kept], y[kept])
        assert found.train[i, 0] == pytest.approx(model.predict(X[i : i + 1])[0])
        np.testing.assert_allclose(found.folds[fold[i], :, 0], model.predict(T))
    np.testing.assert_allclose(found.target, found.folds.mean(axis=0))


def test_folds_are_even_and_follow_the_rows():
    X, _, y = two_samples(N=43)
    fold = deal(X, y, 5)
    assert np.ptp(np.bincount(fold)) <= 1
    order = np.random.default_rng(1).permutation(43)
    np.testing.assert_array_equal(deal(X[order], y[order], 5), fold[order])
    assert deal(X[:3], y[:3], 5).max() == 2  # no more folds than rows


def test_equal_rows_are_dealt_whatever_their_order():
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, 2, size=(90, 2)) * 1.0, rng.integers(0, 3, size=90) * 1.0
    order = rng.permutation(90)
    folds = deal(X, y, 4), deal(X[order], y[order], 4)
    assert np.ptp(np.bincount(folds[0])) <= 1
    rows = np.column_stack([X, y])
    for k in range(4):
        one, other = rows[folds[0] == k], rows[order][folds[1] == k]
        np.testing.assert_array_equal(one[np.lexsort(one.T)], other[np.lexsort(other.T)])


@pytest.mark.parametrize("levels", [1, 3])
def test_folds_of_few_categories_differ_as_chance_has_it(levels):
    rng = np.random.default_rng(3)
    spread = []
    for seed in range(300):
        X, y = rng.integers(0, levels, size=(100, 1)) * 1.0, rng.normal(size=100)
        (fold,) = deals(X, y, 5, 1, random_state=seed)
        spread.append(np.var([y[fold == k].mean() for k in range(5)], ddof=1))
    assert np.mean(spread) == pytest.approx(1 / 20, rel=0.25)  # the variance of twenty rows' mean


def test_clusters_stay_together():
    X, _, y = two_samples(N=60)
    cluster = np.arange(60) % 7
    fold = deal(X, y, 5, cluster=cluster)
    assert all(len(set(fold[cluster == c])) == 1 for c in range(7))
    assert set(fold) == set(range(5))
    assert deal(X, y, 5, cluster=cluster % 2).max() == 1
    order = np.random.default_rng(1).permutation(60)
    np.testing.assert_array_equal(deal(X[order], y[order], 5, cluster=cluster[order]), fold[order])


def test_weights_reach_the_model_and_rows_of_weight_zero_do_not():
    X, T, y = two_samples()
    fold = deal(X, y, 3)
    w = np.random.default_rng(0).exponential(size=40)
    w[::4] = 0
    found = cross_fit(WeightedMean(), Features(X, T), y, fold, weight=w)
    for k in range(3):
        kept = (fold != k) & (w > 0)
        assert found.folds[k, 0, 0] == pytest.approx(np.average(y[kept], weights=w[kept]))


def test_large_samples_are_thinned_for_the_fit():
    X, T, y = two_samples()
    y = np.arange(40.0)
    found = cross_fit(WeightedMean(), Features(X, T), y, deal(X, y, 2), most=5)
    assert np.isfinite(found.train).all()
    full = cross_fit(WeightedMean(), Features(X, T), y, deal(X, y, 2))
    assert not np.allclose(found.folds, full.folds)


def test_classes_that_a_fold_lacks_have_no_chance_there():
    X, T, _ = two_samples()
    labels = np.array(["a"] * 20 + ["b"] * 19 + ["c"])
    classes = np.array(["a", "b", "c"])
    fold = deal(X, np.zeros(40), 4)
    found = cross_fit(LogisticRegression(), Features(X, T), labels, fold, classes=classes)
    np.testing.assert_allclose(found.train.sum(axis=1), 1)
    np.testing.assert_allclose(found.folds.sum(axis=2), 1)
    assert not found.folds[fold[-1], :, 2].any()  # the only "c" was left out there
    assert found.folds[(fold[-1] + 1) % 4, :, 2].all()


@pytest.mark.parametrize("model", [LinearRegression(), LogisticRegression()])
def test_one_class_alone_is_certain(model):
    X, T, _ = two_samples()
    found = cross_fit(
        model, Features(X, T), np.ones(40, int), deal(X, np.zeros(40), 3), classes=np.array([0, 1])
    )
    np.testing.assert_array_equal(found.train, np.tile([0.0, 1.0], (40, 1)))


def test_regressors_of_indicators_give_shares():
    X, T, y = two_samples()
    labels = (y > 0).astype(int)
    fold = deal(X, y, 3)
    found = cross_fit(
        LinearRegression(), Features(X, 9 * T), labels, fold, classes=np.array([0, 1])
    )
    np.testing.assert_allclose(found.train.sum(axis=1), 1)
    assert found.folds.min() >= 0
    assert found.folds.max() <= 1


def test_a_single_row_is_all_there_is_to_predict():
    X, T, y = two_samples(N=2)
    found = cross_fit(LinearRegression(), Features(X, T), y, np.array([0, 1]))
    np.testing.assert_array_equal(found.train[:, 0], y[::-1])


def test_the_mixture_has_the_least_error_of_all_mixtures():
    rng = np.random.default_rng(0)
    y, w = rng.normal(size=(200, 1)), rng.exponential(size=200)
    parts = [y + rng.normal(0, s, size=y.shape) for s in (0.5, 1.0)]
    shares = mixture(y, parts, w)
    assert shares.sum() == pytest.approx(1)
    errors = [
        float(w @ (a * parts[0] + (1 - a) * parts[1] - y)[:, 0] ** 2)
        for a in np.linspace(0, 1, 1001)
    ]
    assert shares[0] == pytest.approx(np.argmin(errors) / 1000, abs=2e-3)
    np.testing.assert_allclose(mixture(y, [parts[0], parts[0] + 50], w), [1, 0], atol=1e-6)


def test_mixing_and_columns_keep_what_belongs_together():
    X, T, y = two_samples()
    fold = deal(X, y, 3)
    one, two = (cross_fit(m, Features(X, T), y, fold) for m in (LinearRegression(), WeightedMean()))
    mixed = CrossFit.mixed([one, two], np.array([0.25, 0.75]))
    np.testing.assert_allclose(mixed.train, 0.25 * one.train + 0.75 * two.train)
    np.testing.assert_allclose(mixed.folds, 0.25 * one.folds + 0.75 * two.folds)
    beside = CrossFit.side_by_side([one, two])
    np.testing.assert_array_equal(beside.columns([1]).folds, two.folds)
    np.testing.assert_array_equal(beside.columns([0]).train, one.train)


@pytest.mark.part(3)
@pytest.mark.parametrize("unit", [1e-150, 1e-3, 1e6, 1e99])
def test_the_default_models_follow_the_scale_of_the_outcome(unit):
    X, T, y = two_samples(N=80)
    fold = deal(X, y, 3)

    def default(values):
        return predict(
            None, Features(X, T), values, fold, classes=None, weight=None, final=np.ones(80)
        )[0]

    np.testing.assert_allclose(default(unit * y).folds / unit, default(y).folds, rtol=1e-6)


def test_the_default_takes_the_model_that_predicts_best():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(400, 2))
    fold = deal(X, np.zeros(400), 3)
    options = {"classes": None, "weight": None, "final": np.ones(400)}
    straight = predict(None, Features(X, X), X[:, 0], fold, **options)[1]
    wavy = predict(None, Features(X, X), np.sin(4 * X[:, 0]), fold, **options)[1]
    assert straight["piecewise-linear ridge"] > 0.99
    assert wavy["boosted trees"] > 0.9


class NoProbability(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_a_classifier_without_probabilities_is_refused():
    X, T, y = two_samples()
    with pytest.raises(InputTypeError, match=r"predict_proba"):
        predict(
            NoProbability(), Features(X, T), (y > 0) * 1, deal(X, y, 3),
            classes=np.array([0, 1]), weight=None, final=np.ones(40),
        )  # fmt: skip


def test_equal_fits_are_shared_whatever_the_order_of_the_columns(monkeypatch):
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(40, 3)), rng.normal(size=(10, 3))
    y, fold = X @ [1.0, 2.0, 3.0], np.arange(40) % 4
    fits = []
    monkeypatch.setattr(Ridge, "fit", lambda *given, fit=Ridge.fit: fits.append(1) or fit(*given))
    alone = cross_fit(Ridge(), Features(X, T), y, fold)
    with sharing_fits():
        for order in ([0, 1, 2], [2, 0, 1]):
            found = cross_fit(Ridge(), Features(X[:, order], T[:, order]), y, fold)
            np.testing.assert_allclose(found.train, alone.train)
            np.testing.assert_allclose(found.folds, alone.folds)
        assert len(fits) == 4 + 4
        cross_fit(Ridge(), Features(X, T), y + 1, fold)
        cross_fit(Ridge(0.5), Features(X, T), y, fold)
        assert len(fits) == 4 + 4 + 8
    cross_fit(Ridge(), Features(X, T), y, fold)
    assert len(fits) == 4 + 4 + 8 + 4


def _rows(kind, count=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, 2))
    if kind == "people of few kinds":
        X = np.round(X)
    elif kind == "people by age":
        X = (
            np.column_stack([rng.integers(18, 90, size=count), rng.integers(0, 2, size=count)])
            * 1.0
        )
    return X, rng.integers(0, 2, size=count) * 1.0


@pytest.mark.parametrize("kind", ["people of few kinds", "people by age"])
def test_people_who_are_alike_are_dealt_one_by_one(kind):
    X, y = _rows(kind, 200)
    fold = deal(X, y, 5)
    assert (np.bincount(fold) == 40).all()
    _, alike = np.unique(np.column_stack([X, y]), axis=0, return_inverse=True)
    alike = alike.reshape(-1)
    assert any(len(set(fold[alike == k])) > 1 for k in range(alike.max() + 1))


# Several deals of folds


def test_several_deals_are_averaged():
    X, T, y = two_samples(N=20)
    dealt = deals(X, y, 4, 3)
    found = cross_fit(LinearRegression(), Features(X, T), y, dealt)
    train, target = averaged_cross_fit(
        lambda A, b: LinearRegression().fit(A, b).predict, X, y, T, dealt
    )
    np.testing.assert_allclose(found.train[:, 0], train)
    np.testing.assert_allclose(found.target[:, 0], target)
    assert found.folds.shape == (12, 12, 1)


def test_deals_differ_and_are_even():
    X, _, y = two_samples(N=43)
    dealt = deals(X, y, 5, 6)
    assert len({tuple(fold) for fold in dealt}) == 6
    for fold in dealt:
        assert set(np.bincount(fold)) == {8, 9}
    np.testing.assert_array_equal(dealt[0], deal(X, y, 5))
    assert (deals(X, y, 5, 1, random_state=1)[0] != dealt[0]).any()


@pytest.mark.parametrize("levels", [None, 3], ids=["numbers", "categories"])
def test_deals_follow_the_rows_and_no_form_of_the_columns(levels):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    if levels:
        X = rng.integers(0, levels, size=(60, 3)).astype(float)
    dealt, order = deals(X, y, 5, 3), rng.permutation(60)
    np.testing.assert_array_equal(deals(X[order], y[order], 5, 3), dealt[:, order])
    for A in (-X, X[:, ::-1], 2.54 * X - 7, X.astype(np.float32).astype(float)):
        np.testing.assert_array_equal(deals(A, y, 5, 3), dealt)


def test_clusters_stay_together_in_all_deals():
    X, _, y = two_samples(N=60)
    cluster = np.arange(60) // 3
    for fold in deals(X, y, 5, 4, cluster=cluster):
        assert len(set(zip(cluster.tolist(), fold.tolist(), strict=True))) == len(set(cluster))

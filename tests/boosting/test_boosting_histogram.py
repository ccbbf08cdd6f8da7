"""scikit-learn's boosted trees as arrays: the same predictions, also from a file."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from packaging.version import Version
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

import covshift
from covshift.boosting import BoostedTreesClassifier, BoostedTreesRegressor
from covshift.boosting.ensemble import WORTH_TABLES
from covshift.exceptions import InputError

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=(400, 2)), RNG.integers(0, 4, 400)])  # over 255 values, few
NEW = np.column_stack([RNG.normal(size=(300, 2)), RNG.integers(0, 5, 300)])
Y = X[:, 0] ** 2 + X[:, 2] + RNG.normal(0, 0.3, 400)
THREE = np.array(["a", "b", "c"])[np.digitize(Y, [1.0, 3.0])]
WEIGHT = RNG.exponential(size=400) * (np.arange(400) % 9 > 0)  # some are zero


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """scikit-learn's own trees too: threads of several test processes wait for each other."""
    with threadpool_limits(1):
        yield


WEIGHTED_BINS = pytest.mark.skipif(
    Version(sklearn.__version__) < Version("1.9"),
    reason="scikit-learn 1.8 has no weighted bins",
)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "weight", [None, pytest.param(WEIGHT, marks=WEIGHTED_BINS)], ids=["plain", "weighted"]
)
def test_predictions_are_those_of_scikit_learn(weight):
    given = {"max_iter": 20, "random_state": 0}
    theirs = HistGradientBoostingRegressor(**given).fit(X, Y, weight)
    ours = BoostedTreesRegressor(**given).fit(X, Y, weight)
    np.testing.assert_allclose(ours.predict(NEW), theirs.predict(NEW), rtol=1e-12)
    for labels in (THREE, THREE == "b"):
        theirs = HistGradientBoostingClassifier(**given).fit(X, labels, weight)
        ours = BoostedTreesClassifier(**given).fit(X, labels, weight)
        np.testing.assert_allclose(ours.predict_proba(NEW), theirs.predict_proba(NEW), rtol=1e-10)
        np.testing.assert_array_equal(ours.predict(NEW), theirs.predict(NEW))
        expected = theirs.decision_function(NEW)
        np.testing.assert_allclose(ours.decision_function(NEW), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("labels", [THREE, THREE == "b", Y], ids=["three", "two", "number"])
def test_a_file_keeps_the_trees(labels, tmp_path):
    kind = BoostedTreesRegressor if labels is Y else BoostedTreesClassifier
    model = kind(max_iter=5, random_state=0).fit(X, labels, WEIGHT)
    covshift.save(model, tmp_path / "m.covshift")
    again = covshift.load(tmp_path / "m.covshift")
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))


def test_rows_that_are_alike_have_one_leaf():
    model = BoostedTreesRegressor().fit(np.ones((30, 2)), np.arange(30.0), np.ones(30))
    np.testing.assert_allclose(model.predict(np.zeros((2, 2))), 14.5)


def test_one_class_is_refused():
    with pytest.raises(InputError, match="at least two classes"):
        BoostedTreesClassifier().fit(X, np.zeros(400))


@pytest.mark.parametrize("leaves", [2, 31, 200])
def test_many_rows_are_looked_up_where_walks_down_the_trees_end(leaves):
    """Rows on thresholds and beyond all of them too; trees of more leaves than bits are walked."""
    rng = np.random.default_rng(1)
    many = np.vstack([X, X + rng.choice([0.0, 1e-9, 50.0], X.shape)] * 8)
    for y in (Y, np.zeros(len(Y))):  # the last has trees of one leaf
        model = BoostedTreesRegressor(
            max_iter=15, max_leaf_nodes=leaves, min_samples_leaf=2, early_stopping=False
        ).fit(X, y)
        walks = np.concatenate([model.predict(part) for part in np.array_split(many, 8)])
        np.testing.assert_array_equal(model.predict(many), walks)
    assert len(many) > WORTH_TABLES > len(many) / 8
    labels = BoostedTreesClassifier(max_iter=5, max_leaf_nodes=leaves).fit(X, THREE)
    walks = [labels.decision_function(part) for part in np.array_split(many, 8)]
    np.testing.assert_array_equal(labels.decision_function(many), np.concatenate(walks))

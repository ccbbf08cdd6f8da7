"""Weights have no scale, in every estimator and comparison; counts are repeated rows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covshift import (
    VSVC,
    VSVR,
    Kernel,
    Reweighted,
    RobustBiasAware,
    VBoostClassifier,
    VBoostRegressor,
)
from covshift.comparison import ImportanceWeightedScorer, Method, compare
from covshift.corrections import Additive, Importance
from covshift.data.row_weights import row_weights
from covshift.testing import check_weights

FIXED = {"kernel": Kernel("rbf", width=1.0), "reg": 0.3}
TUNED = {"kernel": Kernel("rbf", width=1.0)}
TREES = {"n_estimators": 4, "min_samples_leaf": 5, "max_leaf_nodes": 4}

ESTIMATORS = {
    "VSVC": VSVC("blended", **FIXED),
    "VSVC tuned": VSVC("blended", **TUNED),
    "VSVR": VSVR("none", **FIXED),
    "VSVR tuned": VSVR("additive", **TUNED),
    "VSVR with its kernel": VSVR("none", fast=True, kernel="cv"),
    "VSVR in cdf coordinates": VSVR(
        "additive", kernel=Kernel("rbf", width=1.0, coordinates="cdf"), reg=0.3
    ),
    "landmarks": VSVC("blended", solver="primal", n_components=20, random_state=0, **TUNED),
    "landmarks and weights": VSVR(
        Importance("cdf"), solver="primal", n_components=20, random_state=0, **FIXED
    ),
    "auto": VSVR("auto", **TUNED),
    "weights inside": VSVC(Importance("cdf"), **FIXED),
    "V and weights inside": VSVR(Additive(normalize=True, weights="entropy"), **FIXED),
    "trees": VBoostRegressor("blended", **TREES),
    "trees that stop": VBoostClassifier("none", early_stopping=True, **TREES),
    "trees, auto": VBoostRegressor("auto", **TREES),
    "robust": RobustBiasAware(),
    "wrapper": Reweighted(LogisticRegression(), weighter="entropy"),
    "wrapper of a pipeline": Reweighted(make_pipeline(StandardScaler(), Ridge()), weighter="cdf"),
    "wrapper with raking": Reweighted(Ridge(), weighter="raking"),
    "wrapper with poststratification": Reweighted(Ridge(), weighter="poststratification"),
    "wrapper of a machine": Reweighted(VSVR("additive", **FIXED), weighter=None),
}


@pytest.mark.part(40)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_contract_of_weights(name):
    estimator = ESTIMATORS[name]
    if name == "wrapper of a pipeline":  # the scaler sees every row, also of weight zero
        estimator = Reweighted(Ridge(), weighter="cdf", preprocess=None)
    mixes = name == "trees, auto"  # by evidence that iterations give to their own tolerance
    check_weights(estimator, tolerance=1e-3 if mixes else 1e-5)


class Counting(BaseEstimator):
    """Takes weights as they come."""

    def fit(self, X, y, *, X_target=None, sample_weight=None, target_weight=None):
        self._model = Ridge().fit(X, y, sample_weight=self.weight(sample_weight))
        return self

    def weight(self, given):
        return given

    def predict(self, X):
        return self._model.predict(X)


class Deaf(Counting):
    def weight(self, given):
        return None


def test_the_contract_finds_an_estimator_that_counts_weights():
    with pytest.raises(AssertionError, match="weights times 10 change nothing"):
        check_weights(Counting())


def test_the_contract_finds_an_estimator_that_ignores_weights():
    with pytest.raises(AssertionError, match="unequal weights change the fit"):
        check_weights(Deaf())


def survey(N=300, M=400, seed=0):
    """Classes that depend on curved features, training rows drawn unevenly."""
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(N, 2)), rng.normal(0.6, 1.0, size=(M, 2))
    chance = [1 / (1 + np.exp(-2 * np.sin(2 * Z[:, 0]) - Z[:, 1])) for Z in (X, T)]
    return X, (rng.uniform(size=N) < chance[0]).astype(int), T, chance[1]


def test_expansion_weights_leave_the_penalty_as_strong_as_it_was():
    """Weights of a thousand people a row once switched the penalty off, at four times the error."""
    X, y, T, truth = survey(150)
    d = np.random.default_rng(1).uniform(0.5, 2, 150)
    errors = []
    for scale in (1.0, 1000.0):
        model = VSVC("blended", kernel="rbf", reg=1.0)
        p = model.fit(X, y, X_target=T, sample_weight=scale * d).predict_proba(T)[:, 1]
        errors.append(np.mean((p - truth) ** 2))
    assert errors[1] == pytest.approx(errors[0], rel=1e-6)


def test_blocks_with_weights_of_another_scale_are_one_stream():
    """All blocks are on one scale, that of the first: a common factor says nothing."""
    X, y, T, _ = survey()
    d = np.random.default_rng(1).uniform(0.5, 2, 300)
    found = []
    for scale in (1.0, 1000.0, 1e-3):
        model = VSVC("blended", n_components=20, random_state=0, **FIXED)
        for k in range(3):
            rows = slice(100 * k, 100 * k + 100)
            given = {"X_target": T, "classes": [0, 1]} if k == 0 else {}
            model.partial_fit(X[rows], y[rows], sample_weight=scale * d[rows], **given)
        found.append(model.decision_function(T))
    np.testing.assert_allclose(found[1], found[0], atol=1e-6)
    np.testing.assert_allclose(found[2], found[0], atol=1e-6)


# Comparisons


CONTENDERS = {
    "wrapped": Reweighted(LogisticRegression(), weighter="entropy"),
    "machine": VSVC("blended", **FIXED),
    "pipeline": make_pipeline(StandardScaler(), VSVC("additive", **FIXED)),
}


def judged(X, y, T, **weights):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compare(
            X,
            y,
            T,
            estimators=CONTENDERS,
            baseline=LogisticRegression(),
            weighter="entropy",
            **weights,
        )
    keys = ("risk", "standard_error", "gain", "gain_standard_error")
    numbers = [[row[key] for key in keys] for row in found.rows]
    return np.array(numbers), found.needed, found.recommended


METHODS = [
    Method("none", "baseline"),
    Method("entropy", "weights"),
    Method("blended", "correction"),
]


def judged_by_name(X, y, T, **weights):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compare(X, y, T, methods=METHODS, weighter="entropy", **weights)
    keys = ("risk", "standard_error", "gain", "gain_standard_error", "smd_before")
    numbers = [[row[key] for key in (*keys, "effective_sample_size")] for row in found.rows]
    return np.array(numbers, dtype=float), found.needed, found.recommended


@pytest.mark.thorough
@pytest.mark.parametrize("judge", [judged, judged_by_name])
def test_no_comparison_depends_on_the_scale_of_weights(judge):
    X, y, T, _ = survey(80, 60)
    rng = np.random.default_rng(1)
    d, v = rng.uniform(0.5, 2, 80), rng.uniform(0.5, 2, 60)
    plain, weighted = judge(X, y, T), judge(X, y, T, sample_weight=d, target_weight=v)
    assert np.nanmax(np.abs(plain[0] - weighted[0])) > 1e-4
    for scale in (20, 1e-3):
        same = judge(X, y, T, sample_weight=np.full(80, scale), target_weight=np.full(60, scale))
        np.testing.assert_array_equal(same[0], plain[0])
        scaled = judge(X, y, T, sample_weight=scale * d, target_weight=scale * v)
        np.testing.assert_allclose(scaled[0], weighted[0], rtol=1e-4, atol=1e-8)
        assert scaled[1] == pytest.approx(weighted[1], rel=1e-3)
        assert scaled[2] == weighted[2]


@pytest.mark.thorough
def test_a_design_that_makes_the_sample_the_target_leaves_the_risk_alone():
    """Held-out rows are weighted by the product, so that risks are those of the target."""
    X, y, _, _ = survey(300, 60)
    d = np.exp(X[:, 0])
    found = judged(X, y, X, sample_weight=d, target_weight=d)[0]
    plain = judged(X, y, X)[0]
    losses = np.abs(found[0, 0] - plain[0, 0])
    assert losses > 1e-3
    scorer = ImportanceWeightedScorer("entropy").fit(
        X, X_target=X, sample_weight=d, target_weight=d
    )
    np.testing.assert_allclose(scorer.weighter_.weights_, 1.0, atol=1e-6)
    model = LogisticRegression().fit(X, y)
    squares = (model.predict_proba(X)[:, 1] - y) ** 2
    assert scorer(model, X, y, 1000 * d) == pytest.approx(-np.average(squares, weights=d), rel=1e-6)


# The home of weights


def test_weights_sum_to_the_rows_and_kish_counts_them():
    found = row_weights(4, [10.0, 0.0, 30.0, 20.0])
    np.testing.assert_allclose(found.w, [0.5, 0, 1.5, 1.0])
    assert found.rows == 3
    assert found.size == pytest.approx(60**2 / 1400)
    np.testing.assert_allclose(found.share, [1 / 6, 0, 1 / 2, 1 / 3])
    assert row_weights(3, [2.0, 0.0, 2.0]).size == 2

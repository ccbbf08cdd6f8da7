"""Every wrapper hands on the target, its weights and the rows' own: none is dropped on the way."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
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
from covshift.comparison import (
    ImportanceWeightedScorer,
    Method,
    TargetSafeSplit,
    compare,
)
from covshift.corrections import Additive, Importance

rng = np.random.default_rng(0)
N = M = 60  # a target as long as X, which a search would cut into folds
X = rng.normal(size=(N, 2))
y = (X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=N) > 0.7).astype(int)
T = rng.normal(0.3, 1.0, size=(M, 2))
TIMES = np.where(T[:, 0] > 0.3, 4, 1)
WEIGHT = TIMES * (np.arange(len(T)) % 5 > 0)
TREES = {"n_estimators": 5, "max_leaf_nodes": 4}
ADDITIVE = Additive(symmetric=True, normalize=True)

KERNEL = {"kernel": Kernel("rbf", width=1.0)}
FIXED = {**KERNEL, "reg": 0.1}  # no search: it is tuned once

INNER = {
    "VSVC": VSVC(ADDITIVE, **FIXED),
    "VSVC tuned": VSVC(ADDITIVE, fast=True),
    "VSVR": VSVR(ADDITIVE, **FIXED),
    "VSVC on landmarks": VSVC(ADDITIVE, **FIXED, solver="primal", n_components=20, random_state=0),
    "VBoostClassifier": VBoostClassifier(correction=ADDITIVE, **TREES),
    "VBoostRegressor": VBoostRegressor(correction=ADDITIVE, **TREES),
    "RobustBiasAware": RobustBiasAware("gaussian-ratio"),
    "pipeline": make_pipeline(StandardScaler(), VSVC(ADDITIVE, **FIXED)),
    "search": GridSearchCV(VSVC(ADDITIVE, **KERNEL), {"reg": [0.03, 1.0]}, cv=2),
    "entropy inside": VSVC(Importance("entropy"), **FIXED),
    "V and entropy inside": VSVC(Additive(weights="entropy"), **FIXED),
}


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def function(model):
    """Return what a fitted model says of the target rows."""
    name = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    return getattr(model, name)(T)


def check_three(fit):
    """Rows of weight zero are not there; weights, and dropping the target, change something."""
    weighted, kept = fit(T, WEIGHT), WEIGHT > 0
    np.testing.assert_allclose(weighted, fit(T[kept], WEIGHT[kept]), rtol=1e-6, atol=1e-8)
    assert np.abs(weighted - fit(T, None)).max() > 1e-6
    assert np.abs(weighted - fit(X, None)).max() > 1e-6


@pytest.mark.part(20)
@pytest.mark.parametrize("name", sorted(INNER))
@pytest.mark.parametrize("weighter", [None, "entropy"])
def test_the_wrapper_hands_the_weighted_target_to_what_it_wraps(name, weighter):
    if weighter is not None and name in ("entropy inside", "RobustBiasAware"):
        pytest.skip("would weigh twice")
    model = Reweighted(INNER[name], weighter=weighter)
    check_three(
        lambda target, weight: function(
            model.fit(X, y, X_target=target, target_weight=weight).estimator_
        )
    )


@pytest.mark.parametrize("correction", [Importance("cdf"), Additive(weights="cdf")])
def test_weights_for_single_features_inside_a_correction_see_the_weighted_target(correction):
    """The scale of weights says nothing."""
    model = Reweighted(VSVC(correction, **FIXED), weighter=None)
    weighted, scaled, plain = (
        function(model.fit(X, y, X_target=T, target_weight=weight).estimator_)
        for weight in (TIMES, 0.37 * TIMES, None)
    )
    np.testing.assert_allclose(weighted, scaled, rtol=1e-6)
    assert np.abs(weighted - plain).max() > 1e-3


def test_the_wrapper_hands_it_to_the_weighter():
    model = Reweighted(LogisticRegression(), weighter="entropy")
    check_three(
        lambda target, weight: function(model.fit(X, y, X_target=target, target_weight=weight))
    )


@pytest.mark.part(3)
@pytest.mark.parametrize("name", sorted(set(INNER) - {"pipeline"}))
def test_the_wrapper_adds_nothing_of_its_own(name):
    """Without a weighter it is the estimator, given the same target and the same weights."""
    own = 1 + np.arange(N) % 3
    options = {"sample_weight": own, "X_target": (T,), "target_weight": (TIMES,)}
    alone = function(INNER[name].fit(X, y, **options))
    inside = Reweighted(INNER[name], weighter=None).fit(X, y, **options)
    np.testing.assert_allclose(function(inside.estimator_), alone, rtol=1e-10)
    del options["sample_weight"]
    assert np.abs(function(INNER[name].fit(X, y, **options)) - alone).max() > 1e-6


CONTENDERS = {name: INNER[name] for name in ("VSVC", "pipeline", "search", "RobustBiasAware")}
CONTENDERS["wrapped"] = Reweighted(LogisticRegression(), weighter="entropy")
CONTENDERS["searched wrapper"] = GridSearchCV(
    Reweighted(make_pipeline(StandardScaler(), VSVC(ADDITIVE, **KERNEL)), weighter=None),
    {"estimator__vsvc__reg": [0.03, 1.0]},
    cv=2,
)


@pytest.mark.part(20)
@pytest.mark.parametrize("name", sorted(CONTENDERS))
def test_compare_hands_the_weighted_target_to_every_contender(name):
    """The judge's weights are for one and the same target, so that only the contender differs."""

    class Judge(LogisticRegression):
        weights_ = np.ones(N)

        def fit(self, X, y=None, *, X_target=None, sample_weight=None, target_weight=None):
            return self

        def get_params(self, deep=True):
            return {}

    def risks(target, weight):
        found = compare(
            X,
            y,
            target,
            estimators={name: CONTENDERS[name]},
            baseline=LogisticRegression(),
            weighter=Judge(),
            cv=TargetSafeSplit(3),
            target_weight=weight,
        )
        return np.array([row["risk"] for row in found.rows])

    check_three(risks)


def test_compare_weighs_the_held_out_rows_for_the_weighted_target():
    def risks(target, weight):
        options = {"baseline": LogisticRegression(), "weighter": "entropy"}
        found = compare(X, y, target, estimators={}, target_weight=weight, **options)
        return np.array([row["risk"] for row in found.rows])

    check_three(risks)


def test_the_splitter_fits_with_the_weighted_target():
    def fit(target, weight):
        fits = TargetSafeSplit(3).fits(VSVC(ADDITIVE, **FIXED), X, y, target, weight)  # shares
        return np.concatenate([function(model) for model, _ in fits])

    check_three(fit)


@pytest.mark.thorough
def test_compare_hands_the_weighted_target_to_every_method():
    methods = [
        Method("none", "baseline"),
        Method("entropy", "weights"),
        Method("additive", "correction"),
    ]

    def risks(target, weight):
        options = {"learner": "vsvm", "methods": methods, "weighter": "gaussian-ratio"}
        found = compare(X, y, target, target_weight=weight, **options)
        return np.array([row["risk"] for row in found.rows])

    check_three(risks)


def test_the_scorer_weighs_for_the_weighted_target():
    model = LogisticRegression().fit(X, y)

    def score(target, weight):
        scorer = ImportanceWeightedScorer("entropy")
        return np.array(scorer.fit(X, X_target=target, target_weight=weight)(model, X, y))

    check_three(score)


def test_weights_that_would_be_lost_are_an_error():
    class OnlyTarget(LogisticRegression):
        def fit(self, X, y, X_target=None):
            return super().fit(X, y)

    with pytest.raises(TypeError, match="takes X_target but no target_weight"):
        Reweighted(OnlyTarget(), weighter=None).fit(X, y, X_target=T, target_weight=TIMES)
    Reweighted(OnlyTarget(), weighter=None).fit(X, y, X_target=T)


def test_a_search_around_a_pipeline_that_needs_the_target_is_an_error():
    search = GridSearchCV(make_pipeline(StandardScaler(), VSVC()), {"vsvc__reg": [0.1]})
    with pytest.raises(TypeError, match=r"GridSearchCV\(Reweighted\(pipeline, weighter=None\)"):
        compare(
            X,
            y,
            T,
            estimators={"v": search},
            baseline=LogisticRegression(),
            weighter="gaussian-ratio",
        )
    with pytest.raises(TypeError, match="cannot hand the target"):
        Reweighted(search, weighter=None).fit(X, y, X_target=T)

"""The V-loss inside XGBoost and LightGBM: both calling forms, against the engines' own losses."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from covshift.corrections import Additive, Importance
from covshift.objectives import lightgbm_objective, xgboost_objective

from .conftest import require

OPTIONS = {
    "xgboost": {"n_estimators": 12, "learning_rate": 0.5, "max_depth": 3, "n_jobs": 1},
    "lightgbm": {
        "n_estimators": 12,
        "learning_rate": 0.5,
        "num_leaves": 6,
        "min_child_samples": 5,
        "n_jobs": 1,
        "verbose": -1,
        "boost_from_average": False,
    },
}
OBJECTIVES = {"xgboost": xgboost_objective, "lightgbm": lightgbm_objective}


@pytest.fixture(params=OBJECTIVES)
def engine(request):
    """The name of an engine; its module is there."""
    require(request.param)
    return request.param


def regressor(engine, start=0.0, **options):
    module, options = require(engine), OPTIONS[engine] | options
    if engine == "xgboost":
        return module.XGBRegressor(base_score=start, **options)
    return module.LGBMRegressor(**options)


def classifier(engine, **options):
    module, options = require(engine), OPTIONS[engine] | options
    return (module.XGBClassifier if engine == "xgboost" else module.LGBMClassifier)(**options)


def raw(engine, model, X):
    if engine == "xgboost":
        return model.predict(X, output_margin=True)
    return model.predict(X, raw_score=True)


def train(engine, objective, X, y, weight=None, rounds=12):
    """Train by the engine's own ``train`` with the options of `regressor`; return f at X."""
    module = require(engine)
    if engine == "xgboost":
        data = module.DMatrix(X, label=y, weight=weight)
        options = {"learning_rate": 0.5, "max_depth": 3, "nthread": 1, "base_score": 0.0}
        return module.train(options, data, rounds, obj=objective).predict(data)
    data = module.Dataset(X, label=y, weight=weight)
    renamed = {"n_jobs": "num_threads", "min_child_samples": "min_data_in_leaf"}
    options = {renamed.get(k, k): v for k, v in OPTIONS[engine].items() if k != "n_estimators"}
    return module.train(options | {"objective": objective}, data, rounds).predict(X)


def problem(seed=0, n=200):
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(n, 3)), rng.normal(0.6, 0.8, size=(150, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n)
    return X, T, y, rng


def test_the_identity_is_the_engine_s_own_squared_error(engine):
    X, T, y, rng = problem()
    new = rng.normal(size=(300, 3))
    own = regressor(engine).fit(X, y).predict(new)
    mine = regressor(engine, objective=OBJECTIVES[engine](X, T, "none")).fit(X, y).predict(new)
    np.testing.assert_allclose(mine, own, rtol=1e-5, atol=1e-6)
    assert np.std(own) > 0.5


def test_importance_weights_are_the_engine_s_own_weights(engine):
    X, T, y, rng = problem()
    w = rng.uniform(0.2, 2, size=len(X))
    w /= w.mean()
    own = regressor(engine).fit(X, y, sample_weight=w).predict(X)
    mine = regressor(engine, objective=OBJECTIVES[engine](X, T, Importance(w))).fit(X, y).predict(X)
    np.testing.assert_allclose(mine, own, rtol=1e-4, atol=1e-5)
    plain = OBJECTIVES[engine](X, T, "none")
    passed = regressor(engine, objective=plain).fit(X, y, sample_weight=w).predict(X)
    np.testing.assert_allclose(passed, own, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_wrapper_and_train_agree(engine, weighted):
    X, T, y, rng = problem()
    w = rng.integers(1, 4, size=len(X)).astype(float) if weighted else None
    objective = OBJECTIVES[engine](X, T, Additive(symmetric=True))
    wrapped = regressor(engine, objective=objective).fit(X, y, sample_weight=w).predict(X)
    native = train(engine, objective, X, y, w)
    np.testing.assert_allclose(native, wrapped, rtol=1e-5, atol=1e-6)
    if weighted:
        unweighted = regressor(engine, objective=objective).fit(X, y).predict(X)
        assert abs(wrapped - unweighted).max() > 1e-3


def test_a_tree_without_splits_is_the_best_constant():
    X, T, y, _ = problem()
    objective = xgboost_objective(X, T, Additive())
    options = {"n_estimators": 1, "learning_rate": 1.0, "gamma": 1e9, "reg_lambda": 0.0}
    found = regressor("xgboost", objective=objective, **options).fit(X, y).predict(X)
    np.testing.assert_allclose(found, objective.constant(y), rtol=1e-4)


@pytest.mark.parametrize("squash", [None, "sigmoid"])
@pytest.mark.parametrize("correction", ["additive", "blended", "sliced"])
def test_full_steps_lower_the_loss_round_by_round(engine, correction, squash):
    X, T, y, _ = problem()
    y = (y > 0).astype(float)
    objective = OBJECTIVES[engine](X, T, correction, squash=squash)
    losses = []
    for rounds in (0, 1, 2, 5, 10, 40):
        f = np.zeros(len(X))
        if rounds:
            model = regressor(engine, objective=objective, learning_rate=1.0, n_estimators=rounds)
            f = raw(engine, model.fit(X, y), X)
        losses.append(objective.loss(y, f))
    assert (np.diff(losses) < 0).all()
    assert losses[-1] < (0.05 if squash is None else 0.25) * losses[0]


def test_two_classes_with_the_sigmoid(engine):
    X, T, y, _ = problem()
    y = (y > 0).astype(int)
    objective = OBJECTIVES[engine](X, T, squash="sigmoid")
    model = classifier(engine, objective=objective, n_estimators=100, learning_rate=1.0).fit(X, y)
    p = objective.probability(raw(engine, model, X))
    assert p.shape == (len(X), 2)
    assert np.mean(p.argmax(axis=1) == y) > 0.8


def test_three_classes(engine):
    X, T, y, _ = problem()
    y = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    objective = OBJECTIVES[engine](X, T)
    model = classifier(engine, objective=objective, n_estimators=60, learning_rate=1.0).fit(X, y)
    p = objective.probability(raw(engine, model, X))
    assert p.shape == (len(X), 3)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert np.mean(p.argmax(axis=1) == y) > 0.75


def test_rows_that_nobody_sees_are_harmless(engine):
    X, T, y, _ = problem()
    X[:15] += 50
    y[:15] = 1e6
    objective = OBJECTIVES[engine](X, T, "additive")
    model = regressor(engine, objective=objective, learning_rate=1.0).fit(X, y)
    f = model.predict(X[15:])
    assert np.isfinite(f).all()
    assert abs(f).max() < 10


def test_other_rows_are_refused(engine):
    X, T, y, _ = problem()
    objective = OBJECTIVES[engine](X, T)
    with pytest.raises(ValueError, match="do not fit the 200 training rows"):
        regressor(engine, objective=objective).fit(X[:150], y[:150])


def test_validation_rows_do_not_call_the_objective(engine):
    X, T, y, rng = problem()
    new = rng.normal(size=(60, 3))
    answer = np.sin(2 * new[:, 0]) + new[:, 1]
    objective = OBJECTIVES[engine](X, T, "none")
    options = {"n_estimators": 300, "learning_rate": 1.0}
    if engine == "xgboost":
        model = regressor(engine, objective=objective, early_stopping_rounds=10, **options)
        model.fit(X, y, eval_set=[(new, answer)], verbose=False)
        assert 0 < model.best_iteration < 299
    else:
        stop = require(engine).early_stopping(10, verbose=False)
        model = regressor(engine, objective=objective, metric="l2", **options)
        model.fit(X, y, eval_X=(new,), eval_y=(answer,), callbacks=[stop])
        assert 0 < model.best_iteration_ < 300


def test_the_wrapped_estimator_can_be_cloned(engine):
    X, T, y, _ = problem()
    model = regressor(engine, objective=OBJECTIVES[engine](X, T)).fit(X, y)
    np.testing.assert_array_equal(clone(model).fit(X, y).predict(X), model.predict(X))

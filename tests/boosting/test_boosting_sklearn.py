"""Boosted trees as scikit-learn estimators, with a second sample: the contract of the machines."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from contract import (
    Spy,
    either_routing,
    run_all_checks,
    run_check,
    unscaled_samples,
    values,
)
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from covshift import VBoostClassifier, VBoostRegressor
from covshift.corrections import Additive

BOOSTERS = [VBoostClassifier, VBoostRegressor]
both = pytest.mark.parametrize("Booster", BOOSTERS)

N = 48  # and as many target rows: the length at which searches cut
NAMES = ["age", "income", "visits"]
SMALL: dict[str, Any] = {"n_estimators": 3, "min_samples_leaf": 4, "max_leaf_nodes": 5}
OTHER: dict[str, Any] = {
    "n_estimators": 3,
    "learning_rate": 0.5,
    "correction": "additive",
    "min_samples_leaf": 1,
    "reg_lambda": 0.5,
}


@pytest.mark.part(20)
@parametrize_with_checks([Booster(n_estimators=5) for Booster in BOOSTERS])
def test_scikit_learns_own_checks(estimator, check):
    run_check(estimator, check)


@pytest.mark.thorough
@both
def test_scikit_learns_own_checks_of_another_variant(Booster):
    run_all_checks(Booster(**OTHER))


@pytest.fixture
def samples():
    return unscaled_samples(N)


@pytest.fixture(autouse=True)
def _forget():
    Spy.received.clear()


@both
def test_an_array_and_a_one_tuple_are_the_same_target(Booster, samples):
    X, y, T = samples
    model = Booster(**SMALL)
    array = values(model.fit(X, y, X_target=T), T)
    np.testing.assert_array_equal(values(model.fit(X, y, X_target=(T,)), T), array)
    assert not np.allclose(values(model.fit(X, y), T), array)  # the target matters


@pytest.mark.part(4)
@both
@either_routing
def test_a_one_tuple_gives_the_whole_target_to_every_fold(Booster, routing, samples):
    X, y, T = samples
    assert len(T) == len(X)
    model = Booster(correction=Spy(symmetric=True), **SMALL)
    with config_context(enable_metadata_routing=routing):
        cross_val_score(model, X, y, cv=3, params={"X_target": (T,)})
        GridSearchCV(model, {"correction__blend": [0.0, 0.5]}, cv=3).fit(X, y, X_target=(T,))
    assert len(Spy.received) == 3 + 2 * 3 + 1
    for received in Spy.received:
        np.testing.assert_array_equal(received, T)


@both
@either_routing
def test_trap_a_bare_array_as_long_as_x_is_cut_into_folds(Booster, routing, samples):
    # What scikit-learn does, and why the page asks for the tuple.
    X, y, T = samples
    model = Booster(correction=Spy(), **SMALL)
    with config_context(enable_metadata_routing=routing):
        cross_val_score(model, X, y, cv=3, params={"X_target": T})
    assert {len(received) for received in Spy.received} == {N * 2 // 3}


@both
@pytest.mark.parametrize("wrap", [lambda T: T, lambda T: (T,)], ids=["array", "one-tuple"])
def test_transform_input_equals_transforming_by_hand(Booster, wrap, samples):
    X, y, T = samples
    scaler = StandardScaler().fit(X)
    by_hand = Booster(**SMALL).fit(scaler.transform(X), y, X_target=scaler.transform(T))
    steps = [("scale", StandardScaler()), ("booster", Booster(**SMALL))]
    pipeline = Pipeline(steps, transform_input=["X_target"])
    with config_context(enable_metadata_routing=True):
        pipeline.fit(X, y, X_target=wrap(T))
    np.testing.assert_allclose(values(pipeline, T), values(by_hand, scaler.transform(T)))


@both
def test_a_search_over_a_pipeline_scales_the_whole_target_in_every_fold(Booster, samples):
    X, y, T = samples
    folds = KFold(3)
    pipeline = make_pipeline(
        StandardScaler(), Booster(correction=Spy(), **SMALL), transform_input=["X_target"]
    )
    grid = {f"{Booster.__name__.lower()}__correction__blend": [0.5]}
    with config_context(enable_metadata_routing=True):
        GridSearchCV(pipeline, grid, cv=folds).fit(X, y, X_target=(T,))
    fitted_on = [X[train] for train, _ in folds.split(X)] + [X]  # the last is the refit
    assert len(Spy.received) == len(fitted_on)
    for received, rows in zip(Spy.received, fitted_on, strict=True):
        np.testing.assert_allclose(received, StandardScaler().fit(rows).transform(T))


@both
def test_x_target_is_requested_by_default(Booster):
    requests = Booster().get_metadata_routing().fit.requests
    assert requests["X_target"] is True
    assert requests["target_weight"] is True
    assert requests["sample_weight"] is None  # scikit-learn's own way


@both
def test_clone_copies_the_parameters_and_forgets_the_fit(Booster, samples):
    X, y, T = samples
    model = Booster(correction=Additive(blend=0.3), **SMALL).fit(X, y, X_target=T)
    copy = clone(model)
    assert repr(copy) == repr(model)
    assert copy.correction is not model.correction
    assert not [name for name in vars(copy) if name.endswith("_") or name.startswith("_")]
    np.testing.assert_array_equal(values(copy.fit(X, y, X_target=T), T), values(model, T))


@both
def test_pickling_keeps_the_fit(Booster, samples):
    X, y, T = samples
    model = Booster(**SMALL).fit(X, y, X_target=T)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(values(loaded, T), values(model, T))


@both
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_give_the_predictions_of_arrays(Booster, library, samples):
    frames = pytest.importorskip(library)
    X, y, T = samples
    arrays = values(Booster(**SMALL).fit(X, y, X_target=T), T)

    def frame(rows, names=NAMES):
        return frames.DataFrame(dict(zip(names, rows.T, strict=True)))

    for target in (frame(T), (frame(T),)):
        model = Booster(**SMALL).fit(frame(X), y, X_target=target)
        np.testing.assert_array_equal(values(model, frame(T)), arrays)
        assert model.feature_names_in_.tolist() == NAMES
    model.fit(frame(X), y, X_target=frame(T[:, ::-1], NAMES[::-1]))
    np.testing.assert_array_equal(values(model, frame(T)), arrays)


@both
def test_single_precision_gives_the_trees_of_double(Booster, samples):
    X, y, T = samples
    X, T = X.astype(np.float32), T.astype(np.float32)
    single = Booster(**SMALL).fit(X, y, X_target=T)
    double = Booster(**SMALL).fit(X.astype(float), y, X_target=T.astype(float))
    np.testing.assert_array_equal(single.ensemble_.feature, double.ensemble_.feature)
    np.testing.assert_array_equal(values(single, T), values(double, T))


@both
def test_target_weights_equal_repeated_target_rows(Booster, samples):
    X, y, T = samples
    times = 1 + np.arange(N) % 3
    model = Booster(**SMALL)
    weighted = values(model.fit(X, y, X_target=T, target_weight=times), T)
    repeated = values(model.fit(X, y, X_target=np.repeat(T, times, axis=0)), T)
    np.testing.assert_allclose(weighted, repeated, atol=1e-9)


@both
def test_refitting_forgets_what_went_before(Booster, samples):
    X, y, T = samples
    fresh = values(Booster(**SMALL).fit(X[:40], y[:40], X_target=T), T)
    model = Booster(**SMALL, early_stopping=True).fit(X, y)
    model.set_params(early_stopping=False).fit(X[:40], y[:40], X_target=T)
    np.testing.assert_array_equal(values(model, T), fresh)
    assert not hasattr(model, "validation_score_")

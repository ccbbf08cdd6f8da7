"""VSVC and VSVR as scikit-learn estimators: its own checks, and its tools with a second sample.

Two traps of scikit-learn are silent, and pinned here: searches cut whatever is as long as X, and
pipelines hand X_target on untransformed.
"""

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
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_predict,
    cross_val_score,
    learning_curve,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from covshift import VSVC, VSVR, Kernel
from covshift.corrections import Additive, Importance
from covshift.exceptions import OverlapWarning

MACHINES = [VSVC, VSVR]
both = pytest.mark.parametrize("Machine", MACHINES)

N = 48  # and as many target rows: the length at which searches cut
NAMES = ["age", "income", "visits"]
VARIANTS: list[dict[str, Any]] = [{"correction": "blended"}, {"kernel": "linear"}, {"reg": 1.0}]
FIXED = {"kernel": Kernel("rbf", width="scale", coordinates="none")}
PRIMAL: dict[str, Any] = {**FIXED, "solver": "primal", "random_state": 0}


@pytest.mark.part(4)
@parametrize_with_checks([VSVC(**PRIMAL), VSVR(**PRIMAL)])
def test_scikit_learns_own_checks(estimator, check):
    run_check(estimator, check)


@pytest.mark.part(10)  # each of their many fits searches for a kernel
@parametrize_with_checks([VSVC(), VSVR()])
def test_scikit_learns_own_checks_of_the_defaults(estimator, check):
    run_check(estimator, check)


@pytest.mark.thorough
@both
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_scikit_learns_own_checks_of_other_variants(Machine, variant):
    run_all_checks(Machine(**variant))


# Samples, and a correction that tells what it was given


@pytest.fixture
def samples():
    return unscaled_samples(N)


@pytest.fixture
def scaled(samples):
    X, y, T = samples
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), y, scaler.transform(T)


@pytest.fixture(autouse=True)
def _forget():
    Spy.received.clear()


def spying(Machine):
    return Machine(correction=Spy(symmetric=True), **FIXED, reg=1.0)


# The target: an array or a one-tuple of it


@pytest.mark.part(4)
@both
@pytest.mark.parametrize("solver", ["dual", "primal"])
def test_an_array_and_a_one_tuple_are_the_same_target(Machine, solver, scaled):
    X, y, T = scaled
    model = Machine(solver=solver, random_state=0)
    array = values(model.fit(X, y, X_target=T), T)
    np.testing.assert_array_equal(values(model.fit(X, y, X_target=(T,)), T), array)
    assert not np.allclose(values(model.fit(X, y), T), array)  # the target matters


@both
def test_partial_fit_takes_a_one_tuple_too(Machine, scaled):
    X, y, T = scaled
    first = {"classes": [0, 1]} if Machine is VSVC else {}
    array, wrapped = (
        Machine(random_state=0).partial_fit(X, y, X_target=target, **first) for target in (T, (T,))
    )
    np.testing.assert_array_equal(values(array, T), values(wrapped, T))


# Trap one: searches cut what is as long as X

TOOLS = {
    "grid search": lambda model, X, y, T: GridSearchCV(
        model, {"correction__symmetric": [False, True]}, cv=3, refit=False
    ).fit(X, y, X_target=T),
    "cross_val_score": lambda model, X, y, T: cross_val_score(
        model, X, y, cv=3, params={"X_target": T}
    ),
    "cross_val_predict": lambda model, X, y, T: cross_val_predict(
        model, X, y, cv=3, params={"X_target": T}
    ),
    "learning_curve": lambda model, X, y, T: learning_curve(
        model, X, y, cv=3, train_sizes=[1.0], params={"X_target": T}
    ),
}
each_tool = pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)


@pytest.mark.part(3)
@each_tool
@both
@either_routing
def test_a_one_tuple_gives_the_whole_target_to_every_fold(tool, Machine, routing, scaled):
    X, y, T = scaled
    assert len(T) == len(X)
    with config_context(enable_metadata_routing=routing):
        tool(spying(Machine), X, y, (T,))
    assert len(Spy.received) in (3, 6)  # folds, times the grid
    for received in Spy.received:
        np.testing.assert_array_equal(received, T)


@pytest.mark.part(3)
@each_tool
@both
@either_routing
def test_trap_a_bare_array_as_long_as_x_is_cut_into_folds(tool, Machine, routing, scaled):
    # Not what we want: what scikit-learn does, and why the page asks for the tuple. If this
    # fails, scikit-learn has changed and the tuple may no longer be needed.
    X, y, T = scaled
    with config_context(enable_metadata_routing=routing):
        tool(spying(Machine), X, y, T)
    assert set(Spy.lengths()) == {N * 2 // 3}


@pytest.mark.part(4)
@both
@either_routing
def test_a_bare_array_of_another_length_is_left_whole(Machine, routing, scaled):
    X, y, T = scaled
    with config_context(enable_metadata_routing=routing):
        cross_val_score(spying(Machine), X, y, cv=3, params={"X_target": T[1:]})
    assert Spy.lengths() == [N - 1] * 3


@both
def test_a_grid_search_refits_its_best_model_on_everything(Machine, scaled):
    X, y, T = scaled
    grid = {"correction__symmetric": [True], "correction__blend": [0.0, 0.5], "reg": [0.1, 1.0]}
    model = Machine(correction=Spy(normalize=True), **FIXED)
    search = GridSearchCV(model, grid, cv=2).fit(X, y, X_target=(T,))
    assert Spy.lengths() == [N] * (4 * 2 + 1)
    again = clone(model).set_params(**search.best_params_).fit(X, y, X_target=T)
    np.testing.assert_array_equal(values(search, T), values(again, T))
    assert model.correction.blend == 0.0  # the search worked on copies


@both
def test_cross_validation_scores_models_that_know_the_target(Machine, scaled):
    X, y, T = scaled
    folds = KFold(3)
    scores = cross_val_score(Machine(**FIXED, reg=1.0), X, y, cv=folds, params={"X_target": (T,)})
    by_hand = [
        Machine(**FIXED, reg=1.0).fit(X[train], y[train], X_target=T).score(X[test], y[test])
        for train, test in folds.split(X)
    ]
    np.testing.assert_allclose(scores, by_hand)


# Trap two: pipelines hand X_target on untransformed


@pytest.mark.part(3)
@both
@pytest.mark.parametrize("wrap", [lambda T: T, lambda T: (T,)], ids=["array", "one-tuple"])
def test_transform_input_equals_transforming_by_hand(Machine, wrap, samples, scaled):
    X, y, T = samples
    X_scaled, _, T_scaled = scaled
    by_hand = Machine(**FIXED).fit(X_scaled, y, X_target=T_scaled)
    steps = [("scale", StandardScaler()), ("machine", Machine(**FIXED))]
    pipeline = Pipeline(steps, transform_input=["X_target"])
    with config_context(enable_metadata_routing=True):
        pipeline.fit(X, y, X_target=wrap(T))
    # Predicting needs no routing.
    np.testing.assert_allclose(values(pipeline, T), values(by_hand, T_scaled))


@both
def test_transform_input_is_refused_without_routing(Machine, samples):
    X, y, T = samples
    pipeline = make_pipeline(StandardScaler(), Machine(**FIXED), transform_input=["X_target"])
    with pytest.raises(ValueError, match="metadata routing"):
        pipeline.fit(X, y, X_target=T)


@both
def test_trap_a_plain_pipeline_does_not_transform_the_target(Machine, samples):
    # Again scikit-learn's own doing, both ways; the page warns of it, and far apart so do we.
    X, y, T = samples
    pipeline = make_pipeline(StandardScaler(), spying(Machine))
    with pytest.warns(OverlapWarning):
        pipeline.fit(X, y, **{f"{Machine.__name__.lower()}__X_target": T})
    with config_context(enable_metadata_routing=True), pytest.warns(OverlapWarning):
        pipeline.fit(X, y, X_target=T)
    assert len(Spy.received) == 2
    for received in Spy.received:
        np.testing.assert_array_equal(received, T)


@both
def test_a_search_over_a_pipeline_scales_the_whole_target_in_every_fold(Machine, samples):
    X, y, T = samples
    folds = KFold(3)
    pipeline = make_pipeline(StandardScaler(), spying(Machine), transform_input=["X_target"])
    grid = {f"{Machine.__name__.lower()}__correction__blend": [0.5]}
    search = GridSearchCV(pipeline, grid, cv=folds)
    with config_context(enable_metadata_routing=True):
        search.fit(X, y, X_target=(T,))
    fitted_on = [X[train] for train, _ in folds.split(X)] + [X]  # the last is the refit
    assert len(Spy.received) == len(fitted_on)
    for received, rows in zip(Spy.received, fitted_on, strict=True):
        np.testing.assert_allclose(received, StandardScaler().fit(rows).transform(T))


@both
def test_transform_input_works_on_frames_between_the_steps(Machine, samples):
    pd = pytest.importorskip("pandas")
    X, y, T = (pd.DataFrame(rows, columns=NAMES) if rows.ndim == 2 else rows for rows in samples)
    scaler = StandardScaler().set_output(transform="pandas")
    with config_context(enable_metadata_routing=True):
        framed, plain = (
            make_pipeline(step, Machine(), transform_input=["X_target"]).fit(X, y, X_target=T)
            for step in (scaler, StandardScaler())
        )
    np.testing.assert_array_equal(values(framed, T), values(plain, T))
    assert framed[-1].feature_names_in_.tolist() == NAMES


# Metadata routing


@both
def test_x_target_is_requested_by_default(Machine):
    requests = Machine().get_metadata_routing()
    for method in ("fit", "partial_fit"):
        assert getattr(requests, method).requests["X_target"] is True
        assert getattr(requests, method).requests["target_weight"] is True
        assert getattr(requests, method).requests["sample_weight"] is None  # scikit-learn's own way
    assert requests.predict.requests == {}


@both
def test_sample_weight_is_routed_once_it_is_requested(Machine, scaled):
    X, y, T = scaled
    w = np.arange(N) % 3
    with config_context(enable_metadata_routing=True):
        asked = Machine(**FIXED, reg=1.0).set_fit_request(sample_weight=True)
        asked.set_score_request(sample_weight=False)
        search = GridSearchCV(asked, {"reg": [1.0]}, cv=2)
        search.fit(X, y, X_target=(T,), sample_weight=w)
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            GridSearchCV(Machine(), {"reg": [1.0]}).fit(X, y, X_target=(T,), sample_weight=w)
    by_hand = Machine(**FIXED, reg=1.0).fit(X, y, X_target=T, sample_weight=w)
    np.testing.assert_array_equal(values(search, T), values(by_hand, T))


# Calibration


@pytest.mark.part(2)
@either_routing
@pytest.mark.parametrize("ensemble", [True, False])
def test_calibration_gives_the_whole_target_to_every_fold(routing, ensemble, scaled):
    X, y, T = scaled
    calibrated = CalibratedClassifierCV(spying(VSVC), cv=3, ensemble=ensemble)
    with config_context(enable_metadata_routing=routing):
        calibrated.fit(X, y, X_target=(T,))
    assert Spy.lengths() == [N] * (3 if ensemble else 4)
    p = calibrated.predict_proba(T)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert ((p >= 0) & (p <= 1)).all()


def test_trap_calibration_cuts_a_bare_array_as_long_as_x(scaled):
    X, y, T = scaled
    CalibratedClassifierCV(spying(VSVC), cv=3).fit(X, y, X_target=T)
    assert set(Spy.lengths()) == {N * 2 // 3}


def test_a_fitted_machine_is_calibrated_as_it_is(scaled):
    X, y, T = scaled
    model = VSVC().fit(X[:32], y[:32], X_target=T)
    before = model.decision_function(T)
    calibrated = CalibratedClassifierCV(FrozenEstimator(model)).fit(X[32:], y[32:])
    np.testing.assert_array_equal(model.decision_function(T), before)
    # Platt's curve rises with the decision function, so the order of the rows stays.
    order = np.argsort(before)
    assert (np.diff(calibrated.predict_proba(T)[order, 1]) >= 0).all()


# Parameters, copies and files


@both
def test_clone_copies_the_parameters_and_forgets_the_fit(Machine, scaled):
    X, y, T = scaled
    model = Machine(correction=Additive(blend=0.3), reg=0.5).fit(X, y, X_target=T)
    copy = clone(model)
    assert repr(copy) == repr(model)
    assert copy.correction is not model.correction
    assert not [name for name in vars(copy) if name.endswith("_") or name.startswith("_")]
    np.testing.assert_array_equal(values(copy.fit(X, y, X_target=T), T), values(model, T))


@both
def test_clone_of_an_importance_correction_keeps_its_weights(Machine, scaled):
    X, y, _ = scaled
    w = np.linspace(0.5, 1.5, N)
    model = Machine(correction=Importance(w), reg=1.0)
    np.testing.assert_array_equal(clone(model).correction.weights, w)
    np.testing.assert_array_equal(values(clone(model).fit(X, y), X), values(model.fit(X, y), X))


@both
def test_nested_parameters_reach_the_correction(Machine, scaled):
    X, y, T = scaled
    model = Machine(correction=Additive(), reg=1.0)
    assert model.set_params(correction__symmetric=True, correction__blend=0.5) is model
    assert model.correction.symmetric is True
    assert model.get_params()["correction__blend"] == 0.5
    direct = Machine(correction=Additive(symmetric=True, blend=0.5), reg=1.0)
    nested, direct = model.fit(X, y, X_target=T), direct.fit(X, y, X_target=T)
    np.testing.assert_array_equal(values(nested, T), values(direct, T))


@pytest.mark.part(4)
@both
@pytest.mark.parametrize("variant", [*VARIANTS, {"correction": Additive(phi="anderson-darling")}])
def test_pickling_keeps_the_fit(Machine, variant, scaled):
    X, y, T = scaled
    model = Machine(**variant).fit(X, y, X_target=T)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(values(loaded, T), values(model, T))
    assert (loaded.reg_, loaded.target_coverage_) == (model.reg_, model.target_coverage_)


@pytest.mark.part(4)
@both
@pytest.mark.parametrize("correction", ["none", "multiplicative", "additive", "sliced", "blended"])
def test_pickling_keeps_the_sums_of_partial_fit(Machine, correction, scaled):
    X, y, T = scaled
    first = {"classes": [0, 1]} if Machine is VSVC else {}
    model = Machine(correction=correction, n_components=10, random_state=0)
    model.partial_fit(X[:24], y[:24], X_target=T, **first)
    loaded = pickle.loads(pickle.dumps(model))
    for going_on in (model, loaded):
        going_on.partial_fit(X[24:], y[24:])
    np.testing.assert_array_equal(values(loaded, T), values(model, T))


@both
def test_partial_fit_ends_where_the_rows_do_however_they_are_cut(Machine, scaled):
    X, y, T = scaled
    first = {"classes": [0, 1]} if Machine is VSVC else {}

    def streamed(*cuts):
        model = Machine(random_state=0).partial_fit(X[:16], y[:16], X_target=T, **first)
        for rows in np.split(np.arange(16, N), cuts):
            model.partial_fit(X[rows], y[rows])
        return values(model, T)

    np.testing.assert_allclose(streamed(4, 20), streamed(), atol=1e-9)


@both
def test_a_pickled_pipeline_predicts_without_routing(Machine, samples):
    X, y, T = samples
    pipeline = make_pipeline(StandardScaler(), Machine(**FIXED), transform_input=["X_target"])
    with config_context(enable_metadata_routing=True):
        written = pickle.dumps(pipeline.fit(X, y, X_target=T))
        routed = values(pipeline, T)
    np.testing.assert_array_equal(values(pickle.loads(written), T), routed)


@both
def test_the_html_display_shows_the_machine_and_its_correction(Machine, scaled):
    X, y, T = scaled
    model = Machine(correction=Additive(blend=0.25))
    for shown in (model, model.fit(X, y, X_target=T), make_pipeline(StandardScaler(), model)):
        html = shown._repr_html_()
        assert Machine.__name__ in html
        assert "Additive(blend=0.25)" in html


# Data frames


@pytest.fixture(params=["pandas", "polars"])
def frame(request):
    """Make a data frame of pandas or polars from rows, with the usual names."""
    library = pytest.importorskip(request.param)
    return lambda rows, names=NAMES: library.DataFrame(dict(zip(names, rows.T, strict=True)))


@pytest.mark.part(4)
@both
@pytest.mark.parametrize("solver", ["dual", "primal"])
def test_frames_give_the_predictions_of_arrays(Machine, solver, frame, scaled):
    X, y, T = scaled
    model = Machine(solver=solver, n_components=20, random_state=0)
    arrays = values(model.fit(X, y, X_target=T), T)
    for target in (frame(T), (frame(T),)):
        model.fit(frame(X), y, X_target=target)
        np.testing.assert_array_equal(values(model, frame(T)), arrays)
        assert model.feature_names_in_.tolist() == NAMES


@pytest.mark.part(4)
@both
def test_partial_fit_takes_frames(Machine, frame, scaled):
    X, y, T = scaled
    first = {"classes": [0, 1]} if Machine is VSVC else {}
    arrays, frames = (Machine(n_components=20, random_state=0) for _ in range(2))
    arrays.partial_fit(X[:24], y[:24], X_target=T, **first).partial_fit(X[24:], y[24:])
    frames.partial_fit(frame(X[:24]), y[:24], X_target=frame(T), **first)
    frames.partial_fit(frame(X[24:]), y[24:])
    np.testing.assert_array_equal(values(frames, frame(T)), values(arrays, T))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_labels_and_weights_may_be_columns(library, scaled):
    Series = pytest.importorskip(library).Series
    X, y, T = scaled
    labels, w = np.where(y, "ill", "well"), 1.0 + np.arange(N) % 3
    arrays = VSVC(**FIXED, reg=1.0).fit(X, labels, X_target=T, sample_weight=w, target_weight=w)
    columns = VSVC(**FIXED, reg=1.0).fit(
        X, Series(labels), X_target=T, sample_weight=Series(w), target_weight=Series(w)
    )
    np.testing.assert_array_equal(columns.predict_proba(T), arrays.predict_proba(T))
    assert columns.predict(T).tolist() == arrays.predict(T).tolist()


@pytest.mark.part(10)
@both
@either_routing
def test_searches_take_frames(Machine, frame, routing, scaled):
    X, y, T = scaled
    with config_context(enable_metadata_routing=routing):
        frames = cross_val_score(
            Machine(**FIXED, reg=1.0), frame(X), y, cv=3, params={"X_target": (frame(T),)}
        )
    arrays = cross_val_score(Machine(**FIXED, reg=1.0), X, y, cv=3, params={"X_target": (T,)})
    np.testing.assert_allclose(frames, arrays)


@pytest.mark.part(2)
@both
def test_columns_that_do_not_match_are_refused(Machine, frame, scaled):
    X, y, T = scaled
    model = Machine(**FIXED, reg=1.0)
    straight = model.fit(frame(X), y, X_target=frame(T)).predict(frame(T))
    model.fit(frame(X), y, X_target=frame(T[:, ::-1], NAMES[::-1]))
    np.testing.assert_array_equal(model.predict(frame(T)), straight)
    with pytest.raises(ValueError, match=r"\['visits'\] only in X, \['bmi'\] only in X_target"):
        model.fit(frame(X), y, X_target=frame(T, ["age", "income", "bmi"]))
    model.fit(frame(X), y, X_target=frame(T))
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(frame(X[:, ::-1], NAMES[::-1]))
    with pytest.raises(ValueError, match="unseen at fit time:\n- bmi"):
        model.predict(frame(X, ["age", "income", "bmi"]))
    with pytest.raises(ValueError, match="now missing:\n- visits"):
        model.predict(frame(X[:, :2], NAMES[:2]))


@both
def test_rows_without_names_are_predicted_with_a_warning(Machine, frame, scaled):
    X, y, T = scaled
    model = Machine(**FIXED, reg=1.0).fit(frame(X), y, X_target=frame(T))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        nameless = values(model, T)
    np.testing.assert_array_equal(nameless, values(model, frame(T)))

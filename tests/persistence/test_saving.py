"""Every estimator of the table can be saved: what is loaded is what was fitted, to the last bit."""

from __future__ import annotations

import ast
import copy
import io
import warnings
import zipfile
from types import FunctionType

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import covshift
from covshift import (
    VSVC,
    VSVR,
    Kernel,
    Margins,
    Reweighted,
    RobustBiasAware,
    VBoostClassifier,
    VBoostRegressor,
)
from covshift.conformal import ConformalClassifier, ConformalRegressor
from covshift.corrections import (
    CORRECTIONS,
    Additive,
    Importance,
    Multiplicative,
    Pairwise,
    Precomputed,
    Sliced,
    Uniform,
)
from covshift.exceptions import InputError
from covshift.registry import TABLE, WeighterEntry
from covshift.weights import (
    KDE,
    KLIEP,
    KMM,
    WEIGHTERS,
    CDFWeights,
    Discriminative,
    EnergyWeights,
    EntropyBalancing,
    NearestNeighbors,
)

pytestmark = pytest.mark.filterwarnings("ignore")

rng = np.random.default_rng(0)
X, T = rng.normal(size=(40, 3)), rng.normal(0.4, 1.0, size=(30, 3))
NEW = np.vstack([rng.normal(0.2, 1.5, size=(20, 3)), X[:3], T[:3]])
TWO = np.where(X[:, 0] + 0.3 * rng.normal(size=40) > 0, "yes", "no")
THREE = np.digitize(X[:, 0], [-0.5, 0.5]) - 1
NUMBER = X[:, 0] ** 2 + 0.1 * rng.normal(size=40)
FAR = T + np.array([8.0, 0, 0])
PARTLY = np.vstack([T[:5], FAR])  # most of it beyond what the training rows cover
NAMES = ["age", "income", "été <b>"]
TREES = {"n_estimators": 3, "min_samples_leaf": 3}


WEIGHTED = (
    {name: kind() for name, kind in WEIGHTERS.items()}
    | {
        "discriminative, its own classifier": Discriminative(LogisticRegression(C=0.5), cv=None),
        "discriminative by V": Discriminative(VSVC(correction="none"), cv=None),
        "two moments": EntropyBalancing(moments=2, interactions=True, reg=0.1),
        "Laplacian kernel": KMM(kernel="laplacian", width=2.0),
        "flattened by labels": KDE("cv", tau="cv", random_state=0),
        "five neighbours": NearestNeighbors(5, standardize=False),
        "energy of training rows alone": EnergyWeights(reg=0.0),
        "list of widths": KLIEP([0.5, 1.0], random_state=np.int64(3)),
    }
    | {
        f"cdf, {views}": CDFWeights(views, random_state=0, reg=1.0, solver="thresholds")
        for views in ("additive", "pairwise", "sliced", "multiplicative")
    }
    | {
        f"cdf, {kind.__name__}": CDFWeights(
            kind(symmetric=True, phi="anderson-darling"), random_state=0
        )
        for kind in (Additive, Pairwise, Sliced, Multiplicative)
    }
    | {
        "cdf by folds": CDFWeights(reg="cv"),
        "cdf, thresholds": CDFWeights(solver="thresholds"),
        "cdf, no overlap": CDFWeights(allow_no_overlap=True),
    }
)

FUNCTIONS = {
    f"{kind.__name__}, {name}": (kind(name), y)
    for name in [*CORRECTIONS, "auto", "kliep"]
    for kind, y in ((VSVC, TWO), (VSVR, NUMBER))
} | {
    "landmarks": (VSVC(solver="primal", n_components=9, random_state=0), THREE),
    "no probabilities": (VSVC(probability=None), THREE == 0),
    "chosen width": (VSVR(kernel=Kernel(width="cv", coordinates="cdf")), NUMBER),
    "polynomial": (VSVR(kernel=Kernel("poly", degree=2)), np.column_stack([NUMBER, -NUMBER])),
    "own weights": (VSVC(Importance(np.linspace(0.5, 1.5, 40))), TWO.astype(object)),
    "given V": (VSVC(Precomputed(np.eye(40))), THREE.astype(np.int32)),
    "correction with a weighter": (VSVR(Additive(weights=KLIEP(random_state=0))), NUMBER),
    "directions": (VSVR(Sliced(directions=np.eye(3))), NUMBER),
    "a box": (VSVR(Uniform(low=[-3.0, -3, -3], high=(4.0, 4, 4))), NUMBER),
    "boosted classes": (VBoostClassifier(**TREES), THREE),
    "boosted, auto": (VBoostClassifier("auto", **TREES), TWO),
    "boosted numbers": (VBoostRegressor(early_stopping=True, **TREES), NUMBER),
    "boosted, two outcomes": (VBoostRegressor(**TREES), np.column_stack([NUMBER, -NUMBER])),
    "boosted, sliced": (VBoostRegressor(Sliced(random_state=0), **TREES), NUMBER),
    "robust": (RobustBiasAware(), THREE),
    "robust by neighbours": (RobustBiasAware("neighbors"), TWO),
    "reweighted": (Reweighted(LogisticRegression(max_iter=300)), TWO),
    "reweighted numbers": (Reweighted(Ridge(alpha=2.0), weighter=CDFWeights()), NUMBER),
    "reweighted machine": (Reweighted(VSVC(), weighter=None), TWO),
    "reweighted twice": (Reweighted(Reweighted(VBoostRegressor(**TREES)), weighter="kde"), NUMBER),
    "logistic": (LogisticRegression(), THREE),
    "ridge": (Ridge(), np.column_stack([NUMBER, -NUMBER])),
}

BY_FOLDS = {"method": "cv+", "n_folds": 3, "random_state": 0}
CONFORMAL = {
    "intervals": (ConformalRegressor(Ridge(), random_state=0), NUMBER),
    "sets": (ConformalClassifier(LogisticRegression(), random_state=0), TWO),
    "intervals of a machine": (ConformalRegressor(VSVR(), random_state=0), NUMBER),
    "intervals of a spread": (
        ConformalRegressor(Ridge(), conformity_score="normalized", spread=Ridge(), random_state=0),
        NUMBER,
    ),
    "intervals by folds": (ConformalRegressor(Ridge(), **BY_FOLDS), NUMBER),
    "sets by folds": (
        ConformalClassifier(LogisticRegression(), conformity_score="aps", **BY_FOLDS),
        THREE,
    ),
    "randomised sets": (
        ConformalClassifier(VSVC(), conformity_score="raps", randomized=True, random_state=0),
        THREE,
    ),
    "no weights": (ConformalRegressor(Ridge(), weighter=None, random_state=0), NUMBER),
    "prefit": (ConformalRegressor(Ridge().fit(X, -NUMBER), prefit=True), NUMBER),
    "prefit spread": (
        ConformalRegressor(
            Ridge().fit(X, NUMBER),
            conformity_score="normalized",
            spread=Ridge(1e3).fit(X, NUMBER + 20),
            prefit=True,
        ),
        NUMBER,
    ),
    "prefit pair": (
        ConformalRegressor(
            (Ridge().fit(X, NUMBER - 1), Ridge().fit(X, NUMBER)),
            conformity_score="quantile",
            prefit=True,
        ),
        NUMBER,
    ),
    "prefit sets": (ConformalClassifier(LogisticRegression().fit(X, TWO), prefit=True), TWO),
}


def fitted(estimator, y, frames=False):
    rows = (pd.DataFrame(X, columns=NAMES), pd.DataFrame(T, columns=NAMES)) if frames else (X, T)
    target = {} if isinstance(estimator, LogisticRegression | Ridge) else {"X_target": rows[1]}
    return clone(estimator).fit(rows[0], y, **target)


def calibrated(estimator, y, target=T):
    with warnings.catch_warnings():  # scikit-learn would clone what is fitted
        return copy.deepcopy(estimator).fit(X, y, X_target=target)


def spoken(model, rows, coverage):
    """Intervals or sets, as an array, and all that is said of them but for what is expected."""
    sets = hasattr(model, "predict_set")
    found = (model.predict_set if sets else model.predict_interval)(rows, coverage)
    return np.asarray(found), found.notes, found.effective_sample_size, found.n_calibration


def saved(estimator, tmp_path):
    covshift.save(estimator, tmp_path / "e.covshift")
    return covshift.load(tmp_path / "e.covshift")


def assert_same(one, other, where="it"):
    """Equal data of equal types; objects by their attributes."""
    assert type(one) is type(other), where
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, where
        if one.flags.forc:  # products in another order round otherwise
            assert one.flags.c_contiguous == other.flags.c_contiguous, where
        np.testing.assert_array_equal(one, other, err_msg=where)
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for k, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_same(a, b, f"{where}[{k}]")
    elif isinstance(one, dict):
        assert list(one) == list(other), where
        for key, value in one.items():
            assert_same(value, other[key], f"{where}[{key!r}]")
    elif hasattr(one, "__dict__") and not isinstance(one, type | FunctionType):
        assert_same(_attributes(one), _attributes(other), where)
    elif not hasattr(one, "query"):  # a tree of points, made anew
        assert one == other or (one != one and other != other), where


def _attributes(thing):
    return {name: vars(thing)[name] for name in sorted(vars(thing))}


METHODS = ("predict", "predict_proba", "decision_function", "predict_weights")


def assert_acts_the_same(one, other, rows):
    for method in METHODS:
        assert hasattr(one, method) == hasattr(other, method)
        if hasattr(one, method):
            expected = getattr(one, method)(rows)
            found = getattr(other, method)(rows)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


@pytest.mark.part(6)
@pytest.mark.parametrize("frames", [False, True], ids=["arrays", "frames"])
@pytest.mark.parametrize("name", WEIGHTED)
def test_a_loaded_weighter_is_the_one_that_was_fitted(name, frames, tmp_path):
    weighter = fitted(WEIGHTED[name], NUMBER, frames)
    again = saved(weighter, tmp_path)
    assert_same(weighter, again)
    rows = pd.DataFrame(NEW, columns=NAMES) if frames else NEW
    if name == "energy of training rows alone":
        with pytest.raises(InputError, match="training rows alone"):
            again.predict_weights(rows)
    else:
        assert_acts_the_same(weighter, again, rows)
    if frames:
        assert list(again.feature_names_in_) == NAMES
        with pytest.raises(ValueError, match=r"[Ff]eature names"):
            again.predict_weights(pd.DataFrame(NEW, columns=list("abc")))


@pytest.mark.part(20)
@pytest.mark.parametrize("frames", [False, True], ids=["arrays", "frames"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_loaded_function_is_the_one_that_was_fitted(name, frames, tmp_path):
    estimator, y = FUNCTIONS[name]
    model = fitted(estimator, y, frames)
    again = saved(model, tmp_path)
    if not isinstance(model, LogisticRegression | Ridge):  # of these not all attributes are ours
        assert_same(model, again)
    assert_same(model.get_params(), again.get_params())
    assert again.n_features_in_ == 3
    assert_acts_the_same(model, again, pd.DataFrame(NEW, columns=NAMES) if frames else NEW)
    if frames and not isinstance(model, Reweighted):
        assert list(again.feature_names_in_) == NAMES


@pytest.mark.part(6)
@pytest.mark.parametrize("name", CONFORMAL)
def test_loaded_intervals_and_sets_are_those_of_the_calibrated_model(name, tmp_path):
    model = calibrated(*CONFORMAL[name])
    again = saved(model, tmp_path)
    assert_acts_the_same(model, again, NEW)
    for coverage in (0.9, 0.6):
        (found, *more), (other, *others) = (spoken(m, NEW, coverage) for m in (model, again))
        np.testing.assert_array_equal(found, other)
        assert more == others
    for attribute in ("scores_", "weights_", "n_features_in_"):
        assert_same(getattr(model, attribute), getattr(again, attribute))


@pytest.mark.thorough
def test_a_file_keeps_no_calibration_rows_and_says_so(tmp_path):
    model = calibrated(*CONFORMAL["intervals"])
    silent = saved(model, tmp_path).expected_coverage(0.9)
    assert np.isnan(silent.value)
    assert silent.note == "the file keeps no calibration rows."
    model.expected_coverage(0.9)
    model.expected_coverage(0.8)
    again = saved(model, tmp_path)
    assert again.expected_coverage(0.8) == model.expected_coverage(0.8)
    assert "estimated before saving for 0.8, 0.9." in again.expected_coverage(0.7).note
    assert "not known" in str(again.predict_interval(NEW, 0.7))
    with zipfile.ZipFile(tmp_path / "e.covshift") as archive:
        names = [name for name in archive.namelist() if name.endswith(".npy")]
        arrays = [np.load(io.BytesIO(archive.read(name))) for name in names]
    rows = model._by_sample.rows.X
    assert not any(np.isin(rows, array).any() for array in arrays)


@pytest.mark.thorough
def test_groups_margins_frames_and_gaps_come_back_with_a_calibrated_model(tmp_path):
    rows, target, new = (
        pd.DataFrame(part, columns=NAMES).assign(town=np.where(part[:, 1] > 0, "u", "v"))
        for part in (X, T, NEW)
    )
    by_town = ConformalRegressor(VSVR(), by="town", random_state=0).fit(
        rows, NUMBER, X_target=target
    )
    shares = by_town.expected_coverage(0.8).groups
    again = saved(by_town, tmp_path)
    np.testing.assert_array_equal(
        np.asarray(again.predict_interval(new)), np.asarray(by_town.predict_interval(new))
    )
    assert again.expected_coverage(0.8).groups == shares
    assert shares.keys() == {"u", "v"}
    margins = Margins.from_rows(T, min_count=3)
    of_margins = calibrated(*CONFORMAL["intervals"], target=margins)
    again = saved(of_margins, tmp_path)
    np.testing.assert_array_equal(
        np.asarray(again.predict_interval(NEW)), np.asarray(of_margins.predict_interval(NEW))
    )
    far = calibrated(*CONFORMAL["intervals"], target=PARTLY)
    found = saved(far, tmp_path).predict_interval(FAR)
    assert found.share_infinite == 1
    assert found.notes == far.predict_interval(FAR).notes


@pytest.mark.thorough
def test_a_doubly_robust_threshold_is_kept_where_it_was_asked_for(tmp_path):
    model = ConformalRegressor(Ridge(), threshold="dr", calibration_size=0.6, random_state=0)
    model.fit(X, NUMBER, X_target=T)
    expected = np.asarray(model.predict_interval(NEW, 0.7))
    again = saved(model, tmp_path)
    np.testing.assert_array_equal(np.asarray(again.predict_interval(NEW, 0.7)), expected)
    with pytest.raises(InputError, match=r"coverage of 0\.9, and a file does not.*before saving"):
        again.predict_interval(NEW, 0.9)


def test_a_loaded_prefit_model_can_be_calibrated_anew(tmp_path):
    model = calibrated(*CONFORMAL["prefit"])
    again = saved(model, tmp_path).fit(X[:20], NUMBER[:20], X_target=T)
    expected = model.fit(X[:20], NUMBER[:20], X_target=T)
    np.testing.assert_array_equal(
        np.asarray(again.predict_interval(NEW)), np.asarray(expected.predict_interval(NEW))
    )


def test_a_second_fit_leaves_nothing_of_the_first_in_the_file(tmp_path):
    model = ConformalRegressor(VSVR(), method="jackknife+", random_state=0)
    model.fit(X, NUMBER, X_target=T)
    model.set_params(method="split").fit(X, NUMBER, X_target=T)
    again = saved(model, tmp_path)
    np.testing.assert_array_equal(
        np.asarray(again.predict_interval(NEW)), np.asarray(model.predict_interval(NEW))
    )


class Unsaved(KLIEP):
    """Of no package that is trusted."""


@pytest.mark.parametrize("method", ["jackknife+", "cv+"])
def test_many_models_come_back(method, tmp_path):
    model = ConformalRegressor(Ridge(), method=method, weighter=None, random_state=0)
    model.fit(X, NUMBER)
    again = saved(model, tmp_path)
    np.testing.assert_array_equal(
        np.asarray(again.predict_interval(NEW)), np.asarray(model.predict_interval(NEW))
    )


OTHERS = {  # of scikit-learn
    "forest": RandomForestClassifier(5, random_state=0),
    "extra trees": ExtraTreesClassifier(5, random_state=0),
    "tree": DecisionTreeClassifier(max_depth=3),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=3),
    "AdaBoost": AdaBoostClassifier(n_estimators=3, random_state=0),
    "bagging": BaggingClassifier(n_estimators=3, random_state=0),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    "pipeline with trees": make_pipeline(
        make_column_transformer((PolynomialFeatures(), [0]), remainder="passthrough"),
        RandomForestClassifier(5, random_state=0),
    ),
}


@pytest.mark.part(3)
@pytest.mark.parametrize("around", ["alone", "reweighted", "conformal"])
@pytest.mark.parametrize("name", OTHERS)
def test_estimators_of_scikit_learn_come_back_alone_and_inside_ours(name, around, tmp_path):
    if around == "alone":
        model = clone(OTHERS[name]).fit(X, THREE)
    elif around == "reweighted":
        model = Reweighted(OTHERS[name]).fit(X, THREE, X_target=T)
    else:
        model = ConformalClassifier(OTHERS[name], random_state=0).fit(X, THREE, X_target=T)
    again = saved(model, tmp_path)
    assert_acts_the_same(model, again, NEW)
    if around == "conformal":
        np.testing.assert_array_equal(
            np.asarray(again.predict_set(NEW)), np.asarray(model.predict_set(NEW))
        )


def test_a_pipeline_of_text_columns_comes_back(tmp_path):
    frame = pd.DataFrame({"town": np.where(X[:, 0] > 0, "u", "v"), "age": X[:, 1]})
    steps = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    model = make_pipeline(steps, Ridge()).fit(frame, NUMBER)
    assert_acts_the_same(model, saved(model, tmp_path), frame)


def test_every_name_of_the_table_is_among_the_weighters_that_are_tested():
    names = {name for name, entry in TABLE.items() if isinstance(entry, WeighterEntry)}
    assert names <= WEIGHTED.keys()


def test_precomputed_kernels_and_constant_columns_come_back(tmp_path):
    K = X @ X.T
    machine = VSVR("none", kernel="precomputed").fit(K, NUMBER)
    assert_acts_the_same(machine, saved(machine, tmp_path), NEW @ X.T)
    wider, target = (np.column_stack([np.ones(len(rows)), rows]) for rows in (X, T))
    machine = VSVC().fit(wider, TWO, X_target=target)
    again = saved(machine, tmp_path)
    np.testing.assert_array_equal(again._columns, [1, 2, 3])
    assert_acts_the_same(machine, again, np.column_stack([np.ones(len(NEW)), NEW]))


def test_what_is_loaded_can_be_cloned_changed_and_fitted_again(tmp_path):
    machine = fitted(VSVC(Additive(symmetric=True)), TWO)
    again = saved(machine, tmp_path)
    again.set_params(correction__symmetric=False).fit(X, THREE, X_target=T)
    expected = VSVC(Additive()).fit(X, THREE, X_target=T)
    np.testing.assert_array_equal(again.predict(NEW), expected.predict(NEW))
    again.dual_coef_ += 1  # writable, as after a fit


def test_arrays_that_are_one_are_saved_once(tmp_path):
    machine = fitted(VSVC(), TWO)
    assert machine._f.coef is machine.dual_coef_
    again = saved(machine, tmp_path)
    assert again._f.coef is again.dual_coef_


def test_blocks_can_be_added_to_what_a_file_kept(tmp_path):
    machine = VSVR(reg=1.0, random_state=0).partial_fit(X, NUMBER, X_target=T)
    again = saved(machine, tmp_path)
    np.testing.assert_array_equal(again.predict(NEW), machine.predict(NEW))
    for each in (machine, again):
        each.partial_fit(X + 0.1, NUMBER)
    np.testing.assert_array_equal(again.predict(NEW), machine.predict(NEW))


# What cannot be saved


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (VSVC(), "VSVC is not fitted"),
        (KLIEP(), "KLIEP is not fitted"),
        (Reweighted(VSVC()), "Reweighted is not fitted"),
        (make_pipeline(StandardScaler(), VSVC()), "Pipeline is not fitted"),
    ],
)
def test_what_is_not_fitted_is_not_saved(estimator, words, tmp_path):
    with pytest.raises(InputError, match=words):
        covshift.save(estimator, tmp_path / "e.covshift")
    assert list(tmp_path.iterdir()) == []


def test_only_fitted_estimators_are_saved_and_they_come_first(tmp_path):
    for wrong in (VSVC, 3, np.zeros(3)):
        with pytest.raises(TypeError, match="not a fitted estimator"):
            covshift.save(wrong, tmp_path / "e.covshift")
    with pytest.raises(TypeError, match=r"save\(estimator, path\)"):
        covshift.save(str(tmp_path / "e.covshift"), VSVC())


def test_what_no_file_can_hold_says_where_it_is_and_leaves_no_file(tmp_path):
    machine = VSVC(kernel=lambda a, b: float(a @ b)).fit(X, TWO, X_target=T)
    with pytest.raises(InputError, match=r"VSVC\.kernel is a function"):
        covshift.save(machine, tmp_path / "e.covshift")
    weighter = fitted(KLIEP(), NUMBER)
    weighter.log_ = open(__file__)  # noqa: SIM115
    with pytest.raises(InputError, match=r"KLIEP cannot be saved: .*TextIOWrapper.*joblib"):
        covshift.save(weighter, tmp_path / "e.covshift")
    weighter.log_.close()
    weighter.log_ = weighter
    with pytest.raises(InputError, match=r"KLIEP cannot be saved: RecursionError"):
        covshift.save(weighter, tmp_path / "e.covshift")
    assert list(tmp_path.iterdir()) == []


def test_a_class_of_one_s_own_is_loaded_once_it_is_trusted(tmp_path):
    path = tmp_path / "e.covshift"
    weighter = fitted(Unsaved(), NUMBER)
    covshift.save(weighter, path)
    name = f"{Unsaved.__module__}.Unsaved"
    with pytest.raises(InputError, match=rf"holds Unsaved, a {name}.*trusted=\['{name}'\]"):
        covshift.load(path)
    assert_acts_the_same(weighter, covshift.load(path, trusted=[name]), NEW)


@pytest.mark.parametrize("kind", [GradientBoostingClassifier, SVC])
def test_compiled_learners_whose_arrays_nobody_checks_need_trust(kind, tmp_path):
    path = tmp_path / "e.covshift"
    model = kind().fit(X, THREE)
    covshift.save(model, path)
    with pytest.raises(InputError, match="If you trust who made the file") as refused:
        covshift.load(path)
    types = ast.literal_eval(str(refused.value).partition("trusted=")[2].rstrip(")"))
    assert_acts_the_same(model, covshift.load(path, trusted=types), NEW)


def test_loading_runs_no_fit_and_warns_of_nothing(tmp_path, monkeypatch):
    path = tmp_path / "e.covshift"
    covshift.save(fitted(Reweighted(LogisticRegression()), TWO), path)

    def fit(*_, **__):
        raise AssertionError("fitted")

    for kind in (Reweighted, LogisticRegression, CDFWeights):
        monkeypatch.setattr(kind, "fit", fit)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert covshift.load(path).predict(NEW).shape == (26,)


def test_an_interrupted_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "e.covshift"
    covshift.save(fitted(KLIEP(), NUMBER), path)
    before = path.read_bytes()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(zipfile.ZipFile, "writestr", interrupted)
    with pytest.raises(KeyboardInterrupt):
        covshift.save(fitted(KDE(), NUMBER), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]

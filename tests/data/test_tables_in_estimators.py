"""Tables as they come, in the estimators: text, dates and gaps; a category is one feature."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from covshift import (
    VSVC,
    VSVR,
    Kernel,
    TableEncoder,
    VBoostClassifier,
    VBoostRegressor,
    estimate,
    load,
    save,
    v_matrix,
)
from covshift.bounds import loss_error_1d
from covshift.corrections import Additive, Pairwise, Precomputed
from covshift.distributed import fit_blocks
from covshift.exceptions import (
    ConstantColumnWarning,
    CoverageWarning,
    InputError,
    UnseenLevelWarning,
)
from covshift.objectives import VObjective
from covshift.robust import RobustBiasAware

N, M = 60, 70
LEVELS = ["north", "east", "south", "west"]


def table(rows, seed, shares):
    rng = np.random.default_rng(seed)
    income = rng.normal(size=rows)
    income[rng.uniform(size=rows) < 0.2] = np.nan
    days = pd.to_timedelta(rng.integers(0, 900, rows), unit="D")
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, rows),
            "region": rng.choice(LEVELS, rows, p=shares),
            "income": income,
            "member": rng.uniform(size=rows) < 0.5,
            "since": pd.Timestamp("2020-03-01") + days,
        }
    )


X, T = table(N, 0, [0.25] * 4), table(M, 1, [0.5, 0.2, 0.2, 0.1])
SCORE = X.age / 40 + (X.region == "south") - X.income.isna() + np.linspace(0, 0.3, N)
CLASSES = np.where(SCORE > SCORE.median(), "yes", "no")
ENCODER = TableEncoder().fit(X, X_target=T)

TREES = {"n_estimators": 3, "min_samples_leaf": 8}
ESTIMATORS = {
    "VSVC": (VSVC("blended", kernel=Kernel("rbf", width=1.0), probability=None), CLASSES),
    "VSVC, searched": (VSVC(fast=True), CLASSES),
    "VSVR on landmarks": (VSVR("additive", solver="primal", fast=True, random_state=0), SCORE),
    "VBoostClassifier": (VBoostClassifier(**TREES), CLASSES),
    "VBoostRegressor": (VBoostRegressor(**TREES), SCORE),
    "RobustBiasAware": (RobustBiasAware(), CLASSES),
}
every = pytest.mark.parametrize("name", ESTIMATORS)


def fitted(name, X, X_target, **options):
    estimator, y = ESTIMATORS[name]
    rows = options.pop("rows", slice(None))
    return clone(estimator).fit(X, np.asarray(y)[rows], X_target=X_target, **options)


def values(model, X):
    if isinstance(model, VSVC):
        return model.decision_function(X)
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


@pytest.mark.part(4)
@every
def test_a_table_gives_what_its_encoded_rows_give(name):
    one = fitted(name, X, T)
    other = fitted(name, ENCODER.transform(X), ENCODER.transform(T))
    np.testing.assert_allclose(values(one, T), values(other, ENCODER.transform(T)), atol=1e-10)
    assert one.feature_names_in_.tolist() == list(X.columns)
    assert one.n_features_in_ == 5


@pytest.mark.parametrize("name", ["VSVC", "VBoostRegressor", "RobustBiasAware"])
def test_other_libraries_give_the_same(name):
    polars = pytest.importorskip("polars")
    expected = values(fitted(name, X, T), T)
    found = fitted(name, polars.from_pandas(X), (polars.from_pandas(T),))
    np.testing.assert_allclose(values(found, polars.from_pandas(T)), expected, atol=1e-10)


@pytest.mark.parametrize("correction", ["additive", "blended", "pairwise"])
def test_the_loss_is_that_of_the_features_v(correction):
    """With V made beforehand, and rows that know of no features: `v_matrix` has its oracle."""
    estimator = VSVR(kernel=Kernel("rbf", width=2.0, coordinates="none"), reg=0.1)
    V = Precomputed(v_matrix(X, T, correction))
    rows, new = np.asarray(ENCODER.transform(X)), np.asarray(ENCODER.transform(T))
    expected = estimator.set_params(correction=V).fit(rows, SCORE).predict(new)
    found = estimator.set_params(correction=correction).fit(X, SCORE, X_target=T).predict(T)
    np.testing.assert_allclose(found, expected, atol=1e-7)
    plain = estimator.fit(rows, SCORE, X_target=new).predict(new)
    assert np.abs(plain - expected).max() > 1e-4


def test_coverage_is_that_of_the_features_v():
    """In pairs of features a level must be met; in pairs of columns hardly any row goes unseen."""
    rows = X.assign(region=np.where(np.arange(N) < 20, "island", X.region))[["age", "region"]]
    expected = np.mean(np.diag(Pairwise().operator(rows, T[["age", "region"]]).dense()) > 0)
    model = VSVR("pairwise", kernel=Kernel("rbf", width=1.0), reg=1.0)
    with pytest.warns(CoverageWarning):
        model.fit(rows, SCORE, X_target=T[["age", "region"]])
    assert model.target_coverage_ == pytest.approx(expected)
    assert expected < 0.7


@pytest.mark.part(6)
@every
def test_names_and_order_of_levels_change_no_prediction(name):
    new = dict(zip(LEVELS, ["d", "c", "a", "b"], strict=True))

    def renamed(d):
        return d.assign(region=d.region.map(new))

    def reordered(d):
        return d.assign(region=pd.Categorical(d.region, categories=LEVELS[::-1]))

    expected = values(fitted(name, X, T), T)
    for change in (renamed, reordered):
        found = fitted(name, change(X), change(T))
        np.testing.assert_allclose(values(found, change(T)), expected, atol=1e-8)


@every
def test_a_file_keeps_what_made_numbers_of_the_table(name, tmp_path):
    model = fitted(name, X, T)
    save(model, tmp_path / "model")
    found = load(tmp_path / "model")
    np.testing.assert_array_equal(values(found, T), values(model, T))


@pytest.mark.part(3)
@every
def test_rows_of_weight_zero_teach_nothing(name):
    odd = X.assign(region=X.region.where(np.arange(N) > 5, "island"))
    weight = 1.0 * (np.arange(N) > 5)
    rows = np.arange(6, N)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = fitted(name, odd, T, sample_weight=weight)
    other = fitted(name, X.iloc[rows], T, rows=rows)
    np.testing.assert_allclose(values(one, T), values(other, T), atol=1e-8)


@pytest.mark.parametrize("name", ["VBoostClassifier", "VBoostRegressor"])
def test_importances_are_those_of_the_tables_columns(name):
    model = fitted(name, X, T)
    shares = model.feature_importances_
    assert shares.shape == (5,)
    assert shares.sum() == pytest.approx(1)
    split = model.ensemble_.feature[model.ensemble_.feature >= 0]
    names = {ENCODER.columns[k].split("=")[0].split(" ")[0] for k in split}
    assert set(X.columns[shares > 0]) == names


def test_leaving_out_rows_of_a_table():
    model, y = VSVR("blended", kernel=Kernel("rbf", width=1.0), reg=0.1), SCORE
    model.fit(X, y, X_target=T)
    rows = ENCODER.transform(X), ENCODER.transform(T)
    other = VSVR("blended", kernel=Kernel("rbf", width=1.0), reg=0.1).fit(
        rows[0], y, X_target=rows[1]
    )
    found = model.leave_one_out(X, y, X_target=T)
    expected = other.leave_one_out(rows[0], y, X_target=rows[1])
    np.testing.assert_allclose(found.predict(), expected.predict(), atol=1e-8)
    np.testing.assert_allclose(found.predict(T), expected.predict(rows[1]), atol=1e-8)


def test_every_named_kernel_is_as_far_between_levels_as_between_two_values():
    """The kernel of two rows that differ in their level is that of rows that differ in a flag."""
    rows = pd.DataFrame({"region": LEVELS * 5, "flag": [0.0, 1.0] * 10, "x": np.arange(20.0)})
    for kernel in ("rbf", "laplacian"):
        model = VSVR(kernel=Kernel(kernel, width=1.0), reg=1.0).fit(rows, rows.x)
        one = rows.iloc[[0, 0, 0]].assign(
            region=["north", "east", "north"], flag=[0.0, 0.0, 1.0], x=1.0
        )
        K = model.kernel_(model._points(one), model._points(one))
        assert K[0, 1] == pytest.approx(K[0, 2])
        assert K[0, 1] < K[0, 0]


def test_v_loss_objectives_know_features():
    y = np.asarray(SCORE)
    one = VObjective(X, T, Additive()).loss(y, np.zeros(N))
    rows = ENCODER.transform(X), ENCODER.transform(T)
    V = Additive().of_features(ENCODER.groups).operator(*map(np.asarray, rows)).dense()
    assert VObjective(*rows, Additive()).loss(y, np.zeros(N)) == pytest.approx(one)
    plain = VObjective(*map(np.asarray, rows), Additive()).loss(y, np.zeros(N))
    ratio = (y @ V @ y) / (y @ Additive().operator(*map(np.asarray, rows)).dense() @ y)
    assert one / plain == pytest.approx(ratio)


def test_bounds_average_over_features():
    hot = np.eye(3)[np.arange(30) % 3]
    frame = pd.DataFrame({"x": np.arange(30.0), "c": list("abc") * 10})
    r = np.random.default_rng(0).normal(size=30)
    n_views = 4
    one = [loss_error_1d(view, r, 1000, 1 - 0.05 / n_views) for view in (frame.x, *hot.T)]
    expected = (one[0] + np.mean(one[1:])) / 2
    assert loss_error_1d(frame, r, 1000, 0.95) == pytest.approx(expected, rel=1e-10)


# names


def test_columns_that_are_left_out_are_named():
    frame = pd.DataFrame({"a": np.arange(20.0), "b": 1.0, "c": np.arange(20.0) % 3})
    for model in (VSVR(kernel=Kernel("rbf", width=1.0), reg=1.0), VBoostRegressor(**TREES)):
        with pytest.warns(ConstantColumnWarning, match="Columns 'b' are constant in training and"):
            model.fit(frame, frame.a)
        with pytest.warns(
            ConstantColumnWarning, match=r"Columns \[1\] are constant in training and"
        ):
            model.fit(frame.to_numpy(), frame.a)


def blocks(frame=X):
    for rows in (slice(0, 30), slice(30, N)):
        yield frame.iloc[rows], np.asarray(SCORE)[rows]


TEXT = r"X has columns that are not plain numbers: 'region' \(text\), 'since' \(dates\)\. .*TableEn"
GAPS = r"X has columns that are not plain numbers: 'income' \(\d+ gaps\)\. .* Encode first"


@pytest.mark.parametrize(("columns", "message"), [([], TEXT), (["region", "since"], GAPS)])
def test_a_part_of_the_rows_cannot_teach_an_encoder(columns, message):
    frame = X.drop(columns=columns)
    model = VSVR("additive", random_state=0)
    with pytest.raises(InputError, match="partial_fit sees only"):
        model.partial_fit(frame, SCORE, X_target=T.drop(columns=columns))
    with pytest.raises(InputError, match=message):
        model.partial_fit(frame, SCORE)
    with pytest.raises(InputError, match=message):
        fit_blocks(model, lambda: blocks(frame), np.zeros((5, frame.shape[1])))
    numbers = np.zeros((10, frame.shape[1]))
    with pytest.raises(InputError, match=message.replace("X has", "X_target has")):
        model.partial_fit(numbers, np.arange(10.0), X_target=frame)


def test_a_cluster_names_the_columns_too():
    dd = pytest.importorskip("dask.dataframe")
    from covshift.distributed import fit

    frame = X.assign(y=SCORE)
    data = dd.from_pandas(frame, npartitions=2)
    with pytest.raises(InputError, match=r"'region' \(text\)"):
        fit(VSVR(), data.drop(columns="y"), data["y"], np.zeros((5, 5)))


def test_blocks_of_encoded_rows_know_features():
    rows, target = ENCODER.transform(X), ENCODER.transform(T)
    options = {
        "kernel": Kernel("rbf", width=2.0),
        "reg": 0.1,
        "solver": "primal",
        "random_state": 0,
    }
    whole = VSVR("blended", **options).fit(X, SCORE, X_target=T).predict(T)
    y = np.asarray(SCORE)

    def parts():
        return iter([(rows[:30], y[:30]), (rows[30:], y[30:])])

    model = fit_blocks(VSVR("blended", **options), parts, np.asarray(target))
    np.testing.assert_allclose(model.predict(target), whole, atol=1e-6)
    streamed = VSVR("blended", **options).partial_fit(rows, y, X_target=target)
    np.testing.assert_allclose(streamed.predict(target), whole, atol=1e-6)
    plain = VSVR("blended", **options).fit(np.asarray(rows), y, X_target=np.asarray(target))
    assert np.abs(plain.predict(np.asarray(target)) - whole).max() > 1e-3


# Levels with few rows


def places(rows, tilt, rng, effects):
    share = np.exp(tilt * effects)
    code = rng.choice(len(effects), rows, p=share / share.sum())
    frame = pd.DataFrame({"place": [f"p{k:02d}" for k in code], "x": rng.normal(size=rows)})
    return frame, effects[code] + 0.5 * frame.x.to_numpy()


def test_a_machine_learns_from_levels_of_few_rows():
    """Forty levels of three rows; joined, their effects were lost."""
    rng = np.random.default_rng(0)
    effects = rng.normal(size=40)
    X, f = places(120, 0.0, rng, effects)
    new, expected = places(400, 0.0, rng, effects)
    machine = VSVR(random_state=0).fit(X, f + 0.3 * rng.normal(size=120))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)
        assert np.mean((machine.predict(new) - expected) ** 2) < 0.35 * expected.var()


@pytest.mark.thorough
def test_levels_of_few_rows_are_corrected_for():
    """Sixty places that decide who answers and what; joined ones kept half of the bias."""
    rng = np.random.default_rng(1)
    effects = rng.normal(size=60)
    errors = []
    for _ in range(2):
        X, f = places(150, -0.5, rng, effects)
        T, truth = places(150, 0.5, rng, effects)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = estimate(X, f + 0.5 * rng.normal(size=150), T)
        errors.append((found.value - truth.mean()) / (f.mean() - truth.mean()))
    assert np.mean(errors) < 0.35

"""Machines and V from margins: those of rows where margins say as much; what they refuse."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import reference
from sklearn.model_selection import GridSearchCV

from covshift import (
    VSVC,
    VSVR,
    Kernel,
    Margins,
    VBoostClassifier,
    VBoostRegressor,
    load,
    save,
    v_matrix,
)
from covshift.corrections import (
    Additive,
    Gaussian,
    Importance,
    Multiplicative,
    Pairwise,
    Precomputed,
    Product,
    Sliced,
    Uniform,
)
from covshift.exceptions import InputError, MarginsWarning
from covshift.margins.target_rows import side_by_side

V_OF_COLUMNS = [
    "additive",
    "blended",
    "doubly-corrected",
    "cdf",
    "none",
    Additive(symmetric=True),
    Additive(phi="anderson-darling"),
    Additive(phi="anderson-darling", symmetric=True, normalize=True),
    Additive(blend=0.3, weights="cdf"),
]


def every_value(T):
    return Margins.from_rows(T, bins=None, min_count=1)


def continuous(N=60, M=80):
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, 3)), rng.normal(0.4, 1.1, size=(M, 3))


def discrete(N=60, M=80):
    rng = np.random.default_rng(1)
    return rng.poisson(2, (N, 2)).astype(float), rng.poisson(2.3, (M, 2)).astype(float)


def dummies(N=60, M=80):
    rng = np.random.default_rng(2)
    levels = np.eye(4)
    X = np.column_stack([levels[rng.choice(4, N)], rng.normal(size=N)])
    return X, np.column_stack(
        [levels[rng.choice(4, M, p=[0.1, 0.2, 0.3, 0.4])], rng.normal(size=M)]
    )


def frames(N=60, M=80):
    rng = np.random.default_rng(3)

    def made(rows, shift, levels):
        return pd.DataFrame(
            {
                "age": rng.integers(18, 60, rows) + shift,
                "region": rng.choice(levels, rows),
                "sex": rng.choice(["f", "m"], rows),
                "income": rng.normal(size=rows),
            }
        )

    return made(N, 0, ["n", "s", "w"]), made(M, 5, ["n", "s", "w", "x"])


SAMPLES = [continuous, discrete, dummies]


def outcomes(X, seed=0):
    rng = np.random.default_rng(seed)
    first = np.asarray(X)[:, -1].astype(float)
    return np.sin(first) + rng.normal(0, 0.3, len(first))


# V


@pytest.mark.part(3)
@pytest.mark.parametrize("make", SAMPLES)
@pytest.mark.parametrize("correction", V_OF_COLUMNS, ids=str)
def test_margins_of_every_value_give_the_v_of_the_rows(make, correction):
    X, T = make()
    expected = v_matrix(X, T, correction)
    assert v_matrix(X, every_value(T), correction) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("both_sides", [False, True])
def test_v_at_published_cuts_is_the_naive_one(both_sides):
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.integers(10, 90, 25), rng.normal(size=25), rng.choice(3, 25)]) * 1.0
    margins = Margins(
        {
            0: {(18, 29): 0.2, (30, 64): 0.5, (65, None): 0.3},  # and rows below 18
            1: {"quantiles": {0.25: -0.5, 0.5: 0.1, 0.75: 0.8}},
            2: {"0": 0.5, "1": 0.2, "2": 0.3},
        }
    )
    up = np.nextafter
    starts, ends = [-np.inf, up(-0.5, 1), up(0.1, 1), up(0.8, 1)], [-0.5, 0.1, 0.8, np.inf]
    cells = [
        [(18, up(30, 0), 0.2), (30, up(65, 0), 0.5), (65, np.inf, 0.3)],
        [(a, b, 0.25) for a, b in zip(starts, ends, strict=True)],
        *([(0, 0, 1 - share), (1, 1, share)] for share in (0.5, 0.2, 0.3)),
    ]
    indicators = [(X[:, 2] == level) * 1.0 for level in range(3)]
    seen = np.column_stack([X[:, :2], *indicators])
    with pytest.warns(MarginsWarning, match="lie in no bracket of '0'"):
        V = v_matrix(X, margins, Additive(symmetric=both_sides))
    expected = reference.v_from_cells(seen, cells, both_sides, groups=[0, 1, 2, 2, 2])
    assert V == pytest.approx(expected, abs=1e-12)


def test_v_is_the_same_for_columns_that_change_sign_where_it_is_symmetric():
    x = np.random.default_rng(5).normal(size=(30, 1))
    one = Margins({0: {(None, -1): 0.3, (-1, 0.5): 0.5, (0.5, None): 0.2}})
    other = Margins({0: {(None, -0.5): 0.2, (-0.5, 1): 0.5, (1, None): 0.3}})
    V = v_matrix(x, one, Additive(symmetric=True))
    assert v_matrix(-x, other, Additive(symmetric=True)) == pytest.approx(V, abs=1e-12)
    assert np.abs(v_matrix(-x, other) - v_matrix(x, one)).max() > 0.1


def test_rows_of_one_cell_are_not_told_apart():
    margins = Margins({0: {(0, 10): 0.4, (10, 20): 0.6}})
    V = v_matrix([[1.0], [9.0], [10.0]], margins, Additive(symmetric=True))
    assert V == pytest.approx(np.array([[0.7, 0.7, 0.5], [0.7, 0.7, 0.5], [0.5, 0.5, 0.8]]))


def test_a_table_stands_for_its_margins():
    X = [[1.0, 0.0], [12.0, 1.0], [15.0, 0.0]]
    table = {((0, 10), 0): 0.1, ((0, 10), 1): 0.2, ((10, 20), 0): 0.3, ((10, 20), 1): 0.4}
    single = Margins({0: {(0, 10): 0.3, (10, 20): 0.7}, 1: {0: 0.4, 1: 0.6}})
    assert v_matrix(X, Margins({(0, 1): table})) == pytest.approx(v_matrix(X, single))


def test_made_rows_have_the_margins():
    rng = np.random.default_rng(6)
    shares = [rng.dirichlet(np.ones(size)) for size in (1, 2, 7, 30)]
    shares[2][[0, 3, 6]] = 0
    shares[2] /= shares[2].sum()
    cells, share = side_by_side(shares)
    assert len(share) <= 40
    assert (share > 0).all()
    for k, part in enumerate(shares):
        assert np.bincount(cells[:, k], share, len(part)) == pytest.approx(part, abs=1e-13)


def test_sample_weights_count_as_they_do_with_rows():
    X, T = continuous()
    w = np.random.default_rng(7).random(len(X))
    for correction in (Additive(), Additive(symmetric=True, normalize=True, blend="auto")):
        expected = correction.operator(X, T, sample_weight=w).dense()
        found = correction.operator(X, every_value(T), sample_weight=w).dense()
        assert found == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(
    "correction",
    [
        Multiplicative(),
        Pairwise(),
        Sliced(),
        Gaussian(),
        "multiplicative",
        Additive(phi=lambda T: T[:, 0] ** 2),
        Multiplicative(weights="cdf"),
    ],
    ids=lambda c: type(c).__name__,
)
def test_what_needs_rows_says_what_to_use_instead(correction):
    X, T = continuous()
    for ask in (
        lambda: v_matrix(X, every_value(T), correction),
        lambda: VSVR(correction, kernel="linear").fit(X, X[:, 0], X_target=every_value(T)),
        lambda: VBoostRegressor(correction).fit(X, X[:, 0], X_target=every_value(T)),
    ):
        with pytest.raises(InputError, match=r"needs target rows.*use 'additive' or 'blended'"):
            ask()


def test_weights_that_need_rows_say_so():
    X, T = continuous()
    for correction in ("kliep", Additive(weights="kmm")):
        with pytest.raises(InputError, match="needs target rows: fit CDFWeights"):
            v_matrix(X, every_value(T), correction)


def test_corrections_that_never_look_at_the_target_stay_as_they_are():
    X, T = continuous()
    for correction in (
        Uniform(),
        Gaussian(mean=0, std=1),
        Product(lambda x: 1 / (1 + np.exp(-x))),
        Importance(np.arange(len(X)) + 1.0),
        Precomputed(np.eye(len(X))),
    ):
        assert v_matrix(X, every_value(T), correction) == pytest.approx(v_matrix(X, T, correction))


def test_target_weights_belong_to_rows():
    X, T = continuous()
    with pytest.raises(InputError, match="target_weight is for target rows"):
        v_matrix(X, every_value(T), target_weight=np.ones(len(T)))
    with pytest.raises(InputError, match="target_weight is for target rows"):
        VSVR().fit(X, X[:, 0], X_target=every_value(T), target_weight=np.ones(len(T)))


def test_columns_without_a_margin_are_named():
    X, T = continuous()
    with pytest.warns(MarginsWarning, match="without a margin: '2'. V does not see them"):
        V = v_matrix(X, every_value(T).select([0, 1]))
    assert V == pytest.approx(v_matrix(X[:, :2], T[:, :2]), abs=1e-12)


# Kernel machines


@pytest.mark.part(6)
@pytest.mark.parametrize("make", SAMPLES)
@pytest.mark.parametrize("correction", ["blended", Additive(), "doubly-corrected", "cdf", "none"])
@pytest.mark.parametrize("solver", ["dual", "primal"])
def test_a_machine_is_that_of_the_rows(make, correction, solver):
    X, T = make()
    settings = {"kernel": "rbf", "solver": solver, "n_components": 40, "random_state": 0}
    one, other = (
        VSVR(correction, **settings).fit(X, outcomes(X), X_target=target)
        for target in (T, every_value(T))
    )
    assert other.predict(T) == pytest.approx(one.predict(T), abs=1e-7)
    assert other.target_coverage_ == pytest.approx(one.target_coverage_)
    assert other.reg_ == pytest.approx(one.reg_)


@pytest.mark.part(3)
@pytest.mark.parametrize("coordinates", ["standard", "cdf", "none"])
def test_the_kernel_sees_the_same_coordinates(coordinates):
    X, T = continuous()
    one, other = (
        VSVC("blended", kernel=Kernel(coordinates=coordinates), fast=True).fit(
            X, X[:, 0] > 0, X_target=target
        )
        for target in (T, every_value(T))
    )
    assert other.predict_proba(T) == pytest.approx(one.predict_proba(T), abs=1e-5)
    assert other.kernel_(X, T) == pytest.approx(one.kernel_(X, T), rel=1e-4)


@pytest.mark.filterwarnings("ignore::covshift.exceptions.OverlapWarning")
def test_frames_with_categories_give_the_machine_of_the_rows():
    X, T = frames()
    y = outcomes(X)
    one, other = (
        VSVR(Additive(symmetric=True), kernel="rbf").fit(X, y, X_target=target)
        for target in (T, every_value(T))
    )
    assert other._frame.features_ == one._frame.features_  # with the level that only the target has
    assert other.predict(T) == pytest.approx(one.predict(T), abs=1e-7)


def test_auto_compares_the_same_and_chooses_alike():
    X, T = continuous(80, 100)
    y = outcomes(X)
    one, other = (
        VSVR("auto", kernel="linear").fit(X, y, X_target=target) for target in (T, every_value(T))
    )
    assert other.selection_report_["chosen"] == one.selection_report_["chosen"]
    assert other.predict(T) == pytest.approx(one.predict(T), abs=1e-6)


def test_open_brackets_other_levels_and_means_have_scales_too():
    X, _ = frames()
    margins = Margins(
        {
            "age": {(None, 30): 0.3, (30, 45): 0.2, (45, None): 0.5},
            "region": {"n": 0.5, "(other)": 0.5},
            "sex": {"f": 0.5, "m": 0.5},
            "income": {"mean": 0.1, "sd": 1.0},
        }
    )
    with pytest.warns(MarginsWarning, match="does not use the means of 'income'"):
        model = VSVC("blended", fast=True).fit(X, X["age"] > 40, X_target=margins)
    assert np.isfinite(model.predict_proba(X)).all()
    assert model.score(X, X["age"] > 40) > 0.9


def test_a_machine_from_margins_is_saved_and_loaded(tmp_path):
    X, T = frames()
    model = VSVC("blended", kernel="rbf").fit(X, X["age"] > 40, X_target=every_value(T))
    save(model, tmp_path / "model.covshift")
    loaded = load(tmp_path / "model.covshift")
    assert (loaded.predict_proba(T) == model.predict_proba(T)).all()


def test_rows_of_no_weight_are_not_there():
    X, T = frames()
    y, w = outcomes(X), np.ones(len(X))
    w[::3] = 0
    kept = np.flatnonzero(w)
    for correction in ("blended", "cdf"):
        one = VSVR(correction, kernel="rbf").fit(X, y, X_target=every_value(T), sample_weight=w)
        other = VSVR(correction, kernel="rbf").fit(X.iloc[kept], y[kept], X_target=every_value(T))
        assert one.predict(T) == pytest.approx(other.predict(T), abs=1e-8)


@pytest.mark.filterwarnings("ignore::covshift.exceptions.MarginsWarning")
def test_a_precomputed_kernel_has_no_columns_for_margins():
    X, T = continuous()
    K, V = X @ X.T, v_matrix(X, every_value(T), "blended")
    machine = VSVR(Precomputed(V), kernel="precomputed")
    with pytest.raises(InputError, match="no columns in common with the margins"):
        machine.fit(K, outcomes(X), X_target=Margins({0: {(None, 0): 0.5, (0, None): 0.5}}))
    assert np.isfinite(machine.fit(K, outcomes(X)).predict(K)).all()


def test_a_search_hands_margins_on_whole():
    X, T = continuous()
    machine = VSVR("blended", kernel="linear", reg=1.0)
    search = GridSearchCV(machine, {"reg": [0.1, 1.0]}, cv=3)
    one, other = (
        search.fit(X, outcomes(X), X_target=target).cv_results_["mean_test_score"].copy()
        for target in ((T,), every_value(T))
    )
    assert other == pytest.approx(one, abs=1e-8)


def test_blocks_need_rows():
    X, T = continuous()
    with pytest.raises(InputError, match="partial_fit needs target rows"):
        VSVR().partial_fit(X, X[:, 0], X_target=every_value(T))


def test_a_column_that_never_varies_is_left_out_as_with_rows():
    X, T = (np.column_stack([part, np.full(len(part), 3.0)]) for part in continuous())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, other = (
            VSVR("additive", kernel="rbf").fit(X, X[:, 0], X_target=target)
            for target in (T, every_value(T))
        )
    assert other.predict(T) == pytest.approx(one.predict(T), abs=1e-8)


# Boosted trees


@pytest.mark.part(3)
@pytest.mark.parametrize("make", SAMPLES)
@pytest.mark.parametrize("correction", ["blended", "additive", "doubly-corrected", "cdf"])
def test_boosted_trees_are_those_of_the_rows(make, correction):
    X, T = make()
    settings = {"n_estimators": 5, "min_samples_leaf": 5}
    one, other = (
        VBoostRegressor(correction, **settings).fit(X, outcomes(X), X_target=target)
        for target in (T, every_value(T))
    )
    assert other.predict(T) == pytest.approx(one.predict(T), abs=1e-8)


def test_a_boosted_classifier_takes_a_frame_and_chooses_a_correction():
    X, T = frames(100, 100)
    X, T = X[["age", "income"]], T[["age", "income"]]
    one, other = (
        VBoostClassifier("auto", n_estimators=3).fit(X, X["age"] > 40, X_target=target)
        for target in (T, every_value(T))
    )
    assert other.predict_proba(T) == pytest.approx(one.predict_proba(T), abs=1e-8)


# Files


def test_files_keep_that_cells_are_single_values(tmp_path):
    X, T = continuous()
    margins = every_value(T)
    margins.to_json(tmp_path / "margins")
    read = Margins.from_json(tmp_path / "margins")
    V = v_matrix(X, T, "blended")
    assert v_matrix(X, read, "blended") == pytest.approx(V, abs=1e-8)

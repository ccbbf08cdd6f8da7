"""Boosted trees on the V-loss: leaves solved under V, known limits, scikit-learn at V = I."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeRegressor

from covshift import VBoostClassifier, VBoostRegressor
from covshift.boosting.ensemble import Bins, Ensemble
from covshift.corrections import (
    Additive,
    Gaussian,
    Importance,
    Multiplicative,
    Pairwise,
    Precomputed,
    Sliced,
    Unweighted,
)
from covshift.exceptions import CoverageWarning, OverlapWarning
from covshift.machine.fit import GivenWeights, check_problem
from covshift.operators import Dense
from covshift.operators.leaves import leaf_gram
from reproduction.exact_trees import grown_tree, tree_objective

SHARES = np.linspace(0.3, 2.0, 40)
CORRECTIONS = {
    "none": Unweighted(),
    "importance": Importance(SHARES),
    "additive": Additive(),
    "symmetric": Additive(symmetric=True),
    "blended": Additive(symmetric=True, normalize=True, blend=0.5),
    "doubly": Additive(symmetric=True, weights=SHARES, blend=0.2),
    "multiplicative": Multiplicative(),
    "pairwise": Pairwise(symmetric=True),
    "sliced": Sliced(5, random_state=0),
    "gaussian": Gaussian(),
}
each_correction = pytest.mark.parametrize("correction", CORRECTIONS.values(), ids=CORRECTIONS)


def sample(N=40, n=3, M=25, seed=0, digits=1):
    """Training rows with ties, target rows, outcomes and integer weights."""
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(N, n)), rng.normal(0.3, 1, size=(M, n))
    g = np.sin(3 * X[:, 0]) + X[:, 1 % n] * (X[:, 2 % n] > 0) + 0.5 * rng.normal(size=N)
    return np.round(X, digits), np.round(T, digits), g, rng.integers(1, 4, N).astype(float)


def one_tree(correction, X, y, T, w=None, **options):
    """Fit one whole tree: the model, its steps, and the indicators of its leaves (N, leaves)."""
    options = {"min_samples_leaf": 3, "max_leaf_nodes": 6, **options}
    model = VBoostRegressor(correction, n_estimators=1, learning_rate=1.0, **options)
    step = model.fit(X, y, X_target=T, sample_weight=w).predict(X) - model.baseline_
    return model, step, (step[:, None] == np.unique(step)).astype(float)


# One tree


@each_correction
@pytest.mark.parametrize(("lam", "weighted"), [(0.0, False), (1.5, True)])
@pytest.mark.filterwarnings("ignore::covshift.exceptions.CoverageWarning")
def test_leaves_are_solved_together_under_v(correction, lam, weighted):
    X, T, y, w = sample()
    w = w / w.mean() if weighted else None
    model, step, Z = one_tree(correction, X, y, T, w, reg_lambda=lam)
    V = correction.operator(X, T, sample_weight=w).dense()
    assert Z.shape[1] > 2
    _, values = tree_objective(Z, V, model.baseline_ - y, lam, 0.0)
    np.testing.assert_allclose(Z @ values, step, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("correction", ["none", "importance"])
def test_a_tree_of_a_diagonal_v_is_that_of_the_appendix(correction):
    X, T, y, _ = sample(digits=3)
    correction = CORRECTIONS[correction]
    model, step, Z = one_tree(correction, X, y, T, min_samples_leaf=1e-9)
    V = correction.operator(X, T).dense()
    fit, _, gains = grown_tree(X, V, model.baseline_ - y, 6, 1e-9, 0.0, 0.0, np.ones(40))
    np.testing.assert_allclose(step, fit, atol=1e-9)
    np.testing.assert_allclose(model.ensemble_.gain.sum(), sum(gains), rtol=1e-7)
    assert Z.shape[1] == 6


@pytest.mark.parametrize("correction", ["additive", "blended", "multiplicative"])
@pytest.mark.filterwarnings("ignore::covshift.exceptions.CoverageWarning")
def test_a_tree_comes_close_to_that_of_the_appendix(correction):
    """Splits for V's diagonal find most of the fall of the V-loss that exact ones find."""
    X, T, y, _ = sample(digits=3)
    correction = CORRECTIONS[correction]
    model, _, Z = one_tree(correction, X, y, T, min_samples_leaf=1e-9)
    V, g = correction.operator(X, T).dense(), model.baseline_ - y
    reached, _ = tree_objective(Z, V, g, 0.0, 0.0)
    _, best, _ = grown_tree(X, V, g, 6, 1e-9, 0.0, 0.0, np.ones(40))
    assert reached < 0.9 * best < 0


@each_correction
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.filterwarnings("ignore::covshift.exceptions.CoverageWarning")
def test_the_gram_of_leaves_is_that_of_the_dense_v(correction, weighted):
    X, T, _, w = sample()
    V = correction.operator(X, T, sample_weight=w if weighted else None)
    place = np.random.default_rng(0).integers(0, 3, 40)
    Z = (place[:, None] == np.arange(3)).astype(float)
    for form in (V, Dense(V.dense())):  # by views, and by products alone
        np.testing.assert_allclose(leaf_gram(form, place, 3), Z.T @ V.dense() @ Z, atol=1e-10)


def test_depth_leaf_size_and_price_are_limits():
    X, T, y, w = sample(seed=5)
    large = {"max_leaf_nodes": 20, "min_samples_leaf": 9}
    _, _, Z = one_tree(Additive(), X, y, T, **large)
    V = Additive().operator(X, T).diagonal()
    assert (V @ Z).min() >= 9 / 40 * V.sum() * (1 - 1e-9)
    assert Z.shape[1] > 2
    _, _, Z = one_tree("none", X, y, T, w, **large)
    assert (w @ Z / w.mean()).min() >= 9 * (1 - 1e-9)
    assert one_tree(Additive(), X, y, T, max_leaf_nodes=20, max_depth=1)[2].shape[1] == 2
    assert one_tree(Additive(), X, y, T, reg_leaves=1e6)[2].shape[1] == 1


def random_problem(seed, N, levels):
    """Rows with ties, a constant column and a one-hot one, and weights of which some are small."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, levels, (N, 3)).astype(float)
    X[:, 2] = X[:, 0] == 0
    X = np.column_stack([X, np.ones(N)])
    T = X[rng.integers(0, N, 7)] + rng.normal(size=(7, 4)).round(1)
    return X, T, rng.normal(size=N).round(1), rng.uniform(0.01, 3, N)


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    N=st.integers(1, 25),
    levels=st.integers(1, 6),
    rate=st.floats(0.05, 1.0),
    name=st.sampled_from(["additive", "symmetric", "blended", "multiplicative", "gaussian"]),
)
def test_no_round_raises_the_v_loss(seed, N, levels, rate, name):
    X, T, y, w = random_problem(seed, N, levels)
    model = VBoostRegressor(
        CORRECTIONS[name], n_estimators=4, learning_rate=rate, min_samples_leaf=0.5
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoverageWarning)
        warnings.simplefilter("ignore", OverlapWarning)
        model.fit(X, y, X_target=T, sample_weight=w)
    V = CORRECTIONS[name].operator(X, T, sample_weight=w).dense()
    losses = [float((f - y) @ V @ (f - y)) for f in model.staged_predict(X)]
    start = float((model.baseline_ - y) @ V @ (model.baseline_ - y))
    assert np.isfinite(losses).all()
    assert (np.diff([start, *losses]) <= 1e-8 * start + 1e-12).all()


def test_what_v_does_not_see_gets_no_step():
    X, _, y, _ = sample()
    model = VBoostRegressor(Precomputed(np.zeros((40, 40))), n_estimators=3)
    with pytest.warns(CoverageWarning):
        model.fit(X, y)
    np.testing.assert_allclose(model.predict(X), y.mean())


# The identity: what scikit-learn does


def test_at_v_equal_i_rounds_are_those_of_regression_trees():
    X, _, y, _ = sample(N=200, digits=2)
    model = VBoostRegressor("none", n_estimators=8, max_leaf_nodes=7, min_samples_leaf=5)
    staged = model.fit(X, y).staged_predict(X)
    f = np.full(200, y.mean())
    for ours in staged:
        tree = DecisionTreeRegressor(max_leaf_nodes=7, min_samples_leaf=5, random_state=0)
        f = f + 0.1 * tree.fit(X, y - f).predict(X)
        np.testing.assert_allclose(ours, f, atol=1e-10)


def test_importance_weights_are_sample_weights_at_v_equal_i():
    X, _, y, w = sample(N=40)
    options = {"n_estimators": 5, "min_samples_leaf": 3}
    w = w / w.mean()
    # A leaf's size counts sample weights, so the same leaves must be allowed.
    options["min_samples_leaf"] = 1e-9
    by_v = VBoostRegressor(Importance(w), **options).fit(X, y)
    by_weight = VBoostRegressor("none", **options).fit(X, y, sample_weight=w)
    # Of cuts that part the rows alike any may be taken, so new rows may differ.
    np.testing.assert_allclose(by_v.predict(X), by_weight.predict(X), atol=1e-10)


def test_a_weight_of_a_whole_number_cuts_as_repeated_rows_do():
    x = np.random.default_rng(0).normal(size=1000)
    w = np.random.default_rng(1).integers(1, 4, 1000)
    repeated = Bins(np.repeat(x, w)[:, None], np.ones(w.sum()), 32).thresholds[0]
    np.testing.assert_array_equal(Bins(x[:, None], 1.0 * w, 32).thresholds[0], repeated)


# LightGBM grows the trees


def test_trees_of_lightgbm_are_solved_under_v():
    pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    X, T, y, _ = sample(N=200, digits=2)
    correction = CORRECTIONS["blended"]
    model, step, Z = one_tree(correction, X, y, T, grower="lightgbm", reg_lambda=0.5)
    V = correction.operator(X, T).dense()
    _, values = tree_objective(Z, V, model.baseline_ - y, 0.5, 0.0)
    np.testing.assert_allclose(Z @ values, step, rtol=1e-6, atol=1e-9)
    assert 2 < Z.shape[1] <= 6
    many = VBoostRegressor(grower="lightgbm", n_estimators=8, early_stopping=True)
    before = many.fit(X, y, X_target=T).predict(T)
    np.testing.assert_array_equal(many.fit(X, y, X_target=T).predict(T), before)
    slow = VBoostRegressor(n_estimators=8, early_stopping=True).fit(X, y, X_target=T)
    np.testing.assert_allclose(before, slow.predict(T), atol=0.3)
    flat = VBoostRegressor(grower="lightgbm", n_estimators=2).fit(X[:30], y[:30])
    assert np.ptp(flat.predict(T)) == 0  # too few rows to split


# The ensemble


@pytest.mark.filterwarnings("ignore::covshift.exceptions.CoverageWarning")
@pytest.mark.parametrize("correction", ["none", "additive", "multiplicative", "blended"])
def test_the_first_guess_is_the_constant_of_the_smallest_v_loss(correction):
    X, T, y, _ = sample()
    model = VBoostRegressor(correction, n_estimators=1).fit(X, y, X_target=T)
    V = model.correction_.operator(X, T).dense()
    loss = [(c - y) @ V @ (c - y) for c in model.baseline_[0] + np.array([0, -1e-3, 1e-3])]
    assert loss[0] < min(loss[1:])


@pytest.mark.thorough
@pytest.mark.parametrize("correction", ["additive", "blended"])
def test_the_order_of_the_rows_does_not_matter(correction):
    X, T, y, _ = sample(N=60)
    model = VBoostRegressor(correction, n_estimators=6, min_samples_leaf=4, early_stopping=True)
    before = model.fit(X, y, X_target=T).predict(T)
    order = np.random.default_rng(0).permutation(60)
    after = model.fit(X[order], y[order], X_target=T[::-1]).predict(T)
    np.testing.assert_allclose(after, before, atol=1e-8)


@pytest.mark.thorough
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_monotone_changes_of_a_feature_do_not_matter(seed):
    X, T, y, _ = sample(seed=seed)
    model = VBoostRegressor("blended", n_estimators=3, min_samples_leaf=4, max_leaf_nodes=4)
    plain = model.fit(X, y, X_target=T).predict(X)
    X, T = X.copy(), T.copy()
    X[:, 0], T[:, 0] = np.exp(X[:, 0]), np.exp(T[:, 0])
    np.testing.assert_allclose(model.fit(X, y, X_target=T).predict(X), plain, atol=1e-8)


@pytest.mark.thorough
def test_classes_are_boosted_as_one_hot_outcomes():
    X, T, y, _ = sample(N=90)
    labels = np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.5])]
    options = {"n_estimators": 5, "min_samples_leaf": 5}
    model = VBoostClassifier(**options).fit(X, labels, X_target=T)
    one_hot = (labels[:, None] == np.array(["a", "b", "c"])).astype(float)
    f = VBoostRegressor(**options).fit(X, one_hot, X_target=T).predict(T)
    np.testing.assert_array_equal(model.decision_function(T), f)
    p = model.predict_proba(T)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert ((p >= 0) & (p <= 1)).all()
    assert model.predict(T).tolist() == model.classes_[f.argmax(axis=1)].tolist()
    two = VBoostClassifier(**options).fit(X, labels == "a", X_target=T)
    np.testing.assert_allclose(two.decision_function(T), f[:, 0] - 0.5, atol=1e-10)
    assert len(two.baseline_) == 1


def test_rows_that_no_class_wants_are_shared():
    model = VBoostClassifier()
    model.classes_ = np.arange(3)
    p = model._probabilities(np.array([[-1.0, -2.0, -0.5], [2.0, -1.0, 0.5]]))
    np.testing.assert_allclose(p, [[1 / 3, 1 / 3, 1 / 3], [2 / 3, 0, 1 / 3]])


def test_stages_end_at_the_prediction():
    X, T, y, _ = sample()
    model = VBoostClassifier(n_estimators=4, min_samples_leaf=5).fit(X, y > 0, X_target=T)
    *_, last = model.staged_predict_proba(T)
    np.testing.assert_array_equal(last, model.predict_proba(T))
    stages = list(model.staged_predict(T))
    assert len(stages) == model.n_iter_ == 4
    np.testing.assert_array_equal(stages[-1], model.predict(T))


def test_an_ensemble_is_plain_arrays():
    X, T, y, _ = sample()
    model = VBoostRegressor(n_estimators=3, min_samples_leaf=5).fit(X, y, X_target=T)
    arrays = {name: np.array(values.tolist()) for name, values in vars(model.ensemble_).items()}
    np.testing.assert_array_equal(Ensemble(**arrays)(T)[:, 0], model.predict(T))
    assert model.ensemble_.n_trees == 3


def test_importances_name_the_features_that_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[:, 1] = 7  # constant
    with pytest.warns(UserWarning, match="constant"):
        model = VBoostRegressor(n_estimators=5).fit(X, np.sign(X[:, 2]))
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.feature_importances_.argmax() == 2
    assert model.feature_importances_[1] == 0
    flat = VBoostRegressor(n_estimators=2).fit(X[:30, [0, 2]], X[:30, 0])  # too few rows to split
    assert flat.feature_importances_.tolist() == [0, 0]


def test_early_stopping_looks_at_the_squared_error_of_rows_held_out():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 2)), rng.normal(size=120)  # nothing to learn
    options = {"n_estimators": 20, "n_iter_no_change": 4, "learning_rate": 0.5}
    model = VBoostRegressor(early_stopping=True, **options).fit(X, y)
    scores = model.validation_score_
    assert model.n_iter_ < 20
    assert len(scores) == model.n_iter_ + 1
    assert min(scores[-4:]) >= scores[-5] - 1e-7
    whole = VBoostRegressor(**options).fit(X, y)  # "auto": few rows, so all rounds
    assert whole.n_iter_ == 20
    assert not hasattr(whole, "validation_score_")
    model.set_params(early_stopping=False).fit(X, y)
    assert not hasattr(model, "validation_score_")


def test_rows_held_out_do_not_enter_the_fit():
    X, T, y, _ = sample(N=100, digits=5)
    model = VBoostRegressor(n_estimators=3, early_stopping=True, min_samples_leaf=5)
    before = model.fit(X, y, X_target=T).predict(T)
    fold, (train, _) = model._parts(check_problem(X, y[:, None], T, GivenWeights()))
    held = fold.rows
    assert 5 <= len(held) <= 15
    shifted = y.copy()
    order = np.sort(y)
    for row in held:  # to elsewhere between the same neighbours: no fold changes
        place = np.searchsorted(order, y[row])
        low, high = order[max(place - 1, 0)], order[min(place + 1, 99)]
        shifted[row] = 0.25 * low + 0.75 * high
    after = model.fit(X, shifted, X_target=T).predict(T)
    np.testing.assert_array_equal(after, before)
    assert len(train) + len(held) == 100


def test_a_subsample_is_drawn_by_its_seed():
    X, T, y, _ = sample(N=80)
    options = {"n_estimators": 4, "subsample": 0.5, "min_samples_leaf": 4}
    first, again, other = (
        VBoostRegressor(random_state=seed, **options).fit(X, y, X_target=T).predict(T)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)


@pytest.mark.filterwarnings("ignore::covshift.exceptions.CoverageWarning")
def test_a_v_without_points_serves_too():
    X, T, y, _ = sample()
    options = {"n_estimators": 3, "min_samples_leaf": 4}
    V = Multiplicative().operator(X, T)
    given = VBoostRegressor(Precomputed(V.dense()), **options).fit(X, y)
    made_here = VBoostRegressor("multiplicative", **options).fit(X, y, X_target=T)
    np.testing.assert_allclose(given.predict(T), made_here.predict(T), atol=1e-8)


@pytest.mark.filterwarnings("ignore::covshift.exceptions.OverlapWarning")
def test_a_target_that_sees_nothing_leaves_the_mean_and_a_warning():
    X, T, y, _ = sample(N=60)
    with pytest.warns(CoverageWarning, match="out of the target's reach"):
        model = VBoostRegressor("additive", n_estimators=2).fit(X, y, X_target=T - 100)
    np.testing.assert_allclose(model.predict(T), y.mean())


# The correction that the data choose


def bent(N=240, seed=0):
    """Rows on the left and a target on the right of a bend: a stump needs the target."""
    rng = np.random.default_rng(seed)
    X, T = rng.normal(-0.3, 1, size=(N, 2)), rng.normal(0.6, 0.8, size=(100, 2))
    return X, np.where(X[:, 0] > 0.5, 4 * X[:, 0], -X[:, 0]) + 0.1 * rng.normal(size=N), T


def test_auto_mixes_what_it_finds_into_the_uncorrected_trees():
    X, y, T = bent()
    options = {"n_estimators": 1, "max_leaf_nodes": 2, "learning_rate": 1.0}
    model = VBoostRegressor("auto", **options).fit(X, y, X_target=T)
    report = model.selection_report_
    assert report["chosen"] != "none"
    assert 0 < report["share"] <= 1
    assert report["candidates"][0]["correction"] == "none"
    parts = [
        VBoostRegressor(correction, **options).fit(X, y, X_target=T).predict(T)
        for correction in ("none", model.correction_)
    ]
    mixed = (1 - report["share"]) * parts[0] + report["share"] * parts[1]
    np.testing.assert_allclose(model.predict(T), mixed, atol=1e-9)
    assert model.n_iter_ == 2
    *_, last = model.staged_predict(T)
    np.testing.assert_allclose(last, model.predict(T), atol=1e-12)
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_auto_leaves_the_trees_alone_without_evidence():
    X, y, _ = bent(N=100)
    options = {"n_estimators": 3, "max_leaf_nodes": 4}
    model = VBoostClassifier("auto", **options).fit(X, y > 0)
    assert model.selection_report_["chosen"] == "none"
    plain = VBoostClassifier("none", **options).fit(X, y > 0)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-12)
    model.set_params(correction="blended").fit(X, y > 0)
    assert not hasattr(model, "selection_report_")


# Refusals


def test_an_unknown_correction_is_refused():
    X, T, y, _ = sample()
    with pytest.raises(ValueError, match="correction='aditive' is unknown"):
        VBoostRegressor("aditive").fit(X, y, X_target=T)


def test_missing_values_are_refused():
    X, T, y, _ = sample()
    model = VBoostRegressor(n_estimators=1).fit(X, y, X_target=T)
    X[3, 1] = np.nan
    for work in (
        lambda: model.fit(X, y, X_target=T),
        lambda: model.fit(T, np.ones(len(T)), X_target=X),
        lambda: model.predict(X),
    ):
        with pytest.raises(ValueError, match="NaN"):
            work()


def test_weights_that_sum_to_one_are_no_smaller_than_others():
    """A leaf of so many rows is the same whatever the scale of the weights."""
    X, T, y, _ = sample(N=60)
    found = [
        VBoostRegressor(n_estimators=2).fit(X, y, X_target=T, sample_weight=weight).predict(T)
        for weight in (None, np.full(60, 1 / 60))
    ]
    np.testing.assert_array_equal(*found)
    assert np.ptp(found[0]) > 0


def test_too_few_rows_to_hold_any_out_are_refused():
    with pytest.raises(ValueError, match="too few"):
        VBoostRegressor(early_stopping=True).fit([[0.0], [1.0]], [0.0, 1.0])


def test_classes_subsamples_and_early_stopping():
    X, T, y, _ = sample(N=120)
    options = {"n_estimators": 8, "learning_rate": 0.5, "subsample": 0.7, "early_stopping": True}
    model = VBoostClassifier(min_samples_leaf=5, random_state=0, **options)
    labels = np.digitize(y, [-0.5, 0.5])
    model.fit(X, labels, X_target=T)
    assert (model.predict(X) == labels).mean() > 0.7
    assert len(model.validation_score_) == model.n_iter_ + 1

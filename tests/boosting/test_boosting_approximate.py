"""Trees grown under V's diagonal and solved under V, against brute force; slow fits say so."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from boosting.test_boosting import (
    CORRECTIONS,
    SHARES,
    counted,
    each_correction,
    gains_in_order,
    indicators,
    sample,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import grown_tree, tree_objective
from sklearn.base import clone

from covshift import VBoostClassifier, VBoostRegressor
from covshift.boosting import base as waiting
from covshift.boosting.approximate import ApproximateGrower
from covshift.boosting.ensemble import Bins, Growth
from covshift.corrections import Additive, Importance, Precomputed
from covshift.exceptions import CoverageWarning, OverlapWarning, SlowWarning
from covshift.numerics import parallel as _compiled
from covshift.numerics.parallel import Loop
from covshift.operators.line_form import line_form
from covshift.operators.tree_leaves import leaf_gram


@pytest.fixture(autouse=True, params=["numpy", "loops"])
def _both_ways(request, monkeypatch):
    """The NumPy forms, and the loops that numba would compile, run as they are written."""
    monkeypatch.setattr(_compiled, "ALLOWED", request.param == "loops")
    monkeypatch.setattr(_compiled, "_installed", lambda: True)
    monkeypatch.setattr(Loop, "__call__", lambda loop, *arguments: loop.python(*arguments))


def grow(V, X, g, w, *, leaves=6, depth=None, lam=0.0, price=0.0, least=3):
    bins = Bins(X, w, 255)
    growth = Growth(leaves, depth, least, lam, price)
    return ApproximateGrower(V, bins.codes(X), bins.n_bins, w, growth).grow(g)


def counted_diagonal(correction, X, T, w):
    """V(i, i) of the repeated rows, summed over the repeats of each."""
    times = w.astype(int)
    if correction.get_params().get("weights") is not None:
        correction = clone(correction).set_params(weights=np.repeat(SHARES, times))
    V = correction.operator(np.repeat(X, times, axis=0), T)
    if line_form(V) is None:
        return w
    return np.bincount(np.repeat(np.arange(len(X)), times), V.diagonal())


# One tree


@pytest.mark.part(6)
@each_correction
@pytest.mark.parametrize(
    ("lam", "price", "weighted"), [(0.0, 0.0, False), (1.5, 0.0, True), (0.3, 0.05, True)]
)
def test_splits_are_those_of_the_diagonal_and_values_those_of_v(correction, lam, price, weighted):
    X, T, g, w = sample()
    w = w if weighted else np.ones(40)
    V = counted(correction, X, T, w)
    tree = grow(V, X, g, w, lam=lam, price=price)
    diagonal = np.diag(counted_diagonal(correction, X, T, w))
    fit, _, gains = grown_tree(X, diagonal, g, 6, 3, lam, price, w)
    np.testing.assert_allclose(gains_in_order(tree), np.array(gains) + price, rtol=1e-7)
    Z = indicators(tree)
    for column in Z.T:  # the leaves of brute force
        assert len(np.unique(fit[column > 0].round(9))) == 1
    _, values = tree_objective(Z, V.dense(), g, lam, 0.0)
    np.testing.assert_allclose(tree.value[np.unique(tree.leaf)], values, rtol=1e-6, atol=1e-9)


@each_correction
@pytest.mark.parametrize("weighted", [False, True])
def test_the_gram_of_leaves_is_that_of_the_dense_v(correction, weighted):
    X, T, _, w = sample()
    V = counted(correction, X, T, w if weighted else None)
    order, ranges = np.random.default_rng(0).permutation(40), np.array([[0, 1], [1, 15], [15, 40]])
    Z = np.zeros((40, 3))
    for leaf, (start, stop) in enumerate(ranges):
        Z[order[start:stop], leaf] = 1
    expected = Z.T @ V.dense() @ Z
    for form in {id(form): form for form in (None, line_form(V))}.values():
        np.testing.assert_allclose(leaf_gram(V, form, order, ranges), expected, atol=1e-10)


def test_depth_leaf_size_and_price_are_limits():
    X, T, g, w = sample(seed=5)
    V = counted(Additive(), X, T, w)
    tree = grow(V, X, g, w, leaves=20, least=9)
    assert np.bincount(tree.leaf, w)[np.unique(tree.leaf)].min() >= 9
    assert len(np.unique(tree.leaf)) > 2
    assert len(np.unique(grow(V, X, g, w, leaves=20, depth=1).leaf)) == 2
    assert len(np.unique(grow(V, X, g, w, price=1e6).leaf)) == 1


# The ensemble


@pytest.mark.parametrize("correction", ["none", Importance(SHARES)], ids=["none", "importance"])
@pytest.mark.parametrize("reg_lambda", [0.0, 0.8])
def test_with_a_diagonal_v_the_trees_are_the_exact_ones(correction, reg_lambda):
    X, T, y, w = sample()
    options = {"n_estimators": 5, "min_samples_leaf": 3, "reg_lambda": reg_lambda}
    exact, approximate = (
        VBoostRegressor(correction, leaf_solve=how, **options).fit(X, y, sample_weight=w)
        for how in ("exact", "approximate")
    )
    np.testing.assert_allclose(approximate.predict(T), exact.predict(T), atol=1e-10)
    np.testing.assert_allclose(
        approximate.feature_importances_, exact.feature_importances_, atol=1e-9
    )


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
        CORRECTIONS[name],
        leaf_solve="approximate",
        n_estimators=4,
        learning_rate=rate,
        min_samples_leaf=0.5,
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


def test_classes_subsamples_and_early_stopping():
    X, T, y, _ = sample(N=120)
    options = {"n_estimators": 8, "learning_rate": 0.5, "subsample": 0.7, "early_stopping": True}
    model = VBoostClassifier(
        leaf_solve="approximate", min_samples_leaf=5, random_state=0, **options
    )
    labels = np.digitize(y, [-0.5, 0.5])
    model.fit(X, labels, X_target=T)
    assert (model.predict(X) == labels).mean() > 0.7
    assert len(model.validation_score_) == model.n_iter_ + 1


def test_what_v_does_not_see_gets_no_step():
    X, _, y, _ = sample()
    V = np.zeros((40, 40))
    model = VBoostRegressor(Precomputed(V), leaf_solve="approximate", n_estimators=3)
    with pytest.warns(CoverageWarning):
        model.fit(X, y)
    np.testing.assert_allclose(model.predict(X), y.mean())


# Waiting


def slow_fit(**options):
    X, T, y, _ = sample()
    VBoostRegressor(n_estimators=2, **options).fit(X, y, X_target=T)


def test_a_long_fit_says_so_after_a_round(monkeypatch):
    monkeypatch.setattr(waiting, "LONG", 0.0)
    slow_fit()
    if _compiled.has_numba():
        slow_fit(leaf_solve="exact")
        monkeypatch.setattr(waiting, "_LONG_WITH_NUMBA", 0.0)
        with pytest.warns(SlowWarning, match='2 rounds .* leaf_solve="approximate"') as caught:
            slow_fit(leaf_solve="exact")
        assert caught[0].filename == __file__
        return
    with pytest.warns(
        SlowWarning, match=r'pip install numba; or use leaf_solve="approximate"'
    ) as caught:
        slow_fit(leaf_solve="exact")
    assert caught[0].filename == __file__

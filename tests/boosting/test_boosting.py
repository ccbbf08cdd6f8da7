"""Exact boosted trees on the V-loss: against brute force, known limits, scikit-learn at V = I.

The trees of the default, ``leaf_solve="approximate"``, are in test_boosting_approximate.py.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.version import Version
from reference import grown_tree, tree_objective
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_limits

import covshift
from covshift.boosting import candidates
from covshift.boosting.candidates import Partition
from covshift.boosting.ensemble import Bins, Ensemble, Growth
from covshift.boosting.tree import Grower, Sketch
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
from covshift.data.fit import GivenWeights, check_problem
from covshift.data.row_weights import row_weights, target_weights
from covshift.exceptions import CoverageWarning
from covshift.numerics import parallel as _compiled
from covshift.numerics.parallel import Loop
from covshift.operators.line_form import line_form, nested, prefix_squares
from covshift.operators.tree_bins import NestedLines, add_some, exact_squares

VBoostClassifier = partial(covshift.VBoostClassifier, leaf_solve="exact")
VBoostRegressor = partial(covshift.VBoostRegressor, leaf_solve="exact")

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


@pytest.fixture(autouse=True)
def _without_numba(monkeypatch):
    """Run the NumPy forms, wherever the tests run; `tests/extras/test_fast.py` has the others."""
    monkeypatch.setattr(_compiled, "ALLOWED", False)


@pytest.fixture(params=["numpy", "loops"])
def _both_ways(request, monkeypatch):
    """The NumPy forms, and the loops that numba would compile, run as they are written."""
    if request.param == "loops":
        monkeypatch.setattr(_compiled, "ALLOWED", True)
        monkeypatch.setattr(_compiled, "_installed", lambda: True)
        monkeypatch.setattr(Loop, "__call__", lambda loop, *arguments: loop.python(*arguments))


@pytest.fixture
def _as_written(monkeypatch):
    """The loops as they are written, compiled or not."""
    monkeypatch.setattr(Loop, "__call__", lambda loop, *arguments: loop.python(*arguments))


both_ways = pytest.mark.usefixtures("_both_ways")
as_written = pytest.mark.usefixtures("_as_written")


def sample(N=40, n=3, M=25, seed=0, digits=1):
    """Training rows with ties, target rows, residuals and integer weights."""
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(N, n)), rng.normal(0.3, 1, size=(M, n))
    g = np.sin(3 * X[:, 0]) + X[:, 1 % n] * (X[:, 2 % n] > 0) + 0.5 * rng.normal(size=N)
    return np.round(X, digits), np.round(T, digits), g, rng.integers(1, 4, N).astype(float)


def counted(correction, X, T, w):
    """V of the rows X, each of which counts w times."""
    if w is None:
        return correction.operator(X, T)
    share = np.full(len(T), 1 / len(T))
    found = correction.weighed(X, T, row_weights(len(X)), target_weights(len(T)))
    own = found._row_weights(X, T, share)
    return found._finish(found._build(X, T, share), w if own is None else w * own)


def grow(V, X, g, w=None, **growth):
    defaults = {
        "max_leaf_nodes": 6,
        "max_depth": None,
        "min_samples_leaf": 3,
        "reg_lambda": 0.0,
        "reg_leaves": 0.0,
    }
    w = np.ones(len(X)) if w is None else w
    bins = Bins(X, w, 255)
    grower = Grower(V, bins.codes(X), bins.n_bins, w, Growth(**defaults | growth))
    return grower.grow(g)


def gains_in_order(tree):
    inner = np.flatnonzero(tree.left >= 0)
    return tree.gain[inner[np.argsort(tree.left[inner])]]


def indicators(tree):
    return (tree.leaf[:, None] == np.unique(tree.leaf)[None, :]).astype(float)


# The sums behind the gains


@both_ways
@each_correction
@pytest.mark.parametrize("weighted", [False, True])
def test_squares_of_prefixes_are_those_of_the_dense_v(correction, weighted):
    X, T, _, w = sample()
    V = counted(correction, X, T, w if weighted else None)
    dense, rng = V.dense(), np.random.default_rng(1)
    rows, u = rng.permutation(40)[:30], rng.uniform(0.5, 2, 30)
    ends = np.array([0, 4, 4, 11, 29, 30])
    for end, square in zip(ends, prefix_squares(V, rows, ends, u), strict=True):
        z = np.zeros(40)
        z[rows[:end]] = u[:end]
        np.testing.assert_allclose(square, z @ dense @ z, atol=1e-10)


@both_ways
@each_correction
@pytest.mark.parametrize("weighted", [False, True])
def test_the_nested_part_is_below_v_and_equal_where_it_says_so(correction, weighted):
    X, T, _, w = sample()
    V = counted(correction, X, T, w if weighted else None)
    bins = Bins(X, np.ones(40), 255)
    codes, B = bins.codes(X), bins.n_bins
    part, dense, rng = nested(V, codes, B), V.dense(), np.random.default_rng(1)
    rows, u = rng.permutation(40)[:30], rng.uniform(0.5, 2, 30)
    below = np.array([np.bincount(code[rows], u, B).cumsum() for code in codes.T])
    share = rng.uniform(size=below.shape)
    z = np.zeros(40)
    z[rows] = u
    exact = np.empty_like(share)
    for (k, b), f in np.ndenumerate(share):
        x = z * (codes[:, k] <= b) - f * z
        exact[k, b] = x @ dense @ x
    spread = part.split_squares(rows, u, below, share)
    assert (spread <= exact + 1e-9).all()
    if part.whole:
        np.testing.assert_allclose(spread, exact, atol=1e-10)


@as_written
@each_correction
@pytest.mark.parametrize("weighted", [False, True])
def test_the_form_that_trees_are_fast_with_is_v(correction, weighted):
    X, T, _, w = sample()
    V = counted(correction, X, T, w if weighted else None)
    form, dense = line_form(V), V.dense()
    if form is None:  # views of several features, or no views at all
        assert isinstance(correction, Multiplicative | Pairwise | Gaussian)
        return
    assert (form.lines is None) == isinstance(correction, Unweighted | Importance)
    lines = 0 if form.lines is None else form.lines.normal(np.eye(40))
    form_dense = form.u[:, None] * (form.scale * lines) * form.u + np.diag(form.d)
    np.testing.assert_allclose(form_dense, dense, atol=1e-12)


def weights_of_some(order, end):
    return np.isin(np.arange(40), order[:end]).astype(float)


@as_written
@pytest.mark.parametrize("name", ["additive", "symmetric", "doubly", "sliced"])
def test_forms_bound_squares_and_thresholds_make_them_exact(name):
    X, T, _, w = sample(M=60, digits=2)
    form = line_form(counted(CORRECTIONS[name], X, T, w))
    lines = form.lines
    V = form.scale * form.u[:, None] * lines.normal(np.eye(40)) * form.u
    order, ends = np.random.default_rng(1).permutation(40), np.array([0, 3, 9, 9, 20, 40])
    wanted = np.array([True, True, False, True, True, True])
    table, bins = form.forms(), np.zeros(int(lines.offsets[-1]))
    add_some(lines.codes, lines.offsets, 0, 40, form.u, bins)
    squares = np.zeros(6)
    places = (lines.codes, lines.offsets, form.single, lines.symmetric)
    exact_squares(*places, bins, order, ends, wanted, form.u, squares)
    forms = np.stack([table[lines.offsets[:-1] + codes].ravel() for codes in lines.codes], axis=1)
    bound = exact = 0.0
    for b, end in enumerate(ends):
        z = weights_of_some(order, end)
        np.testing.assert_allclose(squares[b], z @ V @ z if wanted[b] else 0.0, rtol=1e-10)
        bridge = z - (z @ V @ np.ones(40)) / V.sum()
        parts = ((forms @ (form.u * bridge)) ** 2).sum()
        assert parts <= bridge @ V @ bridge + 1e-10
        bound, exact = bound + parts, exact + bridge @ V @ bridge
    assert bound > 0.4 * exact


@as_written
@pytest.mark.parametrize("name", ["additive", "blended", "doubly", "sliced"])
def test_the_sketch_of_a_leaf_is_below_its_squares(name):
    X, T, _, w = sample(M=60, digits=1)
    form = line_form(counted(CORRECTIONS[name], X, T, w))
    bins = Bins(X, np.ones(40), 255)
    codes, parts = bins.codes(X), Partition(bins.codes(X), form, 4)
    parts.split(0, 1, int(np.median(codes[:, 1])), 1)
    elsewhere = ~NestedLines(form.lines, codes, bins.n_bins).growing
    share, found = np.full((3, bins.n_bins), 0.4), np.zeros((3, bins.n_bins))
    Sketch(form, elsewhere, bins.n_bins).add_squares(parts, 0, share, found)
    V = form.scale * form.u[:, None] * form.lines.normal(np.eye(40)) * form.u
    leaf = weights_of_some(parts.rows(0), 40)
    for (k, b), square in np.ndenumerate(found):
        x = leaf * (codes[:, k] <= b) - 0.4 * leaf
        assert 0 <= square <= x @ V @ x + 1e-10
    assert found.max() > 0


@as_written
@pytest.mark.parametrize("symmetric", [False, True])
def test_exact_squares_may_start_from_all_rows_and_take_some_off(symmetric):
    X, T, _, _ = sample(M=60, digits=2)
    form = line_form(Additive(symmetric=symmetric).operator(X, T))
    lines, order, ends = form.lines, np.random.default_rng(1).permutation(40), np.array([5, 35, 38])
    bins = np.zeros(int(lines.offsets[-1]))
    add_some(lines.codes, lines.offsets, 0, 40, form.weights, bins)
    V = form.scale * lines.normal(np.eye(40))
    for wanted in ([False, True, True], [True, False, True]):  # from the end, from the start
        squares = np.zeros(3)
        rows = (bins, order, ends, np.array(wanted), form.weights)
        exact_squares(lines.codes, lines.offsets, form.single, symmetric, *rows, squares)
        for b in np.flatnonzero(wanted):
            z = weights_of_some(order, ends[b])
            np.testing.assert_allclose(squares[b], z @ V @ z, rtol=1e-10)


@both_ways
def test_the_nested_part_of_additive_v_is_most_of_it():
    X, T, _, _ = sample(N=200, seed=3, digits=6)
    bins = Bins(X, np.ones(200), 255)
    codes = bins.codes(X)
    for correction in (Additive(), Additive(symmetric=True)):
        V = correction.operator(X, T)
        every = np.arange(200)
        below = np.array(
            [np.bincount(code, np.ones(200), bins.n_bins).cumsum() for code in codes.T]
        )
        half = np.full(below.shape, 0.5)
        part = nested(V, codes, bins.n_bins).split_squares(every, np.ones(200), below, half)
        x = (codes[:, 0] < 100) - 0.5
        assert part[0, 99] > 0.5 * (x @ V.dense() @ x)


def test_one_feature_is_nested_whole():
    X, T, _, _ = sample(n=1)
    bins = Bins(X, np.ones(40), 255)
    for correction in (Additive(), Additive(symmetric=True), Unweighted(), Importance(SHARES)):
        assert nested(correction.operator(X, T), bins.codes(X), bins.n_bins).whole


# One tree, against brute force


@pytest.mark.part(8)
@both_ways
@each_correction
@pytest.mark.parametrize(
    ("lam", "price", "weighted"), [(0.0, 0.0, False), (1.5, 0.0, False), (0.3, 0.01, True)]
)
def test_a_tree_is_that_of_brute_force(correction, lam, price, weighted):
    X, T, g, w = sample()
    V = counted(correction, X, T, w if weighted else None)
    w = w if weighted else np.ones(40)
    tree = grow(V, X, g, w, reg_lambda=lam, reg_leaves=price)
    fit, objective, gains = grown_tree(X, V.dense(), g, 6, 3, lam, price, w)
    np.testing.assert_allclose(gains_in_order(tree), gains, rtol=1e-7)
    ours, values = tree_objective(indicators(tree), V.dense(), g, lam, price)
    np.testing.assert_allclose(ours, objective, rtol=1e-9)
    np.testing.assert_allclose(tree.value[np.unique(tree.leaf)], values, rtol=1e-6, atol=1e-9)
    difference = tree.value[tree.leaf] - fit  # V does not see all rows
    assert difference @ V.dense() @ difference <= 1e-12 * (g @ V.dense() @ g)


@both_ways
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("lam", [0.0, 0.7])
def test_ties_and_coarse_features_change_nothing(seed, lam):
    X, T, g, w = sample(seed=seed, digits=0)
    V = counted(Additive(symmetric=True), X, T, w)
    tree = grow(V, X, g, w, reg_lambda=lam, min_samples_leaf=1, max_leaf_nodes=5)
    _, objective, gains = grown_tree(X, V.dense(), g, 5, 1, lam, 0.0, w)
    np.testing.assert_allclose(gains_in_order(tree), gains, rtol=1e-7)
    np.testing.assert_allclose(-gains_in_order(tree).sum(), objective - first_score(V, g, lam))


def first_score(V, g, lam):
    return tree_objective(np.ones((len(g), 1)), V.dense(), g, lam, 0.0)[0]


@both_ways
def test_depth_is_limited_as_by_brute_force():
    X, T, g, _ = sample(seed=2)
    V = Additive().operator(X, T)
    tree = grow(V, X, g, max_depth=2, max_leaf_nodes=10, reg_lambda=0.1)
    _, _, gains = grown_tree(X, V.dense(), g, 10, 3, 0.1, 0.0, np.ones(40), depth=2)
    assert len(gains) <= 3
    np.testing.assert_allclose(gains_in_order(tree), gains, rtol=1e-7)


@pytest.mark.thorough
def test_large_trees_keep_their_gains_exact():
    X, T, g, _ = sample(N=400, M=100, n=4, digits=8)
    for correction, lam in ((Additive(), 0.0), (CORRECTIONS["blended"], 0.0), (Additive(), 2.0)):
        V = correction.operator(X, T)
        tree = grow(V, X, g, max_leaf_nodes=31, min_samples_leaf=5, reg_lambda=lam)
        objective, values = tree_objective(indicators(tree), V.dense(), g, lam, 0.0)
        assert len(values) == 31 or lam > 0  # a penalty may end it
        assert len(values) > 20
        fall = first_score(V, g, lam) - objective
        np.testing.assert_allclose(tree.gain.sum(), fall, rtol=1e-8)
        np.testing.assert_allclose(tree.value[np.unique(tree.leaf)], values, rtol=1e-5, atol=1e-7)


@both_ways
@pytest.mark.parametrize("seed", range(6))
def test_prices_and_penalties_end_with_coarse_outcomes(seed):
    """Equal gains in many bins, of which rounding and prices must not make a search without end."""
    rng = np.random.default_rng(seed)
    X, T = np.round(rng.normal(size=(40, 2)), 1), np.round(rng.normal(size=(20, 2)), 1)
    g = rng.integers(0, 2, 40) - 0.5
    V = Additive().operator(X, T)
    price = 0.9 * float(grow(V, X, g, max_leaf_nodes=2, reg_lambda=0.5).gain.max())
    tree = grow(V, X, g, reg_lambda=0.5, reg_leaves=price)
    _, _, gains = grown_tree(X, V.dense(), g, 6, 3, 0.5, price, np.ones(40))
    np.testing.assert_allclose(gains_in_order(tree), gains, rtol=1e-6)


@both_ways
def test_sums_that_are_too_large_to_keep_are_added_up_again(monkeypatch):
    X, T, g, _ = sample(seed=2)
    V = Additive().operator(X, T)
    kept = grow(V, X, g, reg_lambda=0.2)
    monkeypatch.setattr(candidates, "_KEPT_BYTES", 0)
    again = grow(V, X, g, reg_lambda=0.2)
    np.testing.assert_array_equal(kept.leaf, again.leaf)
    np.testing.assert_allclose(kept.value, again.value, rtol=1e-9)


def test_a_high_price_of_leaves_leaves_one():
    X, T, g, _ = sample()
    tree = grow(Additive().operator(X, T), X, g, reg_leaves=1e6)
    assert len(tree.feature) == 1


@both_ways
def test_leaves_are_as_large_as_asked_by_weight():
    X, T, g, w = sample(seed=5)
    V = counted(Additive(), X, T, w)
    tree = grow(V, X, g, w, min_samples_leaf=9, max_leaf_nodes=20)
    assert np.bincount(tree.leaf, w)[np.unique(tree.leaf)].min() >= 9
    assert len(np.unique(tree.leaf)) > 2


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


@pytest.mark.parametrize("l2", [0.0, 3.0])
def test_at_v_equal_i_rounds_are_those_of_histogram_trees(l2):
    X, T, y, _ = sample(N=300, digits=2)
    model = VBoostRegressor(
        "none", n_estimators=10, max_leaf_nodes=9, min_samples_leaf=8, reg_lambda=2 * l2
    ).fit(X, y)
    peer = HistGradientBoostingRegressor(
        max_iter=10, max_leaf_nodes=9, min_samples_leaf=8, l2_regularization=l2
    )
    with threadpool_limits(1):  # threads of several test processes wait for each other
        staged = list(peer.fit(X, y).staged_predict(T))
    # scikit-learn keeps gradients in single precision.
    for ours, theirs in zip(model.staged_predict(T), staged, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-6)


def test_importance_weights_are_sample_weights_at_v_equal_i():
    X, T, y, w = sample(N=40)
    options = {"n_estimators": 5, "min_samples_leaf": 3}
    w = w / w.mean()
    # A leaf's size counts sample weights, so the same leaves must be allowed.
    options["min_samples_leaf"] = 1e-9
    by_v = VBoostRegressor(Importance(w), **options).fit(X, y)
    by_weight = VBoostRegressor("none", **options).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(by_v.predict(T), by_weight.predict(T), atol=1e-10)


@pytest.mark.skipif(
    Version(sklearn.__version__) < Version("1.9"), reason="older ones average quantiles otherwise"
)
def test_more_values_than_bins_are_cut_at_quantiles_as_in_scikit_learn():
    from sklearn.ensemble._hist_gradient_boosting.binning import _find_binning_thresholds

    x = np.random.default_rng(0).normal(size=1000)
    cuts = Bins(x[:, None], np.ones(1000), 32).thresholds[0]
    np.testing.assert_allclose(cuts, _find_binning_thresholds(x, 32))


def test_a_weight_of_a_whole_number_cuts_as_repeated_rows_do():
    x = np.random.default_rng(0).normal(size=1000)
    w = np.random.default_rng(1).integers(1, 4, 1000)
    repeated = Bins(np.repeat(x, w)[:, None], np.ones(w.sum()), 32).thresholds[0]
    np.testing.assert_array_equal(Bins(x[:, None], 1.0 * w, 32).thresholds[0], repeated)


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
@pytest.mark.filterwarnings("ignore::covshift.exceptions.CoverageWarning")
@pytest.mark.parametrize("correction", ["additive", "multiplicative", "blended"])
def test_every_round_lowers_the_v_loss(correction):
    X, T, y, _ = sample(N=100)
    model = VBoostRegressor(correction, n_estimators=10, min_samples_leaf=5)
    model.fit(X, y, X_target=T)
    V = model.correction_.operator(X, T).dense()
    losses = [(f - y) @ V @ (f - y) for f in model.staged_predict(X)]
    assert (np.diff(losses) < 0).all()


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


@both_ways
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


def test_a_v_without_points_serves_too():
    X, T, y, _ = sample()
    options = {"n_estimators": 3, "min_samples_leaf": 4}
    V = Additive().operator(X, T)
    given = VBoostRegressor(Precomputed(V.dense()), **options).fit(X, y)
    made_here = VBoostRegressor("additive", **options).fit(X, y, X_target=T)
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

"""Every weighter on repeated values: categories, indicators, weights that stand for rows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state

from covshift import repeat_rows
from covshift.exceptions import WeightWarning
from covshift.numerics import folds as folds_of_rows
from covshift.numerics.folds import fold_of, held_shares
from covshift.testing import check_weighter
from covshift.weights import (
    KDE,
    KLIEP,
    KMM,
    RULSIF,
    ULSIF,
    WEIGHTERS,
    CDFWeights,
    Discriminative,
    EnergyWeights,
    EntropyBalancing,
    GaussianRatio,
    NearestNeighbors,
    PostStratification,
    Raking,
    TiltedCDFWeights,
    Weighter,
)
from covshift.weights.points import Distinct, distinct

CATEGORIES = np.array([0.3, 0.25, 0.2, 0.15, 0.1])  # shares in the training population
RATIOS = np.array([0.18, 0.6, 1.0, 1.67, 5.5])
# Largest error of a cell's weight relative to the closed form, for codes and for indicators. A line
# or a parabola in the code is no exact model of five cells (discriminative, entropy, gaussian); the
# bounded ratio (rulsif) is another quantity; penalties and widths smooth the others.
FREE = {
    "kde": (KDE(), 0.35, 0.05),
    "kde-cv": (KDE("cv"), 0.05, 0.05),
    "kliep": (KLIEP(random_state=0), 0.05, 0.05),
    "ulsif": (ULSIF(random_state=0), 0.15, 0.35),
    "rulsif": (RULSIF(random_state=0), 0.4, 0.6),
    "discriminative": (Discriminative(random_state=0), 0.6, 0.05),
    "discriminative-tree": (
        Discriminative(DecisionTreeClassifier(random_state=0), random_state=0),
        0.1,
        0.1,
    ),
    "neighbors": (NearestNeighbors(), 0.05, 0.05),
    "cdf": (CDFWeights(), 0.35, 0.35),
    "tilted-cdf": (TiltedCDFWeights(), 0.85, 0.5),
    "cdf-cv": (CDFWeights(reg="cv", random_state=0), 0.35, 0.45),
    "kmm": (KMM(), 0.05, 0.05),
    "energy": (EnergyWeights(), 0.05, 0.05),
    "entropy": (EntropyBalancing(), 0.6, 0.05),
    "raking": (Raking(), 0.05, 0.05),
    "poststratification": (PostStratification(), 0.05, 0.05),
    "gaussian-ratio": (GaussianRatio(), 0.8, np.inf),  # normal densities are no model of indicators
}


def shares_of_target():
    return CATEGORIES * RATIOS / (CATEGORIES * RATIOS).sum()


def categories(N, M, seed=0, q=None):
    """Codes of both samples, and the ratio of the cells' shares."""
    rng = np.random.default_rng(seed)
    x = rng.choice(5, N, p=CATEGORIES)
    t = rng.choice(5, M, p=shares_of_target() if q is None else q)
    cells = (np.bincount(t, minlength=5) / M) / (np.bincount(x, minlength=5) / N)
    return x, t, cells


def codes(labels):
    return labels[:, None].astype(float)


def indicators(labels):
    return np.eye(5)[labels]


def quiet(weighter, X, T, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightWarning)
        return clone(weighter).fit(X, X_target=T, **options)


def by_cell(weights, x):
    return np.array([weights[x == k].mean() for k in range(5)])


# The closed form


def test_every_name_is_tried_on_categories():
    assert {type(weighter) for weighter, *_ in FREE.values()} == set(WEIGHTERS.values())


@pytest.mark.part(3)
@pytest.mark.parametrize("M", [500, 50])
@pytest.mark.parametrize("form", [codes, indicators], ids=["codes", "indicators"])
@pytest.mark.parametrize("name", FREE)
def test_categories_get_the_ratio_of_their_shares(name, form, M):
    weighter, *bounds = FREE[name]
    x, t, cells = categories(500, M)
    found = by_cell(quiet(weighter, form(x), form(t)).weights_, x)
    error = np.abs(found - cells) / cells
    assert error.max() < bounds[form is indicators], (found, cells)
    if np.isfinite(bounds[form is indicators]):
        assert np.corrcoef(found, cells)[0, 1] > 0.95


@pytest.mark.parametrize(
    "name", [name for name in FREE if name not in ("gaussian-ratio", "entropy")]
)
def test_four_binary_features_get_the_target_s_shares(name):
    weighter = FREE[name][0]
    rng = np.random.default_rng(1)
    X = (rng.random((400, 4)) < 0.5).astype(float)
    T = (rng.random((300, 4)) < [0.75, 0.3, 0.5, 0.6]).astype(float)
    w = quiet(weighter, X, T).weights_
    before = np.abs(X.mean(axis=0) - T.mean(axis=0))
    after = np.abs(np.average(X, axis=0, weights=w) - T.mean(axis=0))
    assert after.sum() < 0.3 * before.sum()


# Against the same data, a little moved


@pytest.mark.part(2)
@pytest.mark.parametrize("form", [codes, indicators], ids=["codes", "indicators"])
@pytest.mark.parametrize("name", FREE)
def test_repeated_values_weigh_as_the_same_values_moved_by_a_little(name, form):
    weighter = FREE[name][0]
    x, t, cells = categories(300, 300, seed=3)
    rng = np.random.default_rng(4)
    X, T = (form(labels) for labels in (x, t))
    moved = [points + 1e-9 * rng.normal(size=points.shape) for points in (X, T)]
    tied, untied = (by_cell(quiet(weighter, *pair).weights_, x) for pair in ((X, T), moved))
    far, near = (np.abs(found - cells).max() / cells.max() for found in (tied, untied))
    assert far < near + 0.1
    crossed = name == "poststratification" and form is indicators  # its cells cut equal values
    if name not in ("neighbors", "cdf-cv") and not crossed:  # these see order in equal values
        assert np.abs(tied - untied).max() / untied.max() < 0.1


@pytest.mark.thorough
def test_without_a_shift_weights_stay_near_one():
    for seed in range(3):
        x, t, _ = categories(300, 300, seed=seed, q=CATEGORIES)
        for name, (weighter, *_) in FREE.items():
            if name == "gaussian-ratio":
                continue
            w = quiet(weighter, indicators(x), indicators(t))
            assert w.effective_sample_size_ > 0.9 * 300, (name, seed)


# Rows as a set; weights that stand for rows


@pytest.mark.parametrize("name", FREE)
def test_order_does_not_matter(name):
    weighter = FREE[name][0]
    rng = np.random.default_rng(5)
    x, t, _ = categories(120, 90, seed=5)
    X, T = codes(x), codes(t)
    w = quiet(weighter, X, T).weights_
    rows = rng.permutation(120)
    permuted = quiet(weighter, X[rows], T[rng.permutation(90)]).weights_
    np.testing.assert_allclose(permuted, w[rows], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "weighter",
    [KLIEP(random_state=0), ULSIF(), RULSIF(), KDE("cv"), NearestNeighbors(), CDFWeights(reg="cv")],
    ids=lambda weighter: type(weighter).__name__,
)
def test_a_table_of_cells_is_a_target_once_its_rows_are_repeated(weighter):
    x, _, _ = categories(300, 10)
    if "random_state" in weighter.get_params():
        weighter = clone(weighter).set_params(random_state=0)
    population = np.round(1e5 * shares_of_target())
    T, _ = repeat_rows(codes(np.arange(5)), None, population)
    found = quiet(weighter, codes(x), T).weights_
    cells = shares_of_target() / (np.bincount(x) / 300)
    assert np.corrcoef(by_cell(found, x), cells)[0, 1] > 0.98


def test_tau_does_not_depend_on_the_order_of_equal_rows_with_other_labels():
    rng = np.random.default_rng(0)
    x, t, _ = categories(80, 60)
    y = rng.normal(size=80)
    first = KDE(tau="cv", random_state=0).fit(codes(x), y, X_target=codes(t))
    for _ in range(3):
        rows = rng.permutation(80)
        again = KDE(tau="cv", random_state=0).fit(codes(x)[rows], y[rows], X_target=codes(t))
        np.testing.assert_allclose(again.tau_scores_, first.tau_scores_)


# One row is left out, not a value


def test_folds_hold_single_rows_in_an_order_of_content_and_chance():
    x, _, _ = categories(500, 10)
    X = codes(x)
    folds = fold_of(X, 5, check_random_state(0))
    assert np.bincount(folds).tolist() == [100] * 5
    inside = np.array([np.bincount(x[folds == k], minlength=5) for k in range(5)])
    assert (inside > 0).all()  # no value is held out as a whole
    assert inside.std(axis=0).min() > 1  # nor is each fold a copy of the sample
    rows = np.random.default_rng(0).permutation(500)
    again = fold_of(X[rows], 5, check_random_state(0))
    for k in range(5):
        np.testing.assert_array_equal(np.bincount(x[rows][again == k]), inside[k])


def test_target_shares_are_dealt_as_single_rows(monkeypatch):
    count = np.array([3000, 1, 700, 20])
    sample = Distinct(np.arange(4.0)[:, None], count / count.sum(), count, np.arange(4))
    for most in (10**6, 10):  # one by one; by chance, where there are too many
        monkeypatch.setattr(folds_of_rows, "_MOST_SINGLE", most)
        held = held_shares(sample.share, sample.repeats, 5, check_random_state(0))
        np.testing.assert_allclose(held.sum(axis=1), sample.share)
        dealt = held * count.sum()
        np.testing.assert_allclose(dealt, dealt.round(), atol=1e-9)
        assert sorted(dealt[1].round()) == [0, 0, 0, 0, 1]
        assert np.abs(dealt[0] - 600).max() < 6 * np.sqrt(3000 * 0.16)


def test_equal_rows_are_counted():
    found = distinct(np.array([[1.0], [0.0], [1.0]]), np.array([0.2, 0.5, 0.3]))
    assert found.points.ravel().tolist() == [0.0, 1.0]
    np.testing.assert_allclose(found.row, [0.5, 0.25])
    assert found.repeats.tolist() == [1, 2]


@pytest.mark.parametrize("alpha", [0.0, 0.4])
def test_least_squares_leave_out_one_of_equal_rows(alpha):
    x, t, _ = categories(30, 25, seed=2)
    X, T = codes(x), codes(t)
    model = quiet(RULSIF(alpha, width=[0.7, 2.0], reg=[0.01, 0.1]), X, T)
    Z = model._units(np.concatenate([X, T]))
    omega = np.repeat([(1 - alpha) / 30, alpha / 25], [30, 25])
    share = np.repeat([0.0, 1 / 25], [30, 25])
    for a, width in enumerate([0.7, 2.0]):
        K = np.exp(-((Z - model.centers_.T) ** 2) / (2 * width**2))
        for b, penalty in enumerate([0.01, 0.1]):
            score = 0.0
            for row in range(len(Z)):
                rest = np.arange(len(Z)) != row
                left, shares = omega[rest] / omega[rest].sum(), share[rest] / share[rest].sum()
                H = (K[rest] * left[:, None]).T @ K[rest] + penalty * np.eye(K.shape[1])
                value = max(K[row] @ np.linalg.solve(H, shares @ K[rest]), 0)
                score += omega[row] * value**2 / 2 - share[row] * value
            np.testing.assert_allclose(model.scores_[a, b], score, rtol=1e-8)


def test_the_width_of_repeated_values_is_the_most_likely_for_single_rows():
    x = np.random.default_rng(0).poisson(6.0, 25)
    X = codes(x)
    scott = KDE().fit(X, X_target=X).width_[0, 0]
    assert scott == pytest.approx(X.std() * 25 ** (-1 / 5))
    likelihood = {}
    for factor in np.geomspace(0.25, 4, 9):
        h = scott * factor
        K = np.exp(-((X - X.T) ** 2) / (2 * h**2)) / h
        likelihood[h] = np.log((K.sum(axis=1) - 1 / h) / 24).sum()
    best = max(likelihood, key=likelihood.get)
    assert KDE("cv").fit(X, X_target=X).width_[0, 0] == pytest.approx(best)


# The contract


class Helpless(EnergyWeights):
    """Even weights wherever values repeat."""

    def _solve(self, problem):
        X, found = problem.X, super()._solve(problem)
        self._helpless = len(np.unique(X, axis=0)) < len(X)
        return np.ones(len(X)) if self._helpless else found

    def _ratio(self, X):
        return np.ones(len(X)) if self._helpless else super()._ratio(X)


class Uneven(EnergyWeights):
    """Of equal rows the first weighs more."""

    def _solve(self, problem):
        X, found = problem.X, super()._solve(problem)
        repeated = np.ones(len(X), dtype=bool)
        repeated[np.unique(X, axis=0, return_index=True)[1]] = False
        return np.where(repeated, 0.9, 1.0) * found


def test_the_contract_finds_weights_that_ignore_repeated_values():
    with pytest.raises(AssertionError, match="repeated values moves towards the target's"):
        check_weighter(Helpless())


def test_the_contract_finds_equal_rows_of_other_weights():
    with pytest.raises(AssertionError, match="equal rows have equal weights"):
        check_weighter(Uneven(), predicts_training_rows=False)


# What continuous data gave before rows were folded one by one


def continuous(weighted):
    rng = np.random.default_rng(13)
    X, T = rng.normal(size=(80, 2)), rng.normal(0.5, 1.0, size=(60, 2))
    weight = rng.uniform(0.5, 2, size=60)
    y = X[:, 0] ** 2 + rng.normal(size=80)
    return X, y, T, weight if weighted else None


RECORDED = {  # the first four weights: without, and with target weights
    "kliep": (
        KLIEP(random_state=0),
        [0.849075749, 0.900314145, 1.189415421, 1.205660156],
        [0.948655856, 1.026315682, 1.036894352, 1.039235375],
    ),
    "kliep10": (
        KLIEP(n_centers=10, random_state=1),
        [0.783253355, 0.995569144, 0.995965508, 0.963166924],
        [0.792180575, 0.995616131, 0.99575367, 0.964176601],
    ),
    "ulsif": (
        ULSIF(random_state=0),
        [0.353934322, 1.082834122, 1.201672116, 1.162371687],
        [0.691739072, 1.037769837, 1.091089435, 1.071083128],
    ),
    "rulsif": (
        RULSIF(random_state=0),
        [0.426314389, 1.0742951, 1.179853851, 1.145162452],
        [0.724013785, 1.034298865, 1.081927368, 1.064117317],
    ),
    "kde": (
        KDE(),
        [0.319716102, 0.869426257, 0.961552454, 0.665909564],
        [0.358445251, 0.871846612, 0.957882098, 0.657429873],
    ),
    "kde-cv": (
        KDE("cv"),
        [0.476426037, 1.002619602, 1.073219234, 0.711546006],
        [0.534091197, 1.005321878, 1.069028132, 0.702423088],
    ),
    "kde-tau": (
        KDE(tau="cv", random_state=0),
        [0.319716102, 0.869426257, 0.961552454, 0.665909564],
        [0.358445251, 0.871846612, 0.957882098, 0.657429873],
    ),
    "discriminative": (
        Discriminative(random_state=0),
        [0.514583486, 0.986956087, 1.309360893, 1.192321125],
        [0.631461582, 0.993418158, 1.284488308, 1.18288027],
    ),
    "neighbors": (
        NearestNeighbors(),
        [1.849710983, 0.231213873, 0.462427746, 0.924855491],
        [1.974256223, 0.171431912, 0.360640529, 0.895758221],
    ),
    "cdf-cv": (
        CDFWeights(reg="cv", random_state=0),
        [0.973089208, 0.975919556, 1.11132327, 0.996319884],
        [0.997806521, 0.97927473, 1.109590648, 0.990725841],
    ),
    "cdf": (
        CDFWeights(),
        [1.588704184, 0.90871094, 1.185918062, 0.569766495],
        [1.492788994, 0.902282386, 1.178288053, 0.845586417],
    ),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", RECORDED)
def test_rows_that_are_all_different_weigh_as_before(name, weighted):
    weighter, *expected = RECORDED[name]
    X, y, T, weight = continuous(weighted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightWarning)
        fitted = clone(weighter).fit(X, y, X_target=T, target_weight=weight)
    np.testing.assert_allclose(fitted.weights_[:4], expected[weighted], rtol=1e-6)


# The self-check


class Even(Weighter):
    def _solve(self, problem):
        return np.ones(len(problem.X))


def test_weights_that_leave_the_shift_say_so():
    x, t, _ = categories(500, 50)
    for form, columns in ((codes, "column 0"), (indicators, "column 4")):
        with pytest.warns(WeightWarning, match=f"Even do not move the sample .* in {columns} "):
            Even().fit(form(x), X_target=form(t))
    rng = np.random.default_rng(0)  # one feature of fifty
    X, T = rng.normal(size=(300, 50)), rng.normal(size=(300, 50))
    T[:, 7] += 0.8
    with pytest.warns(WeightWarning, match="in column 7 the samples differ clearly, and 100% of"):
        Even().fit(X, X_target=T)


def test_weights_that_are_meant_to_be_even_do_not_warn():
    x, t, _ = categories(500, 500)
    for weighter in (CDFWeights(reg=1e6), CDFWeights(purpose="training"), KDE(tau=0.0)):
        weighter.fit(codes(x), X_target=codes(t))
    RULSIF(0.99, random_state=0).fit(codes(x), X_target=codes(t))


def test_without_a_shift_even_weights_do_not_warn():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        N, M = (50, 50) if seed % 2 else (400, 20)
        Even().fit(rng.normal(size=(N, 3)), X_target=rng.normal(size=(M, 3)))
        rare = [0.02, 0.05, 0.2, 0.5]
        X, T = ((rng.random((size, 4)) < rare).astype(float) for size in (N, M))
        Even().fit(X, X_target=T)


def test_many_columns_of_levels_are_cells():
    rng = np.random.default_rng(0)
    X, T = (np.column_stack([rng.integers(0, 2, n), np.ones((n, 109))]) for n in (60, 90))
    w = PostStratification().fit(X, X_target=T).weights_
    assert np.average(X[:, 0], weights=w) == pytest.approx(T[:, 0].mean())


@pytest.mark.parametrize("name", sorted(WEIGHTERS))
def test_rows_of_no_design_weight_do_not_move_the_mean_of_the_weights(name):
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(40, 2)), rng.normal(0.4, 1, size=(50, 2))
    own = np.where(np.arange(40) < 20, 0.0, rng.uniform(0.1, 1, 40))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightWarning)
        w = WEIGHTERS[name]().fit(X, X_target=T, sample_weight=own).weights_
    assert np.average(w, weights=own) == pytest.approx(1)

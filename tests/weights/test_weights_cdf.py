"""CDF weights: against brute force, known answers, the penalty's choice and the overlap alarm."""

from __future__ import annotations

import pickle
import tracemalloc
import warnings
from functools import partial
from itertools import combinations

import numpy as np
import pytest
import reference
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from covshift.corrections import CORRECTIONS, Additive, Gaussian, Pairwise, Sliced
from covshift.exceptions import InputError, NoOverlapError, WeightWarning
from covshift.testing import check_weighter
from covshift.weights import ULSIF, EnergyWeights, TiltedCDFWeights
from covshift.weights.cdf.weighter import CDFWeights

SOLVERS = ["dense", "thresholds"]


def normal(N, M, n, shift=0.0, scale=1.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, n)), rng.normal(shift / np.sqrt(n), scale, size=(M, n))


def groups_of(views, n):
    return {
        "additive": [(k,) for k in range(n)],
        "pairwise": list(combinations(range(n), 2)),
        "multiplicative": [tuple(range(n))],
    }[views]


def few_directions(views):
    """The views, ten of them where they are random: tests take less time."""
    return Sliced(n_directions=10) if views == "sliced" else views


def fitted(X, T, reg, *, target_weight=None, **options):
    """Weights at a given penalty, precise and without a word about the overlap."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightWarning)
        return CDFWeights(reg=reg, tol=1e-9, allow_no_overlap=True, **options).fit(
            X, X_target=T, target_weight=target_weight
        )


# Against brute force


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("views", ["additive", "pairwise", "multiplicative"])
@pytest.mark.parametrize("reg", [0.01, 1.0])
def test_weights_minimise_the_objective(views, reg, solver):
    X, T = normal(9, 11, 3, shift=1.0)
    expected = reference.cdf_weights(X, T, groups_of(views, 3), reg)
    found = fitted(X, T, reg, views=views, solver=solver)
    np.testing.assert_allclose(found.weights_, expected, atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("views", ["additive", "pairwise"])
def test_ties_and_mirror_images(views, solver):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(9, 2)).astype(float)
    T = rng.integers(0, 4, size=(8, 2)).astype(float)
    for mirrored in (False, True):
        expected = reference.cdf_weights(X, T, groups_of(views, 2), 0.1, mirrored=mirrored)
        seen = CORRECTIONS[views](symmetric=mirrored)
        found = fitted(X, T, 0.1, views=seen, solver=solver)
        np.testing.assert_allclose(found.weights_, expected, atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("views", ["additive", "pairwise"])
@pytest.mark.parametrize("seed", range(3))
def test_columns_are_seen_from_the_side_that_shows_them(views, solver, seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.permutation(9) < 4, 1 + rng.integers(0, 2, 9), rng.normal(size=9)])
    T = np.column_stack([np.ones(8), 1 + (rng.permutation(8) < 5), rng.normal(size=8)])
    sides = reference.column_sides(X, T)
    assert (sides[:2] == -1).all()
    expected = reference.cdf_weights(sides * X, sides * T, groups_of(views, 3), 0.1)
    found = fitted(X, T, 0.1, views=views, solver=solver)
    np.testing.assert_allclose(found.weights_, expected, atol=1e-6)
    np.testing.assert_allclose(found.predict_weights(X), expected, atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("views", ["additive", "pairwise"])
@pytest.mark.parametrize("mirrored", [False, True])
def test_even_tails(views, solver, mirrored):
    X, T = normal(9, 11, 2, shift=1.0)
    T[3] = T[5]
    seen = CORRECTIONS[views](phi="anderson-darling", symmetric=mirrored)
    groups = groups_of(views, 2)
    expected = reference.cdf_weights(X, T, groups, 0.1, tails=True, mirrored=mirrored)
    found = fitted(X, T, 0.1, views=seen, solver=solver)
    np.testing.assert_allclose(found.weights_, expected, atol=1e-6)


def test_phi_keeps_the_meaning_of_the_penalty():
    X, T = normal(50, 2000, 2)
    plain, even_tails = (
        fitted(X, T, 1.0, views=Additive(phi=phi)) for phi in (None, "anderson-darling")
    )
    assert even_tails.noise_ == pytest.approx(plain.noise_, rel=0.02)


def test_sliced_is_additive_in_the_projections():
    X, T = normal(40, 50, 3, shift=0.7)
    rng = np.random.RandomState(3)
    directions = rng.normal(size=(6, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    scaled = directions / T.std(axis=0)
    expected = fitted(X @ scaled.T, T @ scaled.T, 0.1)
    for views, seed in (
        (Sliced(6), 3),
        (Sliced(6, random_state=3), 5),
        (Sliced(random_state=3), 3),
    ):
        found = fitted(X, T, 0.1, views=views, random_state=seed)
        same = np.allclose(found.weights_, expected.weights_, atol=1e-6)
        assert same == (views.n_directions == 6)


def test_the_directions_of_the_sliced_view_may_be_given():
    X, T = normal(40, 50, 3, shift=0.7)
    seen = Sliced(directions=np.eye(3), standardize=False)
    np.testing.assert_allclose(
        fitted(X, T, 0.1, views=seen).weights_, fitted(X, T, 0.1).weights_, atol=1e-6
    )


def test_a_name_is_the_correction_of_that_name():
    X, T = normal(60, 70, 3, shift=0.7)
    for name in ("additive", "pairwise", "sliced", "multiplicative"):
        made = CORRECTIONS[name](**({"n_directions": 50} if name == "sliced" else {}))
        one, two = (fitted(X, T, 0.1, views=views, random_state=0) for views in (name, made))
        np.testing.assert_array_equal(one.weights_, two.weights_)


def test_a_search_sets_the_options_of_the_views():
    weighter = CDFWeights(Sliced(n_directions=3), random_state=0)
    again = clone(weighter).set_params(views__n_directions=7, views__symmetric=True)
    assert repr(again) == "CDFWeights(random_state=0, views=Sliced(n_directions=7, symmetric=True))"
    assert weighter.views.n_directions == 3


@pytest.mark.parametrize(
    ("views", "message"),
    [
        (Gaussian(), "views=Gaussian.* must be 'additive'"),
        (Sliced, "must be 'additive'"),
        (Additive(phi=len), "phi of views="),
        (Additive(phi="tails"), "phi='tails'"),
        (Additive(normalize=True), "normalize of views=Additive.* is for corrections"),
        (Additive(blend="auto"), "blend of views="),
        (Pairwise(weights=np.ones(5)), "weights of views="),
        (Sliced(n_directions=0), "n_directions=0"),
    ],
    ids=str,
)
def test_views_that_weights_have_no_use_for_are_refused(views, message):
    X, T = normal(5, 5, 2)
    with pytest.raises(InputError, match=message):
        CDFWeights(views).fit(X, X_target=T)


@pytest.mark.parametrize("solver", SOLVERS)
def test_target_weights_enter_the_objective(solver):
    X, T = normal(8, 10, 2, shift=0.5)
    weight = np.random.default_rng(1).uniform(size=10)
    expected = reference.cdf_weights(X, T, groups_of("additive", 2), 0.1, weight=weight)
    found = fitted(X, T, 0.1, target_weight=weight, solver=solver)
    np.testing.assert_allclose(found.weights_, expected, atol=1e-6)


@pytest.mark.parametrize("views", ["additive", "pairwise", "sliced", "multiplicative"])
@pytest.mark.parametrize("reg", [0.01, 0.3, 10.0])
def test_both_solvers_agree(views, reg):
    X, T = normal(150, 120, 3, shift=0.8, scale=0.9)
    options = {"views": few_directions(views), "random_state": 0}
    dense = fitted(X, T, reg, solver="dense", **options)
    free = fitted(X, T, reg, solver="thresholds", **options)
    np.testing.assert_allclose(free.weights_, dense.weights_, atol=1e-6)
    new = normal(30, 1, 3, seed=5)[0]
    np.testing.assert_allclose(free.predict_weights(new), dense.predict_weights(new), atol=1e-5)
    assert free.mismatch_ == pytest.approx(dense.mismatch_, rel=1e-6)


def test_both_solvers_choose_the_same_penalty():
    X, T = normal(250, 300, 4, shift=0.6)
    dense, free = (CDFWeights(solver=s, tol=1e-8).fit(X, X_target=T) for s in SOLVERS)
    assert free.reg_ == pytest.approx(dense.reg_, rel=0.02)


@pytest.mark.parametrize(("size", "rows"), [(2, 400), (7, 400), (40, 400), (40, 50), (7, 1)])
def test_a_few_thresholds_and_rows_precondition_many(size, rows, monkeypatch):
    X, T = normal(400, 500, 3, shift=0.8)
    expected = fitted(X, T, 0.05, solver="dense").weights_
    monkeypatch.setattr("covshift.operators.line_groups._MOST_BINS", size)
    monkeypatch.setattr("covshift.operators.line_groups._ENOUGH_ROWS", rows)
    found = fitted(X, T, 0.05, solver="thresholds")
    np.testing.assert_allclose(found.weights_, expected, atol=1e-6)


# Known answers


def test_two_values_get_the_shares_of_the_target():
    X, T = np.array([[0.0], [0.0], [0.0], [1.0]]), np.array([[0.0], [1.0]])
    found = fitted(X, T, 1e-7)
    np.testing.assert_allclose(found.weights_, [2 / 3, 2 / 3, 2 / 3, 2.0], atol=1e-5)


@pytest.mark.parametrize("level", [0.0, 1.0])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_level_that_all_of_the_target_has_gets_all_weight(level, solver):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(400) < 0.5, rng.normal(size=400)])
    T = np.column_stack([np.full(300, level), rng.normal(0.3, 1, size=300)])
    found = CDFWeights(solver=solver).fit(X, X_target=T)
    assert np.average(X[:, 0] == level, weights=found.weights_) > 0.99
    np.testing.assert_allclose(found.predict_weights(X), found.weights_, atol=1e-8)
    assert found.predict_weights([[level, 0.3]]) > 5 * found.predict_weights([[1 - level, 0.3]])


def test_target_that_is_the_sample_leaves_weights_at_one():
    X, _ = normal(50, 1, 3)
    found = CDFWeights().fit(X, X_target=X)
    np.testing.assert_allclose(found.weights_, 1.0, atol=1e-12)
    assert found.mismatch_ < 1e-25
    assert found.reg_ == np.inf
    np.testing.assert_allclose(found.predict_weights(X + 1), 1.0)


def test_a_strong_penalty_leaves_weights_at_one():
    X, T = normal(100, 100, 2, shift=1.0)
    np.testing.assert_allclose(fitted(X, T, 1e9).weights_, 1.0, atol=1e-6)


def test_known_ratio_is_approached():
    X, T = normal(4000, 4000, 1, shift=0.5)
    w = CDFWeights().fit(X, X_target=T).weights_
    truth = np.exp(0.5 * X[:, 0] - 0.125)
    assert np.mean((w - truth) ** 2) < 0.1 * np.mean((truth - 1) ** 2)


def test_monotone_changes_of_a_feature_do_not_matter():
    X, T = normal(80, 90, 2, shift=0.5)
    bend = np.array([np.exp, np.arctan])

    def bent(points):
        return np.column_stack([f(points[:, k]) for k, f in enumerate(bend)])

    plain = CDFWeights().fit(X, X_target=T).weights_
    np.testing.assert_allclose(
        CDFWeights().fit(bent(X), X_target=bent(T)).weights_, plain, atol=1e-9
    )


def test_expectations_are_nearer_than_with_ulsif():
    """Five target expectations in ten dimensions, in units of their standard deviations."""
    functions = [
        lambda x: x.mean(axis=1),
        lambda x: (x**2).mean(axis=1),
        lambda x: np.sin(2 * x[:, 0]),
        lambda x: x[:, 0] > 0.5,
        lambda x: 1 / (1 + np.exp(-3 * x.sum(axis=1) / np.sqrt(10))),
    ]
    everyone = normal(1, 100_000, 10, shift=0.5, scale=0.8, seed=9)[1]
    truth = [(f(everyone).mean(), f(everyone).std()) for f in functions]

    def error(X, w):
        found = [np.average(f(X), weights=w) for f in functions]
        return np.mean([abs(f - mean) / std for f, (mean, std) in zip(found, truth, strict=True)])

    errors = []
    for seed in range(4):
        X, T = normal(300, 300, 10, shift=0.5, scale=0.8, seed=seed)
        weighters = (
            ULSIF(random_state=0),
            CDFWeights(),
            CDFWeights(Additive(phi="anderson-darling")),
        )
        fits = [weighter.fit(X, X_target=T).weights_ for weighter in weighters]
        errors.append([error(X, w) for w in (np.ones(300), *fits)])
    none, ulsif, plain, even_tails = np.mean(errors, axis=0)
    assert plain < 0.6 * ulsif
    assert plain < 0.25 * none
    assert even_tails < 0.4 * ulsif


# The penalty


@pytest.mark.parametrize("solver", SOLVERS)
def test_discrepancy_is_the_largest_penalty_within_the_noise(solver):
    X, T = normal(300, 300, 3, shift=0.8)
    found = CDFWeights(solver=solver).fit(X, X_target=T)
    assert 0.085 * found.noise_ < found.mismatch_ <= 0.1 * found.noise_  # a plain shift
    assert fitted(X, T, 1.3 * found.reg_).mismatch_ > 0.1 * found.noise_
    assert fitted(X, T, found.reg_).mismatch_ == pytest.approx(found.mismatch_, rel=1e-3)


def test_noise_is_the_expected_mismatch_of_two_samples():
    rng = np.random.default_rng(0)
    found, noise = [], []
    for _ in range(60):
        X, T = rng.normal(size=(400, 2)), rng.normal(size=(100, 2))
        match = fitted(X, T, 1e9)
        found.append(match.mismatch_)
        noise.append(match.noise_ * (1 + 99 / 400))
    assert np.mean(found) == pytest.approx(np.mean(noise), rel=0.2)


@pytest.mark.parametrize("n", [1, 3, 10])
def test_without_shift_the_weights_stay_near_one(n):
    shares = []
    for seed in range(3):
        X, T = normal(1000, 1000, n, seed=seed)
        shares.append(CDFWeights().fit(X, X_target=T).effective_sample_size_ / 1000)
    assert min(shares) > 0.9
    assert np.mean(shares) > 0.95


def test_without_shift_estimates_are_no_worse():
    errors = np.zeros(2)
    for seed in range(8):
        X, T = normal(200, 200, 3, seed=seed)
        w = CDFWeights().fit(X, X_target=T).weights_
        errors += [np.abs(X.mean(axis=0)).mean(), np.abs(w @ X / 200).mean()]
    assert errors[1] < 1.05 * errors[0]


def test_purpose_sets_the_default_strength():
    X, T = normal(200, 200, 2, shift=1.0)
    training = CDFWeights(purpose="training").fit(X, X_target=T)
    estimation = CDFWeights(purpose="estimation").fit(X, X_target=T)
    assert training.reg_ == 10
    assert estimation.reg_ < 1
    assert training.effective_sample_size_ > estimation.effective_sample_size_
    assert CDFWeights(reg=2.0, purpose="training").fit(X, X_target=T).reg_ == 2
    assert CDFWeights(reg="discrepancy", purpose="training").fit(X, X_target=T).reg_ < 1


def test_held_out_choice_is_on_the_grid_and_repeatable():
    X, T = normal(150, 150, 2, shift=1.0)
    found = CDFWeights(reg="cv", random_state=0).fit(X, X_target=T)
    grid, scores = found.scores_
    assert found.reg_ == grid[np.argmin(scores)]
    assert scores.min() < scores[0] - 1e-3  # against nearly equal weights
    again = CDFWeights(reg="cv", random_state=0).fit(X, X_target=T)
    np.testing.assert_array_equal(again.weights_, found.weights_)
    calm = CDFWeights(reg="cv", random_state=0).fit(X, X_target=normal(1, 150, 2, seed=7)[1])
    assert calm.reg_ >= found.reg_


@pytest.mark.parametrize("reg", [0.0, -1.0, np.inf, np.nan, "best"])
def test_a_penalty_that_is_none_is_refused(reg):
    with pytest.raises(ValueError, match="reg="):
        CDFWeights(reg=reg).fit(np.zeros((5, 1)), X_target=np.zeros((3, 1)))


@pytest.mark.parametrize(
    "options",
    [
        {"views": "triples"},
        {"purpose": "fun"},
        {"solver": "fast"},
    ],
)
def test_unknown_options_are_refused(options):
    X, T = normal(5, 5, 2)
    with pytest.raises(ValueError, match=f"{next(iter(options))}="):
        CDFWeights(**options).fit(X, X_target=T)


# Overlap


@pytest.mark.parametrize("views", ["additive", "sliced", "multiplicative"])
def test_disjoint_samples_are_an_error(views):
    X, T = normal(200, 200, 2)
    with pytest.raises(NoOverlapError, match="there is no overlap"):
        CDFWeights(views, random_state=0).fit(X, X_target=T + 20)


@pytest.mark.part(3)
@pytest.mark.parametrize("reg", [None, 10.0, "cv"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_alarm_does_not_depend_on_the_penalty(reg, solver):
    rng = np.random.default_rng(0)
    X, T = rng.uniform(size=(400, 2)), rng.uniform(size=(400, 2))
    T[:, 0] *= 2  # half of the target is out of reach
    with pytest.raises(NoOverlapError, match="there is no overlap"):
        CDFWeights(reg=reg, solver=solver, random_state=0).fit(X, X_target=T)
    assert CDFWeights(reg=reg, solver=solver, random_state=0).fit(X, X_target=T / [2, 1]).overlap_


def test_no_overlap_may_be_allowed():
    X, T = normal(200, 200, 2)
    with pytest.warns(WeightWarning) as caught:
        found = CDFWeights(allow_no_overlap=True).fit(X, X_target=T + 3)
    assert any("there is no overlap" in str(warning.message) for warning in caught)
    assert not found.overlap_
    assert found.weights_.mean() == pytest.approx(1.0)
    assert (found.weights_ @ X / 200 > 0.7).all()  # as near as it can be: the target is at 3


def test_no_overlap_is_proven_without_a_weak_penalty():
    rng = np.random.default_rng(0)
    X, T = rng.uniform(size=(20_000, 2)), rng.uniform(size=(20_000, 2)) * [2, 1]
    with pytest.warns(WeightWarning, match="there is no overlap"):
        found = CDFWeights(allow_no_overlap=True).fit(X, X_target=T)
    assert found.reg_ > 1
    assert found.weights_[X[:, 0] > 0.95].mean() > 3  # what is left out piles up at the edge


@pytest.mark.part(4)
@pytest.mark.parametrize("N", [100, 400])
@pytest.mark.parametrize("n", [1, 5, 20])
@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1.0), (0.5, 1.0), (1.0, 0.8)])
def test_ordinary_shifts_raise_no_alarm(N, n, shift, scale):
    X, T = normal(N, N, n, shift, scale, seed=1)
    assert CDFWeights().fit(X, X_target=T).overlap_


# New rows


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("views", ["additive", "pairwise", "sliced", "multiplicative"])
def test_training_rows_are_predicted_exactly(views, solver):
    X, T = normal(80, 90, 3, shift=0.7)
    found = CDFWeights(few_directions(views), solver=solver, random_state=0)
    found.fit(X, X_target=T)
    np.testing.assert_allclose(found.predict_weights(X), found.weights_, atol=1e-8)


def test_new_rows_follow_the_closed_form():
    X, T = normal(12, 15, 2, shift=0.7)
    new = normal(9, 1, 2, seed=4)[0]
    reg, N = 0.3, 12
    found = fitted(X, T, reg)
    groups = groups_of("additive", 2)
    R, F = reference.cdf_problem(np.vstack([X, new]), T, groups)
    K, b = R.T @ R, R.T @ F
    pull = N * b - K[:, :N] @ found.weights_
    heaviest = np.argmax(found.weights_)
    c = reg * found.weights_[heaviest] - pull[heaviest]
    expected = np.maximum(c + pull, 0) / reg
    np.testing.assert_allclose(expected[:N], found.weights_, atol=1e-6)
    np.testing.assert_allclose(found.predict_weights(new), expected[N:], atol=1e-6)


@pytest.mark.parametrize(
    ("make", "N", "n", "most"),
    [  # the most that new rows may weigh on average; 2.2 to 5.7 by closed forms of weak penalties
        (partial(CDFWeights, allow_no_overlap=True), 150, 4, 1.25),
        (partial(CDFWeights, allow_no_overlap=True), 400, 8, 1.25),
        (partial(TiltedCDFWeights, allow_no_overlap=True), 400, 8, 1.25),
        (EnergyWeights, 150, 4, 1.4),
        (EnergyWeights, 400, 8, 1.25),
    ],
)
def test_rows_that_the_fit_has_not_seen_weigh_one_on_average(make, N, n, most):
    X, T = normal(N, 300, n, shift=1.0, seed=2)
    new = normal(4000, 1, n, seed=3)[0]
    found = make().fit(X, X_target=T)
    w = found.predict_weights(new)
    assert 0.8 < w.mean() < most
    assert w.max() <= 1.05 * found.weights_.max()
    gap = np.average(new, axis=0, weights=w) - T.mean(axis=0)
    assert np.sqrt((gap**2).mean()) < 0.5 * np.sqrt((T.mean(axis=0) ** 2).mean())
    mixed = found.predict_weights(np.vstack([new[:5], X]))
    np.testing.assert_allclose(mixed[5:], found.weights_, atol=1e-8)
    np.testing.assert_allclose(mixed[:5], w[:5], rtol=1e-9)


def test_a_given_penalty_is_that_of_new_rows_too():
    X, T = normal(150, 150, 2, shift=0.7)
    found = fitted(X, T, 0.05)
    rows = found._made.rows(T)
    np.testing.assert_array_equal(found.predict_weights(T), found._match.ratio(rows) * found._scale)


def test_weights_survive_pickling():
    X, T = normal(60, 60, 2, shift=0.5)
    for views in ("additive", "sliced", "pairwise"):
        found = CDFWeights(views, random_state=0).fit(X, X_target=T)
        again = pickle.loads(pickle.dumps(found))
        np.testing.assert_array_equal(again.predict_weights(T), found.predict_weights(T))


# Contract and scale


@pytest.mark.part(20)
@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"solver": "thresholds", "tol": 1e-9}, marks=pytest.mark.thorough),
        {"views": Pairwise(symmetric=True)},
        {"views": Sliced(n_directions=10), "random_state": 0},
        {"purpose": "training"},
        {"views": Additive(phi="anderson-darling")},
    ],
    ids=str,
)
def test_contract(options):
    check_weighter(CDFWeights(allow_no_overlap=True, **options))


@pytest.mark.thorough
def test_contract_of_the_tilted_weights():
    check_weighter(TiltedCDFWeights(allow_no_overlap=True))


def test_uneven_weights_of_the_target_are_fewer_rows_for_the_noise():
    X, T = normal(100, 80, 2, shift=0.5)
    repeats = np.random.default_rng(0).integers(0, 4, size=80)
    repeated = CDFWeights().fit(X, X_target=np.repeat(T, repeats, axis=0))
    uneven = CDFWeights().fit(X, X_target=T, target_weight=repeats)
    assert uneven.noise_ > repeated.noise_  # Kish


def test_large_samples_take_little_memory():
    X, T = normal(200_000, 200_000, 2, shift=0.5)
    tracemalloc.start()
    found = CDFWeights(reg=100.0).fit(X, X_target=T)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6  # an N x M array of bits alone would take 5 GB
    assert found.overlap_


def test_the_penalty_is_sought_on_fewer_thresholds():
    X, T = normal(6000, 6000, 2, shift=0.5)
    found = CDFWeights().fit(X, X_target=T)
    assert 0.08 * found.noise_ < found.mismatch_ <= 0.103 * found.noise_


def test_the_search_on_fewer_thresholds_starts_the_fit_at_all_of_them():
    X, T = normal(6000, 6000, 2, shift=0.5)
    found = CDFWeights(tol=1e-8).fit(X, X_target=T)
    expected = CDFWeights(found.views, reg=found.reg_, tol=1e-8).fit(X, X_target=T)
    np.testing.assert_allclose(found.weights_, expected.weights_, atol=1e-6)


@pytest.mark.parametrize("phi", [None, "anderson-darling"])
def test_of_very_many_thresholds_some_stand_for_all(phi, monkeypatch):
    X, T = normal(2000, 3000, 2, shift=0.7)
    X[:, 1], T[:, 1] = np.round(X[:, 1]), np.round(T[:, 1])  # few values: all of them stay
    exact = fitted(X, T, 1.0, views=Additive(phi=phi))
    monkeypatch.setattr("covshift.weights.cdf.views._MOST_THRESHOLDS", 255)
    found = fitted(X, T, 1.0, views=Additive(phi=phi))
    sizes = [line.size for line in found._made.lines.lines]
    assert 100 < sizes[0] <= 255
    assert sizes[1] == len(np.unique(T[:, 1]))
    assert {code.dtype.itemsize for code in found._made.rows(X).R.bins.codes} == {1}
    assert np.sqrt(np.mean((found.weights_ - exact.weights_) ** 2)) < 0.02
    assert found.noise_ == pytest.approx(exact.noise_, rel=0.01)
    np.testing.assert_allclose(found.predict_weights(X), found.weights_, atol=1e-9)


def test_a_precision_that_is_not_reached_is_reported():
    X, T = normal(40, 40, 3, shift=1.0)
    strict = CDFWeights("pairwise", reg=1.0, solver="thresholds", tol=1e-300)
    with pytest.warns(ConvergenceWarning, match="Raise tol"):
        strict.fit(X, X_target=T)

"""Every correction against the oracle, and the facts that connect them."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from portable import label
from scipy import stats
from sklearn.base import BaseEstimator, clone

from covshift import v_matrix
from covshift.corrections import (
    CORRECTIONS,
    Additive,
    Correction,
    Gaussian,
    Importance,
    Multiplicative,
    Pairwise,
    Precomputed,
    Product,
    Sliced,
    Uniform,
    Unweighted,
    as_correction,
)
from covshift.exceptions import CoverageWarning
from covshift.operators import Dense, Diagonal
from covshift.testing import check_correction
from covshift.weights import GaussianRatio

CLOSE = {"rtol": 0, "atol": 1e-12}


def dense(correction, X, T=None, **options):
    return correction.operator(X, T, **options).dense()


# Against the oracle


def test_empirical_is_algorithm_1(sample):
    X, T = sample
    np.testing.assert_allclose(dense(Multiplicative(), X, T), reference.algorithm_1(X, T), **CLOSE)


def test_additive_is_algorithm_2(sample):
    X, T = sample
    np.testing.assert_allclose(dense(Additive(), X, T), reference.algorithm_2(X, T), **CLOSE)


def test_pairwise_averages_algorithm_1_over_pairs(sample):
    X, T = sample
    expected = reference.algorithm_1(X, T) if X.shape[1] == 1 else reference.pairwise(X, T)
    np.testing.assert_allclose(dense(Pairwise(), X, T), expected, **CLOSE)


def test_sliced_averages_algorithm_1_over_projections(sample):
    X, T = sample
    directions = np.random.default_rng(1).normal(size=(5, X.shape[1]))
    got = dense(Sliced(directions=directions, standardize=False), X, T)
    np.testing.assert_allclose(got, reference.sliced(X, T, directions), **CLOSE)


@pytest.mark.parametrize(
    ("correction", "oracle"),
    [
        (Multiplicative(symmetric=True), reference.algorithm_1),
        (Pairwise(symmetric=True), reference.pairwise),
    ],
)
def test_symmetric_averages_both_orientations(sample, correction, oracle):
    X, T = sample
    if X.shape[1] == 1:
        oracle = reference.algorithm_1
    expected = reference.mirrored(oracle, X, T)
    np.testing.assert_allclose(dense(correction, X, T), expected, **CLOSE)


def test_symmetric_sliced_averages_both_orientations_of_every_direction(sample):
    X, T = sample
    directions = np.random.default_rng(1).normal(size=(5, X.shape[1]))
    got = dense(Sliced(directions=directions, standardize=False, symmetric=True), X, T)
    expected = reference.mirrored(partial(reference.sliced, directions=directions), X, T)
    np.testing.assert_allclose(got, expected, **CLOSE)


def test_sliced_standardized_divides_the_directions_by_the_targets_spread():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(12, 3)), rng.normal(size=(9, 3)) * [1, 2, 5]
    directions = rng.normal(size=(5, 3))
    got = dense(Sliced(directions=directions), X, T)
    np.testing.assert_allclose(got, reference.sliced(X, T, directions / T.std(axis=0)), **CLOSE)


def test_phi_weighs_the_target_points_as_in_equation_10(sample):
    X, T = sample

    def phi(targets):
        return 1 + targets[:, 0] ** 2

    expected = reference.algorithm_1(X, T, phi(T))
    np.testing.assert_allclose(
        dense(Multiplicative(phi=phi), X, T), expected, rtol=1e-12, atol=1e-12
    )
    expected = reference.algorithm_2(X, T, phi(T))
    np.testing.assert_allclose(dense(Additive(phi=phi), X, T), expected, rtol=1e-12, atol=1e-12)


def test_anderson_darling_phi_in_the_joint_view(sample):
    X, T = sample
    expected = reference.algorithm_1(X, T, reference.anderson_darling_phi(T))
    got = dense(Multiplicative(phi="anderson-darling"), X, T)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_anderson_darling_phi_in_each_coordinate(sample):
    X, T = sample
    columns = [[k] for k in range(X.shape[1])]
    expected = sum(
        reference.algorithm_1(X[:, k], T[:, k], reference.anderson_darling_phi(T[:, k]))
        for k in columns
    ) / len(columns)
    got = dense(Additive(phi="anderson-darling"), X, T)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_uniform_is_example_2_2():
    X = np.random.default_rng(0).uniform(-1, 1, size=(8, 2)) * [1, 3]
    got = dense(Uniform(low=[-1, -3], high=[1, 3]), X)
    np.testing.assert_allclose(got, reference.example_2_2(X, [1, 3]), **CLOSE)


@pytest.mark.parametrize("n", [1, 3])
def test_gaussian_is_example_2_1(n):
    X = np.random.default_rng(0).normal(size=(8, n))
    got = dense(Gaussian(mean=0.5, std=2.0), X)
    np.testing.assert_allclose(got, reference.example_2_1(X, 0.5, 2.0), **CLOSE)


@pytest.mark.parametrize("n", [1, 2])
def test_product_is_lemma_2_1_by_numerical_integration(n):
    X = np.random.default_rng(0).uniform(-1, 2, size=(5, n))
    distributions = [stats.norm(0.2, 1.5), stats.gumbel_r(0, 0.7)][:n]
    expected = reference.lemma_2_1_by_integration(X, [d.pdf for d in distributions], np.inf)
    np.testing.assert_allclose(dense(Product(distributions), X), expected, rtol=1e-7)
    callables = [d.cdf for d in distributions]
    np.testing.assert_allclose(dense(Product(callables), X), expected, rtol=1e-7)


def test_uniform_is_example_2_2_on_every_kind_of_sample(sample):
    X, T = sample
    low, high = X.min(axis=0), X.max(axis=0)

    def at_or_above(x, k):
        return 1.0 if x <= low[k] else (high[k] - x) / (high[k] - low[k])

    np.testing.assert_allclose(dense(Uniform(), X, T), reference.lemma_2_1(X, at_or_above), **CLOSE)


@pytest.mark.part(6)
def test_gaussian_is_example_2_1_on_every_kind_of_sample(sample):
    X, T = sample
    mean, std = T.mean(axis=0), T.std(axis=0)
    constant = T.min(axis=0) == T.max(axis=0)

    def at_or_above(x, k):
        return float(T[0, k] >= x) if constant[k] else stats.norm(mean[k], std[k]).sf(x)

    got = dense(Gaussian(), X, T)
    np.testing.assert_allclose(got, reference.lemma_2_1(X, at_or_above), **CLOSE)


@pytest.mark.parametrize("distribution", [stats.norm(0.5, 2), stats.binom(3, 0.4), stats.geom(0.3)])
def test_product_is_lemma_2_1_on_every_kind_of_sample(sample, distribution):
    X, T = sample
    values = np.arange(100)
    masses = distribution.pmf(values) if hasattr(distribution, "pmf") else None

    def at_or_above(x, k):
        return distribution.sf(x) if masses is None else masses[values >= x].sum()

    got = dense(Product(distribution), X, T)
    np.testing.assert_allclose(got, reference.lemma_2_1(X, at_or_above), **CLOSE)


# Left limits, boxes and moments


def test_product_takes_left_limits_at_point_masses():
    X = np.array([[0.0], [1.0], [1.5], [2.0]])
    coin = stats.binom(2, 0.5)  # 0, 1, 2 with 1/4, 1/2, 1/4
    np.testing.assert_allclose(np.diag(dense(Product(coin), X)), [1, 0.75, 0.25, 0.25])
    np.testing.assert_allclose(np.diag(dense(Product(coin.cdf), X)), [1, 0.75, 0.25, 0.25])


DISCRETE = {
    "binom": stats.binom(5, 0.3),
    "poisson": stats.poisson(2.5),
    "geom": stats.geom(0.3),
    "nbinom": stats.nbinom(3, 0.4),
    "hypergeom": stats.hypergeom(20, 7, 12),
    "randint": stats.randint(-2, 6),
    "zipf": stats.zipf(2.5),
    "logser": stats.logser(0.6),
    "planck": stats.planck(0.5),
    "boltzmann": stats.boltzmann(0.4, 9),
    "dlaplace": stats.dlaplace(0.8),
    "skellam": stats.skellam(3, 2),
    "betabinom": stats.betabinom(6, 2, 3),
    "shifted": stats.poisson(2.5, loc=-3),
    "shifted by a half": stats.logser(0.6, loc=-1.5),
    "any values": stats.rv_discrete(values=([-1.5, 0.25, 3], [0.2, 0.5, 0.3])),
}


@pytest.mark.parametrize("name", DISCRETE)
def test_product_is_right_at_and_between_the_values_of_a_discrete_distribution(name):
    distribution = DISCRETE[name]
    X = np.concatenate([np.arange(-3, 7), np.arange(-3, 7) + 0.5, [-1.5, 0.25]])[:, None]
    support = np.unique(np.concatenate([np.arange(-60, 60, 0.5), [0.25]]))
    below = [distribution.pmf(support[support < x]).sum() for x in X[:, 0]]
    got = np.diag(dense(Product(distribution), X))
    np.testing.assert_allclose(got, 1 - np.array(below), atol=1e-10)


def test_survivals_outside_by_rounding_are_cut():
    V = dense(Product([lambda x: np.where(x < 0.5, -1e-14, 1 + 1e-14)]), [[0.0], [1.0]])
    np.testing.assert_array_equal(np.diag(V), [1, 0])


def test_a_constant_target_column_has_no_spread_whatever_the_rounding():
    rng = np.random.default_rng(0)
    for _ in range(20):
        weight = rng.uniform(size=7)
        V = Gaussian().operator([[0.1], [0.2]], np.full((7, 1), 0.1), target_weight=weight)
        np.testing.assert_array_equal(V.diagonal(), [1, 0])


def test_uniform_box_comes_from_the_training_data():
    X = np.random.default_rng(0).normal(size=(9, 2))
    explicit = Uniform(low=X.min(axis=0), high=X.max(axis=0))
    assert np.array_equal(dense(Uniform(), X, X + 5), dense(explicit, X))


def test_uniform_outside_its_box_is_certain_or_impossible():
    V = dense(Uniform(low=0, high=1), [[-5.0], [0.5], [7.0]])
    np.testing.assert_allclose(np.diag(V), [1, 0.5, 0])


def test_gaussian_moments_come_from_the_weighted_target():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(6, 2)), rng.normal(size=(20, 2))
    weight = rng.uniform(size=20)
    mean = np.average(T, axis=0, weights=weight)
    std = np.sqrt(np.average((T - mean) ** 2, axis=0, weights=weight))
    got = dense(Gaussian(), X, T, target_weight=weight)
    np.testing.assert_allclose(got, dense(Gaussian(mean=mean, std=std), X), **CLOSE)


# Facts that connect the corrections


def test_additive_equals_multiplicative_and_pairwise_in_one_dimension():
    rng = np.random.default_rng(0)
    X, T = rng.integers(0, 6, size=(20, 1)) * 1.0, rng.integers(0, 6, size=(15, 1)) * 1.0
    expected = dense(Additive(), X, T)
    for other in (Multiplicative(), Pairwise(), Sliced(directions=[[2.0]])):
        np.testing.assert_allclose(dense(other, X, T), expected, **CLOSE)


def test_sliced_with_axis_directions_is_additive(sample):
    X, T = sample
    for standardize in (False, True):
        axes = Sliced(directions=np.eye(X.shape[1]), standardize=standardize)
        np.testing.assert_allclose(dense(axes, X, T), dense(Additive(), X, T), **CLOSE)


@pytest.mark.part(2)
@pytest.mark.parametrize("make", [Multiplicative, Additive, Pairwise, Sliced])
def test_mirrored_data_leave_the_symmetric_v_unchanged(make, sample):
    X, T = sample
    options = {"random_state": 0} if make is Sliced else {}
    symmetric = make(symmetric=True, **options)
    np.testing.assert_allclose(dense(symmetric, -X, -T), dense(symmetric, X, T), **CLOSE)


def test_mirrored_data_change_the_one_sided_v():
    X = np.random.default_rng(0).normal(size=(10, 2))
    assert np.abs(dense(Additive(), -X) - dense(Additive(), X)).max() > 0.1


def test_a_single_flipped_feature_leaves_the_symmetric_additive_v_alone_unchanged():
    """Of the symmetric V, the additive one; a view of two features must be turned as a whole."""
    rng = np.random.default_rng(0)
    X, T, flip = rng.normal(size=(15, 2)), rng.normal(size=(20, 2)), np.array([-1.0, 1.0])
    for make, invariant in ((Additive, True), (Multiplicative, False), (Pairwise, False)):
        V, flipped = (dense(make(symmetric=True), X * s, T * s) for s in (1, flip))
        assert np.allclose(flipped, V) == invariant


@pytest.mark.parametrize("make", [Multiplicative, Additive])
def test_monotone_changes_of_a_feature_leave_v_unchanged(make):
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(15, 2)), rng.normal(size=(20, 2))
    np.testing.assert_array_equal(dense(make(), np.exp(X), np.exp(T)), dense(make(), X, T))


def test_sliced_without_standardizing_turns_with_the_data():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(15, 2)), rng.normal(size=(20, 2))
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    directions = rng.normal(size=(7, 2))
    turned = Sliced(directions=directions @ turn, standardize=False)
    plain = Sliced(directions=directions, standardize=False)
    np.testing.assert_allclose(dense(turned, X @ turn, T @ turn), dense(plain, X, T), **CLOSE)


@pytest.mark.parametrize("standardize", [False, True])
def test_a_training_point_that_is_a_target_point_is_seen_by_it_in_every_direction(standardize):
    """A matrix product rounds a row by the company it is in; term by term, equal rows are ties."""
    T = np.random.default_rng(0).normal(size=(201, 13))
    sliced = Sliced(n_directions=40, random_state=0, standardize=standardize)
    together = sliced.operator(T, T).diagonal()
    alone = [sliced.operator(T[[q]], T).diagonal()[0] for q in range(0, 201, 20)]
    np.testing.assert_array_equal(alone, together[::20])
    assert sliced.operator(T[[7]], T[[7]]).diagonal()[0] == pytest.approx(1)


def test_sliced_standardized_does_not_depend_on_units():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(15, 2)), rng.normal(size=(20, 2))
    units = np.array([1.0, 1024.0])
    sliced = Sliced(random_state=0)
    np.testing.assert_allclose(dense(sliced, X * units, T * units), dense(sliced, X, T), **CLOSE)


def test_many_uniform_targets_approach_vapniks_v():
    rng = np.random.default_rng(0)
    X, T = rng.uniform(-1, 1, size=(30, 2)), rng.uniform(-1, 1, size=(40_000, 2))
    gap = np.abs(dense(Multiplicative(), X, T) - dense(Uniform(low=-1, high=1), X)).max()
    assert gap < 0.02  # five standard errors of a share of 40,000


@pytest.mark.thorough
def test_empirical_v_is_unbiased_for_the_true_v():
    """Lemma 3.1, by simulation: the mean of many small-sample V is the true V."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(5, 2))
    draws = np.stack([dense(Multiplicative(), X, rng.uniform(size=(4, 2))) for _ in range(4000)])
    truth = dense(Uniform(low=0, high=1), X)
    standard_error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - truth) <= 4.5 * standard_error + 1e-12).all()
    assert (np.abs(draws[0] - truth) > 1e-3).any()  # a single one is not the truth


def test_loss_is_the_squared_distance_between_distribution_functions():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(7, 2)), rng.normal(size=(6, 2))
    f, y = rng.uniform(size=7), rng.integers(0, 2, size=7)
    loss = reference.rho_squared(f - y, dense(Multiplicative(), X, T))
    assert loss == pytest.approx(reference.rho_squared_by_definition(f, y, X, T), abs=1e-14)


# Options


def test_normalize_gives_unit_mean_diagonal(sample):
    X, T = sample
    for correction in (Additive(), Multiplicative(symmetric=True), Uniform(), Gaussian()):
        V = dense(correction, X, T)
        if V.max() == 0:
            continue
        scaled = dense(clone(correction).set_params(normalize=True), X, T)
        assert np.diag(scaled).mean() == pytest.approx(1)
        np.testing.assert_allclose(scaled, V / np.diag(V).mean(), rtol=1e-12)


def test_normalizing_a_zero_v_warns_and_leaves_it():
    X = np.zeros((4, 2))
    with pytest.warns(CoverageWarning, match="cannot be normalised"):
        assert not dense(Additive(normalize=True), X, X - 1).any()


@pytest.mark.parametrize(("dtype", "tiny"), [(np.float64, 1e-322), (np.float32, 1e-44)])
def test_normalizing_a_v_too_small_to_be_scaled_warns_and_leaves_it(dtype, tiny):
    X = np.zeros((4, 1), dtype=dtype)
    faint = Additive(phi=lambda T: np.full(len(T), tiny), normalize=True)
    with pytest.warns(CoverageWarning, match="cannot be normalised"):
        V = faint.operator(X, X)
    assert np.isfinite(V.dense()).all()
    assert np.isfinite(V.matmat(np.ones((4, 1), dtype=dtype))).all()
    target_sums = faint.target_sums(X, np.full(4, 0.25))
    sums = target_sums.sums(X, np.ones((4, 1)), np.ones(4), np.arange(4))
    assert np.isfinite(target_sums.gram(sums)).all()


def test_blend_mixes_with_the_identity(sample):
    X, T = sample
    V = dense(Additive(), X, T)
    for blend in (0.25, 1.0):
        expected = (1 - blend) * V + blend * np.eye(len(X))
        np.testing.assert_allclose(dense(Additive(blend=blend), X, T), expected, **CLOSE)


def test_normalize_comes_before_blend():
    X = np.random.default_rng(0).normal(size=(9, 2))
    V = dense(Additive(normalize=True, blend=0.3), X)
    expected = 0.7 * dense(Additive(normalize=True), X) + 0.3 * np.eye(9)
    np.testing.assert_allclose(V, expected, **CLOSE)


def test_an_array_phi_is_relative_target_weights():
    rng = np.random.default_rng(0)
    X, T, weight = rng.normal(size=(8, 2)), rng.normal(size=(6, 2)), rng.uniform(size=6)
    expected = dense(Additive(), X, T, target_weight=weight)
    np.testing.assert_allclose(dense(Additive(phi=10 * weight), X, T), expected, **CLOSE)


@pytest.mark.parametrize("phi", [[1.0, 0.0], lambda T: T[:, 0]])
def test_phi_and_target_weight_that_exclude_each_other_are_refused(phi):
    T = np.array([[1.0], [0.0]])
    with pytest.raises(ValueError, match="zero in every row of X_target, or overflows"):
        Additive(phi=phi).operator(T, T, target_weight=[0, 1])


def test_phi_beyond_the_precision_of_x_is_refused():
    X = np.zeros((2, 1), dtype=np.float32)
    with pytest.raises(ValueError, match="or overflows: its sum is 1e"):
        Additive(phi=lambda T: np.full(len(T), 1e300)).operator(X, X)


def test_a_target_row_of_weight_zero_is_not_there():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(8, 2)), rng.normal(size=(6, 2))
    weight = np.array([1, 0, 1, 1, 0, 1])
    for correction in (Multiplicative(phi="anderson-darling"), Additive(), Gaussian()):
        got = dense(correction, X, T, target_weight=weight)
        np.testing.assert_allclose(got, dense(correction, X, T[weight > 0]), **CLOSE)


def test_sliced_is_reproducible_by_its_seed():
    X = np.random.default_rng(0).normal(size=(9, 3))
    seeded = Sliced(n_directions=7, random_state=3)
    assert np.array_equal(dense(seeded, X), dense(seeded, X))
    assert not np.array_equal(dense(seeded, X), dense(Sliced(7, random_state=4), X))


# Weights


def test_importance_takes_an_array_as_it_is():
    X = np.zeros((3, 1))
    np.testing.assert_array_equal(dense(Importance([1, 0, 3]), X), np.diag([1.0, 0.0, 3.0]))


def test_importance_does_not_share_the_callers_array():
    weights = np.ones(3)
    V = Importance(weights).operator(np.zeros((3, 1)))
    weights[0] = 7
    np.testing.assert_array_equal(V.diagonal(), np.ones(3))


def test_weights_beyond_the_precision_of_x_are_refused():
    X = np.zeros((2, 1), dtype=np.float32)
    with pytest.raises(ValueError, match=r"importance weights reaches 1e\+300, beyond float32"):
        Importance([1.0, 1e300]).operator(X)
    for points, weight in ((X, 1e30), (X.astype(float), 1e308)):
        V = Additive().operator(points, sample_weight=[weight, weight / 3]).dense()
        np.testing.assert_allclose(V, np.outer([1.5, 0.5], [1.5, 0.5]))


class CountingWeighter(BaseEstimator):
    """A weighter in the shape that `Importance` expects."""

    def fit(self, X, y=None, *, X_target, target_weight):
        self.weights_ = np.full(len(X), len(X_target) * target_weight[0])
        return self


class UnweightedTargetWeighter(BaseEstimator):
    """A weighter of a third party, which knows no target weights."""

    def fit(self, X, y=None, *, X_target):
        self.weights_ = np.full(len(X), float(len(X_target)))
        return self


def test_importance_fits_a_clone_of_a_weighter():
    weighter = CountingWeighter()
    V = dense(Importance(weighter), np.zeros((2, 1)), np.zeros((5, 1)))
    np.testing.assert_array_equal(V, np.eye(2))
    assert not hasattr(weighter, "weights_")


def test_importance_hands_target_weights_to_a_weighter_that_takes_them():
    X, T, weight = np.zeros((2, 1)), np.zeros((4, 1)), [3, 1, 1, 1]
    V = dense(Importance(CountingWeighter()), X, T, target_weight=weight)
    np.testing.assert_allclose(V, 2 * np.eye(2))
    plain = Importance(UnweightedTargetWeighter())
    np.testing.assert_array_equal(dense(plain, X, T), 4 * np.eye(2))
    np.testing.assert_array_equal(dense(plain, X, T, target_weight=np.ones(4)), 4 * np.eye(2))
    with pytest.raises(TypeError, match="fit takes no target_weight, but the target has weights"):
        plain.operator(X, T, target_weight=weight)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], "has shape \\(2,\\), but X has 3 rows"),
        ([1.0, np.nan, 1.0], "NaN or inf"),
        ([1.0, -1.0, 1.0], "negative"),
        ([0.0, 0.0, 0.0], "zero for every row"),
    ],
)
def test_bad_importance_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        Importance(weights).operator(np.zeros((3, 1)))


# Names, dense V and warnings


def test_every_name_makes_its_correction():
    X = np.random.default_rng(0).normal(size=(40, 2))
    expected = {
        "none": Unweighted,
        "uniform": Uniform,
        "gaussian": Gaussian,
        "multiplicative": Multiplicative,
        "additive": Additive,
        "pairwise": Pairwise,
        "sliced": Sliced,
        "blended": Additive,
        "doubly-corrected": Additive,
    }
    assert expected.keys() == CORRECTIONS.keys()
    for name, kind in expected.items():
        assert isinstance(as_correction(name), kind)
        assert v_matrix(X, X + 0.3, name).shape == (40, 40)


def test_v_matrix_defaults_to_additive_and_to_the_training_sample():
    X = np.random.default_rng(0).normal(size=(10, 2))
    np.testing.assert_allclose(v_matrix(X), reference.algorithm_2(X, X), **CLOSE)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ("addditive", ValueError, r"unknown. Did you mean 'additive'\? Choose one of 'none'"),
        (Additive, TypeError, "instance such as"),
        (3, TypeError, "no usable operator"),
    ],
)
def test_an_unknown_correction_is_refused(wrong, error, message):
    with pytest.raises(error, match=message):
        v_matrix([[0.0]], correction=wrong)


def test_v_matrix_warns_when_the_target_sees_too_little():
    X = np.arange(10.0)[:, None]
    with pytest.warns(CoverageWarning, match="5 of 10 training points are out of"):
        v_matrix(X, X[:5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        v_matrix(X, X[:9])


@pytest.mark.parametrize(
    ("correction", "words"),
    [
        (Additive(), "are out of the target's reach.*symmetric=True, or blend > 0"),
        (Importance([0.0, 0.0, 1.0, 1.0]), "have importance weight zero"),
        (Uniform(low=-2, high=-1), "lie above the assumed target.*parameters of that target"),
        (Precomputed(np.diag([0.0, 0.0, 1.0, 1.0])), "have no entry in the V that was given"),
    ],
)
def test_the_warning_speaks_of_what_the_correction_is(correction, words):
    X = np.array([[0.0], [1.0], [-2.0], [-3.0]])
    with pytest.warns(CoverageWarning, match=f"2 of 4 training points {words}"):
        v_matrix(X, X - 1.5, correction)


@pytest.mark.parametrize(
    ("correction", "message"),
    [
        (Sliced(directions=[[1.0, np.inf]]), "directions must be finite"),
        (Sliced(directions=[[1.0, 0.0], [0.0, 0.0]]), "none of them all zero"),
        (Product(lambda x: 0.5), r"gave shape \(\) for 3 values"),
        (Product(stats.norm([0.0], [[1.0], [2.0]])), r"gave shape \(2, 3\) for 3 values"),
        (Additive(phi="cramer"), "anderson-darling"),
        (Additive(phi=[1.0, 2.0]), "phi has shape"),
        (Additive(phi=lambda T: -T[:, 0]), "negative"),
        (Sliced(directions=[[1.0]]), "expected \\(G, 2\\)"),
        (Uniform(low=[0, 0, 0]), "low has shape"),
        (Uniform(low=1, high=0), "low exceeds high"),
        (Gaussian(std=-1), "negative in feature 0"),
        (Gaussian(mean=np.nan), "NaN or inf"),
        (Product([stats.norm()]), "1 distributions, but X has 2 features"),
        (Product(lambda x: 2 + 0 * x), "outside \\[0, 1\\]"),
    ],
)
def test_bad_options_are_refused(correction, message):
    X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with pytest.raises(ValueError, match=message):
        correction.operator(X)


def test_options_are_checked_where_sums_are_made_block_by_block():
    T = np.zeros((3, 1))
    with pytest.raises(ValueError, match="normalize=1 must be True or False"):
        Additive(normalize=1).target_sums(T, np.full(3, 1 / 3))


def test_product_refuses_what_is_not_a_distribution():
    with pytest.raises(TypeError, match="neither a distribution"):
        Product([3]).operator([[0.0]])


# Contracts

CONTRACT = [
    Unweighted(),
    Uniform(),
    Uniform(low=-1, high=2, normalize=True),
    Gaussian(),
    Gaussian(mean=0, std=1, blend=0.1),
    Product(stats.norm()),
    Multiplicative(),
    Multiplicative(symmetric=True, phi="anderson-darling"),
    Additive(),
    Additive(symmetric=True, normalize=True, blend=0.5),
    Additive(phi="anderson-darling"),
    Pairwise(),
    Pairwise(symmetric=True),
    Sliced(random_state=0),
    Sliced(n_directions=10, random_state=0, symmetric=True, standardize=False),
]


@pytest.mark.part(8)
@pytest.mark.parametrize("correction", CONTRACT, ids=label)
def test_correction_keeps_the_contract(correction):
    check_correction(correction)


def test_importance_keeps_the_contract_for_its_own_rows():
    check_correction(Importance(np.linspace(0, 2, 17)), row_bound=True)


class Asymmetric(Correction):
    def _build(self, X, T, share):
        V = Unweighted().operator(X)
        V.dense = lambda: np.triu(np.ones((len(X), len(X))))
        return V


class Indefinite(Correction):
    def _build(self, X, T, share):
        return Dense(1 - 2 * np.eye(len(X)))


class WrongAdjoint(Correction):
    def _build(self, X, T, share):
        V = Additive().operator(X, T)
        R = V.R
        R.rmatmat = lambda Z: 2 * type(R).rmatmat(R, Z)
        return V


class BlindToWeights(Correction):
    def _build(self, X, T, share):
        return Additive().operator(X, T)


class RowDependent(Correction):
    def _build(self, X, T, share):
        return Diagonal(np.arange(1.0, len(X) + 1))


class OrderDependent(Correction):
    def _build(self, X, T, share):
        return Importance(np.full(len(X), 1 + abs(T[0, 0]))).operator(X)


@pytest.mark.parametrize(
    ("correction", "fact"),
    [
        (Asymmetric(), "V is symmetric"),
        (Indefinite(), "positive semidefinite"),
        (WrongAdjoint(), "adjoint"),
        (BlindToWeights(), "a target row of weight zero is not there"),
        (RowDependent(), "permuting the rows permutes V"),
        (OrderDependent(), "order of the target"),
    ],
)
def test_the_contract_catches_a_broken_correction(correction, fact):
    with pytest.raises(AssertionError, match=fact):
        check_correction(correction)


# Properties

finite = st.floats(-1e3, 1e3, allow_nan=False, width=32)
tied = st.integers(-2, 2).map(float)


@st.composite
def two_samples(draw):
    n = draw(st.integers(1, 3))
    values = draw(st.sampled_from([finite, tied]))
    X = draw(arrays(np.float64, (draw(st.integers(1, 6)), n), elements=values))
    T = draw(arrays(np.float64, (draw(st.integers(1, 6)), n), elements=values))
    return X, T


@settings(max_examples=150, deadline=None)
@given(two_samples(), st.booleans())
def test_the_family_equals_its_oracle_on_any_sample(samples, symmetric):
    X, T = samples
    for make, oracle in (
        (Multiplicative, reference.algorithm_1),
        (Additive, reference.algorithm_2),
    ):
        expected = reference.mirrored(oracle, X, T) if symmetric else oracle(X, T)
        np.testing.assert_allclose(dense(make(symmetric=symmetric), X, T), expected, **CLOSE)


@settings(max_examples=50, deadline=None)
@given(two_samples())
def test_the_empirical_v_lies_between_zero_and_one(samples):
    X, T = samples
    for make in (Multiplicative, Additive, Pairwise):
        V = dense(make(), X, T)
        assert V.min() >= 0
        assert V.max() <= 1 + 1e-12


# Doubly corrected


def test_doubly_corrected_v_is_v_between_the_weights():
    rng = np.random.default_rng(0)
    X, T, w = rng.normal(size=(10, 2)), rng.normal(size=(9, 2)), rng.uniform(size=10)
    for make in (Multiplicative, Additive, Pairwise):
        expected = w[:, None] * dense(make(), X, T) * w[None, :]
        np.testing.assert_allclose(dense(make(weights=w), X, T), expected, **CLOSE)


def test_doubly_corrected_takes_a_weighter_or_its_name():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(60, 2)), rng.normal(0.3, 1, size=(50, 2))
    w = GaussianRatio().fit(X, X_target=T).weights_
    options = {"symmetric": True, "normalize": True, "blend": 0.5}
    expected = dense(Additive(**options), X, T, sample_weight=w)
    for weights in ("gaussian-ratio", GaussianRatio(), w):
        got = dense(Additive(**options, weights=weights), X, T)
        np.testing.assert_allclose(got, expected, atol=1e-12)


def test_sample_weights_multiply_those_of_the_correction():
    rng = np.random.default_rng(0)
    X, T, w = rng.normal(size=(10, 2)), rng.normal(size=(9, 2)), rng.uniform(size=10)
    got = dense(Additive(weights=w), X, T, sample_weight=1000 * np.arange(10))
    expected = dense(Additive(weights=w * np.arange(10) / 5), X, T)  # mean one, but for the first
    np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_weights_cannot_be_had_from_blocks_of_rows():
    T, share = np.zeros((3, 1)), np.full(3, 1 / 3)
    with pytest.raises(ValueError, match="whole training sample"):
        Additive(weights=np.ones(4)).target_sums(T, share)


def test_an_automatic_blend_gives_v_the_weight_of_75_rows_at_most():
    rng = np.random.default_rng(0)
    T = rng.normal(size=(30, 2))
    for N in (40, 150, 600):
        X = rng.normal(size=(N, 2))
        given = Additive(symmetric=True, normalize=True, blend=1 - min(0.5, 75 / N))
        automatic = Additive(symmetric=True, normalize=True, blend="auto")
        expected = given.operator(X, T).dense()
        np.testing.assert_allclose(automatic.operator(X, T).dense(), expected, rtol=1e-12)
        sums = automatic.target_sums(T, np.full(30, 1 / 30)).sums(X, np.eye(N), np.ones(N), None)
        target_sums = automatic.target_sums(T, np.full(30, 1 / 30))
        np.testing.assert_allclose(target_sums.gram(sums), expected, atol=1e-10)


def test_the_additive_v_does_not_see_an_interaction_and_a_blend_does():
    """Theory, eq. 2.9: residuals whose mean given each single feature is zero."""
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    r = np.array([[1.0], [-1.0], [-1.0], [1.0]])
    T = np.random.default_rng(0).uniform(size=(50, 2))
    assert float((r.T @ Additive(symmetric=True).operator(corners, T).matmat(r))[0, 0]) < 1e-12
    blend = Additive(symmetric=True, normalize=True, blend="auto").operator(corners, T)
    assert float((r.T @ blend.matmat(r))[0, 0]) == pytest.approx(2.0)

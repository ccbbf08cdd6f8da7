"""Kernel mean matching, energy balancing and entropy balancing."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import reference
from scipy.spatial.distance import cdist

from covshift.exceptions import NoOverlapError, WeightWarning
from covshift.numerics.qp import solve_simplex
from covshift.testing import check_weighter
from covshift.weights.energy import EnergyWeights
from covshift.weights.entropy import EntropyBalancing
from covshift.weights.kmm import KMM


def normal(N, M, n, shift=0.0, scale=1.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, n)), rng.normal(shift, scale, size=(M, n))


def calmly(weighter, X, T, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightWarning)
        return weighter.fit(X, X_target=T, **options)


# Kernel mean matching


def rbf(X, Z, width):
    return np.exp(-((X[:, None] - Z) ** 2).sum(axis=2) / (2 * width**2))


@pytest.mark.parametrize(
    "options",
    [{}, {"B": 1.5}, {"eps": 0.01}, {"B": 1.2, "eps": 0.0}, {"B": 1.01, "eps": 0.005}],
    ids=str,
)
def test_kmm_satisfies_its_constraints_and_is_optimal(options):
    X, T = normal(120, 90, 2, shift=0.6)
    found = calmly(KMM(width=0.85, standardize=False, **options), X, T)
    B, eps = options.get("B", 1000.0), options.get("eps", 1 - 120**-0.5)
    w = found.weights_ * found.total_ / 120  # before scaling
    assert w.min() >= 0
    assert w.max() <= B * (1 + 1e-8)
    assert abs(w.sum() - 120) <= 120 * (eps + 1e-8)
    K, kappa = rbf(X, X, 0.85), 120 / 90 * rbf(X, T, 0.85).sum(axis=1)
    value = w @ K @ w / 2 - kappa @ w
    assert found.objective_ == pytest.approx(value, rel=1e-9)
    exact = solve_simplex(K, kappa, upper=B, total=(120 * (1 - eps), 120 * (1 + eps)))
    assert value - (exact.objective - exact.gap) <= 1e-8 * abs(value)


def test_kmm_with_a_fixed_sum_is_that_of_brute_force():
    X, T = normal(9, 12, 2, shift=0.5)
    found = calmly(KMM(eps=0.0, width=0.7, standardize=False), X, T)
    kappa = 9 / 12 * rbf(X, T, 0.7).sum(axis=1)
    expected = reference.quadratic_on_simplex(rbf(X, X, 0.7), kappa, 9.0)
    np.testing.assert_allclose(found.weights_, expected, atol=1e-6)


def test_kmm_gives_equal_rows_equal_weights():
    X, T = normal(40, 50, 2, shift=0.5)
    doubled = calmly(KMM(width=0.7), np.repeat(X, 2, axis=0), T).weights_
    np.testing.assert_allclose(doubled[::2], doubled[1::2], atol=1e-12)
    assert calmly(KMM(B=2.0), np.repeat(X, 2, axis=0), T).weights_.max() < 2.3


def test_kmm_matches_kernel_means():
    X, T = normal(400, 400, 3, shift=0.4)
    found = calmly(KMM(), X, T)

    def distance(w):
        z, t = X / np.sqrt((X.var(axis=0) + T.var(axis=0)) / 2), T
        t = t / np.sqrt((X.var(axis=0) + T.var(axis=0)) / 2)
        K, kappa = rbf(z, z, found.width_), rbf(z, t, found.width_).mean(axis=1)
        return w @ K @ w / 400**2 - 2 * kappa @ w / 400 + rbf(t, t, found.width_).mean()

    assert distance(found.weights_) < 0.05 * distance(np.ones(400))


def test_a_narrow_kernel_is_told():
    X, T = normal(100, 100, 20, shift=0.3)
    with pytest.warns(WeightWarning, match="too narrow"):
        found = KMM(width=0.1, standardize=False).fit(X, X_target=T)
    assert found.total_ == pytest.approx(10.0, rel=1e-6)  # N (1 - eps) = sqrt(N)


def test_the_median_width_does_not_collapse():
    X, T = normal(200, 200, 20, shift=0.1)
    found = KMM().fit(X, X_target=T)  # no warning
    assert found.total_ > 100
    before, after = np.abs(X.mean() - T.mean()), np.abs(found.weights_ @ X.mean(axis=1) / 200)
    assert np.abs(after - T.mean()) < 0.3 * before


def test_kmm_weighs_new_rows_by_a_kernel_mean():
    X, T = normal(60, 60, 2, shift=0.5)
    found = calmly(KMM(width=0.5, standardize=False), X, T)
    new = normal(7, 1, 2, seed=3)[0]
    k = rbf(new, X, 0.5)
    expected = k @ found.weights_ / k.sum(axis=1)
    np.testing.assert_allclose(found.predict_weights(new), expected, rtol=1e-9)
    far = X[:1] + np.array([1e4, 0.0])
    nearest = np.argmin(cdist(far, X))
    np.testing.assert_allclose(found.predict_weights(far), found.weights_[nearest], rtol=1e-9)


def test_kmm_takes_a_callable_kernel():
    X, T = normal(30, 30, 2, shift=0.3)
    named = calmly(KMM(width=1.0, standardize=False, eps=0.0), X, T)
    called = KMM(
        kernel=lambda x, z: np.exp(-0.5 * ((x - z) ** 2).sum()), standardize=False, eps=0.0
    )
    np.testing.assert_allclose(calmly(called, X, T).objective_, named.objective_, rtol=1e-8)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"B": 0}, "B=0"),
        ({"B": 0.5, "eps": 0.1}, "raise B or eps"),
        ({"eps": -0.1}, "eps=-0.1"),
        ({"kernel": "poly"}, "kernel='poly'"),
        ({"width": "wide"}, "width='wide'"),
        ({"width": "cv"}, "width='cv' must be a finite number above 0, 'scale' or 'median'"),
        ({"refuse_above": 10}, "refuse_above=10"),
    ],
)
def test_kmm_refuses(options, match):
    with pytest.raises(ValueError, match=match):
        KMM(**options).fit(*normal(30, 1, 2)[:1], X_target=np.zeros((5, 2)))


# Energy balancing


def energy_distance(w, X, T, reg, unit):
    N = len(X)
    return (
        2 * w @ cdist(X, T).mean(axis=1) / N
        - w @ cdist(X, X) @ w / N**2
        + reg * unit * w @ w / N**2
    )


@pytest.mark.parametrize("reg", [0.0, 0.1, 5.0])
def test_energy_weights_are_those_of_brute_force(reg):
    X, T = normal(8, 11, 2, shift=0.5)
    found = calmly(EnergyWeights(reg, standardize=False), X, T)
    unit = cdist(X, T).mean()
    # Positive definite once a multiple of the constant kernel is added, which a fixed sum allows.
    H = (2 * cdist(X, X).max() - cdist(X, X)) / unit + reg * np.eye(8)
    b = -8 * cdist(X, T).mean(axis=1) / unit
    expected = reference.quadratic_on_simplex(H, b, 8.0)
    np.testing.assert_allclose(found.weights_, expected, atol=1e-5)


def test_energy_distance_falls():
    X, T = normal(200, 150, 3, shift=0.5)
    found = EnergyWeights(standardize=False).fit(X, X_target=T)
    unit, w = cdist(X, T).mean(), found.weights_
    left = energy_distance(w, X, T, 0.0, unit) - cdist(T, T).mean()
    before = energy_distance(np.ones(200), X, T, 0.0, unit) - cdist(T, T).mean()
    assert found.distance_ == pytest.approx(left / unit, rel=1e-6)
    assert 0 <= left < 0.1 * before
    for other in (np.roll(w, 1), 0.9 * w + 0.1):
        assert energy_distance(w, X, T, 0.1, unit) <= energy_distance(other, X, T, 0.1, unit)


def test_new_rows_follow_the_closed_form_of_a_penalty_that_is_not_weak():
    X, T = normal(60, 80, 2, shift=0.5)
    new = normal(9, 1, 2, seed=3)[0]
    found = EnergyWeights(3.0, standardize=False).fit(X, X_target=T)
    rows = np.vstack([X, new])
    pull = cdist(rows, X) @ found.weights_ - 60 * cdist(rows, T).mean(axis=1)
    w = pull / (3.0 * cdist(X, T).mean())
    heaviest = np.argmax(found.weights_)
    expected = np.maximum(w + found.weights_[heaviest] - w[heaviest], 0)
    np.testing.assert_allclose(expected[:60], found.weights_, atol=1e-9)
    np.testing.assert_allclose(found.predict_weights(new), expected[60:], atol=1e-9)
    weak = EnergyWeights(0.1, standardize=False).fit(X, X_target=T)
    np.testing.assert_allclose(weak.predict_weights(rows)[60:], expected[60:], atol=1e-9)
    np.testing.assert_allclose(weak.predict_weights(rows)[:60], weak.weights_, atol=1e-9)


def test_energy_weights_without_a_penalty_are_of_the_training_rows_alone():
    X, T = normal(30, 30, 2, shift=0.3)
    found = EnergyWeights(0.0).fit(X, X_target=T)
    with pytest.raises(ValueError, match="positive reg"):
        found.predict_weights(T)


def test_energy_weights_do_not_depend_on_rotations():
    X, T = normal(50, 40, 3, shift=0.4)
    Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    plain = EnergyWeights(standardize=False).fit(X, X_target=T).weights_
    turned = EnergyWeights(standardize=False).fit(X @ Q + 5, X_target=T @ Q + 5).weights_
    np.testing.assert_allclose(turned, plain, atol=1e-8)


@pytest.mark.parametrize(
    ("options", "match"), [({"reg": -1.0}, "reg="), ({"refuse_above": 5}, "GB")]
)
def test_energy_weights_refuse(options, match):
    with pytest.raises(ValueError, match=match):
        EnergyWeights(**options).fit(*normal(30, 1, 2)[:1], X_target=np.zeros((5, 2)))


# Entropy balancing


@pytest.mark.parametrize("interactions", [False, True])
@pytest.mark.parametrize("moments", [1, 2])
def test_moments_agree_exactly(moments, interactions):
    X, T = normal(300, 200, 3, shift=0.3, scale=0.9)
    share = np.random.default_rng(0).uniform(size=200)
    found = EntropyBalancing(moments, interactions=interactions).fit(
        X, X_target=T, target_weight=share
    )
    w, share = found.weights_ / 300, share / share.sum()
    np.testing.assert_allclose(w @ X, share @ T, atol=1e-7)
    if moments == 2:
        np.testing.assert_allclose(w @ X**2, share @ T**2, atol=1e-7)
        if interactions:
            expected = share @ (T[:, 0] * T[:, 2])
            np.testing.assert_allclose(w @ (X[:, 0] * X[:, 2]), expected, atol=1e-7)


def test_entropy_weights_are_an_exponential_tilt():
    X, T = normal(300, 300, 2, shift=0.4)
    found = EntropyBalancing().fit(X, X_target=T)
    log = np.log(found.weights_)
    design = np.column_stack([X, np.ones(300)])
    coef, *_ = np.linalg.lstsq(design, log, rcond=None)
    np.testing.assert_allclose(design @ coef, log, atol=1e-9)
    new = normal(10, 1, 2, seed=5)[0]
    np.testing.assert_allclose(
        found.predict_weights(new), np.exp(new @ coef[:2] + coef[2]), rtol=1e-9
    )


def test_entropy_weights_are_the_true_ratio_of_shifted_normals():
    X, T = normal(20_000, 20_000, 2, shift=0.5)
    found = EntropyBalancing().fit(X, X_target=T)
    truth = np.exp(0.5 * X.sum(axis=1) - 0.25)
    assert np.mean((found.weights_ - truth) ** 2) < 0.01


def test_two_values_get_the_shares_of_the_target():
    X, T = np.array([[0.0], [0.0], [0.0], [1.0]]), np.array([[0.0], [1.0]])
    found = EntropyBalancing().fit(X, X_target=T)
    np.testing.assert_allclose(found.weights_, [2 / 3, 2 / 3, 2 / 3, 2.0], rtol=1e-8)


def test_affine_changes_do_not_matter():
    X, T = normal(80, 90, 3, shift=0.3)
    A = np.random.default_rng(1).normal(size=(3, 3))
    plain = EntropyBalancing(2, interactions=True).fit(X, X_target=T).weights_
    changed = EntropyBalancing(2, interactions=True).fit(X @ A + 3, X_target=T @ A + 3).weights_
    np.testing.assert_allclose(changed, plain, atol=1e-5)


@pytest.mark.parametrize("moments", [1, 2])
def test_moments_out_of_reach_are_an_error(moments):
    X, T = normal(100, 100, 3)
    with pytest.raises(NoOverlapError, match=r"overlap.*reg > 0"):
        EntropyBalancing(moments).fit(X, X_target=T + np.array([0, 9, 0]))


def test_a_constant_feature_that_differs_is_named():
    X, T = normal(50, 50, 2)
    X, T = np.column_stack([X, np.zeros(50)]), np.column_stack([T, np.ones(50)])
    with pytest.raises(NoOverlapError, match="columns 2"):
        EntropyBalancing().fit(X, X_target=T)


def test_variances_out_of_reach_are_an_error():
    X, T = normal(200, 200, 1)
    with pytest.raises(NoOverlapError, match="moments of the target"):
        EntropyBalancing(2).fit(np.sign(X), X_target=T * 0.1)


def test_a_penalty_always_has_a_solution():
    X, T = normal(100, 100, 2)
    found = calmly(EntropyBalancing(reg=0.1), X, T + 9)
    assert found.imbalance_ > 0.1
    assert (found.weights_ @ X / 100 > X.mean(axis=0) + 0.5).all()


@pytest.mark.parametrize("options", [{"moments": 3}, {"reg": -1.0}])
def test_entropy_balancing_refuses(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))}="):
        EntropyBalancing(**options).fit(*normal(30, 1, 2)[:1], X_target=np.zeros((5, 2)))


# Contract


@pytest.mark.parametrize(
    "weighter",
    [
        EnergyWeights(),
        EntropyBalancing(),
        EntropyBalancing(2, interactions=True, reg=0.01),
    ],
    ids=str,
)
def test_contract(weighter):
    check_weighter(weighter)


@pytest.mark.thorough
def test_contract_of_kmm():
    # Its quadratic form is nearly singular: the objective is sharp, the weights are less so, and
    # they rest on few rows by nature.
    check_weighter(KMM(), predicts_training_rows=False, tolerance=1e-4, calm=0.02)

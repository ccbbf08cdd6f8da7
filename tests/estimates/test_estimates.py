"""Weighted means and risks with known weights: known answers and coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.pipeline import make_pipeline

import covshift
from covshift.engine.ridge import BrokenLines, LeaveOneOutRidge
from covshift.numerics.parallel import one_blas_thread
from covshift.numerics.statistics import weighted_mean, weighted_risk


def shifted(N, M, shift, seed):
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(N, 1)), rng.normal(shift, 1.0, size=(M, 1))
    return X, T, X[:, 0] + rng.normal(size=N)


def test_equal_weights_give_the_textbook_mean_and_standard_error():
    y = np.random.default_rng(0).normal(size=30)
    estimate = weighted_mean(y, np.full(30, 7.0))
    assert estimate.value == pytest.approx(y.mean())
    assert estimate.standard_error == pytest.approx(stats.sem(y))
    expected = stats.t.interval(0.95, 29, y.mean(), stats.sem(y))
    np.testing.assert_allclose(estimate.interval, expected)


def test_the_scale_of_the_weights_does_not_matter():
    rng = np.random.default_rng(0)
    y, w = rng.normal(size=20), rng.uniform(size=20)
    one, other = weighted_mean(y, w), weighted_mean(y, w * 1e300)
    assert one.value == pytest.approx(other.value)
    assert one.standard_error == pytest.approx(other.standard_error)


def test_rows_of_weight_zero_do_not_move_the_mean():
    estimate = weighted_mean(np.array([1.0, 3.0, 100.0]), np.array([1, 1, 0], float))
    assert estimate.value == 2.0


def test_the_interval_covers_the_mean_under_known_weights():
    covered = 0
    for seed in range(300):
        X, _, y = shifted(400, 1, 0.5, seed)
        truth_ratio = np.exp(0.5 * X[:, 0] - 0.125)
        low, high = weighted_mean(y, truth_ratio).interval
        covered += low < 0.5 < high
    assert 0.91 <= covered / 300 <= 0.985


def test_a_higher_confidence_is_a_wider_interval():
    y, w = np.arange(10.0), np.arange(1.0, 11.0)
    widths = [
        np.diff(weighted_mean(y, w, confidence=level).interval)[0] for level in (0.5, 0.9, 0.99)
    ]
    assert widths == sorted(widths)


def test_one_row_has_an_infinite_error():
    estimate = weighted_mean(np.array([3.0]), np.array([2.0], float))
    assert estimate.value == 3.0
    assert estimate.standard_error == np.inf
    assert estimate.interval == (-np.inf, np.inf)


def test_one_row_that_carries_all_the_weight_has_an_infinite_interval():
    assert weighted_mean(np.array([3.0, 5.0]), np.array([1.0, 1e-200], float)).interval == (
        -np.inf,
        np.inf,
    )


def test_a_constant_is_known_exactly():
    estimate = weighted_mean(np.array([2.0, 2.0, 2.0]), np.array([1, 2, 3], float))
    assert estimate.interval == (2.0, 2.0)


def test_huge_outcomes_do_not_overflow():
    estimate = weighted_mean(np.array([1e308, -1e308, 1e308]), np.array([1, 1, 1], float))
    assert np.isfinite([estimate.value, estimate.standard_error]).all()


def test_risk_is_the_weighted_mean_of_the_losses():
    loss, w = np.array([1.0, 0.0, 1.0, 0.0]), np.array([1.0, 2, 3, 4])
    assert weighted_risk(loss, w).value == pytest.approx(0.4)
    assert weighted_risk(loss, w).standard_error == weighted_mean(loss, w).standard_error


def test_the_blas_threads_come_back():
    from threadpoolctl import threadpool_info

    def threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    before = threads()
    with one_blas_thread(1000):
        assert set(threads()) <= {1}
    assert threads() == before
    with one_blas_thread(1 << 30):
        assert threads() == before


def test_the_interval_of_a_risk_goes_up_as_that_of_its_logarithm():
    losses, w = np.array([0.0, 1.0, 4.0, 9.0]), np.array([1.0, 2.0, 1.0, 1.0])
    risk, mean = weighted_risk(losses, w), weighted_mean(losses, w)
    assert (risk.value, risk.standard_error) == (mean.value, mean.standard_error)
    low, high = risk.interval
    assert low == max(0.0, mean.interval[0])
    assert low < risk.value < mean.interval[1] < high
    assert np.log(high / risk.value) == pytest.approx((mean.interval[1] - mean.value) / mean.value)
    assert weighted_risk(losses - 1, w).interval == weighted_mean(losses - 1, w).interval
    assert weighted_risk(0 * losses, w).interval == (0.0, 0.0)


def test_the_interval_of_a_skewed_risk_holds_it_more_often_than_a_symmetric_one():
    covered = {weighted_mean: 0, weighted_risk: 0}
    truth = 0.5**4 + 6 * 0.5**2 + 3  # the fourth moment of N(1/2, 1)
    for seed in range(300):
        x = np.random.default_rng(seed).normal(size=200)
        for estimate in covered:
            low, high = estimate(x**4, np.exp(0.5 * x)).interval
            covered[estimate] += low < truth < high
    assert covered[weighted_risk] > covered[weighted_mean] + 6


def test_the_additive_regression_is_that_of_its_definition():
    """Ridge regression on cells; each row is left out in closed form, and by a loop."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 5, 80), rng.integers(0, 2, 80)]).astype(float)
    T = np.column_stack([rng.integers(0, 5, 30), rng.integers(0, 2, 30)]).astype(float)
    y, w = X[:, 0] ** 2 + X[:, 1] + rng.normal(size=80), rng.exponential(size=80)
    cells = np.column_stack([X[:, :1] == np.arange(5), X[:, 1:] == [0, 1]]).astype(float)
    cells_T = np.column_stack([T[:, :1] == np.arange(5), T[:, 1:] == [0, 1]]).astype(float)
    share = w / w.sum()
    center = share @ cells
    B, B_T = (cells - center) / 0.5, (cells_T - center) / 0.5  # one unit for all levels
    mean, best = share @ y, None
    for multiple in np.logspace(-6, 4, 21):
        gram = B.T @ (share[:, None] * B)
        A = gram + multiple * np.trace(gram) / 7 * np.eye(7)
        coef = np.linalg.solve(A, B.T @ (share * (y - mean)))
        leverage = share * (1 + np.einsum("ij,ji->i", B, np.linalg.solve(A, B.T)))
        left_out = y - (y - mean - B @ coef) / (1 - leverage)
        error = share @ (y - left_out) ** 2
        if best is None or error < best[0]:
            best = error, left_out, mean + B_T @ coef
    lines = BrokenLines().fit(X)
    found = LeaveOneOutRidge().fit(lines.transform(X), y, w)
    np.testing.assert_allclose(found.left_out_, best[1])
    np.testing.assert_allclose(
        found.predict(lines.transform(T)), np.clip(best[2], y.min(), y.max())
    )


def test_the_effects_of_levels_are_shrunken_by_their_rows():
    """Of a level with n rows n / (n + k) is left: less where they are few."""
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(40), np.where(np.arange(40) < 20, 3, 30))
    effects = np.tile(rng.normal(size=20), 2)
    y = effects[rows] + rng.normal(size=len(rows))
    level = (rows[:, None] == np.arange(40)).astype(float)
    found = LeaveOneOutRidge().fit(level, y).predict(np.eye(40))
    means = np.array([y[rows == k].mean() for k in range(40)]) - y.mean()
    left = (found - y.mean()) / means
    k = 3 / np.median(left[:20]) - 3
    assert 0.3 < k < 4  # variance of the noise by that of the effects: one
    np.testing.assert_allclose(np.median(left[20:]), 30 / (30 + k), atol=0.05)
    assert np.mean((found - effects) ** 2) < 0.8 * np.mean((means - effects) ** 2)


def test_the_additive_regression_of_constant_columns_is_the_mean():
    found = make_pipeline(BrokenLines(), LeaveOneOutRidge()).fit(np.ones((20, 2)), np.arange(20.0))
    np.testing.assert_allclose(found.predict(np.zeros((3, 2))), 9.5)


def test_the_additive_regression_finds_the_one_feature_of_fifty_that_matters():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(60, 50)), rng.normal(size=(200, 50))
    y = 3 * X[:, 0] + 0.1 * rng.normal(size=60)
    model = make_pipeline(BrokenLines(), LeaveOneOutRidge()).fit(X, y)
    error = np.mean((model.predict(T) - 3 * T[:, 0]) ** 2)
    assert error < 0.75 * 9


def test_shares_of_the_classes_of_a_tiny_group_sum_to_one():
    rng = np.random.default_rng(25)
    for _ in range(8):
        X, T = rng.normal(size=(9, 2)), rng.normal(size=(12, 2))
        y, by = rng.choice(list("abc"), 9), (np.arange(9) % 2, np.arange(12) % 2)
        found = covshift.estimate(X, y, T, by=by, sample_weight=rng.uniform(0.1, 1, 9))
        for group in (None, "0", "1"):
            total = sum(line.value for line in found if line.group == group)
            assert total == pytest.approx(1)

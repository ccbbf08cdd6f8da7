"""One rule for a clear gain: its definition, its limits, its power and its false alarms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from covshift.comparison import Method, compare
from covshift.comparison.methods import methods_for
from covshift.numerics.statistics import Gains, paired_gains, weighted_means

rng = np.random.default_rng(0)


def losses(N=400, k=6, common=0.0, seed=0):
    """Return losses of a baseline and of k contenders whose differences share a part."""
    rng = np.random.default_rng(seed)
    reference = rng.exponential(size=N)
    shared = rng.normal(size=(1, N))
    noise = np.sqrt(common) * shared + np.sqrt(1 - common) * rng.normal(size=(k, N))
    return reference, reference - 0.1 * noise


def test_the_quantile_is_that_of_explicit_multipliers():
    reference, contenders = losses(common=0.7)
    w = rng.exponential(size=400)
    found = paired_gains(reference, contenders, w)
    differences = (reference - contenders).T
    means = w @ differences / w.sum()
    psi = np.sqrt(400 / 399) * w[:, None] * (differences - means) / w.sum()
    errors = np.sqrt((psi**2).sum(axis=0))
    np.testing.assert_allclose(found.values, means)
    np.testing.assert_allclose(found.errors, errors)
    xi = rng.normal(size=(20_000, 400))
    normal = np.quantile((xi @ psi / errors).max(axis=1), 0.95)
    size = w.sum() ** 2 / (w @ w)
    assert found.needed() == pytest.approx(stats.t.isf(stats.norm.sf(normal), size - 1), abs=0.04)


def test_one_contender_is_an_ordinary_one_sided_test():
    reference, contenders = losses(k=1)
    assert paired_gains(reference, contenders, np.ones(400)).needed() == pytest.approx(
        stats.t.isf(0.05, 399)
    )


def test_equal_contenders_count_once_and_independent_ones_all():
    reference, contenders = losses(N=4000, k=12)
    w = np.ones(4000)
    alone = paired_gains(reference, contenders[:1], w).needed()
    twelve = paired_gains(reference, contenders, w).needed()
    copies = paired_gains(reference, np.repeat(contenders[:1], 12, axis=0), w).needed()
    assert copies == pytest.approx(alone, abs=0.03)
    independent = stats.norm.isf(1 - 0.95 ** (1 / 12))
    assert twelve == pytest.approx(independent, abs=0.05)
    assert paired_gains(reference, contenders, w).needed(0.01) <= 1.001 * stats.norm.isf(0.01 / 12)


def test_the_rule_does_not_depend_on_scales_or_chance():
    reference, contenders = losses()
    w = rng.exponential(size=400)
    one = paired_gains(reference, contenders, w)
    other = paired_gains(1e8 * reference, 1e8 * contenders, 1e-5 * w)
    assert one.needed() == one.needed() == pytest.approx(other.needed())
    np.testing.assert_array_equal(one.clear(), other.clear())


def test_few_effective_rows_ask_for_a_larger_gain():
    reference, contenders = losses()
    many = paired_gains(reference, contenders, np.ones(400)).needed()
    few = paired_gains(reference, contenders, np.r_[np.ones(5), np.full(395, 1e-6)]).needed()
    assert few > many + 0.5


def test_contenders_that_equal_the_baseline_neither_win_nor_count():
    reference, contenders = losses(k=1)
    same = np.vstack([contenders, reference, reference * (1 + 1e-16)])
    found = paired_gains(reference, same, np.ones(400))
    assert found.needed() == paired_gains(reference, contenders, np.ones(400)).needed()
    np.testing.assert_array_equal(found.clear()[1:], False)
    np.testing.assert_array_equal(found.errors[1:], 0)


def test_the_same_gain_on_every_row_is_clear_and_the_same_loss_is_not():
    reference = np.ones(30)
    found = paired_gains(reference, np.array([reference - 0.5, reference + 0.5]), np.ones(30))
    np.testing.assert_array_equal(found.clear(), [True, False])


def test_one_row_makes_nothing_clear():
    found = paired_gains(np.array([2.0]), np.array([[1.0], [0.5]]), np.array([1.0]))
    np.testing.assert_array_equal(found.errors, np.inf)
    assert not found.clear().any()


def test_no_contenders_are_no_error():
    found = paired_gains(np.ones(5), np.empty((0, 5)), np.ones(5))
    assert found.values.shape == (0,)
    assert np.isfinite(found.needed())


def test_huge_losses_do_not_overflow():
    means, psi = weighted_means(np.array([[1e300], [-1e300], [1e300]]), np.ones(3))
    assert np.isfinite(means).all()
    assert np.isfinite(psi).all()


@pytest.mark.thorough
@pytest.mark.parametrize("size", [25, 400])
def test_among_many_without_a_gain_one_is_clear_in_one_case_of_twenty(size):
    """Skewed losses, unequal weights, contenders alike: 300 draws, 5 % +- 2.5 standard errors."""
    rng = np.random.default_rng(size)
    alarms = 0
    for _ in range(300):
        shared = rng.normal(size=(size, 1)) ** 2 - 1
        differences = shared + 0.7 * rng.normal(size=(size, 8))
        found = paired_gains(np.zeros(size), -differences.T, rng.uniform(0.2, 2, size=size))
        alarms += found.clear().any()
    assert alarms / 300 <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / 300)


def test_clear_gains_are_those_beyond_the_needed_errors():
    found = Gains(np.array([0.5, 2.0, -9.0]), np.ones(3), np.eye(3), 1e9)
    assert found.needed(0.05) == pytest.approx(stats.norm.isf(1 - 0.95 ** (1 / 3)), abs=0.03)
    np.testing.assert_array_equal(found.clear(0.2), [False, True, False])


METHODS = [method for method in methods_for("linear", 3) if method.kind != "correction"]
QUICK = [m for m in METHODS if m.name in ("none", "cdf", "entropy", "gaussian-ratio", "ulsif")]


def recommended(curve: float, runs: int, methods: list[Method]) -> tuple[int, int]:
    """Count runs in which a line is left for a weighted one, now and by Bonferroni's correction."""
    now = before = 0
    for seed in range(runs):
        rng = np.random.default_rng(1000 + seed)
        X, T = rng.normal(size=(300, 3)), rng.normal(size=(300, 3))
        T[:, 0] = 0.7 + 0.5 * T[:, 0]
        y = X.sum(axis=1) + curve * X[:, 0] ** 2 + 0.7 * rng.normal(size=300)
        options = {"learner": "linear", "task": "regression", "methods": methods}
        found = compare(X, y, T, **options)
        now += found.recommended != "none"
        best = min(found.rows[1:], key=lambda row: row["risk"])
        before += best["gain"] > stats.norm.isf(0.05 / 11) * best["gain_standard_error"]
    return now, before


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
def test_a_correction_that_halves_the_risk_is_found():
    """As benchmarks/auto.py, where the whole table is; here the least of it."""
    now, before = recommended(1.0, 10, METHODS)
    assert now >= 7
    assert now > before


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
def test_a_model_that_is_right_everywhere_is_left_alone():
    now, _ = recommended(0.0, 15, QUICK)
    assert now <= 2  # at 5 %, three or more have a chance of 4 %


def test_losses_of_any_size_have_the_same_gains():
    rng = np.random.default_rng(3)
    reference = rng.uniform(1, 2, 60)
    contenders = reference - rng.normal(0.1, 0.5, (2, 60))
    plain = paired_gains(reference, contenders, np.ones(60))
    large = paired_gains(1e300 * reference, 1e300 * contenders, np.ones(60))
    np.testing.assert_allclose(large.errors, 1e300 * plain.errors)
    np.testing.assert_allclose(large.values, 1e300 * plain.values)

"""Tests of one feature, with and without ties: of the right size, not too weak."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from scipy import stats

from covshift.diagnostics.numbers import (
    Values,
    distance_p_value,
    location_p_value,
    number_p_value,
)


def p_value(x, t):
    return distance_p_value(Values.of(x, t, np.full(len(t), 1 / len(t)), float(len(t))))


@pytest.mark.parametrize(("N", "M"), [(30, 40), (300, 200), (50, 900), (3000, 2000)])
def test_without_ties_it_takes_kolmogorovs_distribution(N, M):
    rng = np.random.default_rng(0)
    x, t = rng.normal(size=N), rng.normal(0.1, size=M)
    assert p_value(x, t) == pytest.approx(stats.ks_2samp(x, t, method="asymp").pvalue)


@pytest.mark.parametrize("N", [300, 20_000])
def test_two_values_are_a_test_of_two_proportions(N):
    rng = np.random.default_rng(N)
    x, t = (rng.random(N) < 0.3).astype(float), (rng.random(N) < 0.33).astype(float)
    table = [[x.sum(), N - x.sum()], [t.sum(), N - t.sum()]]
    expected = stats.chi2_contingency(table, correction=False).pvalue
    assert p_value(x, t) == pytest.approx(expected, rel=0.02)


def zero_inflated(rng, rows, moved):
    zero = rng.random(rows) < 0.7
    return np.where(zero, 0.0, rng.normal(moved, 1, rows))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("draw", "rows", "pairs"),
    [
        (lambda rng, rows: (rng.random(rows) < 0.3).astype(float), 50, 1000),
        (lambda rng, rows: rng.integers(0, 5, rows).astype(float), 50, 1000),
        (lambda rng, rows: rng.integers(0, 5, rows).astype(float), 2000, 500),
        (lambda rng, rows: zero_inflated(rng, rows, 0.0), 2000, 300),
    ],
)
def test_the_size_is_at_most_nominal_and_near_it(draw, rows, pairs):
    rng = np.random.default_rng(3)
    found = np.array([p_value(draw(rng, rows), draw(rng, rows)) for _ in range(pairs)])
    for level in (0.05, 0.2):
        error = np.sqrt(level * (1 - level) / pairs)
        assert (found <= level).mean() <= level + 2.5 * error
    assert (found <= 0.2).mean() > 0.08


def test_the_power_on_two_values_is_that_of_a_test_of_proportions():
    rng = np.random.default_rng(4)
    N, pairs = 300, 300
    found, proportions, kolmogorov = np.zeros((3, pairs))
    for k in range(pairs):
        x, t = (rng.random(N) < 0.3).astype(float), (rng.random(N) < 0.42).astype(float)
        pooled = (x.mean() + t.mean()) / 2
        z = (t.mean() - x.mean()) / np.sqrt(2 * pooled * (1 - pooled) / N)
        found[k] = p_value(x, t)
        proportions[k] = 2 * stats.norm.sf(abs(z))
        kolmogorov[k] = stats.ks_2samp(x, t, method="asymp").pvalue
    power = [(p <= 0.05).mean() for p in (found, proportions, kolmogorov)]
    assert power[0] > power[1] - 0.05
    assert power[0] > 0.8
    assert power[2] < 0.65


def test_a_shift_beside_a_heavy_tie_is_seen_in_large_samples():
    rng = np.random.default_rng(5)
    x, t = zero_inflated(rng, 3000, 0.0), zero_inflated(rng, 3000, 0.35)
    assert p_value(x, t) < 0.001
    assert p_value(x, t) < stats.ks_2samp(x, t, method="asymp").pvalue / 3


def test_integer_weights_are_repeats_and_others_count_by_their_effective_number():
    rng = np.random.default_rng(6)
    x, t = rng.integers(0, 3, 60).astype(float), rng.integers(0, 4, 40).astype(float)
    weight = rng.integers(1, 4, 40)
    share = weight / weight.sum()
    repeated = p_value(x, np.repeat(t, weight))
    assert distance_p_value(Values.of(x, t, share, weight.sum())) == pytest.approx(repeated)
    assert distance_p_value(Values.of(x, t, share, 1 / (share @ share))) > repeated


def test_equal_samples_and_constant_columns_are_no_evidence():
    values = np.repeat([0.0, 1.0], 700)
    assert p_value(values, values) == 1.0
    assert p_value(np.zeros(9), np.zeros(4)) == 1.0


# Location beside distance


def together(x, t):
    return number_p_value(x, t, np.full(len(t), 1 / len(t)), float(len(t)))


def location(x, t):
    share = np.full(len(t), 1 / len(t))
    return location_p_value(Values.of(x, t, share, float(len(t))))


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("N", "M"), [(8, 8), (12, 5), (5, 11)])
def test_the_test_of_location_is_near_that_of_all_ways_to_deal_the_rows(N, M, whole):
    rng = np.random.default_rng(N)
    for moved in (0.0, 0.4, 0.8, 1.6):
        x, t = rng.normal(size=N), rng.normal(moved, 1, size=M)
        x, t = (np.round(x), np.round(t)) if whole else (x, t)
        exact = reference.location_chance(x.tolist(), t.tolist())
        assert location(x, t) == pytest.approx(exact, rel=0.25, abs=0.008)
        assert location(t, x) == pytest.approx(location(x, t))
        assert location(-x, -t) == pytest.approx(location(x, t))


def test_three_values_and_more_have_both_tests_and_two_one_of_shares():
    rng = np.random.default_rng(7)
    x, t = (rng.random(80) < 0.3).astype(float), (rng.random(60) < 0.5).astype(float)
    assert together(x, t) == p_value(x, t)
    x, t = rng.normal(size=300), rng.normal(0.3, 1, size=300)
    assert together(x, t) == pytest.approx(min(3 * p_value(x, t), 1.25 * location(x, t)))
    spread = 2 * rng.normal(size=300)  # which a test of location does not see
    assert together(x, spread) == pytest.approx(3 * p_value(x, spread))
    assert together(x, spread) < 0.01
    assert together(x, x) == 1.0


def test_weights_count_in_both_tests():
    rng = np.random.default_rng(6)
    x, t = rng.integers(0, 5, 60).astype(float), rng.integers(1, 6, 40).astype(float)
    weight = rng.integers(1, 4, 40)
    share = weight / weight.sum()
    repeated = together(x, np.repeat(t, weight))
    assert number_p_value(x, t, share, float(weight.sum())) == pytest.approx(repeated)
    own = np.append(np.full(60, 1 / 60), 0.0)  # a row of weight zero is none
    assert number_p_value(np.append(x, 99.0), t, share, 40.0, own) == pytest.approx(
        number_p_value(x, t, share, 40.0, own[:60])
    )


def few_high(rng, rows):
    return np.where(rng.random(rows) < 0.95, 0.0, rng.integers(1, 20, rows))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("draw", "N", "M"),
    [
        (lambda rng, rows: rng.normal(size=rows), 50, 50),
        (lambda rng, rows: rng.integers(0, 5, rows).astype(float), 300, 50),
        (few_high, 1000, 50),
    ],
)
def test_both_tests_together_have_the_level_of_one(draw, N, M):
    rng = np.random.default_rng(8)
    found = np.array([together(draw(rng, N), draw(rng, M)) for _ in range(2000)])
    for level in (0.005, 0.05):
        error = np.sqrt(level * (1 - level) / 2000)
        assert (found <= level).mean() <= level + 2.5 * error


def test_a_small_change_of_place_is_seen_nearly_as_often_as_by_a_t_test():
    rng = np.random.default_rng(9)
    found = np.zeros((3, 300))
    for k in range(300):
        x, t = rng.normal(size=300), rng.normal(0.25, 1, size=300)
        found[:, k] = together(x, t), stats.ttest_ind(x, t).pvalue, p_value(x, t)
    power, of_t, of_distance = (found <= 0.0025).mean(axis=1)
    assert power > of_t - 0.06
    assert power > of_distance + 0.1
    income = [(np.exp(1.5 * rng.normal(size=300)), np.exp(1.5 * rng.normal(0.3, 1, size=300)))
              for _ in range(100)]  # fmt: skip
    skewed = np.array([(together(*pair), stats.ttest_ind(*pair).pvalue) for pair in income])
    power, of_t = (skewed <= 0.0025).mean(axis=0)
    assert power > of_t + 0.3

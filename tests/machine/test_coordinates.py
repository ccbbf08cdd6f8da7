"""Columns on a common scale (theory, section 3.6)."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from covshift import VSVR, Kernel
from covshift.numerics.coordinates import Ranked, fit_coordinates

rng = np.random.default_rng(0)


def fitted(kind, x, t=None):
    X = np.asarray(x, dtype=float)[:, None]
    T = X if t is None else np.asarray(t, dtype=float)[:, None]
    return fit_coordinates(kind, X, np.ones(len(X)), T, np.full(len(T), 1 / len(T)))


def test_standard_is_the_mean_and_deviation_of_both_samples_in_equal_parts():
    x, t = rng.normal(size=50), rng.normal(2, 3, size=400)
    found = fitted("standard", x, t)
    mean = (x.mean() + t.mean()) / 2
    variance = (np.mean((x - mean) ** 2) + np.mean((t - mean) ** 2)) / 2
    np.testing.assert_allclose(found(x[:, None])[:, 0], (x - mean) / np.sqrt(variance))


def test_one_outlier_neither_sets_the_scale_nor_leaves_the_bounds():
    x = np.append(rng.normal(size=200), 1e9)
    U = fitted("standard", x)(x[:, None])
    assert 0.7 < U[:-1].std() < 1.3
    assert abs(U[-1, 0]) < 10


@pytest.mark.parametrize("kind", ["standard", "cdf"])
@pytest.mark.parametrize("share", [0.5, 0.01])
def test_a_rare_category_counts_as_much_as_a_common_one(kind, share):
    x = (np.arange(400) < 400 * share) * 7.0 - 3
    np.testing.assert_allclose(fitted(kind, x)([[-3.0], [4.0]] * np.ones((2, 1)))[:, 0], [0, 1])


def test_a_count_that_is_nearly_always_zero_spans_two_at_most():
    x = np.repeat([0.0, 1.0, 2.0], [397, 2, 1])
    assert np.ptp(fitted("standard", x)(x[:, None])) <= 2 + 1e-12


@given(
    st.lists(st.integers(-5, 5), min_size=3, max_size=30),
    st.lists(st.integers(-5, 5), min_size=3, max_size=30),
)
def test_cdf_is_the_pooled_distribution_function(x, t):
    if len(set(x) | set(t)) < 3:
        return
    at = np.arange(-7.0, 8.0)
    expected = np.sqrt(12) * (reference.pooled_distribution(x, t, at) - 0.5)
    np.testing.assert_allclose(fitted("cdf", x, t)(at[:, None])[:, 0], expected, atol=1e-12)


def test_cdf_does_not_change_under_a_monotone_transformation():
    x, t, new = rng.normal(size=60), rng.normal(size=80), rng.normal(size=20)
    one = fitted("cdf", x, t)(new[:, None])
    other = fitted("cdf", np.exp(3 * x), np.exp(3 * t))(np.exp(3 * new)[:, None])
    np.testing.assert_array_equal(one, other)


def test_a_large_sample_keeps_a_thousand_steps():
    x = rng.normal(size=20_000)
    found = fitted("cdf", x)
    assert isinstance(found, Ranked)
    assert found.counts[0] <= 1000
    exact = np.sqrt(12) * (reference.pooled_distribution(x, x, [0.5]) - 0.5)
    np.testing.assert_allclose(found(np.array([[0.5]]))[0], exact, atol=0.01)


@pytest.mark.parametrize("kind", ["standard", "cdf"])
def test_a_machine_does_not_see_units(kind):
    X, y = rng.normal(size=(80, 3)), rng.normal(size=80)
    T = rng.normal(size=(40, 3))
    unit = np.array([1e-6, 1.0, 1e8])
    one = VSVR(kernel=Kernel(coordinates=kind), fast=True).fit(X, y, X_target=T).predict(T)
    other = (
        VSVR(kernel=Kernel(coordinates=kind), fast=True)
        .fit(X * unit, y, X_target=T * unit)
        .predict(T * unit)
    )
    np.testing.assert_allclose(one, other, atol=1e-5)


def test_the_better_coordinates_are_taken_by_held_out_error():
    X = np.exp(3 * rng.normal(size=(150, 2)))
    y = np.log(X[:, 0]) + 0.3 * rng.normal(size=150)
    found = VSVR(kernel=Kernel(coordinates="cv"), fast=True).fit(X, y)
    errors = found.kernel_report_["coordinates"]
    assert errors["cdf"] < errors["standard"]
    assert isinstance(found._coordinates, Ranked)


# features of several columns


def levels(count, rows=60):
    return np.eye(count)[rng.choice(count, rows)]


def of_features(kind, X, groups, **options):
    share = np.full(len(X), 1 / len(X))
    return fit_coordinates(kind, X, np.ones(len(X)), X, share, np.array(groups), **options)(X)


@pytest.mark.parametrize("kind", ["standard", "cdf"])
@pytest.mark.parametrize("count", [3, 5, 9])
def test_rows_of_different_levels_have_a_squared_distance_of_one(kind, count):
    hot = levels(count)
    X = np.column_stack([rng.normal(size=60), hot])
    U = of_features(kind, X, [0] + [1] * count)
    square = ((U[:, None, 1:] - U[None, :, 1:]) ** 2).sum(axis=2)
    same = (hot @ hot.T) == 1
    np.testing.assert_allclose(square, np.where(same, 0.0, 1.0), atol=1e-12)
    gaps = of_features(kind, X, [0] + [1] * count, squared=False)[:, 1:]
    city = np.abs(gaps[:, None] - gaps[None]).sum(axis=2)
    np.testing.assert_allclose(city, np.where(same, 0.0, 1.0), atol=1e-12)
    np.testing.assert_array_equal(U[:, 0], fitted(kind, X[:, 0])(X[:, :1])[:, 0])


@pytest.mark.parametrize("kind", ["standard", "cdf"])
def test_other_columns_of_a_feature_share_the_spread_of_one(kind):
    day = rng.uniform(0, 2 * np.pi, size=400)
    X = np.column_stack([np.sin(day), np.cos(day), rng.normal(size=400)])
    U = of_features(kind, X, [0, 0, 1])
    alone = of_features(kind, X, [0, 1, 2])
    np.testing.assert_allclose(U[:, :2], alone[:, :2] / np.sqrt(2), atol=1e-12)
    assert U[:, :2].var(axis=0).sum() == pytest.approx(alone[:, 2].var(), rel=0.02)

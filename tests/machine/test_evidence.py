"""Sums of kernels, their evidence, and the search for them (theory, section 3.6)."""

import numpy as np
import pytest
import reference
from scipy.optimize import approx_fprime

from covshift.machine.evidence import Evidence, Layout, maximise
from covshift.machine.search import FAST, FULL, find_kernel, posterior_mean
from covshift.numerics.kernels import KernelSum

ALL = ("linear", "rbf", "laplacian", "main_effects")
rng = np.random.default_rng(0)
U = rng.normal(size=(30, 4))
Y = np.column_stack([np.sin(U[:, 0]) + 0.3 * rng.normal(size=30), rng.normal(size=30)])
w = rng.integers(1, 4, 30).astype(float)


def some_theta(layout, seed=1):
    return layout.start + 0.4 * np.random.default_rng(seed).normal(size=layout.size)


GROUPS = [[0, 1, 2, 3], [0, 1, 1, 2], [0, 1, 0, 1], [0, 0, 0, 0]]


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("parts", [*((part,) for part in ALL), ALL])
def test_a_sum_of_kernels_is_its_formula(parts, groups):
    layout = Layout(parts, np.array(groups))
    kernel = layout.kernel(some_theta(layout))
    options = {"ratio": kernel.ratio, "groups": groups, **kernel.amplitudes}
    expected = reference.kernel_sum(U[:9], U, relevance=kernel.relevance, **options)
    np.testing.assert_allclose(kernel(U[:9], U), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("parts", [("rbf",), ("linear", "laplacian"), ALL])
def test_the_evidence_is_that_of_repeated_rows(parts, groups):
    """Up to a constant: so differences between two kernels are compared."""
    layout = Layout(parts, np.array(groups))

    def fast(theta):
        plain = Evidence(U, Y, w, layout, 1.0)
        return plain._likelihood(theta)[0]

    def naive(theta):
        return reference.negative_log_evidence(layout.kernel(theta)(U, U), Y, w)

    one, other = some_theta(layout, 1), some_theta(layout, 2)
    assert fast(one) - fast(other) == pytest.approx(naive(one) - naive(other), rel=1e-8)


@pytest.mark.parametrize("shrink", [0.0, 0.7])
@pytest.mark.parametrize("parts", [("rbf",), ("laplacian",), ("main_effects",), ALL])
def test_the_gradient_is_that_of_differences(parts, shrink):
    layout = Layout(parts, np.array([0, 1, 1, 2]))
    evidence = Evidence(U, Y, w, layout, shrink)
    theta = some_theta(layout)
    if shrink == 0:
        theta[1:4] = 0.0  # held there
    numeric = approx_fprime(theta, lambda at: evidence(at)[0], 1e-6)
    if shrink == 0:
        numeric[1:4] = 0.0
    np.testing.assert_allclose(evidence(theta)[1], numeric, atol=2e-4)


def test_the_search_starts_from_the_number_of_features_not_of_columns():
    kernel = Layout(("rbf",), np.array([0, 1, 1, 1])).kernel(Layout(("rbf",), np.arange(2)).start)
    np.testing.assert_allclose(kernel.relevance, 0.5)
    assert Layout(("rbf",), np.array([0, 1, 1, 1])).start[0] == -np.log(2)


def test_a_category_is_as_far_as_a_column_of_two_values():
    """In coordinates, in every part but the linear one: for one relevance, ratio and amplitude."""
    levels = np.eye(5) / np.sqrt(2)
    many = KernelSum(
        np.full(5, 0.7), rbf=1.0, laplacian=2.0, main_effects=3.0, groups=np.zeros(5, int)
    )
    two = KernelSum(np.array([0.7]), rbf=1.0, laplacian=2.0, main_effects=3.0)
    ends = two(np.array([[0.0], [1.0]]), np.array([[0.0], [1.0]]))
    expected = np.where(np.eye(5) == 1, ends[0, 0], ends[0, 1])
    np.testing.assert_allclose(many(levels, levels), expected, rtol=1e-12)


def test_predictions_are_those_of_a_gaussian_process():
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    kernel = KernelSum(np.full(4, 0.25), rbf=3.0)
    wide = ConstantKernel(1e6) + 3.0 * RBF(2.0)  # the intercept, and a width of 1 / sqrt(0.25)
    peer = GaussianProcessRegressor(wide, alpha=1.0, optimizer=None).fit(U[:20], Y[:20])
    found = posterior_mean(kernel, U[:20], Y[:20], np.ones(20), U[20:])
    np.testing.assert_allclose(found, peer.predict(U[20:]), atol=1e-4)


def test_the_evidence_grows_and_finds_the_feature_that_matters():
    draw = np.random.default_rng(3)
    X = draw.normal(size=(150, 6))
    y = (np.sin(2 * X[:, 2]) + 0.2 * draw.normal(size=150))[:, None]
    layout = Layout(("rbf",), np.arange(6))
    evidence = Evidence(X, y, np.ones(150), layout, 1.5)
    theta = maximise(evidence, layout.start, steps=30)
    assert evidence(theta)[0] < evidence(layout.start)[0] - 20
    relevance = layout.kernel(theta).relevance
    assert relevance[2] > 10 * np.delete(relevance, 2).max()


@pytest.mark.thorough
def test_held_out_error_decides_whether_features_have_their_own_widths():
    draw = np.random.default_rng(4)
    X = draw.normal(size=(200, 10))
    one = (np.sin(2 * X[:, 0]) + 0.2 * draw.normal(size=200))[:, None]
    alike = (np.sin(X.sum(axis=1) / 2) + 0.2 * draw.normal(size=200))[:, None]
    ones = np.ones(200)
    assert np.ptp(np.log(find_kernel(X, one, ones).kernel.relevance)) > 3
    found = find_kernel(X, alike, ones)
    assert np.ptp(np.log(found.kernel.relevance)) < 3
    assert len(found.errors) == len(FULL.shrinks)


def test_features_of_a_group_share_their_width():
    groups = np.array([0, 1, 1, 1])
    found = find_kernel(U, Y, np.ones(30), groups=groups, relevance=True, effort=FAST)
    assert np.ptp(found.kernel.relevance[1:]) == 0
    assert found.kernel.relevance[0] != found.kernel.relevance[1]


def test_one_width_for_all_where_asked_or_where_rows_are_few():
    for rows, options in ((30, {"relevance": False}), (8, {})):
        found = find_kernel(U[:rows], Y[:rows], np.ones(rows), effort=FAST, **options)
        assert np.ptp(found.kernel.relevance) == 0


@pytest.mark.parametrize("rows", [1, 2, 3, 5])
def test_very_few_rows_give_a_finite_kernel(rows):
    found = find_kernel(U[:rows], Y[:rows], np.ones(rows))
    assert np.isfinite(found.kernel(U, U)).all()


def test_a_constant_outcome_gives_a_finite_kernel():
    found = find_kernel(U, np.ones((30, 1)), np.ones(30))
    assert np.isfinite(found.kernel(U, U)).all()

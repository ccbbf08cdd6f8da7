"""Sums of kernel values, whitened afterwards, against rows that are whitened one by one."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from sklearn.metrics.pairwise import rbf_kernel

from covshift import VSVR, Kernel
from covshift.corrections import as_correction
from covshift.machine import primal
from covshift.machine.expansion import LandmarkBasis
from covshift.machine.primal import SMALLEST, Primal
from covshift.numerics.hashing import RowUnits
from covshift.numerics.kernels import Gaussian, KernelSum, NamedKernel, values_at

rng = np.random.default_rng(0)
N, M, D = 400, 60, 40
X, T = rng.normal(size=(N, 3)), rng.normal(size=(M, 3)) + 0.3
y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=N)

# From a basis without small eigenvalues to one that has lost half of its directions.
WIDTHS = {"well conditioned": 0.4, "some small": 1.8, "most small": 3.0, "singular": 12.0}


def features(width, rows=X):
    """[K(x, Z), 1, y] and the basis of the first rows."""
    K = NamedKernel("rbf", width)
    return np.column_stack([K(rows, X[:D]), np.ones(N), y]), LandmarkBasis(
        K(X[:D], X[:D]), SMALLEST
    )


def white(A, basis):
    return np.column_stack([A[:, :D] @ basis.W, A[:, D:]])


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_sums_and_squares_are_those_of_whitened_rows(width):
    A, basis = features(width)
    w = rng.uniform(size=N)
    Psi = white(A, basis)
    np.testing.assert_allclose(basis.of_sums(w[None] @ A), w[None] @ Psi, rtol=1e-6, atol=1e-8)
    found = basis.of_squares(basis.squares(A, w))
    expected = Psi.T @ (w[:, None] * Psi)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())
    direction = rng.normal(size=(len(expected), 2))
    sums = basis.squares(A, w)
    back = basis.as_squared(direction, sums)
    np.testing.assert_allclose(back.T @ sums @ back, direction.T @ expected @ direction, rtol=1e-6)


def test_the_four_widths_take_the_three_ways():
    ways = {width: features(width)[1] for width in WIDTHS.values()}
    assert ways[0.4]._rows.shape == (D, 0)
    assert 0 < ways[1.8]._rows.shape[1] < D // 2
    assert ways[12.0]._whole
    assert ways[12.0].rank < D


@pytest.mark.parametrize("correction", ["additive", "blended", "none", "multiplicative"])
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
@pytest.mark.parametrize("reg", [1e-5, 1e-2])
def test_the_solution_is_that_of_whitened_rows(correction, width, reg):
    """Both in one solve: A'VA of rows whitened one by one, and of sums whitened afterwards."""
    kernel = NamedKernel("rbf", width)
    share, w = np.full(M, 1 / M), np.ones(N)
    target_sums = as_correction(correction).target_sums(T, share, X)
    machine = Primal(kernel, X[:D], target_sums, n_folds=1, units=RowUnits.of(X))
    machine.add(X, y[:, None], w)
    A, basis = features(width)
    rows = target_sums.sums(X, white(A, basis), w, np.arange(N))
    (v, c), *_ = machine._path([rows], [reg])
    coef, intercept = machine.fit(reg)
    K = kernel(X, X[:D])
    f, exact = K @ coef + intercept, K @ (basis.W @ v) + c
    assert np.abs(f - exact).max() <= 1e-7 * np.ptp(exact)


@pytest.mark.parametrize("Z", [np.zeros((5, 2)), np.ones((1, 2)), np.repeat([[0.0, 1.0]], 4, 0)])
def test_equal_landmarks_leave_one_direction(Z):
    K = NamedKernel("rbf", 1.0)(Z, Z)
    basis = LandmarkBasis(K, SMALLEST)
    assert basis.rank == 1
    np.testing.assert_allclose(basis.W.T @ K @ basis.W, np.eye(1), atol=1e-12)


def test_a_kernel_of_zeros_has_no_direction():
    basis = LandmarkBasis(np.zeros((3, 3)), SMALLEST)
    A = np.column_stack([np.zeros((6, 3)), np.ones(6), np.arange(6.0)])
    assert basis.rank == 0
    np.testing.assert_allclose(basis.of_squares(basis.squares(A, np.ones(6))), [[6, 15], [15, 55]])


def test_tuned_errors_do_not_depend_on_the_way(monkeypatch):
    def path(squared):
        monkeypatch.setattr(primal, "LandmarkBasis", partial(LandmarkBasis, squared=squared))
        model = VSVR(
            "blended",
            kernel=Kernel("rbf", width=1.8),
            solver="primal",
            n_components=D,
            random_state=0,
        )
        return model.fit(X, y, X_target=T).reg_path_["error"]

    apart, whole, never = path(1e-5), path(2.0), path(0.0)
    np.testing.assert_allclose(apart, whole, rtol=1e-7)
    np.testing.assert_allclose(never, whole, rtol=1e-2)  # so that the test can fail
    assert np.abs(never / whole - 1).max() > np.abs(apart / whole - 1).max()


# Kernel values


@given(
    seed=st.integers(0, 1000),
    n=st.integers(1, 6),
    rows=st.integers(1, 40),
    origin=st.sampled_from([0.0, -3.0, 1e6]),
    gamma=st.sampled_from([1e-3, 0.3, 50.0]),
)
@settings(max_examples=40, deadline=None)
def test_gaussian_values_are_those_of_scikit_learn(seed, n, rows, origin, gamma):
    draw = np.random.default_rng(seed)
    points, Z = np.round(draw.normal(size=(rows, n)), 2), np.round(draw.normal(size=(7, n)), 2)
    wide = np.full((rows, 9), np.nan)
    Gaussian((2 * gamma) ** -0.5, Z + origin).fill(points + origin, wide[:, 1:8])
    np.testing.assert_allclose(wide[:, 1:8], rbf_kernel(points, Z, gamma=gamma), atol=1e-7)
    assert np.isnan(wide[:, [0, 8]]).all()
    assert wide[:, 1:8].max() <= 1


def test_gaussian_values_far_from_zero_are_right_to_the_rounding_of_the_rows():
    """An offset of 1e7 and unit spread made the usual form wrong by .3."""
    far = X[:20] + 1e7
    K = np.empty((20, 20))
    Gaussian(1.0, far).fill(far, K)
    with mp.workdps(30):
        gaps = [
            [sum((mp.mpf(a) - mp.mpf(b)) ** 2 for a, b in zip(u, v, strict=True)) for v in far]
            for u in far
        ]
        exact = np.array([[float(mp.exp(-gap / 2)) for gap in row] for row in gaps])
    np.testing.assert_allclose(K, exact, rtol=1e-12)


@pytest.mark.parametrize("width", [1e-160, 1e-3, 1e160])
def test_widths_far_from_one_give_no_nan(width):
    K = NamedKernel("rbf", width)(X[:30], X[:10])
    assert np.isfinite(K).all()
    assert ((K >= 0) & (K <= 1)).all()


def test_every_kernel_writes_what_it_returns():
    some = KernelSum(
        np.array([1.0, 0.5, 2.0]), linear=0.3, rbf=1.0, laplacian=0.5, main_effects=0.2
    )
    kernels = [NamedKernel("rbf", 0.7), NamedKernel("laplacian", 1.0), NamedKernel("linear"), some]
    for kernel in [*kernels, NamedKernel(lambda a, b: float(a @ b)), lambda A, B: A @ B.T]:
        out = np.empty((50, 12))[:, :10]
        values_at(kernel, X[:10])(X[:50], out)
        np.testing.assert_array_equal(out, kernel(X[:50], X[:10]))

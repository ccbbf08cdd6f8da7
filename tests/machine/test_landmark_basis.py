"""Features of landmarks, and values of kernels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from sklearn.metrics.pairwise import rbf_kernel

from covshift.corrections import as_correction
from covshift.machine.expansion import whitening
from covshift.machine.primal import Primal
from covshift.numerics.hashing import RowUnits
from covshift.numerics.kernels import Gaussian, KernelSum, NamedKernel, values_at

rng = np.random.default_rng(0)
N, M, D = 400, 60, 40
X, T = rng.normal(size=(N, 3)), rng.normal(size=(M, 3)) + 0.3
y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=N)

# From kernel matrices without small eigenvalues to one that has lost half of its directions.
WIDTHS = {"well conditioned": 0.4, "some small": 1.8, "most small": 3.0, "singular": 12.0}


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_features_of_the_landmarks_are_whitened(width):
    K = NamedKernel("rbf", width)(X[:D], X[:D])
    W = whitening(K)
    assert W.shape[1] == D or width > 3
    np.testing.assert_allclose(W.T @ K @ W, np.eye(W.shape[1]), atol=1e-4)
    Psi = K @ W
    np.testing.assert_allclose(Psi @ Psi.T, K, atol=1e-8)


@pytest.mark.parametrize("correction", ["additive", "blended", "none", "multiplicative"])
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
@pytest.mark.parametrize("reg", [1e-5, 1e-2])
def test_the_solution_is_that_of_ridge_on_the_features(correction, width, reg):
    """However the rows were cut into blocks: the residual's slope vanishes in every feature."""
    kernel, w = NamedKernel("rbf", width), np.ones(N)
    correction = as_correction(correction)
    target_sums = correction.target_sums(T, np.full(M, 1 / M), X)
    machine = Primal(kernel, X[:D], target_sums, n_folds=3, units=RowUnits.of(X))
    for part in np.array_split(np.arange(N), 3):
        machine.add(X[part], y[part, None], w[part])
    coef, intercept = machine.fit(reg)
    Psi = kernel(X, X[:D]) @ machine.W
    A, V = np.column_stack([Psi, np.ones(N)]), correction.operator(X, T)
    G = A.T @ V.matmat(A) + reg * np.diag([1.0] * Psi.shape[1] + [0.0])
    v = np.linalg.lstsq(G, A.T @ V.matmat(y[:, None]), rcond=None)[0]
    f = kernel(X, X[:D]) @ coef + intercept
    assert np.abs(f - A @ v).max() <= 1e-6 * np.ptp(f)


@pytest.mark.parametrize("Z", [np.zeros((5, 2)), np.ones((1, 2)), np.repeat([[0.0, 1.0]], 4, 0)])
def test_equal_landmarks_leave_one_direction(Z):
    K = NamedKernel("rbf", 1.0)(Z, Z)
    W = whitening(K)
    np.testing.assert_allclose(W.T @ K @ W, np.eye(1), atol=1e-12)


def test_a_kernel_of_zeros_has_no_direction():
    assert whitening(np.zeros((3, 3))).shape == (3, 0)


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

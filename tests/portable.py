"""The same facts for every array library: NumPy's result is the reference."""

from __future__ import annotations

import re

import numpy as np

from covshift.corrections import (
    Additive,
    Gaussian,
    Importance,
    Multiplicative,
    Pairwise,
    Sliced,
    Uniform,
    Unweighted,
)

CORRECTIONS = [
    Unweighted(),
    Importance(np.linspace(0, 2, 25)),
    Uniform(),
    Gaussian(normalize=True),
    Multiplicative(),
    Multiplicative(symmetric=True, phi="anderson-darling"),
    Additive(),
    Additive(symmetric=True, normalize=True, blend=0.5),
    Additive(phi="anderson-darling"),
    Additive(phi=lambda T: T[:, 0] ** 2 + 1),
    Pairwise(),
    Sliced(n_directions=7, random_state=0, symmetric=True),
]


def label(correction) -> str:
    """Name a correction the same in every process: without the addresses of its parts."""
    return re.sub(r" at 0x\w+", "", str(correction))


def agrees_with_numpy(correction, convert, to_numpy, *, tied: bool, dtype: str) -> None:
    """V made from converted arrays must be NumPy's V, in the same library and precision."""
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(25, 3)), rng.normal(size=(40, 3))
    if tied:
        X, T = np.round(X), np.round(T)
    X, T = X.astype(dtype), T.astype(dtype)
    A, weight = rng.normal(size=(25, 2)).astype(dtype), rng.uniform(size=40)
    expected = correction.operator(X, T, target_weight=weight)
    got = correction.operator(convert(X), convert(T), target_weight=convert(weight))
    atol = 1e-10 if dtype == "float64" else 2e-5
    some = np.arange(25)[::-2].copy()
    for mine, theirs in (
        (got.dense(), expected.dense()),
        (got.subset(some).dense(), expected.subset(some).dense()),
        (got.diagonal(), expected.diagonal()),
        (got.matmat(convert(A)), expected.matmat(A)),
    ):
        assert type(mine) is type(convert(A))
        assert mine.dtype == convert(A).dtype
        np.testing.assert_allclose(to_numpy(mine), theirs, atol=atol)
    whole = got.matmat(convert(np.ones((25, 1), dtype=np.int64)))
    assert whole.dtype == convert(A).dtype
    np.testing.assert_allclose(to_numpy(whole)[:, 0], expected.dense().sum(axis=1), atol=20 * atol)
    R, Q = got.R, expected.R
    if hasattr(Q, "rmatmat"):
        Z = rng.normal(size=(Q.shape[0], 2)).astype(dtype)
        np.testing.assert_allclose(to_numpy(R.rmatmat(convert(Z))), Q.rmatmat(Z), atol=20 * atol)


def sums_in_float32_lose_nothing(correction, n, convert, to_numpy) -> None:
    """After 2^35 a float32 sum stands still: 4096 is the next step, and no block adds as much."""
    big, N, M = 2.0**35, 1 << 18, 1 << 16
    X, T = np.zeros((N, n), dtype=np.float32), np.ones((1, n), dtype=np.float32)
    A, Z = np.ones((N, 1), dtype=np.float32), np.ones((M, 1), dtype=np.float32)
    A[0] = A[-1] = Z[0] = Z[-1] = big  # at both ends: prefix sums and suffix sums
    forward = correction.operator(convert(X), convert(T)).R.matmat(convert(A))
    assert abs(float(to_numpy(forward)[0, 0]) - (2 * big + N)) <= 8192
    T = np.tile(np.arange(1, M + 1, dtype=np.float32)[:, None], n)
    backward = correction.operator(convert(X[:1]), convert(T)).R.rmatmat(convert(Z))
    assert abs(float(to_numpy(backward)[0, 0]) * M**0.5 - (2 * big + M)) <= 16384

"""Kernels by name, their widths, and Nyström landmarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from ._array import is_numpy
from ._hashing import HashedSample, draw_seed
from ._parallel import over_rows
from ._parameters import function, number, one_of
from ._types import Real

_ROWS = 1 << 20  # of a tensor, raised to double precision at a time
MEDIAN_ROWS = 1000  # distinct rows whose distances give the median width
_WITH_WIDTH = ("rbf", "laplacian", "poly", "polynomial", "sigmoid", "chi2")

KERNEL = one_of(*sorted(PAIRWISE_KERNEL_FUNCTIONS), "precomputed") | function()
WIDTH = number(above=0) | one_of("scale", "median", "cv", None)
"""What the parameters of a kernel may be: K(x, z) itself, and its width."""


@dataclass(frozen=True)
class Kernel:
    """K(x, z), by name or as a callable; ``gamma`` is a number or None for the kernel's own."""

    name: str | Callable[..., Any]
    gamma: float | None = None
    degree: float = 3
    coef0: float = 1
    params: dict[str, Any] = field(default_factory=dict)

    def __call__(self, X: Real, Z: Real) -> Real:
        """Kernel values of the rows of ``X`` (a, n) with those of ``Z`` (b, n): (a, b)."""
        if callable(self.name):
            return np.asarray(pairwise_kernels(X, Z, metric=self.name, **self.params))
        K = np.empty((len(X), len(Z)))

        def fill(rows: slice) -> None:
            K[rows] = pairwise_kernels(
                X[rows],
                Z,
                metric=self.name,
                filter_params=True,
                gamma=self.gamma,
                degree=self.degree,
                coef0=self.coef0,
            )

        # Below this many entries a thread costs more than it saves.
        over_rows(fill, len(X), at_least=max(1, (1 << 18) // len(Z)))
        return K


def has_width(kernel: Any) -> bool:
    """Whether the kernel has a parameter gamma."""
    return isinstance(kernel, str) and kernel in _WITH_WIDTH


def width(gamma: Any, kernel: Any, X: Real, w: Real) -> float | None:
    """Turn the parameter ``gamma`` into a number, for training rows X (N, n) of weights w (N,).

    None and "scale" take 1 / (n variance), as `sklearn.svm.SVC` does ("laplacian", which measures
    distances and not their squares: the square root of the variance); "median" takes one over the
    median squared distance of at most 1000 distinct rows.
    """
    if not has_width(kernel):
        return None
    if isinstance(gamma, str) or gamma is None:
        if gamma == "median":
            return median_width(HashedSample.of(X, MEDIAN_ROWS, 0).sorted_rows)
        return Spread.of(X, w).width(kernel, X.shape[1])
    return float(gamma)


@dataclass(frozen=True)
class Spread:
    """Mean and variance over all numbers of some rows, as plain sums that combine.

    In units of the largest number, so that squares do not overflow.
    """

    unit: float
    weight: float
    mean: float  # of the numbers over unit
    square: float  # sum over rows of w times the mean squared distance from the mean

    @classmethod
    def of(cls, X: Real, w: Real) -> Spread:
        """Sum over the rows X (N, n) of weights w (N,), arrays of NumPy or tensors."""
        if not is_numpy(X):
            return cls._of_tensor(X, w)
        unit = float(np.abs(X).max()) or 1.0
        weight = float(w.sum())
        scaled = X / unit
        mean = float((w / weight) @ scaled.mean(axis=1))
        square = float(w @ ((scaled - mean) ** 2).mean(axis=1))
        return cls(unit, weight, mean, square)

    @classmethod
    def _of_tensor(cls, X: Any, w: Any) -> Spread:
        unit, weight = float(X.abs().max()) or 1.0, float(w.double().sum())
        parts = [slice(start, start + _ROWS) for start in range(0, X.shape[0], _ROWS)]
        rows = ((X[part].double() / unit, w[part].double()) for part in parts)
        mean = sum(float(v @ x.mean(dim=1)) for x, v in rows) / weight
        rows = ((X[part].double() / unit, w[part].double()) for part in parts)
        square = sum(float(v @ ((x - mean) ** 2).mean(dim=1)) for x, v in rows)
        return cls(unit, weight, mean, square)

    def combine(self, other: Spread) -> Spread:
        """Add the sums over other rows."""
        unit = max(self.unit, other.unit)
        a, b = self._in(unit), other._in(unit)
        weight = a.weight + b.weight
        apart = b.mean - a.mean
        return Spread(
            unit,
            weight,
            a.mean + apart * (b.weight / weight),
            a.square + b.square + apart**2 * (a.weight * b.weight / weight),
        )

    def width(self, kernel: str, n_features: int) -> float:
        """Return gamma = 1 / (n variance), to 12 digits: beyond, it is the order of the rows."""
        variance = self.square / self.weight
        spread = self.unit * np.sqrt(variance)
        if kernel != "laplacian":
            spread = self.unit**2 * variance
        return float(f"{1 / (n_features * spread):.12g}") if spread > 0 else 1.0

    def _in(self, unit: float) -> Spread:
        ratio = self.unit / unit
        return Spread(unit, self.weight, self.mean * ratio, self.square * ratio**2)


def median_width(X: Real) -> float:
    """One over the median squared distance of the rows X (N, n), O(N^2 n)."""
    squares = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    median = float(np.median(squares[np.triu_indices(len(X), 1)])) if len(X) > 1 else 0.0
    return 1 / median if median > 0 else 1.0


def landmarks(X: Real, count: int, random_state: np.random.RandomState) -> Real:
    """Choose ``count`` distinct training rows at random, or all of them where there are fewer.

    By a seeded hash of their content (`HashedSample`): neither the order of the rows nor repeating
    them changes the choice.
    """
    return HashedSample.of(X, count, draw_seed(random_state)).sorted_rows


def whitening(K: Real, smallest: float) -> Real:
    """Return W (D, r) with W'KW = I: features K(x, Z) W have the kernel's Nyström approximation.

    Directions whose eigenvalue is below ``smallest`` times the largest are dropped: rounding in
    K(x, Z) would be a visible part of their features. So equal landmarks do no harm.
    """
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    kept = values > smallest * max(float(values[-1]), 0.0)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))

"""Kernels by name, their widths, and Nyström landmarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from ._parallel import over_rows

Real = NDArray[np.float64]

_WITH_WIDTH = ("rbf", "laplacian", "poly", "polynomial", "sigmoid", "chi2")


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


def check_kernel(kernel: Any) -> None:
    """Refuse a kernel that is neither known to scikit-learn, nor callable, nor "precomputed"."""
    if callable(kernel) or kernel == "precomputed" or kernel in PAIRWISE_KERNEL_FUNCTIONS:
        return
    raise ValueError(
        f"kernel={kernel!r} is unknown. Choose one of "
        f"{', '.join(sorted(PAIRWISE_KERNEL_FUNCTIONS))}, 'precomputed', or pass a callable."
    )


def has_width(kernel: Any) -> bool:
    """Whether the kernel has a parameter gamma."""
    return isinstance(kernel, str) and kernel in _WITH_WIDTH


def width(gamma: Any, kernel: Any, X: Real, w: Real) -> float | None:
    """Turn the parameter ``gamma`` into a number, for training rows X (N, n) of weights w (N,).

    None and "scale" take 1 / (n variance), as `sklearn.svm.SVC` does ("laplacian", which measures
    distances and not their squares: the square root of the variance); "median" takes one over the
    median squared distance of at most 1000 rows.
    """
    if not has_width(kernel):
        return None
    if isinstance(gamma, str) or gamma is None:
        if gamma not in (None, "scale", "median", "auto"):
            raise ValueError(
                f"gamma={gamma!r} is unknown. Use a positive number, None, 'scale', 'median' or "
                "'auto'."
            )
        return _median_width(X) if gamma == "median" else _scale_width(kernel, X, w)
    if not gamma > 0:
        raise ValueError(f"gamma={gamma!r} must be positive.")
    return float(gamma)


def _scale_width(kernel: str, X: Real, w: Real) -> float:
    share = w / w.sum()
    unit = float(np.abs(X).max()) or 1.0  # so that squares do not overflow
    scaled = X / unit
    mean = float(share @ scaled.mean(axis=1))
    variance = float(share @ ((scaled - mean) ** 2).mean(axis=1))
    spread = unit * np.sqrt(variance) if kernel == "laplacian" else unit**2 * variance
    return float(1 / (X.shape[1] * spread)) if spread > 0 else 1.0


def _median_width(X: Real) -> float:
    rows = X[:: max(1, len(X) // 1000)]
    squares = ((rows[:, None, :] - rows[None, :, :]) ** 2).sum(axis=2)
    median = float(np.median(squares[np.triu_indices(len(rows), 1)])) if len(rows) > 1 else 0.0
    return 1 / median if median > 0 else 1.0


def landmarks(X: Real, count: int, random_state: np.random.RandomState) -> Real:
    """Choose ``count`` distinct training rows at random, or all of them where there are fewer."""
    if count >= len(X):
        return np.unique(X, axis=0)
    return X[np.sort(random_state.choice(len(X), size=count, replace=False))]


def whitening(K: Real) -> Real:
    """Return W (D, r) with W'KW = I: features K(x, Z) W have the kernel's Nyström approximation.

    Directions below rounding are dropped, so equal landmarks do no harm.
    """
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    kept = values > len(K) * np.finfo(float).eps * max(float(values[-1]), 0.0)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))

"""Columns on a common scale, as a kernel sees them (theory, section 3.6).

A kernel compares features by their distances, so that a unit of measurement, an outlier or a rare
category would decide how much a column counts. Coordinates are learned from training and target
rows together, each sample with half of the mass, and do not see the outcomes:

- "standard": u = (x - mean) / s.d., after values far outside the middle 96% are moved to a bound;
- "cdf": u = sqrt(12) (F(x) - 1/2) with F the pooled distribution function, ties at the middle of
  their step. It does not change under a monotone transformation of a column;
- "none": the columns as they came, less their means where a kernel is linear in them (`Centered`).

A column of two values becomes 0 and 1 in both, and in "standard" a column of three to five values
spans two at most: a rare category weighs as much as a common one, and not more.

Columns of one feature are made smaller, so that distances count it once. Those of a category, one
for each of three or more levels, become 0 and 1 / sqrt 2: two rows of different levels have a
squared distance of one, as rows that differ in a column of two values do. L columns of another kind
are divided by sqrt L.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from .array import Array, Real, Rows, Whole, is_numpy, like
from .kernels import Fill, values_at

_MIDDLE = (0.02, 0.98)  # values beyond one such range more on either side are moved to the bound
_FEW = 5  # distinct values of a column that is no measurement
_KNOTS = 1000  # distinct values of a column that its distribution function keeps


class Coordinates(Protocol):
    """Turns the columns of rows into coordinates."""

    def __call__(self, X: Array) -> Array:
        """Coordinates of the rows X (rows, n): (rows, n)."""
        ...


@dataclass(frozen=True)
class Standard:
    """u = (x - center) / scale with x between low and high; one number of each per column."""

    low: Real
    high: Real
    center: Real
    scale: Real

    def __call__(self, X: Array) -> Array:
        """Coordinates of the rows X (rows, n), NumPy arrays or tensors: (rows, n)."""
        if is_numpy(X):
            return (np.clip(X, self.low, self.high) - self.center) / self.scale
        low, high = like(self.low, X), like(self.high, X)
        return (X.clip(low, high) - like(self.center, X)) / like(self.scale, X)


@dataclass(frozen=True)
class Ranked:
    """u = sqrt(12) (F(x) - 1/2), F a step function per column; two-valued columns as 0 and 1."""

    values: Real  # distinct values of every column, sorted, one column after the other
    below: Real  # F just below each of them, and one at the end of every column
    counts: Whole  # (n,), number of values of every column

    def __post_init__(self) -> None:
        counts = self.counts
        if counts.min() < 1 or counts.sum() != len(self.values):
            raise ValueError("steps of another number")
        if (counts + 1).sum() != len(self.below):
            raise ValueError("heights of another number")

    def __call__(self, X: Array) -> Array:
        """Coordinates of the rows X (rows, n): (rows, n)."""
        U = np.empty(X.shape)
        start = 0
        for k, count in enumerate(self.counts):
            values = self.values[start : start + count]
            below = self.below[start + k : start + k + count + 1]
            left = np.searchsorted(values, X[:, k], "left")
            right = np.searchsorted(values, X[:, k], "right")
            middle = (below[left] + below[right]) / 2
            U[:, k] = middle if count == 2 else np.sqrt(12) * (middle - 0.5)
            start += count
        return U


@dataclass(frozen=True)
class Unchanged:
    """u = x."""

    def __call__(self, X: Array) -> Array:
        """Return the rows X (rows, n) as they are."""
        return X


@dataclass(frozen=True)
class Centered:
    """u = x - center, for kernels with products: far from zero these would be rounding.

    With a free intercept the functions and their norms are those of x itself.
    """

    center: Real  # (n,)

    def __call__(self, X: Array) -> Array:
        """Coordinates of the rows X (rows, n), NumPy arrays or tensors: (rows, n)."""
        return X - (self.center if is_numpy(X) else like(self.center, X))


COORDINATES = (Standard, Ranked, Unchanged, Centered)


@dataclass(frozen=True)
class OnCoordinates:
    """A kernel of coordinates, as a kernel of the columns: K(c(x), c(z))."""

    kernel: Any
    coordinates: Any

    @property
    def name(self) -> Any:
        """Name of the kernel."""
        return self.kernel.name

    @property
    def width(self) -> Any:
        """Its width, in coordinates."""
        return self.kernel.width

    def __call__(self, X: Real, Z: Real) -> Real:
        """Kernel values of the rows of X (a, n) with those of Z (b, n): (a, b)."""
        values: Real = self.kernel(self.coordinates(X), self.coordinates(Z))
        return values

    def values_at(self, Z: Real) -> Fill:
        """Return what writes the values of rows X (a, n) with Z (b, n) to an array (a, b)."""
        fill = values_at(self.kernel, self.coordinates(Z))
        return lambda X, out: fill(self.coordinates(X), out)


def fit_coordinates(
    kind: str,
    X: Real,
    w: Real,
    T: Real,
    share: Real,
    groups: Rows | None = None,
    *,
    squared: bool = True,
) -> Coordinates:
    """Learn coordinates from training rows X (N, n) of weights w and target rows T of shares.

    ``groups`` (n,) numbers the features that the columns belong to; None: each is its own. With
    ``squared=False`` it is the sum of absolute differences that counts a feature once.
    O((N + M) n log(N + M)) time.
    """
    if kind == "none":
        return Unchanged()
    points = np.concatenate([X, T])
    mass = np.concatenate([w / w.sum(), share]) / 2
    points, mass = points[mass > 0], mass[mass > 0]
    columns = [_Column.of(points[:, k], mass) for k in range(points.shape[1])]
    if groups is not None:
        sizes = np.bincount(groups)[groups]
        columns = [c.one_of(int(L), squared) for c, L in zip(columns, sizes, strict=True)]
    if kind == "cdf":
        values, below = zip(*(column.ranked() for column in columns), strict=True)
        counts = np.array([len(v) for v in values])
        return Ranked(np.concatenate(values), np.concatenate(below), counts)
    return Standard(*np.array([column.standard() for column in columns]).T)


@dataclass(frozen=True)
class _Column:
    """The distinct values of a column, sorted, and the mass of each."""

    values: Real
    mass: Real
    factor: float = 1.0  # of its coordinates

    @classmethod
    def of(cls, x: Real, mass: Real) -> _Column:
        values, place = np.unique(x, return_inverse=True)
        return cls(values, np.asarray(np.bincount(place.reshape(-1), mass), dtype=np.float64))

    def one_of(self, L: int, squared: bool) -> _Column:
        """Return the column as one of L columns of a feature."""
        parts = 1 if L == 1 else 2 if len(self.values) == 2 else L
        return replace(self, factor=parts**-0.5 if squared else 1 / parts)

    def standard(self) -> tuple[float, float, float, float]:
        """Return low, high, center and scale."""
        low, high, center, scale = self._standard()
        return low, high, center, scale / self.factor

    def _standard(self) -> tuple[float, float, float, float]:
        low, high = float(self.values[0]), float(self.values[-1])
        if len(self.values) == 1:
            return low, high, low, 1.0
        if len(self.values) == 2:
            return low, high, low, high - low
        cumulated = np.cumsum(self.mass)
        a, b = self.values[np.searchsorted(cumulated, np.array(_MIDDLE) * cumulated[-1])]
        if a < b:
            low, high = max(low, 2 * a - b), min(high, 2 * b - a)
        unit = max(abs(low), abs(high))  # squares must not overflow
        bounded = np.clip(self.values, low, high) / unit
        share = self.mass / cumulated[-1]
        center = float(share @ bounded)
        scale = float(np.sqrt(share @ (bounded - center) ** 2)) * unit
        if len(self.values) <= _FEW:
            scale = max(scale, (high - low) / 2)
        return low, high, center * unit, scale if scale > 0 else 1.0

    def ranked(self) -> tuple[Real, Real]:
        """Return distinct values, at most as many as are kept, and F just below each of them."""
        cumulated = np.cumsum(self.mass) / self.mass.sum()
        if len(self.values) == 2:
            # The middle of the second step is one.
            return self.values, self.factor * np.array([0.0, 0.0, 2.0])
        some = np.arange(len(self.values))
        if len(some) > _KNOTS:
            some = np.unique(np.searchsorted(cumulated, (np.arange(_KNOTS) + 0.5) / _KNOTS))
        below = np.concatenate([[0.0], cumulated[some]])
        return self.values[some], below if self.factor == 1 else 0.5 + self.factor * (below - 0.5)

"""What the weighters share about points: units, centres, distances, blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist, pdist

from .._fields import Kind, Reals
from .._moments import moments
from .._parameters import number, one_of, or_list
from .._types import Real, Rows, Whole
from ._design import equal_shares

_BLOCK = 1 << 21  # numbers in a block of a large matrix: 16 MiB
_FAR = 1e100  # its square is finite, and so is the sum of many


@dataclass(frozen=True)
class Units:
    """Centre and unit of each feature; ``units(X)`` are the rows in these units."""

    center: Real  # (n,)
    scale: Real  # (n,), positive

    _saved: ClassVar[dict[str, Kind]] = {"center": Reals("n"), "scale": Reals("n", above=0)}

    def __call__(self, X: Real) -> Real:
        with np.errstate(over="ignore"):
            return np.clip((X - self.center) / self.scale, -_FAR, _FAR)


def pooled_units(
    X: Real,
    T: Real,
    share: Real,
    *,
    own: Real | None = None,
    standardize: bool = True,
    groups: Rows | None = None,
) -> Units:
    """Centre both samples; with ``standardize`` take their mean variance as the unit.

    ``own`` are the shares of the training rows X, equal without them. A feature that is constant in
    both samples keeps the unit one. The columns of a feature that has several (``groups``) have the
    unit sqrt(2), whether standardised or not: rows of two levels of a category are then at distance
    one, as those of a column of zeros and ones are, and a rare level is no farther than others.
    """
    own = equal_shares(len(X)) if own is None else own
    (mean_X, std_X), (mean_T, std_T) = moments(X, own), moments(T, share)
    center = mean_X / 2 + mean_T / 2
    scale = np.hypot(std_X / np.sqrt(2), std_T / np.sqrt(2))
    scale = np.where(scale > 0, scale, 1.0) if standardize else np.ones_like(scale)
    if groups is not None:
        scale = np.where(np.bincount(groups)[groups] > 1, np.sqrt(2), scale)
    return Units(center, scale)


def draw_centers(T: Real, share: Real, count: int, rng: np.random.RandomState) -> Whole:
    """Draw at most ``count`` of the distinct rows ``T``, with their shares as chances: indices."""
    if len(T) <= count:
        return np.arange(len(T))
    return np.sort(rng.choice(len(T), size=count, replace=False, p=share))


def typical_distance(C: Real, X: Real) -> float:
    """Median distance between the centres; between them and X where there is one alone."""
    distances = pdist(C) if len(C) > 1 else cdist(X, C).ravel()
    distances = distances[distances > 0]
    return float(np.median(distances)) if len(distances) else 1.0


def squared_distances(X: Real, Z: Real) -> Real:
    """Squared distances of the rows of X to those of Z; exactly zero between equal rows."""
    return np.asarray(cdist(X, Z, "sqeuclidean"))


def blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Cut ``n_rows`` rows so that a block of ``n_columns`` columns stays small."""
    size = max(1, _BLOCK // max(1, n_columns))
    return (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))


CANDIDATES = or_list(number(above=0)) | one_of("cv")
"""What a parameter may be that is chosen by cross-validation: see `candidates`."""


def candidates(value: Any, defaults: Real) -> Real:
    """Values to choose from, of a parameter that is "cv", a number, or a list of numbers."""
    if isinstance(value, str):
        return defaults
    return np.atleast_1d(np.asarray(value, dtype=np.float64))

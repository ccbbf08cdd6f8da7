"""What the weighters share about points: units, centres, distances, blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist, pdist

from ..data.parameters import number, one_of, or_list
from ..data.row_weights import equal_shares
from ..exceptions import InputError
from ..numerics.array import Real, Rows, Whole
from ..numerics.progress import track, warn_if_slow
from ..numerics.statistics import moments

_BLOCK = 1 << 21  # numbers in a block of a large matrix: 16 MiB
_FAR = 1e100  # its square is finite, and so is the sum of many


@dataclass(frozen=True)
class Units:
    """Centre and unit of each feature; ``units(X)`` are the rows in these units."""

    center: Real  # (n,)
    scale: Real  # (n,), positive

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


# Rows as single observations: how many of them a sample holds.
#
# A row that comes several times is that many observations: one of them is left out, the others
# stay. All of it depends on the rows as a set, not on their order.


class Distinct(NamedTuple):
    """The distinct rows of a sample, sorted."""

    points: Real  # (m, n)
    share: Real  # (m,), positive, sums to one
    repeats: Whole  # (m,): rows at the value, which have its share in equal parts
    place: Whole  # (rows,): which value each row of positive share has

    @property
    def row(self) -> Real:
        """Share of one row at each value, (m,): what leaves with it."""
        row = np.asarray(self.share / self.repeats)
        return np.full(len(row), row.mean()) if np.ptp(row) <= 1e-12 * row.max() else row

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.repeats.sum())


def distinct(points: Real, share: Real) -> Distinct:
    """Merge equal rows of positive share."""
    kept = share > 0
    points, share = points[kept], share[kept]
    order = np.lexsort(points.T[::-1])
    ranked = points[order]
    first = np.concatenate([[True], (ranked[1:] != ranked[:-1]).any(axis=1)])
    place = np.empty(len(points), dtype=np.int64)
    place[order] = np.cumsum(first) - 1
    shares = np.bincount(place, weights=share).astype(np.float64)
    return Distinct(ranked[first], shares, np.bincount(place), place)


def mean_over_equal(X: Real, values: Real, share: Real) -> Real:
    """Mean of ``values`` (N,) over the rows of X that are equal, by their positive share: (N,)."""
    place = distinct(X, share).place
    if place.max() + 1 == len(X):
        return values
    share = share / share.max()  # ones, where the shares are equal
    sums = np.bincount(place, weights=share * values)
    return np.asarray((sums / np.bincount(place, weights=share))[place])


# What the weighters with an N x N matrix share: a limit on N, and means over the target.


def check_fits(N: int, refuse_above: int, name: str, seconds: float = 0.0) -> None:
    """Refuse more training rows than ``refuse_above``, and say what their matrix would take.

    Of fewer, say how long they take: ``seconds`` of a million of N^3.
    """
    warn_if_slow(
        f"{name} of {N} different training rows",
        seconds * 1e-6 * float(N) ** 3 if N <= refuse_above else 0.0,
        "Its time grows with N^3: fit a subsample and predict the weights of the rest, or use "
        "CDFWeights, whose cost is linear in N.",
        stacklevel=4,
    )
    if N > refuse_above:
        raise InputError(
            f"{name} needs an N x N matrix, {8e-9 * N**2:.1f} GB for {N} training rows, and time "
            f"that grows with N^3, so it refuses more than refuse_above={refuse_above} rows. Raise "
            "refuse_above if the memory allows it, fit a subsample and predict the weights of the "
            "rest, or use CDFWeights, whose cost is linear in N."
        )


def target_mean(
    function: Callable[[Real, Real], Real],
    X: Real,
    T: Real,
    share: Real,
    *,
    label: str = "",
    verbose: int = 0,
) -> Real:
    """Mean over the target of function(x, t) for every row x, block by block: (N,)."""
    means = np.empty(len(X))
    parts = list(blocks(len(X), len(T)))
    for rows in track(parts, len(parts), label, verbose=bool(verbose)):
        means[rows] = function(X[rows], T) @ share
    return means

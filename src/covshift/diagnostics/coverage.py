"""Which target rows have no training rows near, and which column is to blame.

A row is flagged where it lies in a part of the target that a single column shows to have no
training rows (`covshift.numerics.support`: significant, corrected for all columns, sides and
values). Once these rows are set aside others may stand out, so the search is repeated. And where
the verdict rests on what the columns show together, a row is flagged that has no training rows
nearby, in the sense of `Support.outside`; the column in which it differs most from the nearest
training row is named. Between samples of one distribution both are rare: the first happens in one
pair of samples in a hundred, the second needs a verdict of "strong" or "no overlap".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist

from ..data import Samples
from ..data.features import FeatureColumns
from ..exceptions import import_extra
from ..numerics.array import Flags, Real, Rows
from ..numerics.support import NO_OVERLAP, Uncovered, uncovered
from ..show.table import Record, Table, card
from ..show.words import percent, printable
from ..weights.points import Units, blocks, pooled_units

OUTSIDE = 0.1  # share of the target without training rows nearby from which these are flagged
_ROUNDS = 5  # setting one part aside can show another
_NAMED = 5  # parts that a sentence names
_CELLS = 5_000_000_000  # products of the search for neighbours, at most
_NARROW = 9  # columns up to which a tree is faster than all distances: 2 to 20 times at 4,000 rows
_WIDE = 60  # columns from which a product of matrices is faster than distances one by one
_FEWEST, _MOST = 500, 4_000  # training rows that it takes


@dataclass(frozen=True)
class RowFlags:
    """Which target rows have no training rows near, and why.

    ``uncovered`` (M,) is true for these, in the order of the rows given; rows of weight zero are no
    part of the target, and false. ``reason`` (M,) is the number of the row's entry in ``reasons``,
    -1 for a row that is covered.
    """

    uncovered: Flags = field(repr=False)
    reason: Rows = field(repr=False)
    reasons: tuple[str, ...]

    @property
    def count(self) -> int:
        """Number of rows flagged."""
        return int(self.uncovered.sum())

    @property
    def why(self) -> list[str]:
        """One reason per target row, empty where it is covered."""
        texts = [*self.reasons, ""]
        return [texts[k] for k in self.reason]

    @property
    def counts(self) -> dict[str, int]:
        """Rows flagged for each reason, most of them first."""
        rows = np.bincount(self.reason[self.uncovered], minlength=len(self.reasons))
        order = np.argsort(-rows, kind="stable")
        return {self.reasons[k]: int(rows[k]) for k in order if rows[k]}

    def to_dict(self) -> dict[str, Any]:
        """Return how many rows are flagged, and why."""
        return {"uncovered": self.count, "why": self.counts}

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row per target row: overlap, and why not."""
        pandas = import_extra("pandas", extra="pandas", needed_by="RowFlags.to_frame")
        return pandas.DataFrame({"overlap": ~self.uncovered, "why": self.why})

    def _repr_html_(self) -> str:
        M = len(self.uncovered)
        first = f"{self.count:,} of {M:,} target rows have no training rows near."
        rows = [(why, f"{count:,}", percent(count / M)) for why, count in self.counts.items()]
        head = ("why", "rows", "share of the target")
        return card(first, *([Table.of(head, rows)] if rows else []))

    def __str__(self) -> str:
        M = len(self.uncovered)
        if not self.count:
            return f"All {M:,} target rows have training rows near."
        listed = [f"{rows:,}: {why}" for why, rows in list(self.counts.items())[:_NAMED]]
        more = len(self.counts) - _NAMED
        tail = f"; and {more} more reasons" if more > 0 else ""
        return (
            f"{self.count:,} of {M:,} target rows ({percent(self.count / M)}) have no training "
            f"rows near. {'; '.join(listed)}{tail}."
        )


def significant_parts(samples: Samples, kept: Flags | None = None) -> tuple[Uncovered, ...]:
    """Parts of the target, or of its ``kept`` rows (M,), without training rows.

    Cells of a number that were filled are no values of it: the mark of its gaps tells of them.
    """
    T, share, size = samples.T, samples.share, samples.target_size
    if kept is not None:
        T, share = T[kept], samples.share[kept] / samples.share[kept].sum()
        size = float(1 / (share @ share)) if samples.target_weight is not None else float(len(T))
    own = None if samples.sample_weight is None else samples.own
    parts = uncovered(samples.X, T, share, size, own=own)
    return tuple(part for part in parts if _holds(part, T, samples).any())


def _holds(part: Uncovered, T: Real, samples: Samples) -> Flags:
    """Whether each row lies in the part, and its cell was not filled."""
    inside = part.holds(T)
    feature = next(f for f in samples.features if part.column in f.columns)
    return inside if feature.gaps is None else inside & (T[:, feature.gaps] == 0)


def in_words(parts: Sequence[Uncovered], samples: Samples) -> str:
    """Name the first parts in a sentence without its full stop."""
    names = [printable(name) for name in samples.names]
    said = [part.describe(names, samples.dates) for part in parts[:_NAMED]]
    if len(parts) > _NAMED:
        said.append(f"{len(parts) - _NAMED} more such columns or values")
    return "; ".join(said)


def flag_rows(samples: Samples, support: Support, verdict: str, random_state: int) -> RowFlags:
    """Flag the target rows without training rows near, given what the diagnosis found.

    Cost: that of `uncovered` for each round that finds something; with rows flagged for what the
    columns show together, at most 5 10^9 products.
    """
    reason, parts = set_aside(samples, support.uncovered)
    names = [printable(name) for name in samples.names]
    reasons = [part.where(names, samples.dates) for part in parts]
    if _is_far(support, verdict) and (reason < 0).any():
        _flag_far(samples, support, verdict, reason, reasons, random_state)
    return _of_given(samples, reason, tuple(reasons))


def set_aside(
    samples: Samples, parts: Sequence[Uncovered] | None = None
) -> tuple[Rows, list[Uncovered]]:
    """Find the parts of the target without training rows, and the number of each row's, (M,).

    -1 for a row in none of them. ``parts`` are those of the whole target, where they are known.
    """
    place = np.full(len(samples.T), -1, dtype=np.intp)
    found: list[Uncovered] = []
    new = significant_parts(samples) if parts is None else parts
    for _ in range(_ROUNDS):
        for part in new:
            place[_holds(part, samples.T, samples) & (place < 0)] = len(found)
            found.append(part)
        left = place < 0
        if not new or not left.any():
            break
        new = significant_parts(samples, left)
    return place, found


def _is_far(support: Support, verdict: str) -> bool:
    """Whether the verdict rests on what the columns show together."""
    if support.outside is None or verdict not in ("strong", "no overlap"):
        return False
    explained = any(part.excess >= NO_OVERLAP for part in support.uncovered)
    return support.outside >= OUTSIDE or (verdict == "no overlap" and not explained)


def _flag_far(
    samples: Samples,
    support: Support,
    verdict: str,
    reason: Rows,
    reasons: list[str],
    random_state: int,
) -> None:
    M, n = samples.T.shape
    cut = samples.cut(int(np.clip(_CELLS // (M * n), _FEWEST, _MOST)), random_state)
    nearby = Nearby.of(cut.X, cut.T, cut.share, cut.own, cut.one_feature)
    left = np.flatnonzero(reason < 0)
    far = left[~nearby.near(samples.T[left])]
    share = samples.share
    if reasons and share[far].sum() < OUTSIDE * share[left].sum():
        return  # what single columns show has explained it
    columns = nearby.farthest_column(samples.T[far])
    for feature in samples.features:
        there = np.isin(columns, feature.columns)
        if there.any():
            reason[far[there]] = len(reasons)
            reasons.append(
                f"is far from all training rows, most of all in '{printable(feature.name)}'"
            )


def _of_given(samples: Samples, reason: Rows, reasons: tuple[str, ...]) -> RowFlags:
    """Put the flags in the order of the rows given."""
    found = reason
    if samples.target_rows is not None:
        found = np.full(samples.n_given, -1, dtype=np.intp)
        found[samples.target_rows] = reason
    return RowFlags(found >= 0, found, reasons)


# How much of the target lies where there are no training rows.


NEIGHBOR = 5  # whose distance is compared
LEVEL = 0.01  # share of the training rows that count as outside by their own standard


@dataclass(frozen=True)
class Support(Record):
    """Shares of the target outside the training sample.

    ``outside`` counts target rows whose distance to the fifth nearest training row is larger than
    that of 99% of the training rows among themselves; ``expected`` is what one would see without
    a shift, 1% of large samples and more of small ones. None where the training sample is too
    small. ``outside_range`` counts rows with at least one feature beyond the smallest or largest
    training value; ``expected_range`` again without a shift, for independent features.
    ``uncovered`` holds the parts of the target that single features show to have no training rows,
    as far as they are significant, the largest share first.
    """

    outside: float | None
    expected: float
    outside_range: float
    expected_range: float
    train_rows: int
    target_rows: int
    uncovered: tuple[Uncovered, ...] = ()


def outside_of_range(
    X: Real, T: Real, share: Real, features: Sequence[FeatureColumns]
) -> tuple[Real, float]:
    """Share of the target beyond the training range: per feature, and in any of them.

    Of a category these are rows of levels that no training row has.
    """
    low, high = X.min(axis=0), X.max(axis=0)
    anywhere = np.zeros(len(T), dtype=bool)
    found = np.empty(len(features))
    for j, feature in enumerate(features):
        beyond = np.zeros(len(T), dtype=bool)
        for k in feature.columns:
            beyond |= (T[:, k] < low[k]) | (T[:, k] > high[k])
        found[j] = min(1.0, float(share @ beyond))
        anywhere |= beyond
    return found, min(1.0, float(share @ anywhere))


def expected_outside_range(n_train: int, n_features: int) -> float:
    """Chance that a new row of the same continuous distribution lies beyond the range.

    A new value is the smallest or largest of N + 1 with chance 2 / (N + 1), in each of n
    independent features.

    >>> round(expected_outside_range(99, 20), 3)
    0.332
    """
    return float(1 - (1 - 2 / (n_train + 1)) ** n_features)


def expected_outside(n_train: int) -> float:
    """Chance that a new row of the same distribution is outside of the neighbourhood.

    Of N training rows u = floor((N - 1) / 100) are farther from the others than the distance that
    decides. A new row is farther where it is among the u + 1 farthest of N + 1 rows, all of which
    have the same chance: (u + 1) / (N + 1). It is a bound, and near: the training rows' distances
    leave the new row out, and so come out a little too large.

    >>> round(expected_outside(50), 4), round(expected_outside(5000), 4)
    (0.0196, 0.01)
    """
    farther = n_train - 1 - int(np.ceil((1 - LEVEL) * (n_train - 1) - 1e-9))
    return (farther + 1) / (n_train + 1)


def outside_of_neighborhood(
    X: Real, T: Real, share: Real, own: Real | None = None, groups: Rows | None = None
) -> float | None:
    """Share of the target farther from the training rows than 99% of these from one another.

    Distances to the fifth nearest row (fewer rows: the farthest there is), in units of the pooled
    standard deviation of each feature, in which the training rows have the shares ``own``; two
    levels of a category (``groups``) are at distance one. Whether there are rows nearby does not
    depend on their weights. Cost O((N + M) N n) in time, blocks of 16 MiB in memory.
    """
    if len(X) < NEIGHBOR + 1:
        return None
    return min(1.0, float(share @ ~neighborhood(X, T, share, own, groups)))


def neighborhood(
    X: Real, T: Real, share: Real, own: Real | None = None, groups: Rows | None = None
) -> Flags:
    """Tell which target rows have training rows nearby, as `outside_of_neighborhood` counts: (M,).

    There must be more than five training rows.
    """
    nearby = Nearby.of(X, T, share, own, groups)
    return nearby.near(T)


@dataclass(frozen=True)
class Nearby:
    """Training rows, and how far a row may be from its fifth nearest of them."""

    units: Units
    X: Real  # in these units
    reach: float

    @classmethod
    def of(
        cls, X: Real, T: Real, share: Real, own: Real | None = None, groups: Rows | None = None
    ) -> Nearby:
        """Learn the units from both samples, and the reach from the training rows."""
        units = pooled_units(X, T, share, own=own, groups=groups)
        rows = units(X)
        apart = _to_neighbor(rows, rows, NEIGHBOR + 1)  # the nearest of all is the row itself
        return cls(units, rows, float(np.quantile(apart, 1 - LEVEL, method="higher")))

    def near(self, T: Real) -> Flags:
        """Tell which rows have training rows nearby: (M,)."""
        return np.asarray(_to_neighbor(self.units(T), self.X, NEIGHBOR) <= self.reach)

    def farthest_column(self, T: Real) -> Rows:
        """Number of the column in which each row is farthest from its nearest training row."""
        found = np.empty(len(T), dtype=np.intp)
        for block in blocks(len(T), len(self.X)):
            rows = self.units(T[block])
            nearest = self.X[np.argmin(_to_nearest(rows, self.X, 1), axis=1)]
            found[block] = np.argmax(np.abs(rows - nearest), axis=1)
        return found


def _to_neighbor(rows: Real, X: Real, k: int) -> Real:
    if X.shape[1] <= _NARROW:
        return np.asarray(KDTree(X).query(rows, [k])[0][:, 0])
    found = np.empty(len(rows))
    for block in blocks(len(rows), len(X)):
        found[block] = np.partition(_to_nearest(rows[block], X, k), k - 1, axis=1)[:, k - 1]
    return found


def _to_nearest(rows: Real, X: Real, k: int) -> Real:
    """Distances of each row to the rows of X: exact for its k nearest, infinite for the farther.

    In many columns a product of matrices finds the candidates: those that are among the k nearest
    up to its rounding, which is at most about (n + 2) eps (|x| + |z|)^2.
    """
    n = X.shape[1]
    if n < _WIDE:
        return np.asarray(cdist(rows, X))
    squares, own = np.einsum("ij,ij->i", X, X), np.einsum("ij,ij->i", rows, rows)
    D = rows @ X.T
    D *= -2.0
    D += squares  # the row's own square is the same for all
    rounding = 4 * (n + 4) * np.finfo(np.float64).eps * (own + squares.max())
    near = D <= (np.partition(D, k - 1, axis=1)[:, k - 1] + 2 * rounding)[:, None]
    D.fill(np.inf)
    for row, candidates, apart in zip(rows, near, D, strict=True):
        few = np.flatnonzero(candidates)
        apart[few] = cdist(row[None], X[few])[0]
    return D

"""What a weighter is asked: rows to be weighed, the target that they are to look like, and names.

A data frame has become columns of numbers by then, and a category is several of them: messages name
the column of the frame, and means over columns are means over features
(`covshift.data.features`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..data.features import feature_groups, members
from ..data.row_weights import Design, kish, masses
from ..encoding import TableEncoder
from ..numerics.array import Real, Rows, Whole, is_numpy, to_numpy
from ..numerics.support import Uncovered
from .points import Units, distinct, pooled_units

_NAMED_FEATURES = 5  # features that a message names
_ROUNDING = 1e-9  # of a sum of shares
EXACT = 1e15
"""Rows that margins of no given size stand for: so many that they have no sampling noise."""


@dataclass(frozen=True)
class Features:
    """Which of the columns of numbers are one feature, and the names of all that have any."""

    groups: Rows | None = None  # (n,), from 0; None: every column by itself
    columns: tuple[str, ...] | None = None  # "age", "region=north"
    names: tuple[str, ...] | None = None  # of the features: "age", "region"
    sources: tuple[str, ...] = ()  # for each column, that of the frame it was made of

    @classmethod
    def of(cls, groups: Any, n: int, columns: Any) -> Features:
        """Take n columns of numbers as they are; ``columns`` are their names, or None."""
        found = feature_groups(groups, n)
        if columns is None:
            return cls(found)
        shown = tuple(map(str, columns))
        names = shown if found is None else tuple(shown[own[0]] for own in members(found))
        return cls(found, shown, names, shown)

    @classmethod
    def encoded(cls, encoder: TableEncoder) -> Features:
        """Take the columns that an encoder makes."""
        sources = tuple(rule.name for rule in encoder.features_ for _ in rule.columns)
        groups = feature_groups(encoder.groups, len(sources))
        return cls(groups, encoder.columns, encoder.group_names, sources)

    def mean_of_columns(self, values: Real) -> Real:
        """Mean over the columns of each feature: (n,) -> (features,)."""
        if self.groups is None:
            return values
        return np.asarray(np.bincount(self.groups, weights=values) / np.bincount(self.groups))

    def members(self, n: int) -> list[list[int]]:
        """Columns of each feature, of n columns in all."""
        return [[k] for k in range(n)] if self.groups is None else members(self.groups)

    def column(self, k: int) -> str:
        """Name of a column of numbers, quoted: "'region=north'", or "column 3"."""
        return f"column {k}" if self.columns is None else repr(self.columns[k])

    def listed(self, features: Iterable[int]) -> str:
        """Say some features in words: "column 'age'", "columns 'age', 'region'"."""
        found = [self._label(int(g)) for g in features]
        more = ", ..." if len(found) > _NAMED_FEATURES else ""
        return f"column{'s' if len(found) > 1 else ''} {', '.join(found[:_NAMED_FEATURES])}{more}"

    def _label(self, g: int) -> str:
        if self.names is not None:
            return repr(self.names[g])
        own = [g] if self.groups is None else np.flatnonzero(self.groups == g).tolist()
        return str(own[0]) if len(own) == 1 else f"{own[0]} to {own[-1]}"


@dataclass(frozen=True)
class Problem:
    """Rows and target in float64, checked; rows without a share are in neither sample."""

    rows: Real  # (all rows, n), those among them that have no weight too
    T: Real  # (M, n); of margins no row
    share: Real  # (M,), of the target rows: sums to one
    size: float  # rows that the target stands for
    design: Design  # which rows have a weight, and how much each counts
    features: Features = Features()
    y: Any = None  # labels of the rows that have a weight, where there are any
    framed: bool = False  # whether the columns come from a data frame that was encoded
    apart: tuple[Uncovered, ...] = ()  # parts of the target that no row is near to

    @cached_property
    def X(self) -> Real:
        """The rows that have a weight: (N, n)."""
        return self.rows if self.design.kept.all() else self.rows[self.design.kept]

    @property
    def own(self) -> Real:
        """Their shares, (N,): positive, sum to one."""
        return self.design.share

    @property
    def N(self) -> float:
        """Kish's number of them."""
        return kish(self.design.share)

    @property
    def groups(self) -> Rows | None:
        """Number of the feature that each column belongs to, (n,); None: every one by itself."""
        return self.features.groups

    def units(self, *, standardize: bool = True, by_feature: bool = True) -> Units:
        """What distances and moments are measured in (`pooled_units`)."""
        return pooled_units(
            self.X,
            self.T,
            self.share,
            own=self.own,
            standardize=standardize,
            groups=self.groups if by_feature else None,
        )

    def merged(self, units: Units) -> tuple[Real, Real, Whole, Real, Real]:
        """Merge equal rows, in these units.

        Returns the distinct rows, for how many each of them counts, which of them every row is, and
        the distinct target rows with their shares.
        """
        own, target = distinct(units(self.X), self.own), distinct(units(self.T), self.share)
        count = np.bincount(own.place, weights=masses(self.own)).astype(np.float64)
        return own.points, count, own.place, target.points, target.share

    def sides(self, highest: Any = None) -> Real | None:
        """Side from which each column is looked at, 1 or -1: (n,); None where all are 1.

        Distribution functions are compared at the target's points. Of a column in which the target
        is mostly at the largest value of both samples (``highest`` is that of the rows, (n,)), such
        as zeros and ones of which it has ones alone, these see little or nothing; from the other
        side they do. Which of two levels is called one is then no matter either.
        """
        highest = self.X.max(axis=0) if highest is None else highest
        return column_sides(highest, self.T, self.share, self.groups)


def column_sides(highest: Any, T: Any, share: Any, groups: Rows | None) -> Real | None:
    """`Problem.sides`, of arrays or tensors."""
    top = np.maximum(to_numpy(highest), to_numpy(T.max(axis=0) if is_numpy(T) else T.amax(0)))
    mass = [float(share[T[:, k] == float(value)].sum()) for k, value in enumerate(top)]
    high = np.array(mass) > 0.5 + _ROUNDING
    if groups is not None:
        high &= np.bincount(groups)[groups] == 1
    return np.where(high, -1.0, 1.0) if high.any() else None

"""The columns of numbers that a weighter learns from: what they are called, and which are one.

A data frame becomes numbers by the encoder, and a category there is several columns: messages name
the column of the frame, and means over columns are means over features (`covshift._groups`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._groups import feature_groups, members
from .._types import Real, Rows
from ..encoding import TableEncoder

_NAMED = 5  # features that a message names


@dataclass(frozen=True)
class Features:
    """Which of the columns of numbers are one feature, and the names of all that have any."""

    groups: Rows | None  # (n,), from 0; None: every column by itself
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
        more = ", ..." if len(found) > _NAMED else ""
        return f"column{'s' if len(found) > 1 else ''} {', '.join(found[:_NAMED])}{more}"

    def _label(self, g: int) -> str:
        if self.names is not None:
            return repr(self.names[g])
        own = [g] if self.groups is None else np.flatnonzero(self.groups == g).tolist()
        return str(own[0]) if len(own) == 1 else f"{own[0]} to {own[-1]}"


EACH_COLUMN = Features(None)
"""Every column is a feature, and none has a name."""


def level_sides(T: Real, share: Real, groups: Rows | None) -> Real:
    """Side from which each column is looked at, 1 or -1: (n,).

    Distribution functions are compared at the target's points. Of a single column of zeros and ones
    these see nothing where the target has ones alone, and little where it has few zeros; from the
    other side they do. Which of two levels is called one is then no matter either.
    """
    alone = np.ones(T.shape[1], dtype=bool)
    if groups is not None:
        alone = np.bincount(groups)[groups] == 1
    two = alone & np.isin(T, (0, 1)).all(axis=0)
    return np.where(two & (share @ T > 0.5), -1.0, 1.0)

"""The columns of numbers that a weighter learns from: what they are called, and which are one.

A data frame becomes numbers by the encoder, and a category there is several columns: messages name
the column of the frame, and means over columns are means over features (`covshift._groups`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._groups import feature_groups, members
from .._types import Real, Rows

_NAMED = 5  # features that a message names
_JOINTS = ("=", ":", " missing")  # between a frame's column and what a column of numbers says of it


@dataclass(frozen=True)
class Features:
    """Which of n columns are one feature, and the names of all columns, where they have any."""

    groups: Rows | None  # (n,), from 0; None: every column by itself
    columns: tuple[str, ...] | None = None  # of the numbers: "age", "region=north"
    names: tuple[str, ...] = ()  # of the frame: "age", "region"

    @classmethod
    def of(cls, groups: Any, n: int, columns: Any = None, names: Any = ()) -> Features:
        """Check groups and names of n columns."""
        shown = None if columns is None else tuple(map(str, columns))
        return cls(feature_groups(groups, n), shown, tuple(map(str, names)))

    def mean_of_columns(self, values: Real) -> Real:
        """Mean over the columns of each feature: (n,) -> (features,)."""
        if self.groups is None:
            return values
        return np.asarray(np.bincount(self.groups, weights=values) / np.bincount(self.groups))

    def columns_of(self, name: str) -> list[int]:
        """Numbers of the columns that say something of a frame's column."""
        return [k for k, shown in enumerate(self.columns or ()) if self._source(shown) == name]

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
        own = [g] if self.groups is None else np.flatnonzero(self.groups == g).tolist()
        if self.columns is None:
            return str(own[0]) if len(own) == 1 else f"{own[0]} to {own[-1]}"
        name = self.columns[own[0]]
        single = len(own) == 1 and "=" not in name
        return repr(name if single else self._source(name))

    def _source(self, column: str) -> str:
        """Column of the frame that a column of numbers is made of."""
        return source_of(column, self.names)


EACH_COLUMN = Features(None)
"""Every column is a feature, and none has a name."""


def source_of(column: str, names: Sequence[str]) -> str:
    """Find the longest of the names that a column is made of; the column itself where none is.

    >>> source_of("region=north", ["reg", "region"])
    'region'
    >>> source_of("income missing", ["income"])
    'income'
    """
    if column in names:
        return column
    found = [name for name in names if column.startswith(tuple(name + joint for joint in _JOINTS))]
    return max(found, key=len, default=column)

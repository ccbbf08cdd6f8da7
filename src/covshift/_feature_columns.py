"""Which columns make one feature: the levels of a category, a number, the mark of its gaps.

The encoder of tables makes several columns of one feature, and names them: "region=north" for a
level, "income missing" for the mark of gaps. A diagnosis has one line per feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ._groups import feature_groups
from ._types import Real, Rows

Kind = Literal["number", "category", "missing"]
MISSING = " missing"  # how the name of a column that marks gaps ends
_BESIDE = ("", " season", " hour")  # columns of a date, which has gaps in all of them at once

Made = tuple[str, str | None]  # the feature of a column, and the level that it marks


@dataclass(frozen=True)
class FeatureColumns:
    """One feature, and its columns of X.

    A "category" has one column of zeros and ones per level, or a single one for two levels. A
    "number" has one column, or several; ``gaps`` is the column that marks its missing values, whose
    cells were filled. This column is a feature as well, of the kind "missing".
    """

    name: str
    kind: Kind
    columns: tuple[int, ...]
    levels: tuple[str, ...] = ()  # of a category, one per column
    gaps: int | None = None


def check_groups(groups: Any, n_columns: int) -> Rows | None:
    """Check the number of the feature that each column belongs to, (n_columns,).

    Features of one column each are kept as such: the names still tell their kinds.
    """
    if groups is None:
        return None
    feature_groups(groups, n_columns)  # which refuses what is none
    return np.unique(np.asarray(groups), return_inverse=True)[1].reshape(-1).astype(np.intp)


def made_of(names: Sequence[str]) -> list[Made]:
    """Read the names that an encoder gives: "region=north" is the level north of the region."""
    parts = [name.partition("=") for name in names]
    return [(name, level) if sign else (name, None) for name, sign, level in parts]


def features_of(
    names: Sequence[str], groups: Rows | None, made: Sequence[Made], X: Real, T: Real
) -> tuple[FeatureColumns, ...]:
    """Return the features in the order of their first columns; all are numbers without groups.

    >>> X = np.array([[1.0, 0.0, 3.0], [0.0, 1.0, 5.0]])
    >>> names = ["town=a", "town=b", "age"]
    >>> [f.name for f in features_of(names, np.array([0, 0, 1]), made_of(names), X, X)]
    ['town', 'age']
    """
    if groups is None:
        return tuple(FeatureColumns(name, "number", (k,)) for k, name in enumerate(names))
    found = []
    for group in dict.fromkeys(groups.tolist()):
        columns = [int(k) for k in np.flatnonzero(groups == group)]
        found.append(_feature(names, made, columns, _indicators(X, T, columns)))
    marks = {f.name.removesuffix(MISSING): f.columns[0] for f in found if f.kind == "missing"}
    gaps = {name + more: column for name, column in marks.items() for more in _BESIDE}
    return tuple(replace(f, gaps=gaps.get(f.name)) if f.kind != "missing" else f for f in found)


def _feature(
    names: Sequence[str], made: Sequence[Made], columns: list[int], indicators: bool
) -> FeatureColumns:
    places = tuple(columns)
    features = {made[k][0] for k in columns}
    levels = tuple(level for k in columns if (level := made[k][1]) is not None)
    if indicators and len(levels) == len(columns) and len(features) == 1:
        return FeatureColumns(features.pop(), "category", places, levels)
    name = names[columns[0]]
    if len(columns) > 1:
        return FeatureColumns(name.partition(": ")[0], "number", places)
    return FeatureColumns(
        name, "missing" if indicators and name.endswith(MISSING) else "number", places
    )


def _indicators(X: Real, T: Real, columns: list[int]) -> bool:
    """Whether these columns are zeros and ones, of which a row has a single one at most."""
    for rows in (X, T):
        total = np.zeros(len(rows))
        for k in columns:
            if not ((rows[:, k] == 0) | (rows[:, k] == 1)).all():
                return False
            total += rows[:, k]
        if total.max(initial=0.0) > 1:
            return False
    return True

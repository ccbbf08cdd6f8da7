"""Which columns make one feature: the levels of a category, a number, the mark of its gaps.

The encoder of tables makes several columns of one feature, and names them: "region=north" for a
level, "income missing" for the mark of gaps. A diagnosis has one line per feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ._types import Real, Rows
from .exceptions import InputError

Kind = Literal["number", "category", "missing"]
MISSING = " missing"  # how the name of a column that marks gaps ends


@dataclass(frozen=True)
class FeatureColumns:
    """One feature, and its columns of X.

    A "category" has one column of zeros and ones per level, or a single one for two levels. A
    "number" has one column, or several such as those of a date's season; ``gaps`` is the column
    that marks its missing values, whose cells were filled. This column is a feature as well, of
    the kind "missing".
    """

    name: str
    kind: Kind
    columns: tuple[int, ...]
    levels: tuple[str, ...] = ()  # of a category, one per column
    gaps: int | None = None


def check_groups(groups: Any, n_columns: int) -> Rows | None:
    """Check the number of the feature that each column belongs to, (n_columns,)."""
    if groups is None:
        return None
    found = np.asarray(groups)
    if found.shape != (n_columns,) or found.dtype.kind not in "iu":
        raise InputError(
            f"groups has shape {found.shape} and type {found.dtype}, but X has {n_columns} "
            "columns. Pass one whole number per column: columns of one feature have the same."
        )
    return found.astype(np.intp)


def features_of(
    names: Sequence[str], groups: Rows | None, X: Real, T: Real
) -> tuple[FeatureColumns, ...]:
    """Return the features in the order of their first columns; all are numbers without groups.

    >>> X = np.array([[1.0, 0.0, 3.0], [0.0, 1.0, 5.0]])
    >>> names = ["town=a", "town=b", "age"]
    >>> [f.name for f in features_of(names, np.array([0, 0, 1]), X, X)]
    ['town', 'age']
    """
    if groups is None:
        return tuple(FeatureColumns(name, "number", (k,)) for k, name in enumerate(names))
    found = []
    for group in dict.fromkeys(groups.tolist()):
        columns = np.flatnonzero(groups == group)
        found.append(_feature(names, columns, _indicators(X, T, columns)))
    numbers = {feature.name for feature in found if feature.kind == "number"}
    marks = {
        feature.name.removesuffix(MISSING): feature.columns[0]
        for feature in found
        if feature.kind == "missing" and feature.name.removesuffix(MISSING) in numbers
    }
    return tuple(
        FeatureColumns(f.name, f.kind, f.columns, f.levels, marks.get(f.name))
        if f.kind == "number"
        else f
        for f in found
    )


def _feature(names: Sequence[str], columns: Rows, indicators: bool) -> FeatureColumns:
    shown = [names[k] for k in columns]
    places = tuple(int(k) for k in columns)
    parts = [name.partition("=") for name in shown]
    if indicators and all(sign for _, sign, _ in parts) and len({p for p, _, _ in parts}) == 1:
        return FeatureColumns(parts[0][0], "category", places, tuple(p[2] for p in parts))
    if len(shown) == 1:
        gaps = indicators and shown[0].endswith(MISSING)
        return FeatureColumns(shown[0], "missing" if gaps else "number", places)
    return FeatureColumns(shown[0].partition(": ")[0], "number", places)


def _indicators(X: Real, T: Real, columns: Rows) -> bool:
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

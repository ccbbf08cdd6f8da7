"""Which columns make one feature: the levels of a category, a number, the mark of its gaps.

The encoder of tables makes several columns of one feature, and names them: "region=north" for a
level, "income missing" for the mark of gaps. A diagnosis has one line per feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ..exceptions import InputError
from ..numerics.array import Real, Rows
from ..numerics.hashing import Keys, RowUnits, mixed_hash, row_hash
from .validation import column_names
from .values import is_gap

Kind = Literal["number", "category", "missing"]
MISSING = " missing"  # how the name of a column that marks gaps ends
_BESIDE = (
    "",
    " season",
    " hour",
    " month",
    " weekday",
)  # columns of a date, which has gaps in all of them at once

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


# Columns that are one feature, such as the levels of a category.
#
# Where columns are averaged, those of a group share the weight of one feature: the mean is taken
# over the columns of a group first, then over the groups,
#
#     (1/G) sum_g (1/L_g) sum_{k in g} v_k = sum_k c_k v_k ,    c_k = 1 / (G L_g(k)) .
#
# ``None`` stands for groups of one column each, and then nothing here is called.


def feature_groups(groups: Any, n: int) -> Rows | None:
    """Check the groups of n columns; number them from 0 on, in the order in which they first stand.

    None where every column is a feature by itself.

    >>> feature_groups([7, 3, 3, 3], 4)
    array([0, 1, 1, 1])
    >>> feature_groups([7, 3], 2) is None
    True
    """
    if groups is None:
        return None
    given = np.asarray(groups)
    if given.shape != (n,):
        raise InputError(
            f"groups has shape {given.shape}, expected ({n},): for every column of X the number of "
            "the feature that it belongs to."
        )
    _, first, place = np.unique(given, return_index=True, return_inverse=True)
    if len(first) == n:
        return None
    number = np.empty(len(first), dtype=np.intp)
    number[np.argsort(first)] = np.arange(len(first))
    return number[place.reshape(-1)]


def column_shares(groups: Rows) -> Real:
    """Share of every column in a mean over groups, c_k (n,); they sum to one."""
    sizes = np.bincount(groups)
    return np.asarray(1 / (len(sizes) * sizes[groups]))


def members(groups: Rows) -> list[list[int]]:
    """Columns of every group."""
    return [np.flatnonzero(groups == g).tolist() for g in range(int(groups.max()) + 1)]


def gap_factors(groups: Rows) -> Real:
    """What a column's differences count where they are added without squares: (n,).

    In coordinates two rows of different levels have a squared distance of one, and differences that
    add up to sqrt 2 (`covshift.numerics.coordinates`). Divided by it, they too count as those of a
    column of two values do.
    """
    sizes = np.bincount(groups)
    return np.where(sizes[groups] > 1, np.sqrt(0.5), 1.0)


def order_by_content(groups: Rows, X: Real, Y: Real, T: Real) -> Rows:
    """Order of the columns that the names of levels have no part in: (n,) column numbers.

    Features stay where they are; columns of one feature are sorted by a hash of the rows in which
    they are not zero. So what follows the content of rows, such as folds and samples, is the same
    whatever the levels of a category are called. X (N, n) with outcomes Y (N, k),
    and T (M, n). O((N + M) n).
    """
    single = np.bincount(groups)[groups] == 1
    outcomes, units = mixed_hash(row_hash(Y, 1, RowUnits.of(Y))), RowUnits.of(T[:, single])
    rows = mixed_hash(row_hash(X[:, single], units=units) ^ outcomes)
    here, there = _added(rows, X), _added(row_hash(T[:, single], units=units), T)
    here[single] = there[single] = 0
    return np.lexsort((there, here, groups))


def _added(keys: Keys, X: Real) -> Keys:
    """Sum of the keys (N,) of the rows in which each column is not zero, modulo 2^64: (n,)."""
    return np.array([keys[X[:, k] != 0].sum(dtype=np.uint64) for k in range(X.shape[1])])


# Columns of data frames by name: pandas, polars and pyarrow.


def cells_of(
    X: Any, name: str, title: str, *, as_text: bool = True, gap: str | None = None
) -> list[Any]:
    """Return the cells of a frame's column, as text by default; a missing one is ``gap``."""
    column = column_of(X, name)
    cells = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    if gap is not None:
        cells = [gap if is_gap(cell) else cell for cell in cells]
    missing = sum(map(is_gap, cells))
    if missing:
        raise InputError(
            f"{title}: column {name!r} has {missing} missing values. Fill them first, for example "
            "with a level of their own, in the same way for X and X_target."
        )
    return [str(cell) for cell in cells] if as_text else cells


def column_of(X: Any, name: str) -> Any:
    """Return the column of this name of a frame."""
    place = _places(X)[name]
    return X.iloc[:, place] if hasattr(X, "iloc") else X[name]


def select(X: Any, names: list[str]) -> Any:
    """Keep some columns of a frame.

    Those of pandas by their place: in its labels 1, 1.0 and True are the same, and [True] is a mask
    of rows.
    """
    places = _places(X)
    if hasattr(X, "iloc"):
        return X.iloc[:, [places[name] for name in names]]
    return X.select(names) if hasattr(X, "select") else X[names]


def _places(X: Any) -> dict[str, int]:
    """Return the place of each column; of columns of one name, that of the first."""
    labels = getattr(X, "column_names", None)
    labels = list(X.columns if labels is None else labels)
    return {str(label): k for k, label in reversed(list(enumerate(labels)))}


def without_others(X: Any, names: Sequence[str]) -> Any:
    """Leave out the columns of a frame that are none of these, if it has all of these."""
    if names and set(names) < set(column_names(X) or ()):
        return select(X, list(names))
    return X


def alike(X: Any, target: Any) -> tuple[Any, Any]:
    """Return the shared columns of two frames, in the order and of the library of the first."""
    here, there = column_names(X), column_names(target)
    if here is None or there is None:
        return X, target
    shared = [name for name in here if name in there]
    X, target = (
        part if names == shared else select(part, shared)
        for part, names in ((X, here), (target, there))
    )
    if type(X).__module__.split(".")[0] == type(target).__module__.split(".")[0]:
        return X, target
    import narwhals.stable.v2 as nw

    own, frame = (nw.from_native(part, eager_only=True) for part in (X, target))
    cells = {name: frame[name].to_list() for name in frame.columns}
    return X, nw.from_dict(cells, backend=own.implementation).to_native()

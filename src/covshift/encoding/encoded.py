"""Rows of numbers that know which of their columns belong to one feature."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import Real, Rows


class Encoded(np.ndarray):
    """An array (rows, columns) with ``groups``, the number of the feature of each column.

    What `TableEncoder` returns. It is an array like any other, and rows taken from it are
    again such an array; everything else (other columns, sums, a copy made by another library) is
    plain. What fits covshift's estimators to it treats the columns of a category as one feature.
    """

    groups: Rows | None = None

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        of_rows = not isinstance(key, tuple) or all(map(_is_all, key[1:]))
        if isinstance(found, Encoded):
            if not (of_rows and found.ndim == self.ndim):
                return np.asarray(found)
            found.groups = self.groups
        return found

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def copy(self, order: Any = "C") -> Any:
        return encoded(np.array(self, order=order), self.groups)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __reduce__(self) -> Any:
        return encoded, (np.array(self), self.groups)


def _is_all(key: Any) -> bool:
    """Whether an index keeps all columns."""
    return key is Ellipsis or (isinstance(key, slice) and key == slice(None))


def encoded(values: Real, groups: Rows | None) -> Real:
    """Return rows of numbers (rows, columns) with the groups of their columns."""
    if groups is None or len(np.unique(groups)) == len(groups):
        return values
    found = np.asarray(values).view(Encoded)
    found.groups = groups
    return found


def scaled(scaler: Any, X: Real) -> Real:
    """Scale rows by a fitted scaler; they keep their groups."""
    return encoded(scaler.transform(X), groups_of(X))


def groups_of(X: Any) -> Rows | None:
    """Return the groups of the columns of encoded rows; None where each is a feature by itself."""
    return X.groups if isinstance(X, Encoded) else None

"""Arguments that name columns of a frame, and values that come with an index of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._frames import column_label, select
from .._validation import column_names
from ..encoding.cells import is_table
from ..exceptions import InputError


class NamedColumns:
    """Reads the columns of two frames that arguments name; these are no features any more.

    Values that are given as such pass, in the order of the frame's rows where both have an index.
    """

    def __init__(self, X: Any, target: Any) -> None:
        self.X, self.target = X, target
        self._roles: dict[str, str] = {}  # columns, and the arguments that name them

    def outcomes(self, y: Any) -> Any:
        """Return outcomes that are given, or as a frame of the columns that y names."""
        names = [y] if isinstance(y, str) else y
        if not isinstance(y, str) and not _are_columns(names, self.X):
            return in_order_of(y, self.X, "y", "X")
        for name in names:
            self._take(self.X, name, "y", "X")
        return select(self.X, list(names))

    def of_rows(self, values: Any, argument: str) -> Any:
        """Return one value per training row, or the column of X that is named."""
        return self._values(values, self.X, argument, "X")

    def of_target(self, values: Any, argument: str) -> Any:
        """Return one value per target row, or the column of X_target that is named."""
        return self._values(values, self.target, argument, "X_target")

    def group(self, name: str) -> tuple[Any, Any]:
        """Return the groups of both samples; where X alone has the column, it is no feature."""
        if name in (column_names(self.target) or ()):
            self._check(self.X, name, "by", "X", " " + PAIR)
            return self.X[column_label(self.X, name)], self.target[column_label(self.target, name)]
        return self._take(self.X, name, "by", "X", " " + PAIR), None

    @property
    def features(self) -> tuple[Any, Any]:
        """Both samples without the columns that were named."""
        return self._without(self.X, "X"), self._without(self.target, "X_target")

    def as_fitted(self, model: Any) -> tuple[Any, Any]:
        """Both samples as a model takes them: the columns that it was fitted to, if it knows."""
        names = getattr(model, "feature_names_in_", None)
        known = set(column_names(self.X) or ()) & set(column_names(self.target) or ())
        if not self._roles or names is None or not set(map(str, names)) <= known:
            return self.features
        wanted = list(map(str, names))
        return select(self.X, wanted), select(self.target, wanted)

    def _values(self, values: Any, frame: Any, argument: str, title: str) -> Any:
        if isinstance(values, str):
            return self._take(frame, values, argument, title)
        return in_order_of(values, frame, argument, title)

    def _take(self, frame: Any, name: str, argument: str, title: str, more: str = "") -> Any:
        self._check(frame, name, argument, title, more)
        self._roles.setdefault(name, argument)
        return frame[column_label(frame, name)]

    def _check(self, frame: Any, name: str, argument: str, title: str, more: str = "") -> None:
        names = column_names(frame) or []
        if name not in names:
            listed = f" Its columns are: {', '.join(map(repr, names[:12]))}." if names else ""
            if not names and not more:
                more = " Its columns have no names: pass a data frame, or one value per row."
            raise InputError(
                f"{argument}={name!r} names a column, but {title} has none of this name.{listed}"
                f"{more}"
            )
        if self._roles.get(name) == "y" and argument not in ("y", "y_target"):
            raise InputError(f"{name!r} cannot be the outcome and {argument} at once.")

    def _without(self, frame: Any, title: str) -> Any:
        names = column_names(frame) or []
        kept = [name for name in names if name not in self._roles]
        if len(kept) == len(names):
            return frame
        if not kept:
            raise InputError(
                f"{title} has no features: all its columns, {', '.join(map(repr, names))}, are "
                "named by other arguments."
            )
        return select(frame, kept)


PAIR = (
    "Pass the groups of the training rows as an array, or of both samples as a pair (groups, "
    "groups_of_the_target)."
)


def in_order_of(values: Any, frame: Any, argument: str, title: str) -> Any:
    """Put values in the order of the frame's rows, where both have an index of pandas."""
    own: Any = getattr(values, "index", None)
    index: Any = getattr(frame, "index", None)
    if not (hasattr(own, "equals") and hasattr(index, "equals")):
        return values
    if len(own) != len(index) or own.equals(index):  # another length is refused where it is read
        return values
    if own.is_unique and index.is_unique and not len(index.difference(own)):
        return values.reindex(index)
    raise InputError(
        f"{argument} has another index than {title}, so that their rows cannot be paired. Pass the "
        f"name of a column of {title}; or, if both are in the same order, {argument}.to_numpy()."
    )


def refuse_old_order(X: Any, y: Any) -> None:
    """Refuse ``estimate(y, X, X_target)``, the order before 1.0."""
    if (isinstance(X, str) or _dimensions(X) == 1) and _dimensions(y) == 2:
        raise InputError(
            "The features come first now: use estimate(X, y, X_target), not estimate(y, X, "
            "X_target)."
        )


def _dimensions(values: Any) -> int | None:
    if is_table(values):
        return 2
    shape = getattr(values, "shape", None)
    if shape is not None:
        return len(shape)
    try:
        return int(np.ndim(values))
    except ValueError:  # rows of different lengths
        return None


def _are_columns(names: Any, X: Any) -> bool:
    """Whether a list names columns of X, and holds no values."""
    known = column_names(X)
    return (
        known is not None
        and isinstance(names, list | tuple)
        and bool(names)
        and all(isinstance(name, str) and name in known for name in names)
    )

"""Data frames with categories: every level becomes a column of zeros and ones.

Levels are those of training and target rows together, so that a level that only the target has is
seen; a category of two levels becomes one column. Columns of numbers and booleans stay. pandas,
polars and pyarrow frames.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ._fields import PLAIN, Kind
from ._numbers import category_columns
from ._types import Real, Rows
from ._validation import check_points, column_names
from .exceptions import InputError, UnseenLevelWarning


@dataclass(frozen=True)
class FrameColumns:
    """The columns of a frame, and the levels of those that are categories."""

    names: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]  # empty for a column of numbers

    _saved: ClassVar[dict[str, Kind]] = {"names": PLAIN, "levels": PLAIN}

    @classmethod
    def _from_saved(cls, names: Any, levels: Any) -> FrameColumns:
        texts = [names, *levels] if isinstance(levels, tuple) else [None]
        if not all(isinstance(t, tuple) and all(isinstance(v, str) for v in t) for t in texts):
            raise ValueError("names or levels that are not texts")
        if len(levels) != len(names):
            raise ValueError("levels of another number of columns")
        return cls(names, levels)

    @classmethod
    def learn(
        cls, X: Any, X_target: Any, *, more: Mapping[str, Iterable[str]] | None = None
    ) -> FrameColumns | None:
        """Learn the levels of both frames; None where all columns are numbers.

        ``more`` are further levels of some columns, known without rows.
        """
        found = set(category_columns(X)) | set(category_columns(X_target))
        if not found:
            return None
        names = column_names(X) or []
        frames = [frame for frame in (X, X_target) if frame is not None]
        for frame in frames:
            if not found <= set(column_names(frame) or []):
                raise InputError(
                    f"X has the categories {', '.join(map(repr, sorted(found)))}, so X_target "
                    "must be a data frame with the same columns."
                )
        further = more or {}
        levels = [
            tuple(
                sorted(
                    {cell for frame in frames for cell in cells_of(frame, name, "X")}
                    | set(further.get(name, ()))
                )
            )
            if name in found
            else ()
            for name in names
        ]
        return cls(tuple(names), tuple(levels))

    def _categories(self) -> list[str]:
        pairs = zip(self.names, self.levels, strict=True)
        return [repr(name) for name, levels in pairs if levels]

    @property
    def groups(self) -> Rows:
        """Number of the frame's column that each column of `encode` belongs to."""
        return np.repeat(np.arange(len(self.names)), [_width(levels) for levels in self.levels])

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of `encode`: "region=north" for a level."""
        found: list[str] = []
        for name, levels in zip(self.names, self.levels, strict=True):
            shown = [f"{name}={levels[k]}" for k in _shown(levels)] if levels else [name]
            found += shown
        return tuple(found)

    def encode(self, X: Any, title: str) -> Real:
        """Return numbers (rows, columns); warn of levels that were never seen."""
        names = column_names(X)
        if names is None:
            raise InputError(
                f"{title} must be a data frame with the columns of the fit, among them the "
                f"categories {', '.join(self._categories())}."
            )
        absent = [name for name in self.names if name not in names]
        if absent:
            raise InputError(f"{title} lacks the columns {', '.join(map(repr, absent))}.")
        numbers = [name for name, levels in zip(self.names, self.levels, strict=True) if not levels]
        values = check_points(select(X, numbers), title) if numbers else None
        parts, at = [], 0
        for name, levels in zip(self.names, self.levels, strict=True):
            if levels:
                parts.append(_one_hot(cells_of(X, name, title), levels, name, title))
            elif values is not None:
                parts.append(np.asarray(values[:, at : at + 1], dtype=np.float64))
                at += 1
        return np.column_stack(parts)


def _width(levels: tuple[str, ...]) -> int:
    return max(1, len(levels) if len(levels) > 2 else 1)


def _one_hot(cells: list[str], levels: tuple[str, ...], name: str, title: str) -> Real:
    place = {level: k for k, level in enumerate(levels)}
    codes = np.array([place.get(cell, -1) for cell in cells])
    unseen = sorted({cell for cell in cells if cell not in place})
    if unseen:
        shown = ", ".join(map(repr, unseen[:5])) + (" ..." if len(unseen) > 5 else "")
        warnings.warn(
            f"{title}: column {name!r} has levels that the fit never saw: {shown} "
            f"({int((codes < 0).sum())} of {len(cells)} rows). They count as none of the known "
            "levels.",
            UnseenLevelWarning,
            stacklevel=6,
        )
    return np.column_stack([(codes == k).astype(np.float64) for k in _shown(levels)])


def _shown(levels: tuple[str, ...]) -> range:
    """Numbers of the levels that have a column."""
    return range(len(levels)) if len(levels) > 2 else range(len(levels) - 1, len(levels))


def cells_of(X: Any, name: str, title: str, *, as_text: bool = True) -> list[Any]:
    """Return the cells of a frame's column, as text unless told otherwise; none may be missing."""
    column = X[column_label(X, name)]
    cells = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    missing = sum(cell is None or cell != cell for cell in cells)
    if missing:
        raise InputError(
            f"{title}: column {name!r} has {missing} missing values. Fill them first, for example "
            "with a level of their own, in the same way for X and X_target."
        )
    return [str(cell) for cell in cells] if as_text else cells


def column_label(X: Any, name: str) -> Any:
    """Return the label under which a frame has the column of this name."""
    labels = getattr(X, "column_names", None)
    labels = X.columns if labels is None else labels
    return next(label for label in labels if str(label) == name)


def select(X: Any, names: list[str]) -> Any:
    """Keep some columns of a frame."""
    labels = [column_label(X, name) for name in names]
    return X.select(labels) if hasattr(X, "select") else X[labels]

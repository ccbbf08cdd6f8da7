"""Columns of data frames by name: pandas, polars and pyarrow."""

from __future__ import annotations

from typing import Any

from .exceptions import InputError


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

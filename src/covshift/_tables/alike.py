"""Two tables with the same columns: where one knows less about a column, both are read alike.

A column of "no" alone is boolean in one file and the same column a country in the other; numbers 0
and 1 are what the other file calls yes and no; ids of a small file are names that repeat in a large
one. The values stay as they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .columns import Column, as_category
from .table import Table, merged_levels

_TEXT = ("category", "ordered", "text")


def made_alike(one: Table, other: Table) -> tuple[Table, Table]:
    """Return the tables with columns of the same name as the same kind, where that is certain."""
    first, second = dict(one.columns), dict(other.columns)
    for name in first.keys() & second.keys():
        first[name], second[name] = _alike(first[name], second[name])
    return replace(one, columns=first), replace(other, columns=second)


def _alike(one: Column, other: Column) -> tuple[Column, Column]:
    kinds = {one.kind, other.kind}
    if one.kind == other.kind == "ordered":
        levels = merged_levels(one.levels, other.levels)
        if levels is None:
            return as_category(one), as_category(other)
        return replace(one, levels=levels), replace(other, levels=levels)
    if kinds == {"ordered", "category"}:
        levels = one.levels or other.levels
        known = all({v for v in part.values if v is not None} <= {*levels} for part in (one, other))
        if known:
            return _ordered(one, levels), _ordered(other, levels)
        return as_category(one), as_category(other)
    if kinds == {"text", "category"} and one.kind == "category":
        return one, as_category(other)
    if kinds == {"boolean", "number"}:
        return _boolean(one), _boolean(other)
    if "boolean" in kinds and kinds & {*_TEXT}:
        return as_category(one), as_category(other)
    return one, other


def _ordered(column: Column, levels: tuple[str, ...]) -> Column:
    return replace(column, kind="ordered", levels=levels)


def _boolean(column: Column) -> Column:
    values = column.values[~np.isnan(column.values)]
    if column.kind == "boolean" or not np.isin(values, (0.0, 1.0)).all():
        return column
    return replace(column, kind="boolean", doubt=None)

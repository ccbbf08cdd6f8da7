"""Columns become numbers: one rule per column, learned once, applied to any later table.

Numbers stay; categories become one column of 0 and 1 per level; dates become days. A missing number
becomes the median of the training rows, with an indicator column beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._notes import Note
from .._types import Real
from ..exceptions import InputError
from .columns import Column, Kind
from .table import Table

LARGEST = 1e100  # beyond, squares and their sums would overflow
MISSING_LEVEL = "(missing)"
OTHER_LEVEL = "(other)"


@dataclass(frozen=True)
class Feature:
    """How one column of a table becomes columns of X."""

    name: str
    kind: Kind  # "number", "boolean", "category" or "date"
    levels: tuple[str, ...] = ()  # of a category, in order
    fill: float | None = None  # what a missing number becomes; None: it is an error
    indicator: bool = False  # whether a column says which numbers were missing

    @property
    def columns(self) -> list[str]:
        """Names of its columns of X."""
        if self.kind == "category":
            return [f"{self.name}={level}" for level in self.levels]
        return [self.name, f"{self.name} missing"] if self.indicator else [self.name]


@dataclass
class ColumnProblems:
    """What encoding met on its way, counted."""

    rows: int = 0
    unseen: dict[str, Counter[str]] = field(default_factory=dict)
    filled: Counter[str] = field(default_factory=Counter)

    def notes(self, title: str) -> list[Note]:
        """Say it in words."""
        notes = []
        for name, levels in self.unseen.items():
            count = sum(levels.values())
            shown = ", ".join(repr(level) for level, _ in levels.most_common(5))
            more = f" and {len(levels) - 5} more" if len(levels) > 5 else ""
            text = (
                f"{title}: column {name!r} has levels that training never saw: {shown}{more} "
                f"({count} of {self.rows} rows, {count / max(self.rows, 1):.0%}). Nothing is "
                "known about them; they count as none of the known levels."
            )
            notes.append(Note("unseen levels", text, "warning"))
        for name, count in self.filled.items():
            what = "missing value was" if count == 1 else "missing values were"
            notes.append(Note("imputed", f"{title}, column {name!r}: {count} {what} imputed."))
        return notes


@dataclass(frozen=True)
class Encoding:
    """The features, in order; `encode` makes X of a table that has these columns."""

    features: tuple[Feature, ...]

    @property
    def columns(self) -> list[str]:
        """Names of the columns of X."""
        return [column for feature in self.features for column in feature.columns]

    @property
    def names(self) -> list[str]:
        """Names of the columns that a table must have."""
        return [feature.name for feature in self.features]

    @property
    def kinds(self) -> dict[str, Kind]:
        """What to read each column as."""
        return {feature.name: feature.kind for feature in self.features}

    def encode(self, table: Table, findings: ColumnProblems | None = None) -> Real:
        """Return X (rows, columns): finite, or an `InputError` that names column and count."""
        findings = ColumnProblems() if findings is None else findings
        check_complete(table, self)
        X = np.empty((len(table), len(self.columns)))
        findings.rows += len(table)
        at = 0
        for feature in self.features:
            width = len(feature.columns)
            X[:, at : at + width] = _encoded(feature, table.columns[feature.name], findings)
            at += width
        return X

    def to_list(self) -> list[dict[str, Any]]:
        """Return plain data, as `from_list` reads it."""
        return [
            {
                "name": feature.name,
                "kind": feature.kind,
                "levels": list(feature.levels),
                "fill": feature.fill,
                "indicator": feature.indicator,
            }
            for feature in self.features
        ]

    @classmethod
    def from_list(cls, data: Any) -> Encoding:
        """Return the encoding of plain data; anything else is a ValueError."""
        features = []
        for item in data:
            kind, levels, fill = item["kind"], item["levels"], item["fill"]
            if kind not in ("number", "boolean", "category", "date") or not isinstance(
                item["name"], str
            ):
                raise InputError("a feature of unknown kind")
            if not all(isinstance(level, str) for level in levels):
                raise InputError("a level that is not text")
            if fill is not None and not np.isfinite(fill):
                raise InputError("a fill value that is not finite")
            features.append(
                Feature(item["name"], kind, tuple(levels), fill, bool(item["indicator"]))
            )
        return cls(tuple(features))


def check_complete(table: Table, encoding: Encoding) -> None:
    """Refuse missing or infinite values in columns without a fill, and numbers beyond all use."""
    problems = incomplete({name: table.columns[name] for name in encoding.names}, encoding)
    if problems:
        raise InputError(f"{table.title}: {problems}. {ADVICE}")


ADVICE = "Drop these rows; or, when fitting the model, leave the columns out with --drop."


def incomplete(columns: Mapping[str, Column], encoding: Encoding | None = None) -> str:
    """Name the columns with missing or infinite values and how many; empty where there are none."""
    features = () if encoding is None else encoding.features
    filled = {f.name for f in features if f.fill is not None or f.kind == "category"}
    problems = []
    for name, column in columns.items():
        missing, infinite = count_missing(column)
        missing = 0 if name in filled else missing
        if missing or infinite:
            counts = [f"{missing} missing"] * bool(missing) + [f"{infinite} infinite"] * bool(
                infinite
            )
            plural = "s" if missing + infinite != 1 else ""
            problems.append(f"column {name!r} has {' and '.join(counts)} value{plural}")
    more = f" and {len(problems) - 8} more columns" if len(problems) > 8 else ""
    return "; ".join(problems[:8]) + more


def count_missing(column: Column) -> tuple[int, int]:
    """Count the missing and the infinite cells of a column."""
    if column.values.dtype == object:
        return int(sum(value is None for value in column.values)), 0
    return int(np.isnan(column.values).sum()), int(np.isinf(column.values).sum())


def _encoded(feature: Feature, column: Column, findings: ColumnProblems) -> Real:
    if feature.kind == "category":
        return _one_hot(feature, column, findings)
    values = np.asarray(column.values, dtype=np.float64)
    lost = ~np.isfinite(values)
    large = int((np.abs(values[~lost]) > LARGEST).sum())
    if large:
        raise InputError(
            f"Column {feature.name!r} has {large} numbers beyond {LARGEST:g}. Such numbers often "
            "stand for a missing value: repair or rescale them, or, when fitting the model, leave "
            f"the column out with --drop {feature.name!r}."
        )
    if lost.any():
        findings.filled[feature.name] += int(lost.sum())
        values = np.where(lost, np.nan if feature.fill is None else feature.fill, values)
    return np.column_stack([values, lost]) if feature.indicator else values[:, None]


def _one_hot(feature: Feature, column: Column, findings: ColumnProblems) -> Real:
    place = {level: k for k, level in enumerate(feature.levels)}
    missing, other = place.get(MISSING_LEVEL), place.get(OTHER_LEVEL)
    hot = np.zeros((len(column), len(feature.levels)))
    for row, value in enumerate(column.values):
        k = missing if value is None else place.get(value, other)
        if k is not None:
            hot[row, k] = 1.0
        else:
            level = MISSING_LEVEL if value is None else str(value)
            findings.unseen.setdefault(feature.name, Counter())[level] += 1
    if missing is not None:
        count = int(hot[:, missing].sum())
        if count:
            findings.filled[feature.name] += count
    return hot

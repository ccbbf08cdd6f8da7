"""Tables of files become numbers by the rules of `covshift.TableEncoder`, kept for later tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..encoding import MISSING, Feature, TableEncoder
from ..exceptions import InputError
from ..numerics.array import Real
from ..show.notes import Note
from .columns import Column, Kind
from .table import Table

LARGEST = 1e100  # beyond, squares and their sums would overflow
MISSING_LEVEL = MISSING


@dataclass
class ColumnProblems:
    """What encoding met on its way, counted."""

    rows: int = 0
    unseen: dict[str, set[str]] = field(default_factory=dict)
    unseen_rows: Counter[str] = field(default_factory=Counter)
    gaps: Counter[str] = field(default_factory=Counter)

    def notes(self, title: str) -> list[Note]:
        """Say it in words."""
        notes = []
        for name, found in self.unseen.items():
            count, levels = self.unseen_rows[name], sorted(found)
            shown = ", ".join(map(repr, levels[:5]))
            more = f" and {len(levels) - 5} more" if len(levels) > 5 else ""
            text = (
                f"{title}: column {name!r} has levels that do not occur in training: {shown}{more} "
                f"({count} of {self.rows} rows, {count / max(self.rows, 1):.0%}). They are "
                "treated as none of the known levels."
            )
            notes.append(Note("unseen levels", text, "warning"))
        for name, count in self.gaps.items():
            what = "value is" if count == 1 else "values are"
            text = (
                f"{title}: {count} {what} missing in column {name!r}, which had no gaps in "
                "training: filled with its median."
            )
            notes.append(Note("imputed", text, "warning"))
        return notes


@dataclass(frozen=True)
class Encoding:
    """The rules, in order; `encode` makes X of a table that has these columns."""

    encoder: TableEncoder

    @property
    def features(self) -> tuple[Feature, ...]:
        """One rule per column of a table."""
        return self.encoder.features_

    @property
    def columns(self) -> list[str]:
        """Names of the columns of X."""
        return list(self.encoder.columns)

    @property
    def dates(self) -> list[str]:
        """Names of the columns of X that hold days since 1970-01-01."""
        return [feature.name for feature in self.features if feature.kind == "date"]

    @property
    def names(self) -> list[str]:
        """Names of the columns that a table must have."""
        return [feature.name for feature in self.features]

    @property
    def kinds(self) -> dict[str, Kind]:
        """What to read each column as."""
        kinds: dict[str, Kind] = {}
        for feature in self.features:
            kind = "date" if feature.kind == "season" else feature.kind
            kinds[feature.name] = "category" if kind == "ordered" or feature.spelling else kind
        return kinds

    def encode(self, table: Table, findings: ColumnProblems | None = None) -> Real:
        """Return X (rows, columns): finite, or an `InputError` that names column and count."""
        findings = ColumnProblems() if findings is None else findings
        columns = table[self.names]
        check_finite(columns)
        values, unseen = self.encoder.encode_cells(columns.read_cells(), table.title)
        findings.rows += len(table)
        for feature, found in unseen:
            if found.rows:
                findings.unseen.setdefault(feature.name, set()).update(found.levels)
                findings.unseen_rows[feature.name] += found.rows
            if found.gaps:
                findings.gaps[feature.name] += found.gaps
        return values

    @classmethod
    def of(cls, features: Sequence[Feature]) -> Encoding:
        """Return the encoding by these rules."""
        names = np.array([feature.name for feature in features], dtype=object)
        encoder: Any = TableEncoder()
        encoder.features_, encoder._said, encoder._names = tuple(features), (), names
        return cls(encoder)


def check_finite(table: Table) -> None:
    """Refuse infinite values, and numbers beyond all use."""
    problems = []
    for name, column in table.columns.items():
        infinite = count_missing(column)[1]
        if infinite:
            values = "value" if infinite == 1 else "values"
            problems.append(f"column {name!r} has {infinite} infinite {values}")
    if problems:
        more = f" and {len(problems) - 8} more columns" if len(problems) > 8 else ""
        raise InputError(
            f"{table.title}: {'; '.join(problems[:8])}{more}. Drop these rows; or, when fitting "
            "the model, leave the columns out with --drop."
        )
    for name, column in table.columns.items():
        if column.values.dtype == object:
            continue
        large = int((np.abs(column.values) > LARGEST).sum())
        if large:
            raise InputError(
                f"Column {name!r} has {large} numbers beyond {LARGEST:g}. Such numbers often "
                "stand for a missing value: repair or rescale them, or, when fitting the model, "
                f"leave the column out with --drop {name!r}."
            )


def count_missing(column: Column) -> tuple[int, int]:
    """Count the missing and the infinite cells of a column."""
    if column.values.dtype == object:
        return int(sum(value is None for value in column.values)), 0
    return int(np.isnan(column.values).sum()), int(np.isinf(column.values).sum())

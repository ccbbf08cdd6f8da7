"""A file as its columns: what `read_frame` gives, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from covshift import Target
from covshift.data import Samples
from covshift.encoding import encoded
from covshift.encoding.alike import made_alike
from covshift.encoding.cells import read_cells
from covshift.encoding.learned import Learned
from covshift.files.frame import about, read_frame
from covshift.files.reading import ReadOptions


@dataclass(frozen=True)
class Column:
    """Float64 with NaN for gaps, or text with None."""

    name: str
    kind: str
    values: Any
    levels: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """Columns by name, and what reading found out."""

    columns: dict[str, Column]
    title: str
    notes: list[Any]
    left_out: frozenset[str]
    unmet: frozenset[str]
    sheet: str | None

    def __len__(self):
        return len(next(iter(self.columns.values())).values)

    @property
    def names(self):
        return list(self.columns)


def read_table(source, kinds=None, reading=None):
    """Read a file; ``kinds`` are those that the user has declared."""
    frame = read_frame(source, replace(reading or ReadOptions(), kinds=kinds or {}))
    said, columns = about(frame), {}
    for name, cells in read_cells(frame, source).items():
        declared = (kinds or {}).get(name)
        if declared is None and cells.kind == "category":  # what it is, as an encoder finds out
            found = made_alike(name, [cells], None, Learned(), named=False)[0]
            cells = found if found.kind in ("boolean", "date") else cells
        values = (
            np.array([*cells.words, None], object)[cells.values] if cells.is_text else cells.values
        )
        columns[name] = Column(
            name, "text" if declared == "text" else cells.kind, values, cells.levels
        )
    left_out, unmet = frozenset(said.left_out), frozenset(said.unmet)
    return Table(columns, said.title, said.notes, left_out, unmet, said.sheet)


def read_samples(train, target, *drop, kinds=None):
    """The samples that two files are, without some columns, in the order of the table."""
    frames = [read_frame(str(path)) for path in (train, target)]
    X, T = (
        frame.drop_columns([name for name in frame.column_names if name in drop])
        for frame in frames
    )
    both = Samples.of(X, None, Target(T, kinds=kinds)).as_given()
    X, T = (encoded(part, both.one_feature) for part in (both.X, both.T))
    return replace(both, X=X, T=T)

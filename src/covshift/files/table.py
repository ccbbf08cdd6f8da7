"""A table of columns with doubts, as the commands decide about it; `read_frame` reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..show.notes import Note
from .arrays import library, plain
from .columns import Column, Kind, objects, text_column
from .frame import About, about, read_frame
from .reading import ReadOptions
from .values import days_of, floats_of, holds_numbers


@dataclass(frozen=True)
class Table:
    """Columns by name, in the order of the file; the library reads them as a data frame's."""

    title: str
    columns: Mapping[str, Column]
    notes: list[Note] = field(default_factory=list)  # what was found out while reading
    left_out: frozenset[str] = frozenset()  # columns that only number the rows
    unmet: frozenset[str] = frozenset()  # what --missing names, and no cell is
    sheet: str | None = None  # of a workbook

    def __len__(self) -> int:
        return next((len(column) for column in self.columns.values()), 0)

    @property
    def names(self) -> list[str]:
        return list(self.columns)

    def take(self, rows: Any) -> Table:
        """Keep some rows."""
        kept = {k: replace(part, values=part.values[rows]) for k, part in self.columns.items()}
        return replace(self, columns=kept)

    def __getitem__(self, name: str) -> Any:
        """Values of one column."""
        return self.columns[name].values


def read_table(
    source: str, kinds: Mapping[str, Kind] | None = None, reading: ReadOptions | None = None
) -> Table:
    """Read a file as `read_frame` does; ``kinds`` are those that the user has declared."""
    reading = replace(reading or ReadOptions(), kinds=kinds or {})
    return table_of(read_frame(source, reading), reading.kinds)


def table_of(frame: Any, kinds: Mapping[str, Kind]) -> Table:
    """Return a frame of a file as a table; ``kinds`` are those that the user has declared."""
    said = about(frame)
    columns = _columns(frame, said, kinds)
    left_out, unmet = frozenset(said.left_out), frozenset(said.unmet)
    return Table(said.title, columns, said.notes, left_out, unmet, said.sheet)


def _columns(frame: Any, said: About, kinds: Mapping[str, Kind]) -> dict[str, Column]:
    return {
        name: as_column(name, frame[name], kinds.get(name), said.spelled)
        for name in frame.column_names
    }


def as_column(name: str, cells: Any, kind: Kind | None, spelled: bool) -> Column:
    """Return a column of a frame with what may be doubtful about it.

    ``spelled`` says that the cells were text, whose numbers were found out.
    """
    types, dtype = library().types, cells.type
    if types.is_boolean(dtype):
        words = ("false", "true") if kind is None and not spelled else ()
        return Column(name, kind or "boolean", floats_of(cells), levels=words)
    if holds_numbers(dtype):
        values = floats_of(cells)
        kind = "category" if kind == "outcome" else kind
        return Column(name, kind or "number", values)
    if types.is_date(dtype) or types.is_timestamp(dtype):
        return Column(name, "date", days_of(cells))
    if kind == "text":
        return Column(name, kind, objects(cells.to_pylist()))
    values = _words(cells)
    if types.is_dictionary(dtype) and dtype.ordered:
        levels = tuple(cells.chunk(0).dictionary.to_pylist())
        return Column(name, "ordered", values, levels=levels)
    if kind is not None:
        return Column(name, "category" if kind == "outcome" else kind, values)
    return text_column(name, values)


def _words(cells: Any) -> Any:
    """Return text as objects, one for each word; None for a gap."""
    parts = []
    for chunk in cells.chunks:
        coded = chunk if library().types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        words = coded.dictionary.to_pylist()
        places = plain(coded.indices, np.int32, -1)
        parts.append(objects([*words, None])[places])
    return np.concatenate(parts) if parts else objects([])

"""A table: named columns of equal length, read whole or in blocks, from any format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..show.notes import Note
from .builder import ColumnBuilder
from .columns import Column, Kind, text_column
from .missing import MissingValues, missing_in, unmet, unmet_note
from .missing import ReadOptions as ReadOptions
from .sources import Room, opened
from .text import may_be_index, no_name

_TEXT_ROWS = 500  # whose cells fit into the processor's cache: half the time of 20,000
_TYPED_ROWS = 100_000
_TITLE = "\0"  # stands for the title of a table


@dataclass(frozen=True)
class Table:
    """Columns by name, in the order of the file."""

    title: str
    columns: Mapping[str, Column]
    notes: list[Note] = field(default_factory=list)  # what was found out while reading
    left_out: frozenset[str] = frozenset()  # columns that only number the rows
    unmet: frozenset[str] = frozenset()  # what --missing names, and no cell is

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def names(self) -> list[str]:
        return list(self.columns)

    def take(self, rows: Any) -> Table:
        """Keep some rows."""
        kept = {k: replace(part, values=part.values[rows]) for k, part in self.columns.items()}
        return replace(self, columns=kept)


def read_table(
    source: str, kinds: Mapping[str, Kind] | None = None, reading: ReadOptions | None = None
) -> Table:
    """Read a file, a folder of parts, or standard input for "-".

    Parameters
    ----------
    source : str
        A path, or "-": text (CSV, TSV; gzip, zstd, bzip2, xz, zip), Parquet, Arrow (Feather),
        Excel, Stata or SPSS, known by its first bytes; or a folder of Parquet or text files.
    kinds : mapping of column names to a kind
        What the user declared; other columns are found out.
    reading : ReadOptions, optional
        Separator, encoding, spelling of numbers and dates, and what stands for missing values.

    Returns
    -------
    Table

    Notes
    -----
    Memory: 8 bytes per number, a pointer per text cell, one block of text. 0.6 µs per cell of text.
    """
    with open_stream(source, kinds, reading) as stream:
        table = stream.whole()
    if table is None or not table.columns or not len(table):
        raise InputError(f"{stream.title} has a header but no rows.")
    return table


def notes_of(*tables: Table) -> list[Note]:
    """Return what reading found out about tables; what holds for several is said once."""
    said: dict[Note, dict[str, None]] = {}
    for table in tables:
        for note in table.notes:
            alike = replace(note, text=note.text.replace(table.title, _TITLE))
            said.setdefault(alike, {})[table.title] = None
    notes = [
        replace(note, text=note.text.replace(_TITLE, " and ".join(titles)))
        for note, titles in said.items()
    ]
    lost = frozenset.intersection(*(table.unmet for table in tables))
    return [*notes, *unmet_note(lost, dict.fromkeys(table.title for table in tables))]


class Stream:
    """An open table: its column names, and its rows as tables of at most so many rows."""

    def __init__(self, source: Any, kinds: Mapping[str, Kind], reading: ReadOptions) -> None:
        self._source, self._kinds, self._reading = source, kinds, reading
        self._missing: dict[str, MissingValues] = {}
        self._left_out = frozenset(source.index) - {*kinds}
        self.title: str = source.title
        self.names: list[str] = [name for name in source.names if name not in self._left_out]

    @property
    def notes(self) -> list[Note]:
        """What was found out so far."""
        notes: list[Note] = list(self._source.notes)
        return [*notes, *self._index_notes(self._left_out)]

    def whole(self) -> Table | None:
        """Return all rows as one table; None where there are none."""
        size = _TEXT_ROWS if self._source.is_text else _TYPED_ROWS
        return next(self.parts(size, whole=True), None)

    def parts(self, size: int, *, only: Any = None, whole: bool = False) -> Iterator[Table]:
        """Yield tables of ``size`` rows with the columns ``only``; or all rows as one table."""
        names = [name for name in self.names if only is None or name in only]
        self._missing = {name: missing_in(name, self._reading) for name in names}
        blocks = self._text if self._source.is_text else self._typed
        yield from blocks(size, names, whole)

    def _text(self, size: int, names: list[str], whole: bool) -> Iterator[Table]:
        places = [self._source.names.index(name) for name in names]
        builders, room = self._builders(names), Room(self.title)
        for block in self._source.blocks(size):
            if not whole:
                builders = self._builders(names)
            for builder, place in zip(builders, places, strict=True):
                builder.add(block, place)
            if not whole:
                yield self._table([builder.finish() for builder in builders])
            room.check(len(block.cells[0]), sum(builder.held for builder in builders))
        if whole:
            yield self._whole([builder.finish() for builder in builders])

    def _builders(self, names: list[str]) -> list[ColumnBuilder]:
        spelled, forms = self._source.spelled, self._reading.dates
        return [
            ColumnBuilder(
                name,
                self._kinds.get(name),
                self._missing[name],
                replace(spelled, date=forms.get(name)),
            )
            for name in names
        ]

    def _typed(self, size: int, names: list[str], whole: bool) -> Iterator[Table]:
        held: list[list[Column]] = []
        room, taken = Room(self.title), 0
        for block in self._source.blocks(size, names):
            columns = [
                self._source.column(block, name, self._kinds.get(name), self._missing[name])
                for name in names
            ]
            if whole:
                held.append(columns)
                taken += sum(column.values.nbytes for column in columns)
                room.check(len(columns[0].values) if columns else 0, taken)
            else:
                yield self._table([self._found(column) for column in columns])
        if held:
            yield self._whole([self._found(_joined(parts)) for parts in zip(*held, strict=True)])

    def _found(self, column: Column) -> Column:
        """Find out what undeclared text is."""
        if column.kind != "category" or column.doubt or column.name in self._kinds:
            return column
        return text_column(column.name, column.values)

    def _whole(self, columns: list[Column]) -> Table:
        """Return the table of all rows, with the notes that only they allow."""
        indexes = {column.name for column in columns if self._is_index(column)}
        for name in getattr(self._source, "nameless", set()) - indexes - {*self._kinds}:
            raise no_name(self.title, [str(self._source.names.index(name) + 1)])
        kept = [column for column in columns if column.name not in indexes]
        ids = [c.name for c in kept if c.kind == "text" and c.name not in self._kinds]
        notes = [*self.notes, *self._index_notes(indexes)]
        if ids:
            text = (
                f"No feature, because its text is another one in every row, as ids have it: "
                f"{_listed(ids)} of {self.title} (--categorical says otherwise)."
            )
            notes.append(Note("identifiers", text))
        return replace(
            self._table(kept),
            notes=notes,
            left_out=self._left_out | indexes,
            unmet=unmet(self._missing, self._reading),
        )

    def _is_index(self, column: Column) -> bool:
        """Tell whether a column without a name of its own numbers the rows."""
        if not may_be_index(column.name) or column.name in self._kinds:
            return False
        values = column.values
        if column.kind != "number" or not np.isfinite(values).all():
            return False
        return bool((np.mod(values, 1) == 0).all()) and len(np.unique(values)) == len(values)

    def _index_notes(self, names: Any) -> list[Note]:
        if not names:
            return []
        text = (
            f"Left out, because it only numbers the rows: {_listed(sorted(names))} of {self.title}."
        )
        return [Note("row numbers", text)]

    def _table(self, columns: list[Column]) -> Table:
        return Table(self.title, {column.name: column for column in columns})


def _joined(parts: tuple[Column, ...]) -> Column:
    values = np.concatenate([part.values for part in parts])
    doubt = next((part.doubt for part in parts if part.doubt), None)
    first = parts[0]
    kind, levels = first.kind, first.levels
    for part in parts[1:]:
        if part.kind != kind:
            kind, levels = "category", ()
        elif kind == "ordered" and part.levels != levels:
            merged = merged_levels(levels, part.levels)
            kind, levels = ("category", ()) if merged is None else (kind, merged)
    return Column(first.name, kind, values, doubt, levels)


def merged_levels(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return one order of the levels of two ordered categories, or None where there is none.

    >>> merged_levels(("low", "high"), ("low", "mid", "high"))
    ('low', 'mid', 'high')
    >>> merged_levels(("low", "high"), ("high", "low")) is None
    True
    """
    few, many = sorted((one, other), key=len)
    if set(few) <= {*many}:
        order = [level for level in many if level in few]
        return many if order == list(few) else None
    return None


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(map(repr, names[:12])) + more


@contextmanager
def open_stream(
    source: str, kinds: Mapping[str, Kind] | None = None, reading: ReadOptions | None = None
) -> Iterator[Stream]:
    """Open a table for reading in blocks, in memory that does not grow with its length."""
    reading = ReadOptions() if reading is None else reading
    with opened(source, reading) as found:
        yield Stream(found, kinds or {}, reading)

"""A table: named columns of equal length, read whole or in blocks, from any format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..data.values import MOST_COLUMNS, too_wide
from ..encoding.cells import Cells
from ..exceptions import InputError
from ..numerics.progress import Progress
from ..show.notes import Note
from .builder import ColumnBuilder
from .columns import Column, Kind, text_column
from .questions import answer
from .reading import MissingValues, ReadOptions, missing_in, unmet, unmet_note
from .sources import Room, opened
from .text import may_be_index, no_name

_TEXT_ROWS = 500  # whose cells fit into the processor's cache: half the time of 20,000
_TYPED_ROWS = 100_000
_TITLE = "\0"  # stands for the title of a table


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

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), len(self.columns)

    @property
    def dtypes(self) -> list[str]:
        """What each column holds."""
        return [str(column.values.dtype) for column in self.columns.values()]

    def take(self, rows: Any) -> Table:
        """Keep some rows."""
        kept = {k: replace(part, values=part.values[rows]) for k, part in self.columns.items()}
        return replace(self, columns=kept)

    def __getitem__(self, names: Any) -> Any:
        """Values of one column, or the table of several; ``table[rows, ...]`` are some rows."""
        if isinstance(names, list):
            return replace(self, columns={name: self.columns[name] for name in names})
        return self.take(names[0]) if isinstance(names, tuple) else self.columns[names].values

    def read_cells(self) -> dict[str, Cells]:
        """Columns as the encoder takes them."""
        return {name: column.cells for name, column in self.columns.items()}

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.column_stack([self[name] for name in self.columns]).astype(dtype or np.float64)


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
        self._place = {name: k for k, name in enumerate(source.names)}
        self.names: list[str] = [name for name in source.names if name not in self._left_out]

    @property
    def notes(self) -> list[Note]:
        """What was found out so far."""
        notes: list[Note] = list(self._source.notes)
        return [*notes, *self._index_notes(self._left_out)]

    def whole(self) -> Table | None:
        """Return all rows as one table; None where there are none."""
        if len(self.names) > MOST_COLUMNS:
            raise InputError(too_wide(self.title, len(self.names)))
        size = _TEXT_ROWS if self._source.is_text else _TYPED_ROWS
        return next(self.parts(size, whole=True), None)

    def parts(self, size: int, *, only: Any = None, whole: bool = False) -> Iterator[Table]:
        """Yield tables of ``size`` rows with the columns ``only``; or all rows as one table."""
        names = [name for name in self.names if only is None or name in only]
        self._missing = {name: missing_in(name, self._reading) for name in names}
        builders: list[Any] = []
        room, before = Room(self.title), Progress.doing
        numbers = [name for name in names if self._kinds.get(name) in (None, "number", "outcome")]
        for block in self._source.blocks(size, names, numbers):
            if not (whole and builders):
                builders = [self._builder(name) for name in names]
            for builder in builders:
                builder.add(block)
            if whole:
                done = getattr(self._source, "done", None)
                if done is not None:
                    Progress.doing = f"reading {self.title}, {done:.0%} done"
                room.check(len(block), sum(builder.held for builder in builders), done)
            else:
                yield self._table([builder.finish() for builder in builders])
        Progress.doing = before
        if whole and builders:
            yield self._whole([builder.finish() for builder in builders])

    def _builder(self, name: str) -> Any:
        kind, missing, source = self._kinds.get(name), self._missing[name], self._source
        if not source.is_text:
            kind = "category" if kind == "outcome" else kind
            return _TypedColumn(source, name, kind, missing)
        spelled = replace(source.spelled, date=self._reading.dates.get(name))
        return ColumnBuilder(name, self._place[name], kind, missing, spelled)

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
                f"Not a feature, because its text differs in every row, like an id: "
                f"{named(ids)} of {self.title} (--categorical overrides this)."
            )
            notes.append(Note("identifiers", text))
        return replace(
            self._table(kept),
            notes=notes,
            left_out=self._left_out | indexes,
            unmet=unmet(self._missing, self._reading),
            sheet=getattr(self._source, "sheet", None),
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
        return [
            Note(
                "row numbers",
                f"Left out {name!r} of {self.title}: looks like a row identifier; "
                f"{answer('keep', name)} uses it.",
            )
            for name in sorted(names)
        ]

    def _table(self, columns: list[Column]) -> Table:
        return Table(self.title, {column.name: column for column in columns})


class _TypedColumn:
    """Collects the blocks of a column that has a type, as `ColumnBuilder` does those of text."""

    def __init__(self, source: Any, name: str, kind: Kind | None, missing: MissingValues) -> None:
        self._source, self._given = source, (name, kind, missing)
        self._parts: list[Column] = []
        self.held = 0

    def add(self, block: Any) -> None:
        self._parts.append(self._source.column(block, *self._given))
        self.held += self._parts[-1].values.nbytes

    def finish(self) -> Column:
        first, *more = self._parts
        values = np.concatenate([part.values for part in self._parts])
        doubt = next((part.doubt for part in self._parts if part.doubt), None)
        kind, levels = first.kind, first.levels
        for part in more:
            if part.kind != kind:
                kind, levels = "category", ()
            elif kind == "ordered" and part.levels != levels:
                merged = merged_levels(levels, part.levels)
                kind, levels = ("category", ()) if merged is None else (kind, merged)
        if kind == "category" and not doubt and self._given[1] is None:  # what may text be?
            return text_column(first.name, values)
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


def named(names: list[str]) -> str:
    """List names in a message; of many, the first twelve."""
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

"""Files to frames: `read_frame` gives a pyarrow.Table, whatever the format of the file.

Numbers are float64, truths, dates and other types stay what a file says they are, and text is text:
what it may mean is decided where both samples are there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from ..data.values import MOST_COLUMNS, too_wide
from ..encoding.cells import FILE, spelled
from ..encoding.decisions import undo_by_option
from ..encoding.words import merged_levels
from ..exceptions import InputError
from ..numerics.progress import Progress
from ..show.notes import Note
from .arrays import library, numbers, texts
from .memory import check_size
from .missing import MissingValues, missing_in, unmet, unmet_note
from .reading import ReadOptions
from .sources import opened
from .text import may_be_index, no_name
from .values import as_kind, coded_in, days_of, floats_of, holds_text

_ROWS = 100_000  # of a block
_TITLE = "\0"  # stands for the title of a file


@dataclass(frozen=True)
class About:
    """What reading found out about a file; a frame carries it in the metadata of its schema."""

    title: str
    notes: list[Note] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # columns that only number the rows
    unmet: list[str] = field(default_factory=list)  # what --missing names, and no cell is
    sheet: str | None = None  # of a workbook


def about(frame: Any) -> About:
    """Return what reading found out about the file of a frame."""
    data = json.loads(frame.schema.metadata[FILE])
    return About(**{**data, "notes": [Note(**note) for note in data["notes"]]})


def notes_of(*files: About) -> list[Note]:
    """Return what reading found out about files; what holds for several is said once."""
    said: dict[Note, dict[str, None]] = {}
    for file in files:
        for note in file.notes:
            alike = replace(note, text=note.text.replace(file.title, _TITLE))
            said.setdefault(alike, {})[file.title] = None
    notes = [
        replace(note, text=note.text.replace(_TITLE, " and ".join(titles)))
        for note, titles in said.items()
    ]
    lost = frozenset.intersection(*(frozenset(file.unmet) for file in files))
    return [*notes, *unmet_note(lost, dict.fromkeys(file.title for file in files))]


def read_frame(source: str, reading: ReadOptions | None = None) -> Any:
    """Read a file, a folder of parts, or standard input for "-".

    Parameters
    ----------
    source : str
        A path, or "-": text (CSV, TSV; gzip, zstd, bzip2, xz, zip), JSON, Parquet, Arrow (Feather),
        Excel, Stata or SPSS, known by its first bytes; or a folder of Parquet or text files.
    reading : ReadOptions, optional
        Separator, encoding, spelling of numbers and dates, what stands for missing values, and the
        kinds of columns that the user has declared; other columns are found out.

    Returns
    -------
    pyarrow.Table
        `about` tells what was found out.
    """
    with open_frame(source, reading) as stream:
        frame = stream.whole()
    if frame is None or not frame.num_rows or not frame.num_columns:
        raise InputError(f"{stream.title} has a header but no rows.")
    return frame


@contextmanager
def open_frame(source: str, reading: ReadOptions | None = None) -> Iterator[Stream]:
    """Open a table for reading in blocks, in memory that does not grow with its length."""
    reading = ReadOptions() if reading is None else reading
    with opened(source, reading) as found:
        yield Stream(found, reading)


class Stream:
    """An open table: its column names, and its rows as frames of at most so many rows."""

    def __init__(self, source: Any, reading: ReadOptions) -> None:
        self._source, self._reading = source, reading
        self._missing: dict[str, MissingValues] = {}
        self._left_out = frozenset(source.index) - {*reading.kinds}
        self.title: str = source.title
        self.names: list[str] = [name for name in source.names if name not in self._left_out]

    @property
    def notes(self) -> list[Note]:
        """What was found out so far."""
        return [*self._source.notes, *_index_notes(self._left_out, self.title)]

    def whole(self) -> Any:
        """Return all rows as one frame; None where there are none."""
        if len(self.names) > MOST_COLUMNS:
            raise InputError(too_wide(self.title, len(self.names)))
        before, rows, held = Progress.doing, 0, 0
        columns: dict[str, list[Any]] = {name: [] for name in self.names}
        for arrays in self._blocks(_ROWS, self.names):
            rows += len(arrays[0]) if arrays else 0
            for parts, part in zip(columns.values(), arrays, strict=True):
                parts.append(part)
                held += part.nbytes
            done = self._source.done
            if done is not None:
                Progress.doing = f"reading {self.title}, {done:.0%} done"
            check_size(self.title, rows, held, done)
        Progress.doing = before
        if not rows:
            return None
        return self._named({name: joined(columns.pop(name)) for name in self.names})

    def parts(self, size: int, *, only: Iterable[str] | None = None) -> Iterator[Any]:
        """Yield frames of at most ``size`` rows with the columns ``only``."""
        names = [name for name in self.names if only is None or name in only]
        for arrays in self._blocks(size, names):
            columns = [joined([part]) for part in arrays]
            yield library().table(columns, names=names).replace_schema_metadata(self._metadata([]))

    def _blocks(self, size: int, names: list[str]) -> Iterator[list[Any]]:
        self._missing = {name: missing_in(name, self._reading) for name in names}
        kinds, dates = self._reading.kinds, self._reading.dates
        readers = [
            self._source.reader(name, kinds.get(name), self._missing[name], dates.get(name))
            for name in names
        ]
        for block in self._source.blocks(size, names):
            yield [reader.read(block) for reader in readers]

    def _named(self, columns: Mapping[str, Any]) -> Any:
        """Return the frame of all rows, without columns that number them."""
        undeclared = {*columns} - {*self._reading.kinds}
        indexes = {n for n in undeclared if may_be_index(n) and _counts(columns[n])}
        for name in (self._source.nameless & undeclared) - indexes:
            raise no_name(self.title, [str(self._source.names.index(name) + 1)])
        kept = {name: part for name, part in columns.items() if name not in indexes}
        notes = [*self.notes, *_index_notes(indexes, self.title)]
        metadata = self._metadata(notes, self._left_out | indexes)
        return library().table(kept).replace_schema_metadata(metadata)

    def _metadata(self, notes: list[Note], left_out: Iterable[str] = ()) -> dict[bytes, str]:
        lost = unmet(self._missing, self._reading)
        source = self._source
        found = About(self.title, notes, sorted(left_out), sorted(lost), source.sheet)
        return {FILE: json.dumps(asdict(found))}


def _index_notes(names: Iterable[str], title: str) -> list[Note]:
    return [
        Note(
            "row numbers",
            f"Left out {name!r} of {title}: looks like a row identifier; "
            f"{undo_by_option(name, 'keep')} uses it.",
        )
        for name in sorted(names)
    ]


def _counts(column: Any) -> bool:
    """Tell whether all cells are different whole numbers."""
    if str(column.type) not in ("double", "int64") or column.null_count:
        return False
    values = floats_of(column)
    whole = bool(np.isfinite(values).all() and (np.mod(values, 1) == 0).all())
    return whole and len(np.unique(values)) == len(values)


def joined(parts: list[Any]) -> Any:
    """Return the parts of a column as one; text where one of them is text."""
    arrow = library()
    if len({part.type for part in parts}) > 1:
        parts = _alike(parts)
    if arrow.types.is_dictionary(parts[0].type) and parts[0].type.ordered:
        return arrow.chunked_array(_ordered(parts))
    column = arrow.chunked_array(parts)
    return column.unify_dictionaries() if arrow.types.is_dictionary(column.type) else column


def _alike(parts: list[Any]) -> list[Any]:
    """Return parts of several types as those of one."""
    arrow = library()
    types = [part.type for part in parts]
    if any(arrow.types.is_dictionary(dtype) or holds_text(dtype) for dtype in types):
        return [_as_words(part) for part in parts]
    if any(arrow.types.is_timestamp(dtype) for dtype in types):
        return [as_kind(days_of(part), "date") for part in parts]
    return [numbers(floats_of(part)) for part in parts]


def _as_words(part: Any) -> Any:
    """Return numbers as text, as `spelled` has them; text as it is."""
    arrow = library()
    if arrow.types.is_dictionary(part.type):
        words = part.dictionary.cast(arrow.string())
        return arrow.DictionaryArray.from_arrays(part.indices.cast(arrow.int32()), words)
    if holds_text(part.type):
        return part.cast(arrow.string()).dictionary_encode()
    words = [spelled(cell) for cell in part.to_pylist()]
    return texts(words).dictionary_encode()


def _ordered(parts: list[Any]) -> list[Any]:
    """Return parts of an ordered category with one order; without one where there is none."""
    levels: tuple[str, ...] = ()
    for part in parts:
        own = tuple(part.dictionary.to_pylist())
        merged = own if not levels else merged_levels(levels, own)
        if merged is None:
            return [_as_words(part) for part in parts]
        levels = merged
    return [coded_in(levels, part.indices, part.dictionary.to_pylist()) for part in parts]

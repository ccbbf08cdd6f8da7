"""Cells become numbers, truths, dates or words, block by block.

A block of a column of text is float64 where every cell is a number as Python spells it, and text
where one is not: a code with leading zeros, a number of too many digits, or a word. Dates and
truths are what the user calls so. A column that has a type keeps it, unless the user says
otherwise. What the user calls missing becomes a gap.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.values import formats_of
from ..encoding.codes import look_like_numbers, too_long
from ..exceptions import InputError
from ..numerics.array import Real
from ..show.notes import Note
from .arrays import coded, library, moments, numbers, plain, texts, truths
from .missing import MissingValues, is_number
from .spelling import Kind, advice, plain_number, read_as

DAY = 86_400_000_000  # microseconds
_FIRST = 64  # cells of a block that are looked at before all are
_ZERO = re.compile(r"[-+]?0[0-9]")


@dataclass(frozen=True)
class Block:
    """Some rows of a table, and where they stand."""

    table: Any  # of Arrow
    start: int = 0  # of these rows among those that ``line`` counts
    line: Callable[[int], str] | None = None  # names the place of a row in the file

    def column(self, name: str) -> Any:
        """Return the cells of a column."""
        cells = self.table.column(name)
        if not hasattr(cells, "chunks"):
            return cells
        return cells.chunk(0) if cells.num_chunks == 1 else cells.combine_chunks()


@dataclass(frozen=True)
class Spelling:
    """How the numbers and dates of a text table are spelled."""

    decimal: str = "."
    thousands: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether Python reads such numbers."""
        return self.decimal == "." and self.thousands is None


class Source:
    """A table that is open for reading."""

    title: str
    names: list[str]
    notes: list[Note]  # what was found out about the file
    spelled: Spelling | None = None  # of a table of text, whose numbers are found out
    nameless: frozenset[str] = frozenset()  # names that are made by the place of a column
    index: frozenset[str] = frozenset()  # columns that are known to number the rows
    sheet: str | None = None  # of a workbook
    done: float | None = None  # share of the file that has been read, where it is known
    table: Any  # of Arrow, where the whole is held

    def blocks(self, size: int, names: Sequence[str] | None = None) -> Iterator[Block]:
        """Yield blocks of at most ``size`` rows with the columns ``names``."""
        for start in range(0, self.table.num_rows, size):
            yield Block(self.table.slice(start, size))

    def reader(
        self, name: str, kind: Kind | None, missing: MissingValues, form: str | None
    ) -> ColumnReader:
        """Return what reads a column; ``form`` is that of its dates."""
        return ColumnReader(self, name, kind, missing, form)


class ColumnReader:
    """Reads the cells of one column.

    ``kind`` is what the user declared, or None to find out; "text" keeps the cells as they are
    (identifiers), and "outcome" is a category that may be float64 where all cells are numbers.
    """

    def __init__(
        self, source: Source, name: str, kind: Kind | None, missing: MissingValues, form: str | None
    ) -> None:
        self.name, self.kind = name, kind
        self._title, self._missing, self._form = source.title, missing, form
        self._spelled = source.spelled or Spelling()
        self._found_out = source.spelled is not None  # whether text may be numbers

    def read(self, block: Block) -> Any:
        """Return an array of the cells of a block."""
        return self.typed(block, block.column(self.name))

    def typed(self, block: Block, cells: Any) -> Any:
        """Return cells as the type of the column, or the user, says what it is."""
        types, kind = library().types, self.kind
        if types.is_dictionary(cells.type):
            values = _plain_text(cells.dictionary)
            cells = library().DictionaryArray.from_arrays(
                cells.indices, values, ordered=cells.type.ordered
            )
            if cells.type.ordered and kind in (None, "ordered") and holds_text(values.type):
                return self._ordered(cells)
            cells = cells.dictionary_decode()
        cells = _plain_text(cells)
        if types.is_null(cells.type):
            cells = cells.cast(library().float64())
        dtype = cells.type
        if holds_text(dtype):
            return self._text(block, cells)
        if kind in ("text", "category", "ordered"):
            return self._text(block, self._as_text(cells))
        if types.is_date(dtype) or types.is_timestamp(dtype):
            days = days_of(cells)
            blanked = self._missing.blank_days(days)
            return cells if blanked is days else as_kind(blanked, "date")
        if not (types.is_boolean(dtype) or holds_numbers(dtype)):
            raise self._strange(dtype)
        values = floats_of(cells)
        if kind is None and types.is_integer(dtype) and too_long(values):
            return self._as_text(cells).dictionary_encode()  # which float64 does not hold
        blanked = self._missing.blank_numbers(values)
        if kind == "boolean" and not np.isin(blanked[~np.isnan(blanked)], (0.0, 1.0)).all():
            raise InputError(
                f"{self._title}: column {self.name!r} holds other numbers than 0 and 1, and was "
                "boolean."
            )
        if kind == "boolean" or (types.is_boolean(dtype) and kind is None):
            return as_kind(blanked, "boolean")
        return cells if blanked is values and kind is None else numbers(blanked)

    def _text(self, block: Block, cells: Any) -> Any:
        kind = self.kind
        if kind == "text":
            return cells.fill_null("") if cells.null_count else cells
        finding = self._found_out and kind in (None, "outcome")
        values = self._fast(cells) if finding or kind == "number" else None
        if values is not None:
            return numbers(self._missing.blank_numbers(values))
        by_word = cells.dictionary_encode()  # one Python object per word
        words = [word.strip() for word in by_word.dictionary.to_pylist()]
        if finding or kind in ("number", "date", "boolean"):
            read = [self._value(word) for word in words]
            odd = next((k for k, value in enumerate(read) if value is None), None)
            if odd is not None and not finding:
                raise self._refusal(block, by_word, odd)
            values = np.array([*(np.nan if v is None else v for v in read), np.nan])
            codes = kind is None and (any(map(_ZERO.match, words)) or too_long(values))
            if odd is None and not codes:
                values = values[plain(by_word.indices, np.int32, -1)]
                if kind in ("date", "boolean"):
                    return as_kind(values, kind)
                return numbers(self._missing.blank_numbers(values))
        known = [None if word in self._missing else word for word in words]
        return recoded(by_word.indices, known if self._spelled.is_plain else self._respelled(known))

    def _fast(self, cells: Any) -> Any:
        """Read cells that are all plain numbers, or empty; else return None."""
        arrow, compute = library(), library("compute")
        if self._spelled.thousands is not None or not len(cells):
            return None
        if self._spelled.decimal == ",":
            if compute.any(compute.match_substring(cells, ".")).as_py():
                return None
            cells = compute.replace_substring(cells, ",", ".")
        first = {word.strip() for word in cells.slice(0, _FIRST).to_pylist() if word}
        if not all(map(is_number, first - self._missing.words)):  # a cast takes long to fail
            return None
        try:
            found = cells.cast(arrow.float64())
        except arrow.ArrowInvalid:
            gaps = compute.is_in(cells, texts(sorted(self._missing.texts)))
            if not compute.any(gaps).as_py():
                return None
            self._missing.met |= {*compute.unique(compute.filter(cells, gaps)).to_pylist()}
            try:
                cells = compute.if_else(gaps, arrow.nulls(len(cells), arrow.string()), cells)
                found = cells.cast(arrow.float64())
            except arrow.ArrowInvalid:
                return None
        values = plain(found, np.float64, np.nan)
        if np.isnan(values).sum() > found.null_count:  # such as nan(1), which is a word
            return None
        codes = compute.match_substring_regex(cells, f"^{_ZERO.pattern}")
        if self.kind is None and (compute.any(codes).as_py() or too_long(values)):
            return None
        return values

    def _value(self, word: str) -> float | None:
        """Read a word as what the column holds; None where it is not that."""
        if word in self._missing:
            return float("nan")
        kind = self.kind if self.kind in ("date", "boolean") else "number"
        if kind == "number" and not self._spelled.is_plain:
            word = self._respelled_word(word) or "a word"
            if word in self._missing:
                return float("nan")
        try:
            return None if kind == "number" and "_" in word else read_as(kind, word, self._form)
        except ValueError:
            return None

    def _respelled(self, words: list[str | None]) -> list[str | None]:
        """Spell numbers as Python does, unless Python would read others as well, such as 2.000."""
        plain = [None if word is None else self._respelled_word(word) for word in words]
        pairs = [*zip(words, plain, strict=True)]
        if self.kind is None and any(w and p is None and is_number(w) for w, p in pairs):
            return words
        again = [word if found is None else found for word, found in pairs]
        return [None if word is None or word in self._missing else word for word in again]

    def _respelled_word(self, word: str) -> str | None:
        return plain_number(word, self._spelled.decimal, self._spelled.thousands)

    def _refusal(self, block: Block, by_word: Any, word: int) -> InputError:
        """Say where a cell is not what the user called the column, and what to type."""
        row = int(np.flatnonzero(plain(by_word.indices, np.int32, -1) == word)[0])
        cell = by_word.dictionary[word].as_py()
        shown = cell.strip()
        of_column = f"{self.name}={shown}"
        missing = "Repair it, or say that it stands for a missing value: --missing"
        if self.kind == "boolean":
            wanted, remedy = "true, false, yes, no, 1 or 0", f"{missing} {of_column!r}"
        elif self.kind == "number":
            spelled = look_like_numbers([shown])
            options = advice([shown], self._spelled.decimal) if spelled else ""
            wanted, remedy = "a number", f"{missing} {short(shown)}"
            if options:
                remedy = f"Say how numbers are spelled: {options}"
        elif self._form is not None:
            wanted, remedy = f"a date of the form {self._form}", f"{missing} {of_column!r}"
        else:
            wanted = "a date of the form 2026-11-15 or 2026-11-15T12:30"
            forms = formats_of([shown])
            remedy = "Convert the column first"
            if forms:
                remedy = f"Say how it is written: --date {f'{self.name}={forms[0]}'!r}"
        place = self._title if block.line is None else block.line(block.start + row)
        return InputError(
            f"{place}: {short(cell)} in column {self.name!r} is not {wanted}. {remedy}."
        )

    def _ordered(self, cells: Any) -> Any:
        levels = [None if word is None else word.strip() for word in cells.dictionary.to_pylist()]
        known = [None if word is None or word in self._missing else word for word in levels]
        order = [*dict.fromkeys(word for word in known if word is not None)]
        return coded_in(order, cells.indices, known)

    def _as_text(self, cells: Any) -> Any:
        arrow = library()
        if arrow.types.is_floating(cells.type):  # 1.0, where pyarrow writes 1
            values = cells.to_numpy(zero_copy_only=False)  # float32 prints fewer digits
            there = cells.is_valid().to_pylist()
            return texts(
                [str(v) if known else None for v, known in zip(values, there, strict=True)]
            )
        try:
            return cells.cast(arrow.string())
        except arrow.ArrowNotImplementedError:
            raise self._strange(cells.type) from None

    def _strange(self, dtype: Any) -> InputError:
        return InputError(
            f"{self._title}: column {self.name!r} has the type {dtype}, which is neither a number, "
            f"text nor a date. Convert it, or leave it out with --drop {self.name!r}."
        )


def as_kind(values: Real, kind: str) -> Any:
    """Return days since 1970-01-01 as dates, zeros and ones as truths: NaN is a gap."""
    if kind == "boolean":
        return truths(values)
    gaps = np.isnan(values)
    return moments(np.round(np.where(gaps, 0.0, values) * DAY).astype(np.int64), gaps)


def recoded(indices: Any, words: Iterable[str | None]) -> Any:
    """Return text by places in a list of words that may hold one twice, and None for gaps."""
    place: dict[str, int] = {}
    new = [-1 if word is None else place.setdefault(word, len(place)) for word in words]
    places = np.array([*new, -1], dtype=np.int32)
    return coded(places[plain(indices, np.int32, -1)], [*place])


def coded_in(levels: Sequence[str], indices: Any, words: Iterable[str | None]) -> Any:
    """Return an ordered category of ``levels``, lowest first; ``indices`` are places in words."""
    place: dict[str | None, int] = {level: k for k, level in enumerate(levels)}
    places = np.array([*(place.get(word, -1) for word in words), -1], dtype=np.int32)
    found = places[plain(indices.cast(library().int32()), np.int32, -1)]
    return coded(found, levels, ordered=True)


def holds_text(dtype: Any) -> bool:
    """Whether a type of Arrow holds text."""
    return str(dtype) in ("string", "large_string", "string_view")


def holds_numbers(dtype: Any) -> bool:
    """Whether a type of Arrow holds numbers."""
    types = library().types
    return bool(types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype))


def floats_of(cells: Any) -> Real:
    """Return numbers as float64, NaN where there is none; without a Python object per cell."""
    arrow = library()
    if arrow.types.is_boolean(cells.type):
        cells = cells.cast(arrow.uint8())
    try:
        cells = cells.cast(arrow.float64(), safe=False)
    except arrow.ArrowNotImplementedError:
        cells = arrow.array([None if c is None else float(c) for c in cells.to_pylist()])
    return plain(cells, np.float64, np.nan)


def days_of(cells: Any) -> Real:
    """Return dates as days since 1970-01-01, in UTC, NaN where there is none."""
    arrow = library()
    zone = getattr(cells.type, "tz", None)
    moments = cells.cast(arrow.timestamp("us", zone), safe=False)
    return floats_of(moments.cast(arrow.int64())) / DAY


def _plain_text(cells: Any) -> Any:
    """Return text as plain strings: Arrow computes little with views of strings."""
    if str(cells.type) != "string_view":
        return cells
    arrow = library()
    try:
        return cells.cast(arrow.string())
    except arrow.ArrowNotImplementedError:
        return arrow.array(cells.to_pylist(), arrow.string())


def short(text: str, limit: int = 60) -> str:
    """Quote a text, cut where it is long."""
    return repr(text if len(text) <= limit else text[: limit - 3] + "...")

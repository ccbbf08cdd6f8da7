"""Cells of text become numbers, truths, dates or words, block by block.

A block of a column is float64 where every cell is a number as Python spells it, and text where one
is not: a code with leading zeros, a number of too many digits, or a word. Dates and truths are what
the user calls so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..numerics.array import Real
from ..show.notes import Note
from . import columns as spelling
from .arrays import coded, library, moments, numbers, plain, texts, truths
from .columns import Kind
from .reading import MissingValues, is_number

DAY = 86_400_000_000  # microseconds
_ZERO = re.compile(r"[-+]?0[0-9]")


def newlines(cell: str) -> int:
    """Count the ends of lines in a cell."""
    return len(re.findall(r"\r\n|\r|\n", cell))


@dataclass(frozen=True)
class Block:
    """Some rows of a text table, and where they stand."""

    title: str
    line: int  # of the first row of ``table``
    table: Any  # columns of text
    start: int
    size: int
    whole_lines: bool = True  # whether every row is one line

    def __len__(self) -> int:
        return min(self.size, len(self.table) - self.start)

    def column(self, name: str) -> Any:
        """Return the cells of a column."""
        cells = self.table[name].slice(self.start, self.size)
        return cells.chunk(0) if cells.num_chunks == 1 else cells.combine_chunks()

    def place(self, row: int) -> str:
        """Name the line of a row, in a message."""
        row += self.start
        more = 0
        if not self.whole_lines:
            before = (part.slice(0, row).to_pylist() for part in self.table.columns)
            more = sum(newlines(cell) for part in before for cell in part if cell)
        return f"{self.title}, line {self.line + row + more}"


@dataclass(frozen=True)
class Spelling:
    """How the numbers and dates of a text table are spelled."""

    decimal: str = "."
    thousands: str | None = None
    date: str | None = None  # a format; None: ISO

    @property
    def is_plain(self) -> bool:
        """Whether Python reads such numbers."""
        return self.decimal == "." and self.thousands is None


class TextSource:
    """A table of text: what gives blocks of cells, and how their numbers are spelled."""

    is_text = True
    title: str
    names: list[str]
    nameless: set[str]  # names that are made by the place of a column
    notes: list[Note]  # what was found out about the file
    spelled: Spelling
    done: float | None = None  # share of the file that has been read, where it is known
    index: frozenset[str] = frozenset()  # columns that are known to number the rows

    def reader(
        self, name: str, kind: Kind | None, missing: MissingValues, form: str | None
    ) -> CellReader:
        """Return what reads a column; ``form`` is that of its dates."""
        return CellReader(name, kind, missing, replace(self.spelled, date=form))


class CellReader:
    """Reads the cells of one column.

    ``kind`` is what the user declared, or None to find out; "text" keeps the cells as they are
    (identifiers), and "outcome" is a category that may be float64 where all cells are numbers.
    """

    def __init__(
        self, name: str, kind: Kind | None, missing: MissingValues, spelled: Spelling
    ) -> None:
        self.name, self.kind = name, kind
        self._missing, self._spelled = missing, spelled

    def read(self, block: Block) -> Any:
        """Return an array of the cells of a block."""
        cells = block.column(self.name)
        if self.kind == "text":
            return cells
        if self.kind in ("date", "boolean"):
            return self._told(block, cells, self.kind)
        if self.kind not in ("category", "ordered"):
            values = self._fast(cells)
            if values is not None:
                return numbers(self._missing.blank_numbers(values))
        return self._by_word(block, cells)

    def _fast(self, cells: Any) -> Any:
        """Read cells that are all plain numbers, or empty; else return None."""
        arrow, compute = library(), library("compute")
        if self._spelled.thousands is not None or not len(cells):
            return None
        if self._spelled.decimal == ",":
            if compute.any(compute.match_substring(cells, ".")).as_py():
                return None
            cells = compute.replace_substring(cells, ",", ".")
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
        if self.kind is None and (_has_zeros(cells) or spelling.too_long(values)):
            return None
        return values

    def _by_word(self, block: Block, cells: Any) -> Any:
        """Read cells by their different words: numbers where all are, else text."""
        by_word = cells.dictionary_encode()
        words = [word.strip() for word in by_word.dictionary.to_pylist()]
        if self.kind not in ("category", "ordered"):
            found = [self._number(word) for word in words]
            odd = next((k for k, number in enumerate(found) if number is None), None)
            if odd is not None and self.kind == "number":
                raise self._no_number(block, *_first(by_word, odd))
            values = np.array([np.nan if n is None else n for n in found], dtype=np.float64)
            codes = self.kind is None and (
                any(map(_ZERO.match, words)) or spelling.too_long(values)
            )
            if odd is None and not codes:
                places = plain(by_word.indices, np.int32, -1)
                return numbers(self._missing.blank_numbers(values[places]))
        known = [None if word in self._missing else word for word in words]
        return recoded(by_word.indices, known if self._spelled.is_plain else self._respelled(known))

    def _number(self, cell: str) -> float | None:
        if cell in self._missing:
            return float("nan")
        if not self._spelled.is_plain:
            cell = self._plain(cell) or "a word"
            if cell in self._missing:
                return float("nan")
        try:
            return None if "_" in cell else float(cell)
        except ValueError:
            return None

    def _respelled(self, words: list[str | None]) -> list[str | None]:
        """Spell numbers as Python does, unless Python would read others as well, such as 2.000."""
        plain = [None if word is None else self._plain(word) for word in words]
        pairs = [*zip(words, plain, strict=True)]
        if self.kind is None and any(w and p is None and is_number(w) for w, p in pairs):
            return words
        again = [word if found is None else found for word, found in pairs]
        return [None if word is None or word in self._missing else word for word in again]

    def _plain(self, cell: str) -> str | None:
        return spelling.plain_number(cell, self._spelled.decimal, self._spelled.thousands)

    def _told(self, block: Block, cells: Any, kind: Kind) -> Any:
        """Read dates or truths, as the user calls them."""
        by_word = cells.dictionary_encode()
        values: list[float] = []
        for k, cell in enumerate(by_word.dictionary.to_pylist()):
            text = cell.strip()
            try:
                gap = text in self._missing
                values.append(np.nan if gap else spelling.read_as(kind, text, self._spelled.date))
            except ValueError:
                refuse = self._no_date if kind == "date" else self._no_truth
                raise refuse(block, *_first(by_word, k)) from None
        return as_kind(np.array([*values, np.nan])[plain(by_word.indices, np.int32, -1)], kind)

    def _no_date(self, block: Block, row: int, cell: str) -> InputError:
        wanted = "date of the form 2026-11-15 or 2026-11-15T12:30"
        remedy = "Convert the column first"
        if self._spelled.date is not None:
            wanted = f"date of the form {self._spelled.date}"
            remedy = "Repair it, or say that it stands for a missing value: --missing"
            remedy += f" {f'{self.name}={cell.strip()}'!r}"
        else:
            forms = spelling.formats_of([cell.strip()])
            if forms:
                remedy = f"Say how it is written: --date {f'{self.name}={forms[0]}'!r}"
        return InputError(
            f"{block.place(row)}: {cell!r} in column {self.name!r} is not a {wanted}. {remedy}."
        )

    def _no_truth(self, block: Block, row: int, cell: str) -> InputError:
        return InputError(
            f"{block.place(row)}: {cell!r} in column {self.name!r} is not true, false, yes, no, "
            "1 or 0. Repair it, or say that it stands for a missing value: --missing "
            f"{f'{self.name}={cell.strip()}'!r}."
        )

    def _no_number(self, block: Block, row: int, cell: str) -> InputError:
        shown = cell.strip()
        spelled = spelling.look_like_numbers([shown])
        options = spelling.advice([shown], self._spelled.decimal) if spelled else ""
        remedy = f"Repair it, or say that it stands for a missing value: --missing {short(shown)}"
        if options:
            remedy = f"Say how numbers are spelled: {options}"
        return InputError(
            f"{block.place(row)}: {short(cell)} in column {self.name!r} is not a number. {remedy}."
        )


def _has_zeros(cells: Any) -> bool:
    """Whether a number begins with a zero and a further digit, as codes do."""
    compute = library("compute")
    for mark in ("0", "-0"):
        begins = compute.starts_with(cells, mark)
        if compute.any(begins).as_py():
            some = compute.filter(cells, begins)
            if compute.any(compute.match_substring_regex(some, f"^{mark}[0-9]")).as_py():
                return True
    return False


def _first(by_word: Any, word: int) -> tuple[int, str]:
    """Return the first row that holds a word, and the word as it stands there."""
    rows = np.flatnonzero(plain(by_word.indices, np.int32, -1) == word)
    return int(rows[0]), by_word.dictionary[word].as_py()


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


def short(text: str, limit: int = 60) -> str:
    """Quote a text, cut where it is long."""
    return repr(text if len(text) <= limit else text[: limit - 3] + "...")

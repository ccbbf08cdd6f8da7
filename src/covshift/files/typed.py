"""Columns that have a type, of Parquet, Arrow, JSON, Stata and SPSS files, as the user wants them.

What needs no change keeps its type. What the user calls missing becomes a gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..numerics.array import Real
from ..show.notes import Note
from .arrays import coded, library, numbers, plain, texts
from .cells import DAY, as_kind, recoded
from .columns import Kind, read_as
from .reading import MissingValues


class TypedSource:
    """A table whose columns have types, and its rows in blocks."""

    is_text = False
    title: str
    names: list[str]
    notes: list[Note]  # what was found out about the file
    nameless: frozenset[str] = frozenset()
    done: float | None = None
    table: Any  # of Arrow

    @property
    def index(self) -> set[str]:
        """Columns that are known to number the rows."""
        return set()

    def blocks(self, size: int, names: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield tables of at most ``size`` rows with the columns ``names``."""
        for start in range(0, self.table.num_rows, size):
            yield self.table.slice(start, size)

    def reader(
        self, name: str, kind: Kind | None, missing: MissingValues, form: str | None
    ) -> TypedReader:
        """Return what reads a column; ``form`` is that of dates written as text."""
        return TypedReader(self.title, name, kind, missing, form)


class TypedReader:
    """Reads the blocks of one column."""

    def __init__(
        self, title: str, name: str, kind: Kind | None, missing: MissingValues, form: str | None
    ) -> None:
        self._title, self.name, self.kind = title, name, kind
        self._missing, self._form = missing, form

    def read(self, block: Any) -> Any:
        """Return the cells of a block, of a block."""
        cells = block.column(self.name)
        return self.typed(cells.combine_chunks() if hasattr(cells, "chunks") else cells)

    def typed(self, cells: Any) -> Any:
        """Return cells as the type of the column, or the user, says what it is."""
        types = library().types
        if types.is_dictionary(cells.type):
            dtype = cells.type
            ordered = (
                dtype.ordered and self.kind in (None, "ordered") and holds_text(dtype.value_type)
            )
            values = _plain(cells.dictionary)
            cells = library().DictionaryArray.from_arrays(cells.indices, values)
            if ordered:
                return self._ordered(cells)
            cells = cells.dictionary_decode()
        cells = _plain(cells)
        if types.is_null(cells.type):
            cells = cells.cast(library().float64())
        kind, dtype = self.kind, cells.type
        if kind in ("text", "category", "ordered") or holds_text(dtype):
            return self._text(cells)
        if types.is_date(dtype) or types.is_timestamp(dtype):
            days = days_of(cells)
            blanked = self._missing.blank_days(days)
            return cells if blanked is days else as_kind(blanked, "date")
        if not (types.is_boolean(dtype) or holds_numbers(dtype)):
            raise self._strange(dtype)
        values = floats_of(cells)
        blanked = self._missing.blank_numbers(values)
        truths = types.is_boolean(dtype) and kind is None
        if kind == "boolean" and not np.isin(blanked[~np.isnan(blanked)], (0.0, 1.0)).all():
            raise InputError(
                f"{self._title}: column {self.name!r} holds other numbers than 0 and 1, and was "
                "boolean."
            )
        if truths or kind == "boolean":
            return as_kind(blanked, "boolean")
        return cells if blanked is values and kind is None else numbers(blanked)

    def _ordered(self, cells: Any) -> Any:
        levels = [None if word is None else word.strip() for word in cells.dictionary.to_pylist()]
        known = [None if word is None or word in self._missing else word for word in levels]
        order = [*dict.fromkeys(word for word in known if word is not None)]
        return coded_in(order, cells.indices, known)

    def _text(self, cells: Any) -> Any:
        if self.kind == "text":
            return texts([word or "" for word in self._spelled(cells).to_pylist()])
        try:
            by_word = cells.dictionary_encode()  # one Python object per word
        except library().ArrowNotImplementedError:
            raise self._strange(cells.type) from None
        words = [word.strip() for word in self._spelled(by_word.dictionary).to_pylist()]
        known = [None if word in self._missing else word for word in words]
        if self.kind in ("number", "date", "boolean"):
            found = [self._number(word, self.kind) for word in known]
            values = np.array([*found, np.nan])[plain(by_word.indices, np.int32, -1)]
            return numbers(values) if self.kind == "number" else as_kind(values, self.kind)
        return recoded(by_word.indices, known)

    def _spelled(self, cells: Any) -> Any:
        arrow = library()
        if arrow.types.is_floating(cells.type):  # 1.0, where pyarrow writes 1
            numbers = cells.to_numpy(zero_copy_only=False)  # float32 prints fewer digits
            words = [
                str(number) if known else None
                for number, known in zip(numbers, cells.is_valid().to_pylist(), strict=True)
            ]
            return arrow.array(words, arrow.string())
        try:
            return cells.cast(arrow.string())
        except arrow.ArrowNotImplementedError:
            raise self._strange(cells.type) from None

    def _number(self, cell: str | None, kind: Kind) -> float:
        try:
            return np.nan if cell is None else read_as(kind, cell, self._form)
        except ValueError:
            wanted = {"date": f"date of the form {self._form or '2026-11-15'}", "number": "number"}
            raise InputError(
                f"{self._title}: {cell!r} in column {self.name!r} is not a "
                f"{wanted.get(kind, 'boolean')}. Repair it first."
            ) from None

    def _strange(self, dtype: Any) -> InputError:
        return InputError(
            f"{self._title}: column {self.name!r} has the type {dtype}, which is neither a number, "
            f"text nor a date. Convert it, or leave it out with --drop {self.name!r}."
        )


def holds_text(dtype: Any) -> bool:
    """Whether a type of Arrow holds text."""
    return str(dtype) in ("string", "large_string", "string_view")


def holds_numbers(dtype: Any) -> bool:
    """Whether a type of Arrow holds numbers."""
    types = library().types
    return bool(types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype))


def coded_in(levels: Sequence[str], indices: Any, words: Iterable[str | None]) -> Any:
    """Return an ordered category of ``levels``, lowest first; ``indices`` are places in words."""
    place: dict[str | None, int] = {level: k for k, level in enumerate(levels)}
    places = np.array([*(place.get(word, -1) for word in words), -1], dtype=np.int32)
    found = places[plain(indices.cast(library().int32()), np.int32, -1)]
    return coded(found, levels, ordered=True)


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


def _plain(cells: Any) -> Any:
    """Return text as plain strings: Arrow computes little with views of strings."""
    if str(cells.type) != "string_view":
        return cells
    arrow = library()
    try:
        return cells.cast(arrow.string())
    except arrow.ArrowNotImplementedError:
        return arrow.array(cells.to_pylist(), arrow.string())

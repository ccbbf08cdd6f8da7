"""Parquet tables: typed columns in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from .._parquet import ParquetFiles
from .._types import Real
from ..exceptions import InputError
from .columns import LONG_NUMBERS, Column, Doubt, Kind, days_of, doubt_of_text
from .text import ReadOptions, title_of


class ParquetTable:
    """The columns of a Parquet file, and its rows in blocks."""

    def __init__(self, source: str, file: BinaryIO, reading: ReadOptions) -> None:
        self.title = title_of(source)
        self._missing = reading.missing
        self._files = ParquetFiles(
            file if source == "-" else source,
            title=self.title,
            extra="cli",
            needed_by="Reading Parquet files",
        )
        self._arrow = self._files.arrow
        self._is = self._arrow.types
        self.names = self._files.names

    def blocks(self, size: int) -> Iterator[Any]:
        """Yield record batches of at most ``size`` rows."""
        return self._files.blocks(size)

    def column(self, batch: Any, name: str, kind: Kind | None) -> Column:
        """Return one column of a block as what its type, or the user, says it is."""
        cells = batch.column(name)
        if self._is.is_dictionary(cells.type):
            cells = cells.dictionary_decode()
        dtype = cells.type
        if kind in ("text", "category") or self._holds_text(dtype):
            return self._as_text(cells, name, kind)
        if self._is.is_date(dtype) or self._is.is_timestamp(dtype):
            doubt = None if kind == "date" else Doubt("dates", "holds dates or times")
            return Column(name, "date", self._days(cells), doubt)
        if self._holds_numbers(dtype):
            return self._as_numbers(cells, name, kind)
        raise self._strange(name, dtype)

    def _strange(self, name: str, dtype: Any) -> InputError:
        return InputError(
            f"{self.title}: column {name!r} has the type {dtype}, which is neither number, text "
            f"nor date. Convert it, or leave it out with --drop {name!r}."
        )

    def _holds_text(self, dtype: Any) -> bool:
        return str(dtype) in ("string", "large_string", "string_view")

    def _holds_numbers(self, dtype: Any) -> bool:
        is_a = self._is
        return any(
            is_kind(dtype)
            for is_kind in (is_a.is_integer, is_a.is_floating, is_a.is_decimal, is_a.is_boolean)
        )

    def _days(self, cells: Any) -> Real:
        """Days since 1970-01-01, in UTC."""
        zone = getattr(cells.type, "tz", None)
        moments = cells.cast(self._arrow.timestamp("us", zone), safe=False)
        return _floats(moments.cast(self._arrow.int64())) / 86_400e6

    def _as_numbers(self, cells: Any, name: str, kind: Kind | None) -> Column:
        values = _floats(cells)
        whole = self._is.is_integer(cells.type)
        large = whole and (np.abs(values[np.isfinite(values)]) > 2.0**53).any()
        return Column(name, "number", values, LONG_NUMBERS if large and kind is None else None)

    def _as_text(self, column: Any, name: str, kind: Kind | None) -> Column:
        is_text = self._holds_text(column.type)
        cells = self._texts(column, name)
        if kind != "text":
            cells = [None if cell is None else cell.strip() for cell in cells]
            cells = [None if cell in self._missing else cell for cell in cells]
        if kind in ("number", "date"):
            return Column(name, kind, np.array([self._number(c, name, kind) for c in cells]))
        values = np.empty(len(cells), dtype=object)
        values[:] = ["" if cell is None and kind == "text" else cell for cell in cells]
        doubt = doubt_of_text(values) if is_text and kind is None else None
        return Column(name, "text" if kind == "text" else "category", values, doubt)

    def _texts(self, column: Any, name: str) -> list[str | None]:
        if self._is.is_floating(column.type):  # 1.0, where pyarrow writes 1
            numbers = column.to_numpy(zero_copy_only=False)
            return [
                str(v) if there else None
                for v, there in zip(numbers, column.is_valid().to_pylist(), strict=True)
            ]
        try:
            texts: list[str | None] = column.cast(self._arrow.string()).to_pylist()
        except self._arrow.ArrowNotImplementedError:
            raise self._strange(name, column.type) from None
        return texts

    def _number(self, cell: str | None, name: str, kind: Kind) -> float:
        if cell is None:
            return float("nan")
        try:
            return days_of(cell) if kind == "date" else float(cell)
        except ValueError:
            what = "date of the form 2026-11-15" if kind == "date" else "number"
            raise InputError(
                f"{self.title}: {cell!r} in column {name!r} is not a {what}. Repair it first."
            ) from None


def _floats(cells: Any) -> Real:
    return np.array([np.nan if v is None else v for v in cells.to_pylist()], dtype=np.float64)

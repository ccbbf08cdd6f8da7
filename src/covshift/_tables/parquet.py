"""Parquet tables, through polars: typed columns in blocks of rows."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from .._optional import import_extra
from ..exceptions import InputError
from .columns import LONG_NUMBERS, Column, Doubt, Kind, days_of, doubt_of_text
from .text import ReadOptions, title_of


class ParquetTable:
    """The columns of a Parquet file, and its rows in blocks."""

    def __init__(self, source: str, file: BinaryIO, reading: ReadOptions) -> None:
        self.title = title_of(source)
        self._missing = reading.missing
        self._polars: Any = import_extra("polars", extra="cli", needed_by="Reading Parquet files")
        # A pipe cannot be searched, and Parquet keeps its index at the end.
        held: Any = io.BytesIO(file.read()) if source == "-" else source
        try:
            self._frame = self._polars.scan_parquet(held, glob=False)
            self._schema = dict(self._frame.collect_schema())
        except Exception as error:  # polars raises many kinds for a damaged file
            raise self._damaged(error) from None
        self.names = [str(name) for name in self._schema]

    def blocks(self, size: int) -> Iterator[Any]:
        """Yield polars frames of at most ``size`` rows."""
        start = 0
        while True:
            try:
                frame = self._frame.slice(start, size).collect()
            except Exception as error:
                raise self._damaged(error) from None
            if frame.height:
                yield frame
            if frame.height < size:
                return
            start += size

    def column(self, frame: Any, name: str, kind: Kind | None) -> Column:
        """Return one column of a block as what its type, or the user, says it is."""
        series, dtype = frame[name], self._schema[name]
        pl = self._polars
        if kind in ("text", "category") or dtype in (pl.String, pl.Categorical, pl.Enum):
            return self._as_text(series, name, kind)
        if dtype in (pl.Date, pl.Datetime):
            values = series.cast(pl.Datetime("us")).cast(pl.Int64).cast(pl.Float64) / 86_400e6
            doubt = None if kind == "date" else Doubt("dates", "holds dates or times")
            return Column(name, "date", _floats(values), doubt)
        if dtype.is_numeric() or dtype == pl.Boolean:
            return self._as_numbers(series, name, kind)
        raise InputError(
            f"{self.title}: column {name!r} has the type {dtype}, which is neither number, text "
            f"nor date. Convert it, or leave it out with --drop {name!r}."
        )

    def _as_numbers(self, series: Any, name: str, kind: Kind | None) -> Column:
        whole = series.dtype.is_integer()
        values = _floats(series.cast(self._polars.Float64))
        large = whole and (np.abs(values[np.isfinite(values)]) > 2.0**53).any()
        return Column(name, "number", values, LONG_NUMBERS if large and kind is None else None)

    def _as_text(self, series: Any, name: str, kind: Kind | None) -> Column:
        is_text = series.dtype in (self._polars.String, self._polars.Categorical, self._polars.Enum)
        cells = series.cast(self._polars.String).to_list()
        if kind != "text":
            cells = [None if cell is None else cell.strip() for cell in cells]
            cells = [None if cell in self._missing else cell for cell in cells]
        if kind in ("number", "date"):
            return Column(name, kind, np.array([self._number(c, name, kind) for c in cells]))
        values = np.empty(len(cells), dtype=object)
        values[:] = ["" if cell is None and kind == "text" else cell for cell in cells]
        doubt = doubt_of_text(values) if is_text and kind is None else None
        return Column(name, "text" if kind == "text" else "category", values, doubt)

    def _number(self, cell: str | None, name: str, kind: Kind) -> float:
        if cell is None:
            return float("nan")
        try:
            return days_of(cell) if kind == "date" else float(cell)
        except ValueError:
            what = "date of the form 2026-11-15" if kind == "date" else "number"
            raise InputError(
                f"{self.title}: {cell!r} in column {name!r} is no {what}. Repair it first."
            ) from None

    def _damaged(self, error: Exception) -> InputError:
        reason = str(error).partition("\n")[0][:200]
        return InputError(f"{self.title} is not a readable Parquet file: {reason}.")


def _floats(series: Any) -> Any:
    return np.array([np.nan if v is None else v for v in series.to_list()], dtype=np.float64)

"""Arrow IPC tables (Feather): files, which are read from disk in pieces, and streams."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..numerics.array import Real
from ..numerics.progress import import_extra
from ..show.notes import Note
from . import columns as spelling
from .columns import EXACT, LONG_NUMBERS, Column, Kind, floats, objects
from .columns import days_of as days_of
from .missing import MissingValues, missing_in
from .missing import ReadOptions as ReadOptions
from .missing import title_of as title_of
from .parquet_rows import ParquetFiles


class ArrowTable:
    """The columns of an Arrow file or stream, and its rows in blocks."""

    is_text = False

    def __init__(self, title: str, file: BinaryIO, form: str, reading: ReadOptions) -> None:
        self.title, self._reading = title, reading
        self.notes: list[Note] = []
        needed_by = "Reading Arrow files"
        self._arrow: Any = import_extra("pyarrow", extra="cli", needed_by=needed_by)
        ipc: Any = import_extra("pyarrow.ipc", extra="cli", needed_by=needed_by)
        try:
            if form == "Feather 1":
                feather = import_extra("pyarrow.feather", extra="cli", needed_by=needed_by)
                table = feather.read_table(self._arrow.BufferReader(file.read()))
                schema, self._batches = table.schema, iter(table.to_batches())
            elif form == "Arrow stream":
                stream = ipc.open_stream(file)
                schema, self._batches = stream.schema, iter(stream)
            else:
                opened = ipc.open_file(file)
                schema = opened.schema
                self._batches = map(opened.get_batch, range(opened.num_record_batches))
        except (self._arrow.ArrowException, OSError, ValueError) as error:
            raise self._damaged(error) from None
        self._columns = ArrowColumns(self._arrow, title)
        self.names = [str(name) for name in schema.names]
        repeated = sorted({name for name in self.names if self.names.count(name) > 1})
        if repeated:
            raise InputError(
                f"{title} has more than one column {', '.join(map(repr, repeated[:5]))}. Rename or "
                "remove the repeated columns."
            )
        self.index = index_columns(schema) & {*self.names}

    def blocks(self, size: int, names: list[str] | None = None) -> Iterator[Any]:
        """Yield record batches of at most ``size`` rows."""
        try:
            for batch in self._batches:
                for start in range(0, batch.num_rows, size):
                    yield batch.slice(start, size)
        except (self._arrow.ArrowException, OSError) as error:
            raise self._damaged(error) from None

    def column(self, batch: Any, name: str, kind: Kind | None, missing: Any = None) -> Column:
        """Return one column of a block as what its type, or the user, says it is."""
        missing = missing_in(name, self._reading) if missing is None else missing
        form = self._reading.dates.get(name)
        return self._columns.column(batch.column(name), name, kind, missing, form)

    def _damaged(self, error: Exception) -> InputError:
        reason = str(error).partition("\n")[0][:200].rstrip(".")
        return InputError(f"{self.title} is not a readable Arrow file: {reason}.")


# Columns of Arrow (and so of Parquet): what their types say they are.
#
# Text is "category" here: what it may be besides is found when all blocks are there.


def index_columns(schema: Any) -> set[str]:
    """Columns in which pandas kept the index of a data frame."""
    try:
        kept = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    except ValueError:
        return set()
    return {name for name in kept.get("index_columns", []) if isinstance(name, str)}


class ArrowColumns:
    """Columns of record batches as what their types, or the user, say they are."""

    def __init__(self, arrow: Any, title: str) -> None:
        self._arrow, self._is, self._title = arrow, arrow.types, title

    def column(
        self, cells: Any, name: str, kind: Kind | None, missing: MissingValues, form: str | None
    ) -> Column:
        """Return one column; ``form`` is the format of its dates, where they are text."""
        levels: tuple[str, ...] = ()
        if self._is.is_dictionary(cells.type):
            dtype = cells.type
            if dtype.ordered and kind in (None, "ordered") and self._holds_text(dtype.value_type):
                levels = self._levels(cells, missing)
            values = self._plain(cells.dictionary)
            cells = self._arrow.DictionaryArray.from_arrays(cells.indices, values)
            cells = cells.dictionary_decode()
        cells = self._plain(cells)
        dtype = cells.type
        if self._is.is_null(dtype):
            cells = cells.cast(self._arrow.float64())
            dtype = cells.type
        if kind in ("text", "category", "ordered") or self._holds_text(dtype):
            return self._as_text(cells, name, kind, missing, form, levels)
        if self._is.is_date(dtype) or self._is.is_timestamp(dtype):
            return Column(name, "date", missing.blank_days(self._days(cells)))
        if self._is.is_boolean(dtype):
            values = missing.blank_numbers(self._floats(cells))
            words = ("false", "true") if kind is None else ()
            return Column(name, kind or "boolean", values, levels=words)
        if self._holds_numbers(dtype):
            return self._as_numbers(cells, name, kind, missing)
        raise self._strange(name, dtype)

    def _plain(self, cells: Any) -> Any:
        """Return text as plain strings: Arrow computes little with views of strings."""
        if str(cells.type) != "string_view":
            return cells
        try:
            return cells.cast(self._arrow.string())
        except self._arrow.ArrowNotImplementedError:
            return self._arrow.array(cells.to_pylist(), self._arrow.string())

    def _strange(self, name: str, dtype: Any) -> InputError:
        return InputError(
            f"{self._title}: column {name!r} has the type {dtype}, which is neither number, text "
            f"nor date. Convert it, or leave it out with --drop {name!r}."
        )

    def _holds_text(self, dtype: Any) -> bool:
        return str(dtype) in ("string", "large_string", "string_view")

    def _holds_numbers(self, dtype: Any) -> bool:
        is_a = self._is
        return any(
            is_kind(dtype) for is_kind in (is_a.is_integer, is_a.is_floating, is_a.is_decimal)
        )

    def _levels(self, cells: Any, missing: MissingValues) -> tuple[str, ...]:
        texts = [text.strip() for text in cells.dictionary.to_pylist() if text is not None]
        return tuple(dict.fromkeys(text for text in texts if text not in missing))

    def _days(self, cells: Any) -> Real:
        """Days since 1970-01-01, in UTC."""
        zone = getattr(cells.type, "tz", None)
        moments = cells.cast(self._arrow.timestamp("us", zone), safe=False)
        return self._floats(moments.cast(self._arrow.int64())) / 86_400e6

    def _floats(self, cells: Any) -> Real:
        """Numbers as float64, NaN where there is none; without a Python object per cell."""
        if self._is.is_boolean(cells.type):
            cells = cells.cast(self._arrow.uint8())
        try:
            cells = cells.cast(self._arrow.float64(), safe=False)
        except self._arrow.ArrowNotImplementedError:
            return floats([np.nan if value is None else value for value in cells.to_pylist()])
        return np.asarray(cells.to_numpy(zero_copy_only=False), dtype=np.float64)

    def _as_numbers(
        self, cells: Any, name: str, kind: Kind | None, missing: MissingValues
    ) -> Column:
        values = missing.blank_numbers(self._floats(cells))
        whole = self._is.is_integer(cells.type)
        large = whole and (np.abs(values[np.isfinite(values)]) > EXACT).any()
        if kind == "boolean" and not np.isin(values[~np.isnan(values)], (0.0, 1.0)).all():
            raise InputError(
                f"{self._title}: column {name!r} holds other numbers than 0 and 1, and was boolean."
            )
        return Column(name, kind or "number", values, LONG_NUMBERS if large and not kind else None)

    def _as_text(
        self,
        cells: Any,
        name: str,
        kind: Kind | None,
        missing: MissingValues,
        form: str | None,
        levels: tuple[str, ...],
    ) -> Column:
        if kind == "text":
            texts = self._texts(cells, name)
            return Column(name, kind, objects(["" if text is None else text for text in texts]))
        try:
            coded = cells.dictionary_encode()  # one Python object per level
        except self._arrow.ArrowNotImplementedError:
            raise self._strange(name, cells.type) from None
        stripped = [
            text.strip() for text in self._texts(coded.dictionary, name) if text is not None
        ]
        known = [None if text in missing else text for text in stripped]
        place = coded.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)
        if kind in ("number", "date", "boolean"):
            numbers = [self._number(text, name, kind, form) for text in known]
            return Column(name, kind, floats([*numbers, np.nan])[place])
        values: NDArray[Any] = objects([*known, None])[place]
        return Column(name, "ordered" if levels else kind or "category", values, None, levels)

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

    def _number(self, cell: str | None, name: str, kind: Kind, form: str | None) -> float:
        if cell is None:
            return float("nan")
        try:
            if kind == "boolean":
                return spelling.truth_of(cell)
            return days_of(cell, form) if kind == "date" else float(cell)
        except ValueError:
            wanted = {"date": f"date of the form {form or '2026-11-15'}", "number": "number"}
            raise InputError(
                f"{self._title}: {cell!r} in column {name!r} is not a "
                f"{wanted.get(kind, 'boolean')}. Repair it first."
            ) from None


# Parquet tables, one file or a folder of them: typed columns in blocks of rows.


class ParquetTable:
    """The columns of Parquet files, and their rows in blocks; a pipe is given as ``file``."""

    is_text = False

    def __init__(self, source: str, file: BinaryIO | None, reading: ReadOptions) -> None:
        self.title = title_of(source)
        self.notes: list[Note] = []
        self._reading = reading
        self._files = ParquetFiles(
            source if file is None else file,
            title=self.title,
            extra="cli",
            needed_by="Reading Parquet files",
            partitioning="hive" if Path(source).is_dir() else None,
        )
        self._columns = ArrowColumns(self._files.arrow, self.title)
        self.names = self._files.names
        self.index = index_columns(self._files.schema) & {*self.names}

    def blocks(self, size: int, names: list[str] | None = None) -> Iterator[Any]:
        """Yield record batches of at most ``size`` rows, with some of the columns."""
        return self._files.blocks(size, names)

    def column(self, batch: Any, name: str, kind: Kind | None, missing: Any = None) -> Column:
        """Return one column of a block as what its type, or the user, says it is."""
        missing = missing_in(name, self._reading) if missing is None else missing
        form = self._reading.dates.get(name)
        return self._columns.column(batch.column(name), name, kind, missing, form)

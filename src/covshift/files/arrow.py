"""Parquet and Arrow files (Feather), through pyarrow: typed columns, and their rows in blocks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..numerics.array import Real
from ..numerics.progress import import_extra
from ..show.notes import Note
from .columns import EXACT, LONG_NUMBERS, Column, Kind, floats, objects, read_as
from .reading import MissingValues, ReadOptions, title_of


class ArrowFiles:
    """One file, a folder of them, a list of paths, or an open stream; damage is an `InputError`.

    ``form`` is "Parquet", "Arrow", "Arrow stream" or "Feather 1", the last three of an open file;
    ``title`` names them in messages, ``extra`` is the extra of covshift that brings pyarrow;
    ``partitioning`` "hive" makes columns of folders such as ``year=2026``.
    """

    def __init__(
        self,
        source: Any,
        form: str = "Parquet",
        *,
        title: str,
        extra: str = "cli",
        needed_by: str | None = None,
        partitioning: str | None = None,
    ) -> None:
        self.title, self._form = title, "Parquet" if form == "Parquet" else "Arrow"
        needed_by = needed_by or f"Reading {self._form} files"
        self._load = partial(import_extra, extra=extra, needed_by=needed_by)
        self.arrow: Any = self._load("pyarrow")
        try:
            self._schema, self._batches = self._opened(source, form, partitioning)
        except ImportError:
            raise
        except Exception as error:  # pyarrow raises many kinds for a damaged file
            raise self._damaged(error) from None
        self.names = [str(name) for name in self._schema.names]
        repeated = sorted({name for name in self.names if self.names.count(name) > 1})
        if repeated:
            raise InputError(
                f"{title} has more than one column {', '.join(map(repr, repeated[:5]))}. Rename or "
                "remove the repeated columns."
            )

    @property
    def index(self) -> set[str]:
        """Columns in which pandas kept the index of a data frame."""
        try:
            kept = json.loads((self._schema.metadata or {}).get(b"pandas", b"{}"))
        except ValueError:
            return set()
        return {name for name in kept.get("index_columns", []) if name in self.names}

    def blocks(self, size: int, columns: Sequence[str] | None = None, *_: Any) -> Iterator[Any]:
        """Yield record batches of at most ``size`` rows, in order, none of them empty."""
        try:
            for batch in self._batches(columns=columns and [*columns], batch_size=size):
                for start in range(0, batch.num_rows, size):
                    yield batch.slice(start, size)
        except (self.arrow.ArrowException, OSError) as error:
            raise self._damaged(error) from None

    def _opened(
        self, source: Any, form: str, partitioning: str | None
    ) -> tuple[Any, Callable[..., Any]]:
        """Return the schema, and what yields record batches."""
        if form == "Parquet":
            how = {"format": "parquet", "partitioning": partitioning}
            if hasattr(source, "read"):  # a pipe cannot be searched, and the index is at the end
                data = self.arrow.BufferReader(source.read())
                source, how = self._load("pyarrow.parquet").read_table(data), {}
            elif isinstance(source, list | tuple):
                source = [str(path) for path in source]
            else:
                source = str(Path(source))
            files = self._load("pyarrow.dataset").dataset(source, **how)
            return files.schema, partial(files.to_batches, batch_readahead=1, fragment_readahead=1)
        if form == "Feather 1":
            data = self.arrow.BufferReader(source.read())
            table = self._load("pyarrow.feather").read_table(data)
            return table.schema, lambda **_: table.to_batches()
        ipc = self._load("pyarrow.ipc")
        if form == "Arrow stream":
            stream = ipc.open_stream(source)
            return stream.schema, lambda **_: stream
        file = ipc.open_file(source)
        return file.schema, lambda **_: map(file.get_batch, range(file.num_record_batches))

    def _damaged(self, error: Exception) -> InputError:
        reason = str(error).partition("\n")[0][:200].rstrip(".")
        return InputError(f"{self.title} is not a readable {self._form} file: {reason}.")


class ArrowTable(ArrowFiles):
    """Columns of record batches as what their types, or the user, say they are.

    Text is "category" here: what it may be besides is found when all blocks are there. A pipe, and
    any file that is not Parquet, is given as ``file``.
    """

    is_text = False

    def __init__(self, source: str, file: BinaryIO | None, form: str, reading: ReadOptions) -> None:
        hive = "hive" if file is None and Path(source).is_dir() else None
        opened = source if file is None else file
        super().__init__(opened, form, title=title_of(source), partitioning=hive)
        self._is, self._reading = self.arrow.types, reading
        self.notes: list[Note] = []

    def column(self, batch: Any, name: str, kind: Kind | None, missing: MissingValues) -> Column:
        """Return one column of a block as what its type, or the user, says it is."""
        cells = batch.column(name)
        levels: tuple[str, ...] = ()
        if self._is.is_dictionary(cells.type):
            dtype = cells.type
            if dtype.ordered and kind in (None, "ordered") and self._holds_text(dtype.value_type):
                levels = self._levels(cells, missing)
            values = self._plain(cells.dictionary)
            cells = self.arrow.DictionaryArray.from_arrays(cells.indices, values)
            cells = cells.dictionary_decode()
        cells = self._plain(cells)
        dtype = cells.type
        if self._is.is_null(dtype):
            cells = cells.cast(self.arrow.float64())
            dtype = cells.type
        if kind in ("text", "category", "ordered") or self._holds_text(dtype):
            return self._as_text(cells, name, kind, missing, levels)
        if self._is.is_date(dtype) or self._is.is_timestamp(dtype):
            return Column(name, "date", missing.blank_days(self._days(cells)))
        if self._is.is_boolean(dtype):
            values = missing.blank_numbers(self._floats(cells))
            words = ("false", "true") if kind is None else ()
            return Column(name, kind or "boolean", values, levels=words)
        numbers = (self._is.is_integer, self._is.is_floating, self._is.is_decimal)
        if any(is_number(dtype) for is_number in numbers):
            return self._as_numbers(cells, name, kind, missing)
        raise self._strange(name, dtype)

    def _plain(self, cells: Any) -> Any:
        """Return text as plain strings: Arrow computes little with views of strings."""
        if str(cells.type) != "string_view":
            return cells
        try:
            return cells.cast(self.arrow.string())
        except self.arrow.ArrowNotImplementedError:
            return self.arrow.array(cells.to_pylist(), self.arrow.string())

    def _strange(self, name: str, dtype: Any) -> InputError:
        return InputError(
            f"{self.title}: column {name!r} has the type {dtype}, which is neither a number, text "
            f"nor a date. Convert it, or leave it out with --drop {name!r}."
        )

    def _holds_text(self, dtype: Any) -> bool:
        return str(dtype) in ("string", "large_string", "string_view")

    def _levels(self, cells: Any, missing: MissingValues) -> tuple[str, ...]:
        texts = [text.strip() for text in cells.dictionary.to_pylist() if text is not None]
        return tuple(dict.fromkeys(text for text in texts if text not in missing))

    def _days(self, cells: Any) -> Real:
        """Days since 1970-01-01, in UTC."""
        zone = getattr(cells.type, "tz", None)
        moments = cells.cast(self.arrow.timestamp("us", zone), safe=False)
        return self._floats(moments.cast(self.arrow.int64())) / 86_400e6

    def _floats(self, cells: Any) -> Real:
        """Numbers as float64, NaN where there is none; without a Python object per cell."""
        if self._is.is_boolean(cells.type):
            cells = cells.cast(self.arrow.uint8())
        try:
            cells = cells.cast(self.arrow.float64(), safe=False)
        except self.arrow.ArrowNotImplementedError:
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
                f"{self.title}: column {name!r} holds other numbers than 0 and 1, and was boolean."
            )
        return Column(name, kind or "number", values, LONG_NUMBERS if large and not kind else None)

    def _as_text(
        self,
        cells: Any,
        name: str,
        kind: Kind | None,
        missing: MissingValues,
        levels: tuple[str, ...],
    ) -> Column:
        if kind == "text":
            return Column(name, kind, objects([text or "" for text in self._texts(cells, name)]))
        try:
            coded = cells.dictionary_encode()  # one Python object per level
        except self.arrow.ArrowNotImplementedError:
            raise self._strange(name, cells.type) from None
        texts = [text.strip() for text in self._texts(coded.dictionary, name) if text is not None]
        known = [None if text in missing else text for text in texts]
        place = coded.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)
        if kind in ("number", "date", "boolean"):
            numbers = [self._number(text, name, kind) for text in known]
            return Column(name, kind, floats([*numbers, np.nan])[place])
        values: NDArray[Any] = objects([*known, None])[place]
        return Column(name, "ordered" if levels else kind or "category", values, None, levels)

    def _texts(self, column: Any, name: str) -> list[str | None]:
        if self._is.is_floating(column.type):  # 1.0, where pyarrow writes 1
            numbers = column.to_numpy(zero_copy_only=False)
            there = column.is_valid().to_pylist()
            return [str(v) if known else None for v, known in zip(numbers, there, strict=True)]
        try:
            texts: list[str | None] = column.cast(self.arrow.string()).to_pylist()
        except self.arrow.ArrowNotImplementedError:
            raise self._strange(name, column.type) from None
        return texts

    def _number(self, cell: str | None, name: str, kind: Kind) -> float:
        form = self._reading.dates.get(name)
        try:
            return np.nan if cell is None else read_as(kind, cell, form)
        except ValueError:
            wanted = {"date": f"date of the form {form or '2026-11-15'}", "number": "number"}
            raise InputError(
                f"{self.title}: {cell!r} in column {name!r} is not a "
                f"{wanted.get(kind, 'boolean')}. Repair it first."
            ) from None

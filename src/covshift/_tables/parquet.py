"""Parquet tables, one file or a folder of them: typed columns in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from .._parquet import ParquetFiles
from ..show.notes import Note
from .arrow_columns import ArrowColumns, index_columns
from .columns import Column, Kind
from .missing import missing_in
from .reading import ReadOptions, title_of


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

"""Parquet and Arrow files (Feather), through pyarrow: typed columns, and their rows in blocks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from ..exceptions import InputError, import_extra
from .reading import title_of
from .text import refuse_repeated
from .values import Block, Source


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
        refuse_repeated(title, self.names)

    @property
    def index(self) -> set[str]:
        """Columns in which pandas kept the index of a data frame."""
        try:
            kept = json.loads((self._schema.metadata or {}).get(b"pandas", b"{}"))
        except ValueError:
            return set()
        return {name for name in kept.get("index_columns", []) if name in self.names}

    def blocks(self, size: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
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


class ArrowTable(Source):
    """The record batches of files of the command line.

    A pipe, and any file that is not Parquet, is given as ``file``.
    """

    def __init__(self, source: str, file: BinaryIO | None, form: str) -> None:
        hive = "hive" if file is None and Path(source).is_dir() else None
        opened = source if file is None else file
        self.title, self.notes = title_of(source), []
        self._files = ArrowFiles(opened, form, title=self.title, partitioning=hive)
        self.names, self.index = self._files.names, frozenset(self._files.index)

    def blocks(self, size: int, names: Sequence[str] | None = None) -> Iterator[Block]:
        """Yield blocks of at most ``size`` rows with the columns ``names``."""
        yield from map(Block, self._files.blocks(size, names))

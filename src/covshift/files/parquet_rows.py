"""Parquet files, through pyarrow: their columns, and their rows in blocks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from ..exceptions import InputError
from ..numerics.progress import import_extra


class ParquetFiles:
    """One file, a folder of them, a list of paths, or an open stream; damage is an `InputError`.

    ``title`` names them in messages, ``extra`` is the extra of covshift that brings pyarrow;
    ``partitioning`` "hive" makes columns of folders such as ``year=2026``.
    """

    def __init__(
        self,
        source: Any,
        *,
        title: str,
        extra: str,
        needed_by: str,
        partitioning: str | None = None,
    ) -> None:
        self._title, self._partitioning = title, partitioning
        self._dataset_of = import_extra("pyarrow.dataset", extra=extra, needed_by=needed_by).dataset
        self.arrow: Any = import_extra("pyarrow", extra=extra, needed_by=needed_by)
        try:
            self._dataset = self._opened(source)
        except Exception as error:  # pyarrow raises many kinds for a damaged file
            raise self._damaged(error) from None
        self.schema: Any = self._dataset.schema
        self.names = [str(name) for name in self.schema.names]

    @property
    def index_columns(self) -> set[str]:
        """Columns in which pandas kept the index of a data frame."""
        kept = json.loads((self.schema.metadata or {}).get(b"pandas", b"{}"))
        return {name for name in kept.get("index_columns", []) if isinstance(name, str)}

    def blocks(self, size: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield record batches of at most ``size`` rows, in order, none of them empty."""
        try:
            for batch in self._dataset.to_batches(
                columns=None if columns is None else [*columns],
                batch_size=size,
                batch_readahead=1,
                fragment_readahead=1,
            ):
                if batch.num_rows:
                    yield batch
        except (self.arrow.ArrowException, OSError) as error:
            raise self._damaged(error) from None

    def _opened(self, source: Any) -> Any:
        if hasattr(source, "read"):  # a pipe cannot be searched, and the index is at the end
            return self._dataset_of(_read_table(self.arrow, source))
        paths = [str(path) for path in source] if isinstance(source, list | tuple) else source
        return self._dataset_of(
            paths if isinstance(paths, list) else str(Path(paths)),
            format="parquet",
            partitioning=self._partitioning,
        )

    def _damaged(self, error: Exception) -> InputError:
        reason = str(error).partition("\n")[0][:200].rstrip(".")
        return InputError(f"{self._title} is not a readable Parquet file: {reason}.")


def _read_table(arrow: Any, stream: BinaryIO) -> Any:
    from pyarrow.parquet import read_table

    return read_table(arrow.BufferReader(stream.read()))

"""Arrow IPC tables (Feather): files, which are read from disk in pieces, and streams."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from .._optional import import_extra
from ..exceptions import InputError
from ..show.notes import Note
from .arrow_columns import ArrowColumns, index_columns
from .columns import Column, Kind
from .missing import missing_in
from .reading import ReadOptions


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

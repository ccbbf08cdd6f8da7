"""One file of two: its features as cells, and columns that have a role."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.row_weights import repeated
from ..encoding.cells import Cells, spelled
from ..encoding.codes import EXACT
from ..exceptions import InputError
from ..numerics.array import Real, Rows
from ..show.notes import Note
from .arrays import library, plain
from .columns import Kind, objects
from .frame import about, read_frame
from .reading import ReadOptions
from .table import Table, as_column
from .values import days_of, floats_of, holds_numbers


@dataclass(frozen=True)
class File:
    """One file: all its columns, and those that have a role as the commands take them."""

    frame: Any  # pyarrow.Table
    roles: Table  # without the features

    @classmethod
    def read(
        cls, source: str, kinds: Mapping[str, Kind], reading: ReadOptions, roles: set[str]
    ) -> File:
        """Read a file; the columns of ``kinds`` are declared."""
        frame = read_frame(source, replace(reading, kinds=kinds))
        said = about(frame)
        own = {
            name: as_column(name, frame[name], kinds[name], said.spelled)
            for name in frame.column_names
            if name in kinds and name in roles
        }
        left_out, unmet = frozenset(said.left_out), frozenset(said.unmet)
        return cls(frame, Table(said.title, own, said.notes, left_out, unmet, said.sheet))

    @property
    def title(self) -> str:
        """The file's name in messages."""
        return self.roles.title

    @property
    def names(self) -> list[str]:
        """Names of all columns."""
        return [str(name) for name in self.frame.column_names]

    def __len__(self) -> int:
        return int(self.frame.num_rows)

    def cells(self, names: Iterable[str]) -> dict[str, Cells]:
        """Return columns as they are decided about and encoded."""
        return {name: cells_of(name, self.frame[name]) for name in names}


def cells_of(name: str, column: Any) -> Cells:
    """Return a column of a file as cells: text where its numbers are too long for float64."""
    types, dtype = library().types, column.type
    if types.is_boolean(dtype):
        return Cells(name, "boolean", floats_of(column))
    if holds_numbers(dtype):
        values = floats_of(column)
        if types.is_integer(dtype) and (np.abs(values[np.isfinite(values)]) > EXACT).any():
            return Cells.of_text(name, "category", column.to_pylist())
        return Cells(name, "number", values)
    if types.is_date(dtype) or types.is_timestamp(dtype):
        return Cells(name, "date", days_of(column))
    ordered = types.is_dictionary(dtype) and dtype.ordered
    places: dict[str, int] = {}
    parts = [np.zeros(0, dtype=np.intp)]
    for chunk in column.chunks:
        coded = chunk if types.is_dictionary(dtype) else chunk.dictionary_encode()
        words = coded.dictionary.to_pylist()
        new = [-1 if word is None else places.setdefault(word, len(places)) for word in words]
        parts.append(np.array([*new, -1], dtype=np.intp)[plain(coded.indices, np.int32, -1)])
    levels = tuple(column.chunk(0).dictionary.to_pylist()) if ordered else ()
    kind: Any = "ordered" if ordered else "category"
    return Cells(name, kind, np.concatenate(parts), tuple(places), levels)


def ids_of(file: File, name: str | None, rows: Rows, notes: list[Note]) -> NDArray[Any] | None:
    if name is None:
        return None
    column = file.roles.columns.get(name)
    cells = file.frame[name].to_pylist() if column is None else column.values.tolist()
    ids = objects([spelled(cells[row]) for row in rows])
    repeated = len(ids) - len(set(ids))
    if repeated:
        text = f"{file.title}: {repeated} values of the id column {name!r} are repeated."
        notes.append(Note("repeated ids", text))
    return ids


def weights_of(table: Table, name: str | None) -> Real | None:
    """Return the column of weights, if one is named; refuse what is no weight."""
    if name is None:
        return None
    values = np.asarray(table.columns[name].values, dtype=np.float64)
    for bad, what in ((~np.isfinite(values), "missing or infinite"), (values < 0, "negative")):
        if bad.any():
            raise InputError(
                f"{table.title}: the weight column {name!r} has {int(bad.sum())} {what} values. "
                "Weights are numbers from zero up."
            )
    if not values.any():
        raise InputError(f"{table.title}: the weight column {name!r} is zero in every row.")
    return values


def repeats_of(table: Table, name: str | None, options: str = "--") -> Rows | None:
    """Return the rows, each as often as the column says; None where no column is named.

    ``options`` is how the options begin that tell about this table.
    """
    values = weights_of(table, name)
    if values is None:
        return None
    option, weight = f"{options}frequency", f"{options}weight"
    try:
        return repeated(values, len(values), option, of=table.title, weight=weight)
    except InputError as error:
        raise InputError(f"{table.title}, column {name!r}: {error}") from None

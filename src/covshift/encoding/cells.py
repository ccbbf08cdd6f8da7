"""The columns of a table, of whatever library, as arrays of cells.

Numbers, booleans and dates become float64 with NaN for a gap; text becomes the numbers of its
distinct words, -1 for a gap. Nothing is decided here beyond what a column's type or its cells say.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..data.numbers import check_exact, refuse_masked, refuse_repeated
from ..data.validation import check_dense
from ..data.values import is_gap
from ..exceptions import InputError

CellKind = Literal["number", "boolean", "category", "ordered", "date", "text"]
PLURAL = {
    "number": "numbers",
    "boolean": "true and false",
    "category": "text",
    "ordered": "ordered categories",
    "date": "dates",
    "text": "text",
}
FILE = b"covshift"  # key of what a frame of Arrow knows about the file that it was read from
_DAY = 86_400.0


@dataclass(frozen=True)
class Cells:
    """One column: what its type says it is, and its cells."""

    name: str
    kind: CellKind
    values: NDArray[Any]  # float64 with NaN for gaps; of text, places in ``words``, or -1
    words: tuple[str, ...] = ()  # the distinct texts
    levels: tuple[str, ...] = ()  # of ordered categories, in order

    @classmethod
    def of_text(
        cls, name: str, kind: CellKind, cells: Iterable[Any], levels: tuple[str, ...] = ()
    ) -> Cells:
        """Return a column of text, None or NaN where a cell is missing."""
        places, words = _coded(cells)
        return cls(name, kind, places, words, levels)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_text(self) -> bool:
        """Whether the cells are words, not numbers."""
        return self.values.dtype.kind == "i"

    @property
    def gaps(self) -> NDArray[np.bool_]:
        """Which cells are missing: (rows,)."""
        return self.values < 0 if self.is_text else np.isnan(self.values)

    @property
    def empty(self) -> bool:
        """Whether all cells are missing."""
        return bool(self.gaps.all())

    def rows(self, kept: NDArray[np.bool_] | None) -> Cells:
        """Return some of the rows; None: all of them."""
        return self if kept is None else replace(self, values=self.values[kept])

    def take(self, rows: NDArray[np.intp]) -> Cells:
        """Return these rows, some of them perhaps more than once."""
        return replace(self, values=self.values[rows])

    def counts(self) -> dict[Any, int]:
        """How often each word is there, and gaps under None."""
        least = len(self.words) + 1
        found = np.bincount(self.values + 1, minlength=least)
        every = zip((None, *self.words), found.tolist(), strict=True)
        return {word: count for word, count in every if count}

    def as_text(self) -> Cells:
        """Return the same cells as categories."""
        if self.is_text:
            return replace(self, kind="category", levels=())
        words = (spelled(cell, self.kind) for cell in self.values.tolist())
        return Cells.of_text(self.name, "category", words)

    def mapped(self, place: Mapping[Any, float], rest: float) -> NDArray[np.float64]:
        """Return a number for each cell, by its word, or None for gaps: (rows,)."""
        table = [place.get(word, rest) for word in self.words]
        found: NDArray[np.float64] = np.array([*table, place.get(None, rest)], dtype=np.float64)
        return np.asarray(found[self.values])


@dataclass(frozen=True)
class CellTable:
    """Columns that were read before, where a data frame is asked for."""

    cells: Mapping[str, Cells]

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.cells)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), len(self.cells)

    def __len__(self) -> int:
        return len(next(iter(self.cells.values()), ()))

    def __getitem__(self, rows: Any) -> CellTable:
        """Return some rows, ``table[rows, ...]``, as an array does."""
        return CellTable({name: part.take(rows[0]) for name, part in self.cells.items()})

    def select(self, names: Iterable[str]) -> CellTable:
        """Return some columns."""
        return CellTable({name: self.cells[name] for name in names})

    def read_cells(self) -> dict[str, Cells]:
        """Return the columns as they were read."""
        return dict(self.cells)


def is_table(X: Any) -> bool:
    """Tell whether X is a data frame of some library."""
    names = ("read_cells", "columns", "column_names")
    return not isinstance(X, np.ndarray) and any(hasattr(type(X), name) for name in names)


def title_of(X: Any, name: str) -> str:
    """Return the name of the file that covshift read a frame from, for messages; else ``name``."""
    metadata = (hasattr(type(X), "replace_schema_metadata") and X.schema.metadata) or {}
    return str(json.loads(metadata[FILE])["title"]) if FILE in metadata else name


def are_of_files(*frames: Any) -> bool:
    """Whether covshift read all these frames from files."""
    return all(title_of(X, "") for X in frames)


def read_cells(X: Any, title: str) -> dict[str, Cells]:
    """Read every column of a data frame, or of an array (rows, columns): names to cells.

    Frames of pandas, polars, pyarrow and whatever else narwhals reads eagerly; columns of arrays
    are called x0, x1, ...
    """
    if hasattr(X, "read_cells"):
        found: dict[str, Cells] = X.read_cells()
        return found
    if not is_table(X):
        return _of_array(X, title)
    import narwhals.stable.v2 as nw

    try:
        frame = nw.from_native(X, eager_only=True)
    except nw.exceptions.DuplicateError:
        refuse_repeated(list(map(str, getattr(X, "column_names", None) or X.columns)), title)
        raise
    except TypeError as error:
        raise InputError(
            f"{title} is a {type(X).__module__.split('.')[0]} {type(X).__name__}, which is not a "
            "data frame in memory. Pass a frame of pandas, polars or pyarrow: .collect() or "
            ".compute() make one."
        ) from error
    names = [str(name) for name in frame.columns]
    return {
        name: _of_series(series, name, title)
        for name, series in zip(names, frame.iter_columns(), strict=True)
    }


def _of_series(series: Any, name: str, title: str) -> Cells:
    import narwhals.stable.v2 as nw

    dtype = series.dtype
    if dtype == nw.Boolean:
        return Cells(name, "boolean", _floats(series))
    if dtype.is_numeric() or dtype == nw.Decimal:
        if dtype.is_integer():
            _check_long(series, name, title)
        return Cells(name, "number", _floats(series))
    if dtype == nw.Date or dtype == nw.Datetime:
        return Cells(name, "date", _days(series))
    if dtype == nw.Duration:
        seconds = _floats(series.dt.total_microseconds()) / 1e6
        return Cells(name, "number", seconds / _DAY)
    if dtype == nw.Enum or (dtype == nw.Categorical and _is_ordered(series)):
        levels = tuple(map(spelled, series.cat.get_categories().to_list()))
        return Cells.of_text(name, "ordered", series.to_list(), levels)
    if dtype == nw.Categorical or dtype == nw.String:
        native = series.to_native()
        if hasattr(native, "chunks"):
            return _of_chunks(native, name)
        return Cells.of_text(name, "category", series.to_list())
    return _of_objects(series.to_list(), name, title)


def _of_chunks(column: Any, name: str) -> Cells:
    """Read text of Arrow without a Python object for each cell."""
    place: dict[str, int] = {}
    parts = [np.zeros(0, dtype=np.intp)]
    for chunk in column.chunks:
        coded = chunk if hasattr(chunk, "dictionary") else chunk.dictionary_encode()
        words = coded.dictionary.to_pylist()
        table = [-1 if word is None else place.setdefault(word, len(place)) for word in words]
        codes = np.asarray(coded.indices.fill_null(len(words)).to_numpy())
        parts.append(np.array([*table, -1], dtype=np.intp)[codes])
    return Cells(name, "category", np.concatenate(parts), tuple(place))


def _is_ordered(series: Any) -> bool:
    """Whether a type of categories says that they have an order."""
    native = series.to_native()
    dtype = getattr(native, "type", None) or getattr(native, "dtype", None)
    return bool(getattr(dtype, "ordered", False))


def _floats(series: Any) -> NDArray[np.float64]:
    """Numbers of a series, NaN where one is missing."""
    import narwhals.stable.v2 as nw

    if series.dtype == nw.Float64 or not series.is_null().any():
        try:
            return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
        except (TypeError, ValueError):
            pass
    cells = series.to_list()
    return np.array([np.nan if is_gap(cell) else float(cell) for cell in cells], dtype=np.float64)


def _check_long(series: Any, name: str, title: str) -> None:
    present = series.drop_nulls()
    if len(present):
        values = np.asarray(present.to_numpy())
        if values.dtype.kind in "iu":
            try:
                check_exact(values[:, None], title)
            except InputError:
                raise InputError(
                    f"{title}: column {name!r} has whole numbers that float64 cannot hold. Leave "
                    "it out if it is an identifier, or make it text."
                ) from None


def _days(series: Any) -> NDArray[np.float64]:
    """Days since 1970-01-01, in UTC."""
    import narwhals.stable.v2 as nw

    if series.dtype == nw.Date:
        series = series.cast(nw.Datetime("us"))
    moments = series.dt.timestamp("us")
    return _floats(moments) / (_DAY * 1e6)


def _of_array(X: Any, title: str) -> dict[str, Cells]:
    refuse_masked(X, title)
    values = check_dense(X, title, None)
    if values.dtype.kind == "m":
        raise InputError(f"{title} holds time spans, not dates or numbers. Convert them first.")
    if values.dtype.kind in "iu":
        check_exact(values, title)
    names = [f"x{k}" for k in range(values.shape[1])]
    if values.dtype.kind == "b":
        return {n: Cells(n, "boolean", values[:, k] * 1.0) for k, n in enumerate(names)}
    if values.dtype.kind in "iuf":
        return {n: Cells(n, "number", values[:, k].astype(np.float64)) for k, n in enumerate(names)}
    if values.dtype.kind == "c":
        raise InputError(f"Complex data not supported in {title}.")
    cells = np.asarray(X, dtype=object)
    return {n: _of_objects(list(cells[:, k]), n, title) for k, n in enumerate(names)}


def _of_objects(cells: list[Any], name: str, title: str) -> Cells:
    """Read cells of Python objects by what they all are."""
    present = [cell for cell in cells if not is_gap(cell)]
    if all(isinstance(cell, bool | np.bool_) for cell in present) and present:
        return Cells(name, "boolean", _numbers(cells))
    number = int | float | Decimal | np.integer | np.floating
    if not any(isinstance(cell, np.timedelta64) for cell in present) and all(
        isinstance(cell, number) for cell in present
    ):
        return Cells(name, "number", _numbers(cells))
    if all(isinstance(cell, date | np.datetime64) for cell in present):
        return Cells(name, "date", _moments(cells))
    if all(isinstance(cell, timedelta | np.timedelta64) for cell in present):
        unit = np.timedelta64(1, "D")
        lengths = [None if is_gap(cell) else np.timedelta64(cell) / unit for cell in cells]
        return Cells(name, "number", _numbers(lengths))
    if all(isinstance(cell, time) for cell in present):
        hours = [None if is_gap(c) else c.hour + c.minute / 60 + c.second / 3600 for c in cells]
        return Cells(name, "number", _numbers(hours))
    odd = (complex, dict, list, set, tuple, np.ndarray)
    strange = next((cell for cell in cells if isinstance(cell, odd)), None)
    if strange is not None:
        raise InputError(
            f"{title}: column {name!r} holds a {type(strange).__name__}, which is neither a "
            "number, text nor a date. Convert it, or leave it out."
        )
    # True equals 1, and is another word
    words = [str(cell) if isinstance(cell, bool | np.bool_) else cell for cell in cells]
    return Cells.of_text(name, "category", words)


def _numbers(cells: list[Any]) -> NDArray[np.float64]:
    return np.array([np.nan if is_gap(cell) else _float(cell) for cell in cells], dtype=np.float64)


def _float(cell: Any) -> float:
    try:
        return float(cell)
    except OverflowError:  # a whole number of hundreds of digits
        return np.inf if cell > 0 else -np.inf


def _moments(cells: list[Any]) -> NDArray[np.float64]:
    days = np.empty(len(cells))
    for k, cell in enumerate(cells):
        if is_gap(cell):
            days[k] = np.nan
        else:
            if isinstance(cell, datetime) and cell.tzinfo is not None:
                cell = cell.astimezone(UTC).replace(tzinfo=None)
            days[k] = float(np.datetime64(cell, "us").astype(np.int64)) / (_DAY * 1e6)
    return days


def _coded(cells: Iterable[Any]) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """Number the distinct words of cells in the order of their first appearance."""
    place: dict[Any, int] = {}
    listed = cells if isinstance(cells, list) else list(cells)
    found = np.fromiter((place.setdefault(cell, len(place)) for cell in listed), np.intp)
    words: dict[str, int] = {}
    table = [-1 if is_gap(c) else words.setdefault(spelled(c), len(words)) for c in place]
    if not table:
        return found, ()
    return np.array(table, dtype=np.intp)[found], tuple(words)


def spelled(cell: Any, kind: str = "text") -> Any:
    """Return a cell as text, None for a gap."""
    if is_gap(cell):
        return None
    if kind == "boolean":
        return str(bool(cell))
    if kind == "date":
        moment = np.datetime64(round(cell * _DAY * 1e6), "us")
        return str(moment.astype("datetime64[D]") if cell % 1 == 0 else moment)
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))  # 1.0 is 1, which a gap in the column made a float
    return str(cell)

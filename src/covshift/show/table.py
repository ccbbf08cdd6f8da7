"""One model of a table, laid out as text, as HTML, and as lines for frames and files."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from html import escape
from itertools import zip_longest
from operator import itemgetter
from textwrap import fill
from typing import Any, ClassVar, NamedTuple

from ..exceptions import import_extra
from .words import printable, readable

_MOST_ROWS = 60  # of a table in a notebook
_MOST_VALUES = 8  # of an array
_WIDTH = 88  # of a line of text


class Cell(NamedTuple):
    """What people read, what programs sort by, and what stands small below the text."""

    text: str
    value: Any = None
    small: str = ""


def number(value: float | None, form: str = "{}") -> Cell:
    """Return a number as a cell, empty where there is none."""
    return Cell("" if value is None else form.format(value), value)


@dataclass(frozen=True)
class Column:
    """A heading, and the cell of a record.

    Columns of ``words`` are aligned to the left; in text, names are cut to ``most`` characters,
    and what is longer than ``wrap`` goes on in the next line.
    """

    name: str
    cell: Callable[..., Cell | str]
    words: bool = False
    most: int | None = None
    wrap: int | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Table(Sequence[Any]):
    """Records that print as a table: iterate over them, `where` selects, `to_frame` exports.

    Attributes
    ----------
    records : sequence
        Dataclasses, dicts, or rows of cells.
    columns : tuple of Column
        Default: the ``columns`` of the records' class.
    title, about : str
        What stands above the table, and lines that explain it below.
    chosen : set of int
        Rows that stand out.
    most : int, optional
        Rows that are shown, of more; ``unit`` is what they are called.
    """

    records: Sequence[Any]
    columns: tuple[Column, ...] = ()
    title: str = ""
    about: str = ""
    chosen: Collection[int] = frozenset()
    most: int | None = None
    unit: str = "rows"

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", tuple(self.records))

    @classmethod
    def of(
        cls,
        head: Sequence[str],
        rows: Iterable[Sequence[Cell | str]],
        *,
        words: Iterable[int] = (0,),
        **options: Any,
    ) -> Table:
        """Return a table of cells; columns ``words`` are aligned to the left."""
        left = set(words)
        columns = (Column(name, itemgetter(k), k in left) for k, name in enumerate(head))
        return cls(tuple(map(tuple, rows)), tuple(columns), **options)

    def __getitem__(self, at: Any) -> Any:
        return (
            replace(self, records=self.records[at]) if isinstance(at, slice) else self.records[at]
        )

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.records)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self.records == other.records

    def __hash__(self) -> int:
        return hash(tuple(self.records))

    def where(self, **wanted: Any) -> Table:
        """Keep the rows whose attributes are as given, such as ``method="dr"``."""
        kept = (
            row for row in self if all(getattr(row, key) == value for key, value in wanted.items())
        )
        return replace(self, records=tuple(kept), chosen=frozenset())

    @property
    def head(self) -> tuple[str, ...]:
        """The headings."""
        return tuple(column.name for column in self._columns)

    @property
    def rows(self) -> list[tuple[Cell, ...]]:
        """The cells of every record."""
        return [self._cells(record) for record in self]

    def _cells(self, record: Any) -> tuple[Cell, ...]:
        cells = (column.cell(record) for column in self._columns)
        return tuple(Cell(cell) if isinstance(cell, str) else cell for cell in cells)

    @property
    def words(self) -> tuple[bool, ...]:
        """Which columns hold words."""
        return tuple(column.words for column in self._columns)

    @property
    def _columns(self) -> tuple[Column, ...]:
        return self.columns or (type(self.records[0])._columns if self.records else ())

    def lines(self) -> list[str]:
        """Return head and rows, aligned."""
        shown = [list(self.head)] if any(self.head) else []
        shown += [
            [
                cell if column.most is None else printable(cell, column.most)
                for cell, column in zip(row, self._columns, strict=True)
            ]
            for row in self._texts(len(self) if self.most is None else self.most)
        ]
        shown = [list(line) for row in shown for line in self._broken(row)]
        widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
        lines = []
        for row in shown:
            cells = (
                f"{cell:<{width}s}" if words else f"{cell:>{width}s}"
                for cell, width, words in zip(row, widths, self.words, strict=True)
            )
            lines.append(("  " + "  ".join(cells)).rstrip())
        if self.most is not None and len(self) > self.most:
            lines.append(f"  and {len(self) - self.most:,} more {self.unit}")
        return lines

    def _broken(self, row: list[str]) -> Iterator[tuple[str, ...]]:
        """Break the cells of a row into lines, where columns wrap."""
        parts = (
            [cell] if column.wrap is None else fill(cell, column.wrap).split("\n")
            for cell, column in zip(row, self._columns, strict=True)
        )
        return zip_longest(*parts, fillvalue="")

    def __str__(self) -> str:
        title = [self.title] if self.title else []
        about = [f"  {line}" for line in self.about.split("\n")] if self.about else []
        return "\n".join([*title, *self.lines(), *wrapped(about)])

    def __repr__(self) -> str:
        return f"<Table of {len(self):,} rows: {', '.join(filter(None, self.head))}>"

    def _repr_html_(self) -> str:
        """Return title, table and what explains it; the first cell of a row names it."""
        titles = "".join(f'<th scope="col">{as_text(name)}</th>' for name in self.head)
        most = _MOST_ROWS if self.most is None else self.most
        lines = "".join(f"<tr>{_html_cells(row)}</tr>" for row in self._texts(most))
        if len(self) > most:
            more = f"and {len(self) - most:,} more {self.unit}"
            lines += f'<tr><td colspan="{len(self.head)}">{more}</td></tr>'
        table = f"<table><thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table>"
        return paragraph([self.title]) + table + paragraph(self.about.split("\n"))

    def _texts(self, most: int) -> list[list[str]]:
        """What people read of the first rows, with a mark at those that are chosen."""
        texts = [[cell.text for cell in row] for row in self[:most].rows]
        for k in self.chosen:
            if k < most:
                texts[k][0] += " *"
        return texts

    def data(self) -> list[dict[str, Any]]:
        """Return every record as one flat line: intervals become ``low`` and ``high``."""
        lines = [self._line(record) for record in self]
        names = dict.fromkeys(name for line in lines for name in line)
        return [{name: line.get(name) for name in names} for line in lines]

    def _line(self, record: Any) -> dict[str, Any]:
        if isinstance(record, dict) or is_dataclass(record):
            return _flat(record)
        cells = self._cells(record)
        pairs = zip(self._columns, cells, strict=True)
        return {column.name: cell.text if column.words else cell.value for column, cell in pairs}

    def to_frame(self) -> Any:
        """Return a pandas data frame with one line per row."""
        pandas = import_extra("pandas", extra="pandas", needed_by="to_frame")
        return pandas.DataFrame(
            [{name: _as_unicode(cell) for name, cell in line.items()} for line in self.data()]
        )


def _as_unicode(cell: Any) -> Any:
    """Spell out what is no letter by itself, half a surrogate pair: text of pandas has none."""
    return cell.encode(errors="backslashreplace").decode() if isinstance(cell, str) else cell


def _flat(record: Any) -> dict[str, Any]:
    if isinstance(record, dict):
        return record
    line: dict[str, Any] = {}
    for part in fields(record):
        value = getattr(record, part.name)
        if part.name in getattr(record, "_not_shown", ()):
            continue
        if part.name.endswith(("interval", "_bounds")):
            if value is not None:
                start = part.name.removesuffix("interval").replace("_bounds", "_bounds_")
                line[f"{start}low"], line[f"{start}high"] = value
        else:
            line[part.name] = value
    return line


def card(first: str, *parts: Table | str, notes: Iterable[Any] = ()) -> str:
    """Return a block of HTML: the first sentence in bold, tables and HTML, then the notes."""
    items = "".join(f"<li>{as_text(note)}</li>" for note in notes)
    below = "".join(part if isinstance(part, str) else part._repr_html_() for part in parts)
    return (
        f"<div><p><strong>{as_text(first)}</strong></p>{below}"
        + (f"<ul>{items}</ul>" if items else "")
        + "</div>"
    )


def paragraph(lines: Iterable[str]) -> str:
    """Return lines as a paragraph of HTML; nothing where all are empty."""
    text = "<br>".join(as_text(line.strip()) for line in lines if line)
    return f"<p>{text}</p>" if text else ""


def wrapped(lines: Iterable[str]) -> list[str]:
    """Break lines that are too long; what follows is indented."""
    return [
        fill(
            line,
            _WIDTH,
            subsequent_indent=" " * max(2, len(line) - len(line.lstrip())),
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in lines
    ]


def as_text(value: Any) -> str:
    """Escape what is to be read, with a mark in place of control characters."""
    shown = "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in str(value))
    return escape(shown)


def _html_cells(row: Sequence[str]) -> str:
    first, *others = row
    cells = "".join(f'<td style="text-align: right">{as_text(cell)}</td>' for cell in others)
    return f'<th scope="row" style="text-align: left">{as_text(first)}</th>{cells}'


class Record:
    """Show a dataclass in notebooks as a table with one line per field.

    Fields whose names begin with an underscore are left out, and those in ``_not_shown``. In a
    `Table` it has the cells of its ``_columns``.
    """

    _not_shown: ClassVar[frozenset[str]] = frozenset()
    _columns: ClassVar[tuple[Column, ...]] = ()

    def _repr_html_(self) -> str:
        names = [
            field.name
            for field in fields(self)  # type: ignore[arg-type]
            if not field.name.startswith("_") and field.name not in self._not_shown
        ]
        rows = [(name.replace("_", " "), _written(getattr(self, name))) for name in names]
        return card(type(self).__name__, Table.of(("field", "value"), rows))


def _written(value: Any) -> str:
    """Write the value of a field: numbers with four digits, arrays by their first values."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if hasattr(value, "tolist"):  # arrays and numbers of NumPy
        value = value.tolist()
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return readable(value)
    if isinstance(value, dict):
        value = [f"{key}: {_written(part)}" for key, part in value.items()]
    if isinstance(value, list | tuple):
        if len(value) == 2 and all(isinstance(end, int | float) for end in value):
            return " to ".join(map(_written, value))
        shown = [_written(part) for part in value[:_MOST_VALUES]]
        more = len(value) - _MOST_VALUES
        return ", ".join(shown) + (f", … {more:,} more" if more > 0 else "")
    return str(value)

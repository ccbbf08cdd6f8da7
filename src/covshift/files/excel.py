"""Excel workbooks: the cells of a sheet, spelled as CSV would spell them."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from datetime import date, datetime, time
from itertools import islice
from typing import Any, BinaryIO

from ..exceptions import InputError
from ..numerics.progress import import_extra
from ..show.notes import Note
from .builder import Spelling, TextBlock
from .reading import ReadOptions
from .text import named_columns


class ExcelTable:
    """The header of a sheet, and its rows in blocks; a line is a row of the sheet."""

    is_text = True

    def __init__(self, title: str, file: BinaryIO, reading: ReadOptions) -> None:
        library = import_extra("openpyxl", extra="excel", needed_by="Reading Excel workbooks")
        self.notes: list[Note] = []
        self.spelled = Spelling(reading.decimal or ".", reading.thousands)
        try:
            book = library.load_workbook(file, read_only=True, data_only=True)
        except (zipfile.BadZipFile, KeyError, ValueError, OSError, TypeError) as error:
            reason = str(error).strip("'\"").rstrip(".")[:200]
            raise InputError(f"{title} is not a readable Excel workbook: {reason}.") from None
        sheet = self._sheet(title, book, reading.sheet)
        self.title = f"{title}, sheet {sheet.title!r}"
        self._rows = enumerate(sheet.iter_rows(values_only=True), 1)
        header = next((row for _, row in self._rows if any(map(_is_there, row))), None)
        if header is None:
            raise InputError(f"{self.title} is empty. It needs a header row and rows.")
        width = max(k for k, cell in enumerate(header) if _is_there(cell)) + 1
        names = [_spelled(cell).strip() for cell in header[:width]]
        self.index: set[str] = set()
        self.names, self.nameless = named_columns(self.title, names)

    def blocks(self, size: int, _: Any = None) -> Iterator[TextBlock]:
        """Yield blocks of at most ``size`` rows."""
        width, empty = len(self.names), 0
        while part := list(islice(self._rows, size)):
            rows = []
            for number, row in part:
                if not any(map(_is_there, row)):
                    empty = empty or number
                    continue
                if empty:
                    raise InputError(f"{self.title}, line {empty} is empty. Remove it.")
                if any(map(_is_there, row[width:])):
                    raise InputError(
                        f"{self.title}, line {number} has cells beyond the {width} columns of the "
                        "header. Name these columns, or remove the cells."
                    )
                cells = [_spelled(cell) for cell in row[:width]]
                rows.append(cells + [""] * (width - len(cells)))
            if rows:
                yield TextBlock(self.title, part[0][0], list(zip(*rows, strict=True)))

    def _sheet(self, title: str, book: Any, asked: str | None) -> Any:
        sheets = {sheet.title: sheet for sheet in book.worksheets}
        shown = ", ".join(map(repr, sheets))
        if asked is not None:
            if asked not in sheets:
                raise InputError(f"{title} has no sheet {asked!r}. Its sheets are: {shown}.")
            return sheets[asked]
        if not sheets:
            raise InputError(f"{title} has no sheet of cells.")
        first = next(iter(sheets))
        if len(sheets) > 1:
            text = f"{title} has the sheets {shown}: {first!r} was read (--sheet names another)."
            self.notes.append(Note("sheet", text))
        return sheets[first]


def _is_there(cell: Any) -> bool:
    return cell is not None and cell != ""


def _spelled(cell: Any) -> str:
    """Spell a cell as text; dates as ISO dates.

    >>> _spelled(None), _spelled(1.5), _spelled(True), _spelled(datetime(2026, 11, 15))
    ('', '1.5', 'TRUE', '2026-11-15')
    """
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, datetime) and cell.time() == time():
        return cell.date().isoformat()
    if isinstance(cell, datetime | date | time):
        return cell.isoformat()
    return cell if isinstance(cell, str) else repr(cell)

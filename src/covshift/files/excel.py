"""Excel workbooks: the cells of a sheet, spelled as CSV would spell them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time
from itertools import chain, islice
from typing import Any, BinaryIO

from ..exceptions import InputError
from ..numerics.progress import import_extra
from ..numerics.quiet import quiet
from ..show.notes import Note
from ..show.words import meant
from .builder import Spelling, TextBlock
from .reading import ReadOptions
from .text import named_columns

_LOOKED_AT = 100  # rows by which the header is found
_ROWS = 2**20  # that a sheet can have


class ExcelTable:
    """The header of a sheet, and its rows in blocks; a line is a row of the sheet."""

    is_text = True

    def __init__(self, title: str, file: BinaryIO, reading: ReadOptions) -> None:
        library = import_extra("openpyxl", extra="cli", needed_by="Reading Excel workbooks")
        self.notes: list[Note] = []
        self.spelled = Spelling(reading.decimal or ".", reading.thousands)
        try:
            with quiet(UserWarning):  # of styles that it lacks, and of what is no cell
                book = library.load_workbook(file, read_only=True, data_only=True)
        except Exception as error:  # openpyxl has errors of its own, and passes on others
            raise _unreadable(title, error) from None
        sheet = self._sheet(title, book, reading)
        self.sheet: str = sheet.title
        self.title = f"{title}, sheet {self.sheet!r}"
        rows = _rows(self.title, sheet)
        first = next((pair for pair in rows if any(map(_is_there, pair[1]))), None)
        if first is None:
            raise InputError(f"{self.title} is empty. It needs a header row and rows.")
        start = [first]
        for number, row in islice(rows, _LOOKED_AT):
            if number > start[-1][0] + 1:
                start.append((number - 1, []))  # stands for all that are empty
            start.append((number, row))
        place = header_place([row for _, row in start])
        self._line, header = start[place]
        self._rows = chain(start[place + 1 :], rows)
        if self._line > 1:
            count = f"{self._line - 1} row{'s' * (self._line > 2)}"
            text = f"{self.title}: skipped {count} above the header, which is row {self._line}."
            self.notes.append(Note("header", text))
        width = max(k for k, cell in enumerate(header) if _is_there(cell)) + 1
        names = [_spelled(cell).strip() for cell in header[:width]]
        self.index: set[str] = set()
        self.names, self.nameless = named_columns(self.title, names)

    def blocks(self, size: int, *_: Any) -> Iterator[TextBlock]:
        """Yield blocks of at most ``size`` rows."""
        width, last = len(self.names), self._line
        full = ((number, row) for number, row in self._rows if any(map(_is_there, row)))
        while part := list(islice(full, size)):
            rows = []
            for number, row in part:
                if number > last + 1:
                    raise InputError(f"{self.title}, line {last + 1} is empty. Remove it.")
                if any(map(_is_there, row[width:])):
                    raise InputError(
                        f"{self.title}, line {number} has cells beyond the {width} column"
                        f"{'s' * (width > 1)} of the header. Name these columns, or remove the "
                        "cells."
                    )
                cells = [_spelled(cell) for cell in row[:width]]
                rows.append(cells + [""] * (width - len(cells)))
                last = number
            yield TextBlock(self.title, part[0][0], list(zip(*rows, strict=True)))

    def _sheet(self, title: str, book: Any, reading: ReadOptions) -> Any:
        sheets = {sheet.title: sheet for sheet in book.worksheets}
        shown = ", ".join(map(repr, sheets))
        asked = reading.sheet
        if asked is not None:
            if asked not in sheets:
                hint = meant(asked, list(sheets))
                raise InputError(f"{title} has no sheet {asked!r}.{hint} Its sheets are: {shown}.")
            return sheets[asked]
        if not sheets:
            raise InputError(f"{title} has no sheet of cells.")
        first = next(iter(sheets))
        if len(sheets) > 1:
            option = reading.sheet_option
            text = f"{title} has the sheets {shown}: {first!r} was read ({option} names another)."
            self.notes.append(Note("sheet", text))
        return sheets[first]


def header_place(rows: list[list[Any]]) -> int:
    """Return which of the first rows of a sheet is the header; the first of them has cells.

    It is the first row, unless that cannot be: where other rows have more cells, or two of its
    columns no name. Then lines above the header were written into the sheet, such as a title, names
    over groups of columns, or where the table comes from: they fill at most half of the columns, or
    an empty row follows them. The header is the first row that fills all columns (the first one,
    which may number the rows, needs no name), and it is text.

    >>> header_place([["age", "sex"], [41, "m"]])
    0
    >>> header_place([["Survey 2026"], [], ["age", "sex", "region"], [41, "m", "north"]])
    2
    """
    filled = [{k for k, cell in enumerate(row) if _is_there(cell)} for row in rows]
    width = max(max(cells, default=-1) for cells in filled) + 1
    if max(filled[0]) + 1 == width and len(filled[0]) >= width - 1:
        return 0
    found = next((k for k, cells in enumerate(filled) if cells >= {*range(1, width)}), 0)
    gap = max((k for k in range(found) if not filled[k]), default=0)
    above = all(2 * len(cells) <= width for cells in filled[gap:found])
    return found if above and all(isinstance(rows[found][k], str) for k in filled[found]) else 0


def _rows(title: str, sheet: Any) -> Iterator[tuple[int, list[Any]]]:
    """Yield the rows that a sheet has in the file, each with its number.

    What the sheet says of its own size is not asked: it may be wrong, and openpyxl would leave out
    the rows beyond, as it leaves out rows whose number came before.
    """
    from openpyxl.worksheet import _reader as library

    book = sheet.parent
    lost: list[tuple[int, int]] = []

    class Parser(library.WorkSheetParser):  # type: ignore[misc]
        def parse_cell(self, element: Any) -> Any:
            cell = super().parse_cell(element)
            # A formula whose value is the empty text says so by its type, "str".
            empty = cell["value"] is None and element.get("t", "n") == "n"
            if empty and element.find(library.FORMULA_TAG) is not None:
                lost.append((cell["row"], cell["column"]))
            return cell

    last = 0
    try:
        with sheet._get_source() as source:
            parser = Parser(
                source,
                sheet._shared_strings,
                data_only=True,
                epoch=book.epoch,
                date_formats=book._date_formats,
                timedelta_formats=book._timedelta_formats,
            )
            for number, cells in parser.parse():
                if lost:
                    continue  # to count them
                width = max((cell["column"] for cell in cells), default=0)
                if not last < number <= _ROWS:
                    raise InputError(
                        f"{title}: the rows are numbered wrongly, at row {number}. Open and save "
                        "the file in Excel."
                    )
                last = number
                row: list[Any] = [None] * width
                for cell in cells:
                    row[cell["column"] - 1] = cell["value"]
                yield number, row
    except (InputError, MemoryError):
        raise
    except Exception as error:
        raise _unreadable(title, error) from None
    if lost:
        count = f"{len(lost):,} cell{'s' * (len(lost) > 1)}"
        raise InputError(
            f"{title}: formulas without values in {count}; open and save the file in Excel. The "
            f"first is in row {lost[0][0]}, column {lost[0][1]}."
        )


def _unreadable(title: str, error: Exception) -> InputError:
    reason = str(error).strip("'\"").rstrip(".")[:200] or type(error).__name__
    return InputError(
        f"{title} is not a readable Excel workbook: {reason}. Open and save it in Excel, or copy "
        "it again."
    )


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

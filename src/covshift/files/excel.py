"""Excel workbooks: the cells of a sheet, spelled as CSV would spell them.

calamine reads the cells. `Sheet` goes through the XML before, for what calamine would turn into
gaps in silence (formulas without a value, errors such as #DIV/0!) or could not survive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from typing import Any, BinaryIO

from ..exceptions import InputError, import_extra
from ..show.notes import Note
from ..show.words import meant
from .arrays import library, texts
from .reading import ReadOptions
from .sheet import checked_sheet, with_usual_names
from .text import named_columns
from .values import Block, Source, Spelling

_LOOKED_AT = 100  # rows by which the header is found


class ExcelTable(Source):
    """The header of a sheet, and its rows in blocks; a line is a row of the sheet."""

    def __init__(self, title: str, file: BinaryIO, reading: ReadOptions) -> None:
        calamine: Any = import_extra(
            "python_calamine", extra="cli", needed_by="Reading Excel workbooks"
        )
        self.notes = []
        self.spelled = Spelling(reading.decimal or ".", reading.thousands)
        try:
            file = with_usual_names(file)
            file.seek(0)
            book = calamine.load_workbook(file)
            self.sheet = self._sheet(title, book, reading)
            self.title = f"{title}, sheet {self.sheet!r}"
            errors = checked_sheet(self.title, file, self.sheet)
            rows = book.get_sheet_by_name(self.sheet).to_python(skip_empty_area=False)
        except (InputError, MemoryError):
            raise
        except Exception as error:  # calamine has errors of its own, and passes on others
            raise _unreadable(title, error) from None
        for (row, column), text in errors.items():
            rows[row - 1][column - 1] = text
        full = [k for k, row in enumerate(rows) if any(map(_is_there, row))]
        if not full:
            raise InputError(f"{self.title} is empty. It needs a header row and rows.")
        place = full[0] + header_place(rows[full[0] : full[0] + _LOOKED_AT])
        if place:
            count = f"{place} row{'s' * (place > 1)}"
            text = f"{self.title}: skipped {count} above the header, which is row {place + 1}."
            self.notes.append(Note("header", text))
        header = rows[place]
        width = max(k for k, cell in enumerate(header) if _is_there(cell)) + 1
        names = [_spelled(cell).strip() for cell in header[:width]]
        self.names, self.nameless = named_columns(self.title, names)
        self._line, self._rows = place + 2, rows[place + 1 : full[-1] + 1]

    def blocks(self, size: int, names: Sequence[str] | None = None) -> Iterator[Block]:
        """Yield blocks of at most ``size`` rows."""
        width = len(self.names)
        for start in range(0, len(self._rows), size):
            rows, first = self._rows[start : start + size], self._line + start
            for line, row in enumerate(rows, start=first):
                if not any(map(_is_there, row)):
                    raise InputError(f"{self.title}, line {line} is empty. Remove it.")
                if any(map(_is_there, row[width:])):
                    raise InputError(
                        f"{self.title}, line {line} has cells beyond the {width} column"
                        f"{'s' * (width > 1)} of the header. Name these columns, or remove the "
                        "cells."
                    )
            cells = [texts([_spelled(row[k]) for row in rows]) for k in range(width)]
            yield Block(library().table(cells, names=self.names), first, self._place)

    def _place(self, row: int) -> str:
        return f"{self.title}, line {row}"

    def _sheet(self, title: str, book: Any, reading: ReadOptions) -> str:
        """Return the name of the sheet that is meant."""
        sheets = [part.name for part in book.sheets_metadata if "WorkSheet" in str(part.typ)]
        shown = ", ".join(map(repr, sheets))
        asked = reading.sheet
        if asked is not None:
            if asked not in sheets:
                hint = meant(asked, sheets)
                raise InputError(f"{title} has no sheet {asked!r}.{hint} Its sheets are: {shown}.")
            return asked
        if not sheets:
            raise InputError(f"{title} has no sheet of cells.")
        first: str = sheets[0]
        if len(sheets) > 1:
            option = reading.sheet_option
            text = f"{title} has the sheets {shown}: {first!r} was read ({option} names another)."
            self.notes.append(Note("sheet", text))
        return first


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

    >>> _spelled(""), _spelled(1.5), _spelled(2.0), _spelled(True), _spelled(date(2026, 11, 15))
    ('', '1.5', '2', 'TRUE', '2026-11-15')
    """
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    if isinstance(cell, datetime) and cell.time() == time():
        return cell.date().isoformat()
    if isinstance(cell, datetime | date | time):
        return cell.isoformat()
    return "" if cell is None else str(cell)

"""The XML of a sheet of a workbook, checked before calamine reads its cells."""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO
from xml.etree import ElementTree
from xml.parsers import expat

from ..exceptions import InputError
from .memory import check_size

_ROWS, _COLUMNS = 2**20, 2**14  # that a sheet can have
_CELL = 64  # bytes of a cell, as calamine and Python hold it
_LINKS = "xl/_rels/workbook.xml.rels"
_USUAL = {"sharedStrings": "xl/sharedStrings.xml", "styles": "xl/styles.xml"}
_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def with_usual_names(file: BinaryIO) -> BinaryIO:
    """Return a workbook whose styles and shared strings have the names that calamine knows."""
    with zipfile.ZipFile(file) as book:
        members = book.namelist()
        if _LINKS not in members:
            return file
        links = _links(book)
        names = {
            path: usual
            for kind, usual in _USUAL.items()
            for path, about in links.items()
            if about.get("Type", "").endswith(f"/{kind}") and path in members
            if path.lower() != usual.lower()
        }
        if not names:
            return file
        again = io.BytesIO()
        with zipfile.ZipFile(again, "w") as new:
            for member in members:
                new.writestr(names.get(member, member), book.read(member))
    return again


def checked_sheet(title: str, file: BinaryIO, sheet: str) -> dict[tuple[int, int], str]:
    """Return the row, column and text of cells that hold an error, such as #N/A.

    Refused are formulas without a value, rows that are numbered wrongly, XML with entities of its
    own, and cells so far apart that the rectangle around them does not fit into memory.
    """
    with zipfile.ZipFile(file) as book:
        if "xl/workbook.xml" not in book.namelist():  # a binary workbook
            return {}
        root = ElementTree.fromstring(book.read("xl/workbook.xml"))
        ids = {part.get("name"): part.get(_ID) for part in root.iter() if part.get(_ID)}
        links = _links(book)
        path = next(path for path, about in links.items() if about.get("Id") == ids[sheet])
        strings = _USUAL["sharedStrings"]
        if strings in book.namelist():
            with book.open(strings) as xml:
                _parser().ParseFile(xml)
        found = _Sheet(title)
        with book.open(path) as xml:
            found.parse(xml)
    return found.errors


def _links(book: zipfile.ZipFile) -> dict[str, Mapping[str, str]]:
    """Return the parts that belong to a workbook, by their path."""
    links = ElementTree.fromstring(book.read(_LINKS))
    return {
        posixpath.normpath(posixpath.join("/xl", link.get("Target", ""))).lstrip("/"): link.attrib
        for link in links
    }


def _parser() -> Any:
    """Return a parser that refuses entities, which calamine would leave out."""
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = _refuse_entities
    return parser


def _refuse_entities(*_: Any) -> None:
    raise ValueError("it declares entities of its own")


class _Sheet:
    """Goes through the cells of a sheet."""

    def __init__(self, title: str) -> None:
        self._title = title
        self.errors: dict[tuple[int, int], str] = {}
        self._lost: list[tuple[int, int]] = []  # formulas without a value
        self._row = self._column = self._width = 0
        self._kind, self._formula = "n", False
        self._texts: list[str] = []
        self._cell = "c"
        self._columns: dict[str, int] = {}
        self._tags: dict[str, Any] = {}
        self._parser = _parser()
        self._parser.StartElementHandler = self._find

    def parse(self, xml: Any) -> None:
        """Read the whole XML; refuse what would be lost."""
        self._parser.ParseFile(xml)
        if self._lost:
            count = f"{len(self._lost):,} cell{'s' * (len(self._lost) > 1)}"
            row, column = self._lost[0]
            raise InputError(
                f"{self._title}: formulas without values in {count}; open and save the file in "
                f"Excel. The first is in row {row}, column {column}."
            )
        check_size(self._title, self._row, self._row * self._width * _CELL)

    def _start(self, name: str, about: dict[str, str]) -> None:
        handler = self._tags.get(name)
        if handler is not None:
            handler(name, about)

    def _find(self, name: str, about: dict[str, str]) -> None:
        prefix, _, last = name.rpartition("sheetData")
        if last or not name.endswith("sheetData"):
            return
        self._tags = {
            f"{prefix}row": self._begin_row,
            f"{prefix}c": self._begin_cell,
            f"{prefix}v": self._begin_value,
            f"{prefix}is": self._begin_value,
            f"{prefix}f": self._begin_formula,
        }
        self._cell = f"{prefix}c"
        self._parser.StartElementHandler = self._start

    def _begin_row(self, name: str, about: dict[str, str]) -> None:
        row = int(about.get("r", self._row + 1))
        if not self._row < row <= _ROWS:
            raise self._misplaced(row)
        self._row, self._column = row, 0

    def _begin_cell(self, name: str, about: dict[str, str]) -> None:
        place = about.get("r")
        if place is None:
            self._column += 1
        else:
            letters = place.rstrip("0123456789")
            if int(place[len(letters) :]) != self._row:
                raise self._misplaced(self._row)
            self._column = self._columns.get(letters) or self._new_column(letters)
        self._kind = about.get("t", "n")
        if self._kind == "e":
            self._watch()

    def _begin_value(self, name: str, about: dict[str, str]) -> None:
        self._width = max(self._width, self._column)
        if self._parser.EndElementHandler is not None:
            self._parser.CharacterDataHandler = self._texts.append

    def _begin_formula(self, name: str, about: dict[str, str]) -> None:
        self._formula = True
        self._watch()

    def _watch(self) -> None:
        """Keep the text of this cell, until it ends."""
        self._texts = []
        self._parser.EndElementHandler = self._end

    def _end(self, name: str) -> None:
        self._parser.CharacterDataHandler = None
        if name != self._cell:
            return
        text, place = "".join(self._texts).strip(), (self._row, self._column)
        if self._kind == "e" and text:
            self.errors[place] = text
        elif self._formula and not text and self._kind in ("n", "e"):
            self._lost.append(place)  # a formula that gives the empty text has the type "str"
        self._formula = False
        self._parser.EndElementHandler = None

    def _new_column(self, letters: str) -> int:
        number = 0
        for letter in letters:
            number = 26 * number + ord(letter) - ord("A") + 1
            if not (letter.isascii() and letter.isupper()) or number > _COLUMNS:
                raise ValueError(f"column {letters[:9]!r}")
        self._columns[letters] = number
        return number

    def _misplaced(self, row: int) -> InputError:
        return InputError(
            f"{self._title}: the rows are numbered wrongly, at row {row}. Open and save the file "
            "in Excel."
        )

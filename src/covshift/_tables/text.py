"""Text tables, read strictly: a CSV or TSV file gives its header and blocks of cells, or an error.

Nothing is repaired: a row of another length, a repeated column name, a NUL byte or an open quote
stops the reading, with the line where it was found. Rows are streamed: one block is held at a time.
"""

from __future__ import annotations

import codecs
import csv
import io
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from ..exceptions import InputError

MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None")
"""What stands for a missing value unless told otherwise."""

_SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}
_KNOWN_BYTES = (
    (b"\x1f\x8b", "is compressed with gzip", "Unpack it: gunzip -c FILE | covshift ... -"),
    (b"PK\x03\x04", "is a zip archive or an Excel workbook", "Unpack it, or save it as CSV."),
    (b"\xd0\xcf\x11\xe0", "is an old Excel workbook", "Save it as CSV."),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd", "Unpack it first."),
)


@dataclass(frozen=True)
class ReadOptions:
    """How files are read."""

    separator: str | None = None  # None: a tab for .tsv and .tab, else a comma
    encoding: str = "utf-8"
    missing: frozenset[str] = field(default_factory=lambda: frozenset(MISSING))
    missing_in: Mapping[str, frozenset[str]] = field(default_factory=dict)  # more, by column
    decimal: str | None = None  # "." or ","
    thousands: str | None = None  # ",", ".", "'" or a space
    dates: Mapping[str, str] = field(default_factory=dict)  # column: strptime format, not ISO
    sheet: str | None = None  # of workbooks


def title_of(source: str) -> str:
    """Name a source in messages."""
    return "standard input" if source == "-" else source


def open_bytes(source: str) -> BinaryIO:
    """Open a file, or standard input for "-"; what cannot be opened is an `InputError`."""
    if source == "-":
        return sys.stdin.buffer
    path = Path(source)
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise InputError(f"{source} does not exist. Check the name and the folder.") from None
    except IsADirectoryError:
        raise InputError(f"{source} is a folder. Name a file in it.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{source} cannot be read: {reason}.") from None


class TextTable:
    """The header of a text table, and its rows in blocks."""

    def __init__(self, source: str, file: BinaryIO, head: bytes, reading: ReadOptions) -> None:
        self.title = title_of(source)
        self._told = reading.separator is not None
        self._separator = reading.separator or _separator_of(source)
        _refuse_known(self.title, head)
        if not head:
            raise InputError(f"{self.title} is empty. It needs a header line and rows.")
        encoding = _encoding(self.title, head, reading.encoding)
        self._encoding = reading.encoding
        self._text = io.TextIOWrapper(file, encoding=encoding, newline="")
        self._reader = csv.reader(self._lines(), delimiter=self._separator, strict=True)
        header = next(self._rows(), None)
        if not header:
            raise InputError(f"{self.title} is empty. It needs a header line and rows.")
        self.names = self._check_header([name.strip() for name in header])

    def blocks(self, size: int) -> Iterator[tuple[int, list[tuple[str, ...]]]]:
        """Yield the line of a block's first row, and its cells column by column."""
        width, start, rows = len(self.names), self._reader.line_num + 1, []
        blank = 0
        for row in self._rows():
            if len(row) != width:
                if not row and width > 1:
                    blank = blank or self._reader.line_num
                    continue
                row = row or [""]
                if len(row) != width:
                    raise self._ragged(len(row))
            if blank:
                raise InputError(f"{self.title}, line {blank} is empty. Remove it.")
            rows.append(row)
            if len(rows) == size:
                yield start, list(zip(*rows, strict=True))
                start, rows = self._reader.line_num + 1, []
        if rows:
            yield start, list(zip(*rows, strict=True))

    def _lines(self) -> Iterator[str]:
        number = 0
        try:
            for line in self._text:
                number += 1
                if "\0" in line:
                    raise InputError(
                        f"{self.title}, line {number} holds a NUL byte: the file is damaged, or "
                        "text in UTF-16. Repair it, or try --encoding utf-16."
                    )
                yield line
        except UnicodeError:
            raise InputError(
                f"{self.title} is not text in {self._encoding} (near line {number + 1}). Save it "
                "as UTF-8; or say how the files are written, for example --encoding latin-1, "
                "--encoding cp1252 or --encoding utf-16."
            ) from None

    def _rows(self) -> Iterator[list[str]]:
        try:
            yield from self._reader
        except csv.Error as error:
            if "field larger" in str(error):
                error = csv.Error("a cell never ends; a quote may be open")
            elif "unexpected end" in str(error):
                error = csv.Error("the file ends inside a quoted cell")
            raise InputError(
                f"{self.title}, line {self._reader.line_num}: {error}. Quotes around a cell come "
                'in pairs, and a quote inside one is doubled ("").'
            ) from None

    def _check_header(self, names: list[str]) -> list[str]:
        others = {
            mark: names[0].count(mark)
            for mark in _SEPARATORS
            if mark != self._separator and mark in names[0]
        }
        if len(names) == 1 and others:
            mark = max(others, key=lambda key: others[key])
            shown = "tab" if mark == "\t" else f"'{mark}'"
            remedy = (
                "--sep is for both files: make them alike" if self._told else f"use --sep {shown}"
            )
            raise InputError(
                f"{self.title} has one column, {_short(names[0])}. It looks separated by "
                f"{_SEPARATORS[mark]}: {remedy}."
            )
        if all(map(_is_number, names)):
            raise InputError(
                f"{self.title}: the first line holds numbers only, so the header seems to be "
                "missing. Add a line with the names of the columns."
            )
        nameless = [str(k + 1) for k, name in enumerate(names) if not name]
        if nameless:
            raise InputError(
                f"{self.title}: column {', '.join(nameless[:5])} has no name in the header. Name "
                "it, or leave it out (pandas writes its index so: to_csv(..., index=False))."
            )
        repeated = [name for name, times in Counter(names).items() if times > 1]
        if repeated:
            raise InputError(
                f"{self.title}: the header names {', '.join(map(repr, repeated[:5]))} more than "
                "once. Rename or remove the repeated columns."
            )
        return names

    def _ragged(self, found: int) -> InputError:
        line = self._reader.line_num
        return InputError(
            f"{self.title}, line {line}: {found} value{'s' * (found != 1)}, but the header has "
            f"{len(self.names)} columns. A value that holds {_SEPARATORS.get(self._separator)} "
            "must stand in quotes; if the separator is another one, say so with --sep."
        )


def _separator_of(source: str) -> str:
    return "\t" if source.lower().endswith((".tsv", ".tab")) else ","


def _refuse_known(title: str, head: bytes) -> None:
    for start, what, remedy in _KNOWN_BYTES:
        if head.startswith(start):
            raise InputError(f"{title} {what}. {remedy}")


def _encoding(title: str, head: bytes, asked: str) -> str:
    try:
        name = codecs.lookup(asked).name
    except LookupError:
        raise InputError(
            f"--encoding {asked!r} is unknown. Use for example utf-8, latin-1, cp1252 or utf-16."
        ) from None
    if name.startswith("utf-8"):
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise InputError(
                f"{title} is text in UTF-16. Read it with --encoding utf-16, or save it as UTF-8."
            )
        return "utf-8-sig"  # with or without a byte order mark
    return name


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _short(text: str, limit: int = 60) -> str:
    return repr(text if len(text) <= limit else text[: limit - 3] + "...")

"""Files become sources of rows: what a file is, its first bytes say."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any, BinaryIO

from ..exceptions import InputError
from ..show.notes import Note
from .arrow import ArrowTable
from .encodings import Utf8
from .excel import ExcelTable
from .folder import FolderTable, files_of
from .memory import is_endless, read_whole
from .reading import ReadOptions, book_and_sheet, title_of
from .records import JsonTable, looks_like_json
from .survey import SurveyTable
from .text import TextTable
from .unpacking import members_of, unpacked, zip_member

_ENDED = ("zip", "Arrow", "Feather 1", "Parquet", "Stata", "SPSS")
"""Formats that need their end, or all of it: a pipe is read to there."""


@contextmanager
def opened(source: str, reading: ReadOptions) -> Iterator[Any]:
    """Open a file, a folder of parts, or standard input for "-"."""
    if source != "-" and Path(source).is_dir():
        yield _folder(source, reading)
        return
    path, sheet = book_and_sheet(source)
    if sheet is not None and reading.sheet not in (None, sheet):
        raise InputError(
            f"{source} and {reading.sheet_option} {reading.sheet!r} name two sheets: keep one."
        )
    file = open_bytes(path)
    try:
        found = _source(path, file, reading if sheet is None else replace(reading, sheet=sheet))
        if sheet is None and reading.sheet_option == "--target-sheet":
            sheet = reading.target_sheet
        if sheet is not None and not isinstance(found, ExcelTable):
            raise InputError(f"{found.title} is not an Excel workbook: it has no sheet {sheet!r}.")
        yield found
    finally:
        if source != "-":
            file.close()


def open_bytes(source: str) -> BinaryIO:
    """Open a file, or standard input for "-"; what cannot be opened is an `InputError`."""
    if source == "-":
        return sys.stdin.buffer
    try:
        return Path(source).open("rb")
    except FileNotFoundError:
        raise InputError(f"{source} does not exist. Check the name and the folder.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{source} cannot be read: {reason}.") from None


def _source(source: str, file: Any, reading: ReadOptions) -> Any:
    title = title_of(source)
    if is_endless(file):
        raise InputError(f"{title} is a device, which may never end. Name a file or a pipe.")
    head = _head(source, file)
    refuse_unreadable(title, head)
    form = format_of(head)
    piped = source == "-" or not file.seekable()
    if piped and form in _ENDED:
        file = io.BytesIO(read_whole(title, file))
    if form == "zip":
        members = members_of(file)
        if "schema.json" in members and all(k.endswith((".json", ".npy", ".npz")) for k in members):
            raise InputError(
                f"{title} is a model of covshift, not a table. Name a table here; covshift predict "
                f"{title} TABLE applies the model to one."
            )
        if "xl/workbook.xml" in members or "xl/workbook.bin" in members:
            found: Any = ExcelTable(title, file, reading)
            form = "Excel"
        else:
            name, packed = zip_member(title, file)
            found = _packed_text(title, name, packed, "zip", reading)
    elif form in PACKED:
        packed = unpacked(title, file, form)
        name = source.rpartition(".")[0] if source.count(".") else source
        found = _packed_text(title, name, packed, form, reading)
    elif form in ("Parquet", "Arrow", "Arrow stream", "Feather 1"):
        found = ArrowTable(source, None if form == "Parquet" and not piped else file, form)
    elif form in ("Stata", "SPSS"):
        found = SurveyTable(source, file if piped else None, form)
    else:
        found = _text(title, source, file, head, reading)
    if source != "-":
        found.notes.extend(name_note(source, form))
    return found


def _packed_text(
    title: str, name: str, packed: io.BufferedReader, packing: str, reading: ReadOptions
) -> Any:
    head = packed.peek(HEAD)[:HEAD]
    refuse_unreadable(title, head)
    inner = format_of(head)
    if inner not in _TEXTS:
        raise InputError(
            f"{title} holds {inner} data packed with {packing}. Only text is unpacked on the way: "
            "unpack it first."
        )
    return _text(title, name, packed, head, reading)


def _text(title: str, name: str, file: Any, head: bytes, reading: ReadOptions) -> Any:
    notes: list[Note] = []
    text = Utf8(title, file, head, reading.encoding, notes)
    if format_of(head) == "JSON":
        return JsonTable(title, text, notes)
    return TextTable(title, name, text, notes, reading)


def _folder(source: str, reading: ReadOptions) -> Any:
    parts = files_of(Path(source))
    forms = {}
    for part in parts:
        with open_bytes(str(part)) as file:
            forms[part] = format_of(_head(str(part), file))
    if set(forms.values()) == {"Parquet"}:
        return ArrowTable(source, None, "Parquet")
    texts = ("text", "zip", *PACKED)
    if all(form in texts for form in forms.values()):
        return FolderTable(source, parts, lambda part: opened(part, reading))
    shown = ", ".join(f"{path.name} ({form})" for path, form in list(forms.items())[:3])
    raise InputError(
        f"{source} is a folder of several formats: {shown}. A folder may hold Parquet files, or "
        "text tables with equal headers; else name one file in it."
    )


def _head(source: str, file: Any) -> bytes:
    try:
        head: bytes = file.peek(HEAD)[:HEAD]
    except OSError as error:
        raise InputError(f"{source} cannot be read: {error.strerror or error}.") from None
    return head


# Formats known by their first bytes, whatever the name of the file.


HEAD = 512  # bytes that are enough to tell

_STARTS = (
    (b"PAR1", "Parquet"),
    (b"ARROW1", "Arrow"),
    (b"FEA1", "Feather 1"),
    (b"\xff\xff\xff\xff", "Arrow stream"),
    ((b"PK\x03\x04", b"PK\x05\x06"), "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    ((b"$FL2", b"$FL3"), "SPSS"),
    (b"<stata_dta>", "Stata"),
)
_REFUSED = (
    (
        b"\xd0\xcf\x11\xe0",
        "an old Excel workbook (.xls), or one with a password",
        "Save it as .xlsx without a password, or as CSV.",
    ),
    (b"\x89HDF", "an HDF5 file", "Save the table as Parquet or CSV."),
    (b"SQLite format 3", "an SQLite database", "Save the table as Parquet or CSV."),
    (b"ORC", "an ORC file", "Save the table as Parquet or CSV."),
    (b"Obj\x01", "an Avro file", "Save the table as Parquet or CSV."),
    (b"\x93NUMPY", "a NumPy array", "Save it as CSV or Parquet, with names of the columns."),
    (b"%PDF", "a PDF", "Name a table: CSV, JSON, Parquet, Arrow, Excel, Stata or SPSS."),
    (b"7z\xbc\xaf", "a 7-zip archive", "Unpack it first."),
    ((b"<!DOCTYPE", b"<!doctype", b"<html"), "a web page", "Download the table itself."),
)
_TEXTS = ("text", "JSON")
PACKED = ("gzip", "zstd", "bzip2", "xz")

_SUFFIXES = {
    **{".json": "JSON", ".jsonl": "JSON", ".ndjson": "JSON"},
    **{".csv": "text", ".tsv": "text", ".parquet": "Parquet", ".feather": "Arrow"},
    **{".arrow": "Arrow", ".xlsx": "Excel", ".dta": "Stata", ".sav": "SPSS", ".gz": "gzip"},
    **{".zst": "zstd", ".bz2": "bzip2", ".xz": "xz", ".zip": "zip"},
}


def format_of(head: bytes) -> str:
    """Return the name of the format that the first bytes show, "text" where they show none.

    >>> format_of(b"PAR1"), format_of(b'[{"a"'), format_of(b"a,b")
    ('Parquet', 'JSON', 'text')
    """
    for start, name in _STARTS:
        if head.startswith(start):
            return name
    old_stata = len(head) > 4 and 105 <= head[0] <= 115 and head[1] in (1, 2)
    if old_stata and head[2] == 1 and head[3] == 0:
        return "Stata"
    return "JSON" if looks_like_json(head) else "text"


def refuse_unreadable(title: str, head: bytes) -> None:
    """Refuse files that are known, and are no tables that can be read."""
    for start, what, remedy in _REFUSED:
        if head.startswith(start):
            raise InputError(f"{title} is {what}. {remedy}")
    if head[257:262] == b"ustar":
        raise InputError(f"{title} is a tar archive. Unpack it, and name a file in it.")


def name_note(source: str, found: str) -> list[Note]:
    """Say that a file is something else than its name says."""
    said = _SUFFIXES.get(PurePath(source).suffix.lower())
    alike = {"Arrow stream": "Arrow", "Feather 1": "Arrow"}
    if said is None or said == alike.get(found, found):
        return []
    text = f"Read as {found}, despite its name: {source}."
    return [Note("name of the file", text)]

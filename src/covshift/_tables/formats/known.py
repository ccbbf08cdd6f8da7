"""Formats known by their first bytes, whatever the name of the file."""

from __future__ import annotations

from pathlib import PurePath

from ...exceptions import InputError
from ...show.notes import Note

HEAD = 512  # bytes that are enough to tell

_STARTS = (
    (b"PAR1", "Parquet"),
    (b"ARROW1", "Arrow"),
    (b"FEA1", "Feather 1"),
    (b"\xff\xff\xff\xff", "Arrow stream"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"$FL2", "SPSS"),
    (b"$FL3", "SPSS"),
    (b"<stata_dta>", "Stata"),
)
_REFUSED = (
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook (.xls)", "Save it as .xlsx or CSV."),
    (b"\x89HDF", "an HDF5 file", "Save the table as Parquet or CSV."),
    (b"SQLite format 3", "an SQLite database", "Save the table as Parquet or CSV."),
    (b"ORC", "an ORC file", "Save the table as Parquet or CSV."),
    (b"Obj\x01", "an Avro file", "Save the table as Parquet or CSV."),
    (b"\x93NUMPY", "a NumPy array", "Save it as CSV or Parquet, with names of the columns."),
    (b'{"', "a JSON file", "Save the table as CSV or Parquet."),
    (b"{\n", "a JSON file", "Save the table as CSV or Parquet."),
    (b"[{", "a JSON file", "Save the table as CSV or Parquet."),
    (b"[\n", "a JSON file", "Save the table as CSV or Parquet."),
    (b"%PDF", "a PDF", "Name a table: CSV, Parquet, Arrow, Excel, Stata or SPSS."),
    (b"7z\xbc\xaf", "a 7-zip archive", "Unpack it first."),
    (b"<!DOCTYPE", "a web page", "Download the table itself."),
    (b"<!doctype", "a web page", "Download the table itself."),
    (b"<html", "a web page", "Download the table itself."),
)
PACKED = ("gzip", "zstd", "bzip2", "xz")

_SUFFIXES = {
    ".csv": "text",
    ".tsv": "text",
    ".parquet": "Parquet",
    ".feather": "Arrow",
    ".arrow": "Arrow",
    ".xlsx": "Excel",
    ".dta": "Stata",
    ".sav": "SPSS",
    ".gz": "gzip",
    ".zst": "zstd",
    ".bz2": "bzip2",
    ".xz": "xz",
    ".zip": "zip",
}


def format_of(head: bytes) -> str:
    """Return the name of the format that the first bytes show, "text" where they show none.

    >>> format_of(b"PAR1"), format_of(b"a,b")
    ('Parquet', 'text')
    """
    for start, name in _STARTS:
        if head.startswith(start):
            return name
    old_stata = len(head) > 4 and 105 <= head[0] <= 115 and head[1] in (1, 2)
    return "Stata" if old_stata and head[2] == 1 and head[3] == 0 else "text"


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
    text = f"Read as {found}, whatever the name says: {source}."
    return [Note("name of the file", text)]

"""Files become sources of rows: what a file is, its first bytes say."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ..exceptions import InputError
from .arrow import ArrowTable
from .excel import ExcelTable
from .folder import FolderTable, files_of
from .formats.known import HEAD, PACKED, format_of, name_note, refuse_unreadable
from .formats.unpacked import is_workbook, refuse_model, unpacked, zip_member
from .parquet import ParquetTable
from .reading import ReadOptions, title_of
from .room import read_whole, refuse_devices
from .survey import SurveyTable
from .text import TextTable

_ENDED = ("zip", "Arrow", "Feather 1", "Parquet", "Stata", "SPSS")
"""Formats that need their end, or all of it: a pipe is read to there."""


@contextmanager
def opened(source: str, reading: ReadOptions) -> Iterator[Any]:
    """Open a file, a folder of parts, or standard input for "-"."""
    if source != "-" and Path(source).is_dir():
        yield _folder(source, reading)
        return
    file = open_bytes(source)
    try:
        yield _source(source, file, reading)
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
    refuse_devices(title, file)
    head = _head(source, file)
    refuse_unreadable(title, head)
    form = format_of(head)
    name = source
    piped = source == "-" or not file.seekable()
    if piped and form in _ENDED:
        file = io.BytesIO(read_whole(title, file))
    if form == "zip":
        refuse_model(title, file)
        if is_workbook(file):
            found: Any = ExcelTable(title, file, reading)
            form = "Excel"
        else:
            name, packed = zip_member(title, file)
            found = _packed_text(title, name, packed, "zip", reading)
    elif form in PACKED:
        packed = unpacked(title, file, form)
        name = source.rpartition(".")[0] if source.count(".") else source
        found = _packed_text(title, name, packed, form, reading)
    elif form == "Parquet":
        found = ParquetTable(source, file if piped else None, reading)
    elif form.startswith(("Arrow", "Feather")):
        found = ArrowTable(title, file, form, reading)
    elif form in ("Stata", "SPSS"):
        found = SurveyTable(source, file if piped else None, form, reading)
    else:
        found = TextTable(title, name, file, head, reading)
    if source != "-":
        found.notes.extend(name_note(source, form))
    return found


def _packed_text(
    title: str, name: str, packed: io.BufferedReader, packing: str, reading: ReadOptions
) -> TextTable:
    head = packed.peek(HEAD)[:HEAD]
    refuse_unreadable(title, head)
    inner = format_of(head)
    if inner != "text":
        raise InputError(
            f"{title} holds {inner} data packed with {packing}. Only text is unpacked on the way: "
            "unpack it first."
        )
    return TextTable(title, name, packed, head, reading)


def _folder(source: str, reading: ReadOptions) -> Any:
    parts = files_of(Path(source))
    forms = {}
    for part in parts:
        with open_bytes(str(part)) as file:
            forms[part] = format_of(_head(str(part), file))
    if set(forms.values()) == {"Parquet"}:
        return ParquetTable(source, None, reading)
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

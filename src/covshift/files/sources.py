"""Files become sources of rows: what a file is, its first bytes say."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path, PurePath
from typing import Any, BinaryIO

from ..exceptions import InputError
from ..numerics.progress import import_extra
from ..show.notes import Note
from .arrow import ArrowTable
from .builder import TextBlock
from .excel import ExcelTable
from .reading import ReadOptions, book_and_sheet, title_of
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
    if _is_endless(file):
        raise InputError(f"{title} is a device, which may never end. Name a file or a pipe.")
    head = _head(source, file)
    refuse_unreadable(title, head)
    form = format_of(head)
    name = source
    piped = source == "-" or not file.seekable()
    if piped and form in _ENDED:
        file = io.BytesIO(read_whole(title, file))
    if form == "zip":
        members = _members(file)
        if "manifest.json" in members and all(k.endswith((".json", ".npy")) for k in members):
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
    elif form == "Parquet":
        found = ArrowTable(source, file if piped else None, form, reading)
    elif form.startswith(("Arrow", "Feather")):
        found = ArrowTable(source, file, form, reading)
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
        return ArrowTable(source, None, "Parquet", reading)
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
    ((b'{"', b"{\n", b"[{", b"[\n"), "a JSON file", "Save the table as CSV or Parquet."),
    (b"%PDF", "a PDF", "Name a table: CSV, Parquet, Arrow, Excel, Stata or SPSS."),
    (b"7z\xbc\xaf", "a 7-zip archive", "Unpack it first."),
    ((b"<!DOCTYPE", b"<!doctype", b"<html"), "a web page", "Download the table itself."),
)
PACKED = ("gzip", "zstd", "bzip2", "xz")

_SUFFIXES = {
    **{".csv": "text", ".tsv": "text", ".parquet": "Parquet", ".feather": "Arrow"},
    **{".arrow": "Arrow", ".xlsx": "Excel", ".dta": "Stata", ".sav": "SPSS", ".gz": "gzip"},
    **{".zst": "zstd", ".bz2": "bzip2", ".xz": "xz", ".zip": "zip"},
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
    text = f"Read as {found}, despite its name: {source}."
    return [Note("name of the file", text)]


# Compressed text: unpacked while it is read, so that no file fills the memory.
#
# Reading asks for a piece at a time, and a piece of unpacked text is as large as it was asked for,
# however small its packed form is.


_OPENED: dict[str, Callable[[BinaryIO], Any]] = {
    "gzip": gzip.open,
    "bzip2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
}


def unpacked(title: str, file: BinaryIO, packing: str) -> io.BufferedReader:
    """Return the text that is packed in a file, as a stream of bytes."""
    opened: Callable[[BinaryIO], Any] = _OPENED.get(packing, _zstd)
    return io.BufferedReader(_Unpacked(title, packing, opened(file)), 1 << 18)


def zip_member(title: str, file: BinaryIO) -> tuple[str, io.BufferedReader]:
    """Return the name of the one file in a zip archive, and its bytes as a stream."""
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError) as error:
        raise damaged(title, "zip", error) from None
    members = [item for item in archive.infolist() if not _is_hidden(item)]
    if len(members) != 1:
        shown = ", ".join(repr(item.filename) for item in members[:5])
        shown = f": {shown}{' ...' if len(members) > 5 else ''}" if members else ""
        raise InputError(
            f"{title} is a zip archive of {len(members)} files{shown}. One table is needed: unpack "
            "it, and name the file or a folder of like files."
        )
    try:
        stream = archive.open(members[0])
    except (RuntimeError, NotImplementedError, zipfile.BadZipFile) as error:  # such as a password
        raise damaged(title, "zip", error) from None
    raw = _Unpacked(title, "zip", stream)
    return members[0].filename, io.BufferedReader(raw, 1 << 18)


def _members(file: BinaryIO) -> list[str]:
    """Names in a zip archive; the file stands at its start again."""
    try:
        names = zipfile.ZipFile(file).namelist()
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError):
        names = []
    file.seek(0)
    return names


def damaged(title: str, packing: str, error: Exception) -> InputError:
    """Say that a file cannot be unpacked."""
    if isinstance(error, EOFError) or str(error).startswith("Truncated"):  # so says Arrow
        return InputError(
            f"{title} ends in the middle of its {packing} data: it was cut off. Copy it again."
        )
    reason = str(error).rstrip(".")[:200] or type(error).__name__
    return InputError(f"{title} cannot be unpacked ({packing}: {reason}). Copy it again.")


class _Unpacked(io.RawIOBase):
    """The bytes of a stream; its errors in our words."""

    def __init__(self, title: str, packing: str, stream: Any) -> None:
        self._title, self._packing, self._stream = title, packing, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._stream.read(len(buffer))
        except (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
            raise damaged(self._title, self._packing, error) from None
        buffer[: len(data)] = data
        return len(data)


def _zstd(file: BinaryIO) -> Any:
    arrow: Any = import_extra("pyarrow", extra="cli", needed_by="Reading .zst files")
    return arrow.CompressedInputStream(arrow.PythonFile(file, mode="r"), "zstd")


def _is_hidden(item: zipfile.ZipInfo) -> bool:
    return item.is_dir() or item.filename.startswith("__MACOSX/")


# A folder of text tables with equal headers: one table, its parts in the order of their names.


class FolderTable:
    """The common header of the parts, and their rows in blocks; one part is open at a time."""

    is_text = True

    def __init__(self, title: str, parts: list[Path], opened: Callable[[str], Any]) -> None:
        self.title, self._parts, self._opened = title, parts, opened
        with opened(str(parts[0])) as first:
            self.names: list[str] = first.names
            self.spelled = first.spelled
            self.nameless: set[str] = first.nameless
        self.index: set[str] = set()
        text = f"{title}: {len(parts)} files were read as one table."
        self.notes: list[Note] = [Note("folder", text)] if len(parts) > 1 else []

    def blocks(self, size: int, *names: Any) -> Iterator[TextBlock]:
        """Yield blocks of at most ``size`` rows, part by part."""
        said: dict[str, None] = {}
        for part in self._parts:
            with self._opened(str(part)) as table:
                self._check_alike(table)
                yield from table.blocks(size, *names)
                for note in table.notes:
                    if note.kind not in said:
                        said[note.kind] = None
                        self.notes.append(note)

    def _check_alike(self, table: Any) -> None:
        if table.names != self.names:
            other = [*table.names, *self.names]
            odd = [name for name in other if other.count(name) == 1]
            what = f"differs in {', '.join(map(repr, odd[:5]))}" if odd else "has another order"
            raise InputError(
                f"{table.title}: its header {what} from that of {self._parts[0].name}. The files "
                "of a folder need the same columns in the same order."
            )
        if table.spelled != self.spelled:
            raise InputError(
                f"{table.title} seems to write numbers differently from {self._parts[0].name}. Say "
                "how: --decimal , or --decimal ."
            )


def files_of(folder: Path) -> list[Path]:
    """Return the files of a folder by name, without hidden ones (such as _SUCCESS)."""
    found = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    ]
    if not found:
        raise InputError(f"{folder} is a folder without files. Name a file, or a folder of parts.")
    return found


# Tables that never end, or that memory cannot hold, are refused in words before memory is full.


_SHARE = 1 / 3  # of memory for the cells of one table: they are copied once, and then used
_PIECE = 1 << 20
_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


_FEWER = (
    "Use a sample of its rows, such as (head -1 FILE; tail -n +2 FILE | shuf -n 1000000) > "
    "sample.csv; covshift predict alone takes tables of any length."
)


class Room:
    """Counts what the cells of a table take while it is read."""

    def __init__(self, title: str) -> None:
        self._title, self._rows, self._most = title, 0, _SHARE * memory()

    def check(self, rows: int, held: int, done: float | None = None) -> None:
        """Count more rows; refuse a table of which ``held`` bytes are more than memory allows.

        ``done`` is the share of the file that was read, where that is known: what the whole will
        take is then told at its beginning.
        """
        self._rows += rows
        if held > self._most:
            raise InputError(
                f"{self._title} is larger than memory, or never ends: {self._rows:,} rows take "
                f"{held / 1e9:.1f} of {memory() / 1e9:.1f} GB. {_FEWER}"
            )
        if done and held / done > self._most:
            raise InputError(
                f"{self._title} is larger than memory: its first {self._rows:,} rows are "
                f"{done:.1%} of it, and all would take {held / done / 1e9:.1f} of "
                f"{memory() / 1e9:.1f} GB. {_FEWER}"
            )


def read_whole(title: str, file: BinaryIO) -> bytes:
    """Read a pipe to its end, unless memory is too small for that."""
    pieces, held, most = [], 0, _SHARE * memory()
    while piece := file.read(_PIECE):
        pieces.append(piece)
        held += len(piece)
        if held > most:
            raise InputError(
                f"{title} is larger than memory, or never ends: {held / 1e9:.1f} of "
                f"{memory() / 1e9:.1f} GB were read. Name a file in place of a pipe."
            )
    return b"".join(pieces)


def _is_endless(file: Any) -> bool:
    """Whether a file is a device that never ends, such as /dev/zero."""
    try:
        found, null = os.fstat(file.fileno()), os.stat(os.devnull)
    except (AttributeError, OSError, ValueError):  # no file of the system
        return False
    return stat.S_ISCHR(found.st_mode) and found.st_rdev != null.st_rdev and not file.isatty()


@cache
def memory() -> int:
    """Bytes of memory that this process may use, as far as the system says."""
    found = [1 << 62]
    with suppress(AttributeError, OSError, ValueError):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(ImportError, OSError, ValueError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        found += [limit] if limit != resource.RLIM_INFINITY else []
    for path in _GROUPS:  # of a container
        with suppress(OSError, ValueError):
            found.append(int(Path(path).read_text()))
    return min(size for size in found if size > 0)

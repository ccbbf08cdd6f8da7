"""Compressed text, unpacked while it is read, so that no file fills the memory.

Reading asks for a piece at a time, and a piece of unpacked text is as large as it was asked for,
however small its packed form is.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO

from ..exceptions import InputError, import_extra

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


def members_of(file: BinaryIO) -> list[str]:
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

"""Compressed text: unpacked while it is read, so that no file fills the memory.

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

from ..._optional import import_extra
from ...exceptions import InputError

_OPENED: dict[str, Callable[[BinaryIO], Any]] = {
    "gzip": gzip.open,
    "bzip2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
}
_ZSTD_PIECE = 1024  # packed bytes at a time: at most some 30 MB when unpacked


def unpacked(title: str, file: BinaryIO, packing: str) -> io.BufferedReader:
    """Return the text that is packed in a file, as a stream of bytes."""
    opened: Callable[[BinaryIO], Any] = _OPENED.get(packing, _zstd)
    return io.BufferedReader(_Unpacked(title, packing, opened(file)), 1 << 18)


def zip_member(title: str, file: BinaryIO) -> tuple[str, io.BufferedReader]:
    """Return the name of the one file in a zip archive, and its bytes as a stream."""
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, OSError, ValueError) as error:
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


def is_workbook(file: BinaryIO) -> bool:
    """Tell whether a zip archive is an Excel workbook; the file stands at its start again."""
    names = _members(file)
    return "xl/workbook.xml" in names or "xl/workbook.bin" in names


def refuse_model(title: str, file: BinaryIO) -> None:
    """Refuse a file that covshift fit wrote; the file stands at its start again."""
    names = _members(file)
    if "manifest.json" in names and all(name.endswith((".json", ".npy")) for name in names):
        raise InputError(
            f"{title} is a model of covshift, not a table. Name a table here; covshift predict "
            f"{title} TABLE applies the model to one."
        )


def _members(file: BinaryIO) -> list[str]:
    try:
        names = zipfile.ZipFile(file).namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        names = []
    file.seek(0)
    return names


def damaged(title: str, packing: str, error: Exception) -> InputError:
    """Say that a file cannot be unpacked."""
    if isinstance(error, EOFError):
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
        except InputError:
            raise
        except (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
            raise damaged(self._title, self._packing, error) from None
        except Exception as error:  # zstd has errors of its own, by package
            if "zstd" not in type(error).__module__ and "zstd" not in type(error).__name__.lower():
                raise
            raise damaged(self._title, self._packing, error) from None
        buffer[: len(data)] = data
        return len(data)


def _zstd(file: BinaryIO) -> Any:
    try:
        from compression.zstd import ZstdFile  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return _ZstdFile(file)
    return ZstdFile(file)


class _ZstdFile:
    """Zstandard before Python 3.14."""

    def __init__(self, file: BinaryIO) -> None:
        self._zstd = import_extra("zstandard", extra="zstd", needed_by="Reading .zst files")
        self._file = file
        self._frame: Any = None
        self._packed = b""
        self._held = memoryview(b"")

    def read(self, size: int) -> Any:
        while not self._held:
            if not self._packed:
                self._packed = self._file.read(_ZSTD_PIECE)
                if not self._packed:
                    if self._frame is not None:
                        raise EOFError
                    return b""
            if self._frame is None:
                self._frame = self._zstd.ZstdDecompressor().decompressobj()
            self._held = memoryview(self._frame.decompress(self._packed))
            self._packed = b""
            if self._frame.eof:
                self._packed = self._frame.unused_data
                self._frame = None
        data, self._held = self._held[:size], self._held[size:]
        return data


def _is_hidden(item: zipfile.ZipInfo) -> bool:
    return item.is_dir() or item.filename.startswith("__MACOSX/")

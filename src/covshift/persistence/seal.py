"""The end of a model file: format, version and a digest of all bytes before it, looked at first.

It is the comment of the zip archive, and so the last bytes of the file::

    covshift-model 3 4f1c...  (64 hexadecimal digits: SHA-256)

A file that was cut off, or in which any byte differs, is refused before its archive, its manifest
or an array is looked at. The digest finds damage; it is no signature.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
from typing import BinaryIO, NamedTuple

from ..exceptions import InputError

FORMAT = "covshift-model"
VERSION = 4
MAX_MEMBERS = 1024
_MAX_DIRECTORY = 1 << 19  # bytes; 1024 members with names of 400 letters
_PIECE = 1 << 20
_SEAL = re.compile(rb"covshift-model ([0-9]{1,6}) ([0-9a-f]{64})")
_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")


class Damaged(Exception):
    """What is wrong with a file, in words."""


class Seal(NamedTuple):
    """What the end of a file says."""

    version: int
    digest: str
    length: int  # of the seal in bytes


def seal_of(content: bytes | memoryview) -> bytes:
    """Return the seal of all bytes before it."""
    return f"{FORMAT} {VERSION} {hashlib.sha256(content).hexdigest()}".encode()


EMPTY = b"-" * len(seal_of(b""))
"""A comment as long as a seal, to be written over."""


def read_seal(name: str, file: BinaryIO, size: int) -> Seal:
    """Return the seal of an open file, once its version can be read and its digest is right."""
    file.seek(max(0, size - 100))
    tail = file.read(100)
    found = None
    for match in _SEAL.finditer(tail):
        found = match if match.end() == len(tail) else None
    if found is None:
        raise Damaged("it does not end as a model file does: it may have been cut off")
    seal = Seal(int(found[1]), found[2].decode(), len(found[0]))
    check_version(name, seal.version)
    if _digest(file, size - seal.length) != seal.digest:
        raise Damaged("its checksum is wrong")
    return seal


def check_version(name: str, version: object) -> None:
    """Refuse formats that this version does not read."""
    if type(version) is not int or version < 1:
        raise Damaged(f"its format version is {str(version)[:20]!r}")
    if version > VERSION:
        raise InputError(
            f"{name} was written by a newer covshift (format {version}; this one reads format "
            f"{VERSION}). Upgrade covshift to read it."
        )
    if version < VERSION:
        raise InputError(
            f"{name} was written by an older covshift (format {version}; this one reads format "
            f"{VERSION}). Fit the model again."
        )


def check_directory(file: BinaryIO, size: int, seal: Seal) -> None:
    """Refuse a directory of members that is longer than any model's, before it is read."""
    end = size - seal.length - _END.size
    file.seek(max(0, end))
    record = file.read(_END.size)
    if end < 0 or not record.startswith(b"PK\x05\x06"):
        raise Damaged("its archive has no end")
    *_, members, length, _, comment = _END.unpack(record)
    before = end - _LOCATOR.size - _END64.size
    if before > 0:  # a file of more than 2 GB has a longer record before this one
        file.seek(before)
        wide, locator = file.read(_END64.size), file.read(_LOCATOR.size)
        if locator.startswith(b"PK\x06\x07") and wide.startswith(b"PK\x06\x06"):
            *_, members, length, _ = _END64.unpack(wide)
    if comment != seal.length:
        raise Damaged("its archive has another end")
    if members > MAX_MEMBERS or length > _MAX_DIRECTORY:
        raise Damaged("it has too many members")


def _digest(file: BinaryIO, length: int) -> str:
    """Digest of the first bytes of a file, a piece at a time."""
    file.seek(0, os.SEEK_SET)
    found = hashlib.sha256()
    while length > 0 and (piece := file.read(min(length, _PIECE))):
        found.update(piece)
        length -= len(piece)
    return found.hexdigest()

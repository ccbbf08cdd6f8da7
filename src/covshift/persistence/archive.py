"""The container of model files: a zip archive of plain arrays and one JSON manifest.

No pickle, no code, no compression. Everything is checked before it is believed: the size of the
file, its seal (format, version, a digest of all bytes), the number of its members, that none is
compressed (so that nothing can expand), the length of the manifest, a digest of every member, and
the type and length of every array. The digests find damage; they are not a signature, and do not
say who wrote the file.

The arrays are ``.npy`` members, so ``numpy.load(path, allow_pickle=False)`` shows them.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import struct
import zipfile
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..files.writing import atomic_file

Arrays = dict[str, NDArray[Any]]

_MAX_MANIFEST = 1 << 23  # bytes: as Python objects up to 60 times as much
_MANIFEST = "manifest.json"
_UNREADABLE = (  # what zipfile raises, besides its own error, where headers contradict each other
    zipfile.BadZipFile,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
    struct.error,
)


def write_archive(path: str | os.PathLike[str], manifest: dict[str, Any], arrays: Arrays) -> None:
    """Write a file; readers see the old one or the new one, never half of it."""
    if len(arrays) >= MAX_MEMBERS:
        raise InputError(
            f"What is to be saved has {len(arrays)} arrays, and a model file holds at most "
            f"{MAX_MEMBERS - 1}. Use fewer models, such as method='cv+' in place of 'jackknife+'."
        )
    members = {f"{name}.npy": npy_bytes(array) for name, array in arrays.items()}
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        **manifest,
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
    }
    text = json.dumps(manifest, ensure_ascii=False, indent=1, allow_nan=False)
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > _MAX_MANIFEST:
        raise InputError(
            f"Names, categories and parameters of what is to be saved take {len(data):,} bytes, "
            f"and a model file holds at most {_MAX_MANIFEST:,} of them. Merge rare categories, or "
            "drop columns with very many."
        )
    sealed = _sealed({_MANIFEST: data, **members})
    with atomic_file(path) as file:
        file.write(sealed)


def _sealed(members: dict[str, bytes]) -> memoryview:
    """Return an archive of members, whose comment is the seal of all that stands before it."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
        archive.comment = EMPTY
    whole = stream.getbuffer()
    whole[-len(EMPTY) :] = seal_of(whole[: -len(EMPTY)])
    return whole


def read_archive(name: str, file: BinaryIO, size: int) -> tuple[dict[str, Any], Arrays]:
    """Return the manifest and the arrays of an open file of ``size`` bytes."""
    if file.read(4) != b"PK\x03\x04":
        raise InputError(
            f"{name} is not a model file of covshift. Make one with covshift.save, or with: "
            "covshift fit ... -o MODEL"
        )
    seal = read_seal(name, file, size)
    check_directory(file, size, seal)
    try:
        archive = zipfile.ZipFile(file)
    except _UNREADABLE as error:
        raise Damaged(f"its archive cannot be read ({error})") from None
    with archive:
        _check_members(archive, size)
        manifest = _manifest(name, archive)
        return manifest, _arrays(archive, manifest)


def _check_members(archive: zipfile.ZipFile, size: int) -> None:
    members = archive.infolist()
    names = [member.filename for member in members]
    if len(members) > MAX_MEMBERS or len(set(names)) != len(names):
        raise Damaged("it has too many or repeated members")
    if _MANIFEST not in names:
        raise Damaged("it has no manifest")
    if not all(name.endswith(".npy") for name in names if name != _MANIFEST):
        raise Damaged("it has members that are not arrays")
    for member in members:
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise Damaged(f"its member {member.filename[:100]!r} is compressed")
    if sum(member.file_size for member in members) > size:
        raise Damaged("its members are longer than the file")


def _read(archive: zipfile.ZipFile, member: str) -> bytes:
    try:
        return archive.read(member)
    except _UNREADABLE:
        raise Damaged(f"its member {member[:100]!r} cannot be read") from None


def _manifest(name: str, archive: zipfile.ZipFile) -> dict[str, Any]:
    if archive.getinfo(_MANIFEST).file_size > _MAX_MANIFEST:
        raise Damaged(f"its manifest is longer than {_MAX_MANIFEST:,} bytes")
    text = _read(archive, _MANIFEST)
    try:
        manifest = json.loads(
            text.decode("utf-8", "surrogatepass"),
            object_pairs_hook=_distinct,
            parse_constant=_no_number,
        )
    except (ValueError, RecursionError):
        raise Damaged("its manifest is not JSON") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(f"{name} is not a model file of covshift.")
    check_version(name, manifest.get("version"))
    return manifest


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a repeated key")
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number of JSON")


def _arrays(archive: zipfile.ZipFile, manifest: dict[str, Any]) -> Arrays:
    sums = manifest.get("sha256")
    members = [name for name in archive.namelist() if name != _MANIFEST]
    if not isinstance(sums, dict) or set(sums) != set(members):
        raise Damaged("its list of members is wrong")
    arrays = {}
    for member in members:
        data = _read(archive, member)
        if hashlib.sha256(data).hexdigest() != sums[member]:
            raise Damaged(f"the checksum of {member[:100]!r} is wrong")
        try:
            arrays[member.removesuffix(".npy")] = array_of(data)
        except ValueError as error:
            raise Damaged(f"{member[:100]!r} {error}") from None
    return arrays


# Arrays as ``.npy`` members, which NumPy reads; here no header is evaluated.


_DTYPES = {f"<{kind}{size}" for kind in "fiu" for size in (2, 4, 8)} | {"|i1", "|u1", "|b1"}
_START = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '([<>|=]?[A-Za-z][0-9]*)', 'fortran_order': (True|False), "
    rb"'shape': \(((?:[0-9]{1,18}, ?)*(?:[0-9]{1,18})?)\), \} *\n"
)


def npy_bytes(values: NDArray[Any]) -> bytes:
    """Return an array in its own order, on which the last bit of a product can depend."""
    order = "F" if values.flags.f_contiguous and not values.flags.c_contiguous else "C"
    values = np.asarray(values, dtype=values.dtype.newbyteorder("<"), order=order)  # type: ignore[call-overload]
    stream = io.BytesIO()
    np.lib.format.write_array(stream, values, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def array_of(data: bytes) -> NDArray[Any]:
    """Return the array of a member whose header fits the bytes that follow it, or a ValueError."""
    begin = len(_START) + 2
    length = int.from_bytes(data[len(_START) : begin], "little")
    match = _HEADER.fullmatch(data, begin, begin + length)
    if not data.startswith(_START) or len(data) < begin + length or not match:
        raise ValueError("is not an array")
    if match[1].decode() not in _DTYPES:
        raise ValueError("has an unexpected type")
    dtype = np.dtype(match[1].decode())
    shape = tuple(int(part) for part in match[3].split(b",") if part.strip())
    if math.prod(shape) * dtype.itemsize != len(data) - begin - length:
        raise ValueError("has another size than it says")
    if dtype == np.bool_ and max(data[begin + length :], default=0) > 1:
        raise ValueError("has truth values that are neither true nor false")
    values = np.frombuffer(data, dtype, offset=begin + length).copy()  # its own, and writable
    return values.reshape(shape, order="F" if match[2] == b"True" else "C")


# The end of a model file: format, version and a digest of all bytes before it, looked at first.
#
# It is the comment of the zip archive, and so the last bytes of the file::
#
#     covshift-model 3 4f1c...  (64 hexadecimal digits: SHA-256)
#
# A file that was cut off, or in which any byte differs, is refused before its archive, its manifest
# or an array is looked at. The digest finds damage; it is no signature.


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
    digest = hashlib.sha256()
    while length > 0 and (piece := file.read(min(length, _PIECE))):
        digest.update(piece)
        length -= len(piece)
    return digest.hexdigest()

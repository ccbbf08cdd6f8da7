"""The container of model files: a zip archive of plain arrays and one JSON manifest.

No pickle, no code, no compression. Everything is checked before it is believed: the size of the
file, the list of its members, that none is compressed (so that nothing can expand), the format's
version, a checksum of every member, and the type and length of every array. The checksums find
damage; they are no signature, and say nothing about who wrote the file.

The arrays are ``.npy`` members, so ``numpy.load(path, allow_pickle=False)`` shows them.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import zipfile
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .._files import atomic_file
from ..exceptions import InputError

Arrays = dict[str, NDArray[Any]]

FORMAT = "covshift-model"
VERSION = 2  # 2: every estimator can be saved, and kernels have a width
_MAX_MANIFEST = 1 << 26
_MAX_MEMBERS = 1024
_MANIFEST = "manifest.json"
_DTYPES = {f"<{kind}{size}" for kind in "fiu" for size in (2, 4, 8)} | {"|i1", "|u1", "|b1"}


class Damaged(Exception):
    """What is wrong with a file, in words."""


def write_archive(path: str | os.PathLike[str], manifest: dict[str, Any], arrays: Arrays) -> None:
    """Write a file; readers see the old one or the new one, never half of it."""
    if len(arrays) >= _MAX_MEMBERS:
        raise InputError(
            f"What is to be saved has {len(arrays)} arrays, and a model file holds at most "
            f"{_MAX_MEMBERS - 1}. Use fewer models, such as method='cv+' in place of 'jackknife+'."
        )
    members = {f"{name}.npy": _npy(array) for name, array in arrays.items()}
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        **manifest,
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
    }
    text = json.dumps(manifest, ensure_ascii=False, indent=1, allow_nan=False)
    data = text.encode("utf-8", "surrogatepass")
    with atomic_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, content in {_MANIFEST: data, **members}.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
        archive.comment = hashlib.sha256(data).hexdigest().encode()


def read_archive(name: str, file: BinaryIO, size: int) -> tuple[dict[str, Any], Arrays]:
    """Return the manifest and the arrays of an open file of ``size`` bytes."""
    if file.read(4) != b"PK\x03\x04":
        raise InputError(
            f"{name} is not a model file of covshift. Make one with covshift.save, or with: "
            "covshift fit ... -o MODEL"
        )
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError) as error:
        raise Damaged(f"its archive cannot be read ({error})") from None
    with archive:
        _check_members(archive, size)
        manifest = _manifest(name, archive)
        return manifest, _arrays(archive, manifest)


def _check_members(archive: zipfile.ZipFile, size: int) -> None:
    members = archive.infolist()
    names = [member.filename for member in members]
    if len(members) > _MAX_MEMBERS or len(set(names)) != len(names):
        raise Damaged("it has too many or repeated members")
    if _MANIFEST not in names:
        raise Damaged("it has no manifest")
    for member in members:
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise Damaged(f"its member {member.filename!r} is compressed")
    if sum(member.file_size for member in members) > size:
        raise Damaged("its members are longer than the file")


def _read(archive: zipfile.ZipFile, member: str) -> bytes:
    try:
        return archive.read(member)
    except (zipfile.BadZipFile, KeyError, EOFError, RuntimeError, NotImplementedError, OSError):
        raise Damaged(f"its member {member!r} cannot be read") from None


def _manifest(name: str, archive: zipfile.ZipFile) -> dict[str, Any]:
    if archive.getinfo(_MANIFEST).file_size > _MAX_MANIFEST:
        raise Damaged("its manifest is too long")
    text = _read(archive, _MANIFEST)
    try:
        manifest = json.loads(text)
    except (ValueError, RecursionError):
        raise Damaged("its manifest is not JSON") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(f"{name} is not a model file of covshift.")
    version = manifest.get("version")
    if not isinstance(version, int) or version < 1:
        raise Damaged(f"its format version is {version!r}")
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
    if hashlib.sha256(text).hexdigest().encode() != archive.comment:
        raise Damaged("the checksum of its manifest is wrong")
    return manifest


def _arrays(archive: zipfile.ZipFile, manifest: dict[str, Any]) -> Arrays:
    sums = manifest.get("sha256")
    members = [name for name in archive.namelist() if name != _MANIFEST]
    if not isinstance(sums, dict) or set(sums) != set(members):
        raise Damaged("its list of members is wrong")
    arrays = {}
    for member in members:
        data = _read(archive, member)
        if hashlib.sha256(data).hexdigest() != sums[member]:
            raise Damaged(f"the checksum of {member!r} is wrong")
        arrays[member.removesuffix(".npy")] = _array(member, data)
    return arrays


def _array(member: str, data: bytes) -> NDArray[Any]:
    """Return an array whose header was checked against the bytes that follow it."""
    stream = io.BytesIO(data)
    try:
        if np.lib.format.read_magic(stream) != (1, 0):
            raise ValueError("version")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream, max_header_size=1000)
    except ValueError:
        raise Damaged(f"{member!r} is not an array") from None
    if dtype.str not in _DTYPES or any(length < 0 for length in shape):
        raise Damaged(f"{member!r} has an unexpected type")
    if math.prod(shape) * dtype.itemsize != len(data) - stream.tell():
        raise Damaged(f"{member!r} has another size than it says")
    values = np.frombuffer(data, dtype, offset=stream.tell()).copy()  # its own, and writable
    return values.reshape(shape, order="F" if fortran else "C")


def _npy(values: NDArray[Any]) -> bytes:
    """Return an array in its own order, on which the last bit of a product can depend."""
    order = "F" if values.flags.f_contiguous and not values.flags.c_contiguous else "C"
    values = np.asarray(values, dtype=values.dtype.newbyteorder("<"), order=order)  # type: ignore[call-overload]
    stream = io.BytesIO()
    np.lib.format.write_array(stream, values, version=(1, 0), allow_pickle=False)
    return stream.getvalue()

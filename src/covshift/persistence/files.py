"""Model files that are safe to load: a zip archive of plain arrays and one JSON manifest.

No pickle, no code, no compression. Everything is checked before it is believed: the size of the
file, the list of its members, that none is compressed (so that nothing can expand), the format's
version, a checksum of every member, and the type, shape and values of every array. The checksums
find damage; they are no signature, and say nothing about who wrote the file.

The arrays are ``.npy`` members, so ``numpy.load(path, allow_pickle=False)`` shows them.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import zipfile
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._files import atomic_file
from .._tables import Encoding
from .._types import Real
from ..exceptions import InputError
from .fitted import from_parts, to_parts

FORMAT = "covshift-model"
VERSION = 2  # 2: kernels have a width
MAX_BYTES = 1 << 30  # of a file; a kernel machine of 3000 rows and 100 columns has 5 MB
_MAX_MANIFEST = 1 << 26
_MAX_MEMBERS = 64
_MANIFEST = "manifest.json"
_DTYPES = ("<f8", "<i8", "<i4", "|b1")


@dataclass(frozen=True)
class Model:
    """A fitted function, and all that is needed to apply it to a table."""

    estimator: Any
    encoding: Encoding
    center: Real  # (n,), taken from the columns of X, which are then divided by
    scale: Real  # (n,)
    task: str
    label: str
    learner: str
    method: str
    unit: str = ""  # of the label, where it is a number
    about: dict[str, Any] = field(default_factory=dict)  # versions, rows, command: for people

    @property
    def classes(self) -> list[str]:
        """The classes in the order of the probabilities; none for numbers."""
        if self.task == "regression":
            return []
        return [str(label) for label in self.estimator.classes_]

    def predict(self, X: Real) -> NDArray[Any]:
        """Return classes or numbers for encoded rows."""
        return np.asarray(self.estimator.predict((X - self.center) / self.scale))

    def predict_proba(self, X: Real) -> Real:
        """Return the probability of every class for encoded rows."""
        return np.asarray(self.estimator.predict_proba((X - self.center) / self.scale))


def save(path: str | os.PathLike[str], model: Model) -> None:
    """Write a model file; readers see the old file or the new one, never half of it.

    Parameters
    ----------
    path : path
    model : Model
        With an estimator that `to_parts` knows: VSVC and VSVR with a named kernel,
        LogisticRegression, Ridge, V-boosted trees.
    """
    kind, parameters, arrays = to_parts(model.estimator)
    arrays = {**arrays, "center": model.center, "scale": model.scale}
    members = {f"{name}.npy": _npy(array) for name, array in arrays.items()}
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "task": model.task,
        "label": model.label,
        "unit": model.unit,
        "learner": model.learner,
        "method": model.method,
        "classes": model.classes,
        "features": model.encoding.to_list(),
        "function": {"kind": kind, "parameters": parameters},
        "about": model.about,
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
    }
    text = json.dumps(manifest, ensure_ascii=False, indent=1, allow_nan=False).encode()
    with atomic_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, data in {_MANIFEST: text, **members}.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
        archive.comment = hashlib.sha256(text).hexdigest().encode()


def load(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Model:
    """Read a model file, or say in an `InputError` what is wrong with it."""
    name = os.fspath(path)
    try:
        size = os.stat(name).st_size
        if os.path.isdir(name):
            raise InputError(f"{name} is a folder, not a model file.")
        if size > max_bytes:
            raise InputError(
                f"{name} has {size:,} bytes, more than the {max_bytes:,} that a model file may "
                "have. Is it another file?"
            )
        with open(name, "rb") as file:
            return _load(name, file, size)
    except FileNotFoundError:
        raise InputError(
            f"{name} does not exist. Make it with: covshift fit ... -o {name}"
        ) from None
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}.") from None
    except _Damaged as damage:
        raise InputError(
            f"{name} is damaged or was changed: {damage}. Copy it again, or fit the model anew."
        ) from None


class _Damaged(Exception):
    """What is wrong with a file, in words."""


def _load(name: str, file: Any, size: int) -> Model:
    if file.read(4) != b"PK\x03\x04":
        raise InputError(
            f"{name} is not a model file of covshift. Make one with: covshift fit ... -o MODEL"
        )
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError) as error:
        raise _Damaged(f"its archive cannot be read ({error})") from None
    with archive:
        _check_members(archive, size)
        manifest = _manifest(name, archive)
        arrays = _arrays(archive, manifest)
    try:
        return _model(manifest, arrays)
    except ModuleNotFoundError:
        raise InputError(
            f"{name} holds a learner that this version of covshift lacks. Upgrade it."
        ) from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise _Damaged(f"its contents do not fit together ({error})") from None


def _check_members(archive: zipfile.ZipFile, size: int) -> None:
    members = archive.infolist()
    names = [member.filename for member in members]
    if len(members) > _MAX_MEMBERS or len(set(names)) != len(names):
        raise _Damaged("it has too many or repeated members")
    if _MANIFEST not in names:
        raise _Damaged("it has no manifest")
    for member in members:
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise _Damaged(f"its member {member.filename!r} is compressed")
    if sum(member.file_size for member in members) > size:
        raise _Damaged("its members are longer than the file")


def _read(archive: zipfile.ZipFile, member: str) -> bytes:
    try:
        return archive.read(member)
    except (zipfile.BadZipFile, KeyError, EOFError, RuntimeError, NotImplementedError, OSError):
        raise _Damaged(f"its member {member!r} cannot be read") from None


def _manifest(name: str, archive: zipfile.ZipFile) -> dict[str, Any]:
    if archive.getinfo(_MANIFEST).file_size > _MAX_MANIFEST:
        raise _Damaged("its manifest is too long")
    text = _read(archive, _MANIFEST)
    try:
        manifest = json.loads(text)
    except (ValueError, RecursionError):
        raise _Damaged("its manifest is no JSON") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(f"{name} is not a model file of covshift.")
    version = manifest.get("version")
    if not isinstance(version, int) or version < 1:
        raise _Damaged(f"its format version is {version!r}")
    if version > VERSION:
        raise InputError(
            f"{name} was written by a newer covshift (format {version}; this one reads format "
            f"{VERSION}). Upgrade: pip install --upgrade covshift"
        )
    if version < VERSION:
        raise InputError(
            f"{name} was written by an older covshift (format {version}; this one reads format "
            f"{VERSION}). Fit the model anew: covshift fit ... -o {name}"
        )
    if hashlib.sha256(text).hexdigest().encode() != archive.comment:
        raise _Damaged("the checksum of its manifest is wrong")
    return manifest


def _arrays(archive: zipfile.ZipFile, manifest: dict[str, Any]) -> dict[str, NDArray[Any]]:
    sums = manifest.get("sha256")
    members = [name for name in archive.namelist() if name != _MANIFEST]
    if not isinstance(sums, dict) or set(sums) != set(members):
        raise _Damaged("its list of members is wrong")
    arrays = {}
    for member in members:
        data = _read(archive, member)
        if hashlib.sha256(data).hexdigest() != sums[member]:
            raise _Damaged(f"the checksum of {member!r} is wrong")
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
        raise _Damaged(f"{member!r} is no array") from None
    if dtype.str not in _DTYPES or fortran or any(length < 0 for length in shape):
        raise _Damaged(f"{member!r} has an unexpected type")
    if math.prod(shape) * dtype.itemsize != len(data) - stream.tell():
        raise _Damaged(f"{member!r} has another size than it says")
    array = np.frombuffer(data, dtype, offset=stream.tell()).reshape(shape)
    if dtype.kind == "f" and not np.isfinite(array).all():
        raise _Damaged(f"{member!r} holds NaN or inf")
    return array


def _model(manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Model:
    encoding = Encoding.from_list(manifest["features"])
    center, scale = arrays.pop("center"), arrays.pop("scale")
    n = len(encoding.columns)
    if center.shape != (n,) or scale.shape != (n,) or not (scale > 0).all():
        raise ValueError("the scaling has another number of columns")
    task, classes = manifest["task"], manifest["classes"]
    if task not in ("classification", "regression") or (task == "regression") != (classes == []):
        raise ValueError("task and classes")
    if not all(isinstance(label, str) for label in classes) or sorted(set(classes)) != classes:
        raise ValueError("the classes are not distinct texts in order")
    function = manifest["function"]
    estimator = from_parts(function["kind"], function["parameters"], arrays, classes, n)
    words = {key: str(manifest[key]) for key in ("label", "unit", "learner", "method")}
    return Model(estimator, encoding, center, scale, task, about=dict(manifest["about"]), **words)


def _npy(array: Any) -> bytes:
    values = np.ascontiguousarray(array)
    if values.dtype.kind == "f":
        values = values.astype("<f8")
    elif values.dtype.kind in "iu":
        values = values.astype("<i8")
    stream = io.BytesIO()
    np.lib.format.write_array(stream, values, version=(1, 0), allow_pickle=False)
    return stream.getvalue()

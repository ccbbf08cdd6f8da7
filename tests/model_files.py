"""Model files taken apart and put together again, for tests that change them."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from covshift.persistence.archive import EMPTY, seal_of


class Lazy(Mapping):
    """Models by name, each fitted when it is first asked for, and not when tests are collected."""

    def __init__(self, fits: dict[str, Callable[[], Any]]):
        self._fits, self._models = fits, {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._models:
            self._models[name] = self._fits[name]()
        return self._models[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fits)

    def __len__(self) -> int:
        return len(self._fits)


def members_of(path):
    """The bytes of every member by name."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def parts_of(path):
    """The manifest as data, and the bytes of every array by name."""
    members = members_of(path)
    return json.loads(members.pop("manifest.json")), members


def write_parts(path, manifest, arrays, change=("", "")):
    """Write a file whose digests are right; ``change`` replaces a text in the manifest."""
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in arrays.items()}
    text = json.dumps({**manifest, "sha256": sums}).replace(*change)
    text = text.replace(
        "Infinity", "1e999"
    ).encode()  # JSON has no infinite numbers, but large ones
    write_sealed(path, {"manifest.json": text, **arrays})


def write_members(path, members):
    """Write a file whose digests are right, with the arrays that there are."""
    arrays = {name: data for name, data in members.items() if name != "manifest.json"}
    write_parts(path, json.loads(members["manifest.json"]), arrays)


def write_sealed(path, members, compression=zipfile.ZIP_STORED):
    """Write an archive of members as they are, with a seal that is right."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.comment = EMPTY
    path.write_bytes(resealed(stream.getvalue()))


def resealed(data):
    """The bytes of a file with another seal, which is right."""
    content = data[: -len(EMPTY)]
    return content + seal_of(content)


def npy(array, **changes):
    """The bytes of an array, pickled if need be; ``changes`` are pairs of old and new bytes."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), allow_pickle=True)
    data = stream.getvalue()
    for old, new in changes.values():
        assert old in data
        data = data.replace(old, new)
    return data

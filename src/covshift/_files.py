"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

from .exceptions import InputError

_written: ContextVar[list[Path] | None] = ContextVar("written", default=None)


@contextmanager
def recorded() -> Iterator[list[Path]]:
    """Give a list that gets the name of every file that is written whole in the block."""
    found: list[Path] = []
    token = _written.set(found)
    try:
        yield found
    finally:
        _written.reset(token)


def check_writable(path: str | os.PathLike[str], *, force: bool) -> None:
    """Refuse, before any work, a place that cannot be written or that holds another's file."""
    place = Path(path)
    if place.is_dir():
        raise InputError(f"{place} is a folder. Name a file to write.")
    if not place.parent.is_dir():
        raise InputError(f"The folder {place.parent} does not exist. Make it first.")
    if place.exists() and place.is_file() and not force:
        raise InputError(f"{place} exists. Name another file, or overwrite it with --force.")
    if not os.access(place.parent, os.W_OK):
        raise InputError(f"The folder {place.parent} cannot be written. Name a file elsewhere.")


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that takes its name only when all of it is written and on the disk.

    Whatever ends the block early, an error, Ctrl-C or a broken disk, leaves an older file of that
    name as it was and no draft beside it. What is no ordinary file, such as /dev/null, is written
    as it is.
    """
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():
        with place.open("wb") as special:
            yield special
        return
    prefix = f".{place.name[:40]}-"
    descriptor, draft = tempfile.mkstemp(dir=place.parent, prefix=prefix, suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(draft, _mode(place))
        os.replace(draft, place)
        found = _written.get()
        if found is not None and place not in found:
            found.append(place)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def write_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Write a text as UTF-8, whole or not at all."""
    with atomic_file(path) as file:
        file.write(text.encode())


def _mode(place: Path) -> int:
    """Permissions of the file that is replaced, or those of any new file."""
    if place.exists():
        return stat.S_IMODE(place.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask

"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from ..exceptions import InputError


@dataclass
class Record:
    """What a command wrote, and what it may write only if nobody else did."""

    written: list[Path] = field(default_factory=list)
    fresh: set[Path] = field(default_factory=set)  # names that were free when it began


_record: ContextVar[Record | None] = ContextVar("record", default=None)


@contextmanager
def recorded() -> Iterator[list[Path]]:
    """Give a list that gets the name of every file that is written whole in the block."""
    found = Record()
    token = _record.set(found)
    try:
        yield found.written
    finally:
        _record.reset(token)


def check_writable(path: str | os.PathLike[str], *, force: bool) -> None:
    """Refuse, before any work, a place that cannot be written or that holds another's file.

    Within `recorded`, a name that is free now and taken when the file is ready is refused then.
    """
    place = Path(path)
    _check_name(place)
    if place.is_dir():
        raise InputError(f"{place} is a folder. Name a file to write.")
    if not place.parent.is_dir():
        raise InputError(f"The folder {place.parent} does not exist. Make it first.")
    if place.exists() and place.is_file() and not force:
        raise InputError(f"{place} exists. Name another file, or overwrite it with --force.")
    if not os.access(place.parent, os.W_OK):
        raise InputError(f"The folder {place.parent} cannot be written. Name a file elsewhere.")
    found = _record.get()
    if found is not None:
        (found.fresh.discard if force else found.fresh.add)(Path(os.path.realpath(place)))


def _check_name(place: Path) -> None:
    try:
        nul = b"\0" in os.fsencode(place)
    except UnicodeEncodeError:
        raise InputError(
            f"{str(place)!a} cannot be the name of a file in this locale. Name another, or set "
            "PYTHONUTF8=1."
        ) from None
    if nul:
        raise InputError(f"{str(place)!r} holds a NUL byte: no file can have that name.")


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that takes its name only when all of it is written and on the disk.

    Whatever ends the block early, an error, Ctrl-C or a broken disk, leaves an older file of that
    name as it was and no draft beside it; a process that is killed may leave the draft, which is
    called ``.NAME-xxxxxxxx.part``. What is no ordinary file, such as /dev/null, is written as it
    is.
    """
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():
        with place.open("wb") as special:
            yield special
        return
    prefix = f".{place.name[:40]}-"
    try:
        descriptor, draft = tempfile.mkstemp(dir=place.parent, prefix=prefix, suffix=".part")
    except OSError as error:
        error.filename = str(place)  # which the user knows
        raise
    record = _record.get()
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(draft, _mode(place))
        if record is not None and place in record.fresh:
            _take_name(draft, place)
        else:
            os.replace(draft, place)
    except BaseException as error:
        if isinstance(error, OSError) and error.filename in (None, draft):
            error.filename = str(place)
        if record is not None and _is_written(draft, place):
            record.written.append(place)
        with suppress(OSError):
            Path(draft).unlink(missing_ok=True)
        raise
    if record is not None:
        record.fresh.discard(place)
        if place not in record.written:
            record.written.append(place)


def write_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Write a text as UTF-8, whole or not at all."""
    with atomic_file(path) as file:
        file.write(text.encode())


def _take_name(draft: str, place: Path) -> None:
    """Give a draft a name that was free; of two who want it, one gets it."""
    try:
        os.link(draft, place)
    except FileExistsError:
        raise InputError(
            f"{place} was written by somebody else in the meantime, and stays as it is. Name "
            "another file, or overwrite it with --force."
        ) from None
    except OSError:  # a disk without links
        if place.exists():
            raise InputError(f"{place} exists by now. Name another file, or use --force.") from None
        os.replace(draft, place)
    else:
        os.unlink(draft)


def _is_written(draft: str, place: Path) -> bool:
    """Tell whether a draft has its name although something came in between, such as Ctrl-C."""
    with suppress(OSError):
        if not os.path.exists(draft):
            return place.exists()
        return place.exists() and os.path.samefile(draft, place)
    return False


def _mode(place: Path) -> int:
    """Permissions of the file that is replaced, or those of any new file."""
    if place.exists():
        return stat.S_IMODE(place.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


# Texts in CSV files that a spreadsheet would take for formulas.
#
# A cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return may be run when the
# file is opened. Such texts are written with an apostrophe before them; numbers stay as they are.


_FORMULA = re.compile(r"'*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:inf|nan)")


def is_formula(cell: Any) -> bool:
    """Tell whether a spreadsheet may run a cell, or it is a text that `inert` may have made."""
    text = isinstance(cell, str)
    return text and _FORMULA.match(cell) is not None and _NUMBER.fullmatch(cell) is None


def inert(cell: Any) -> Any:
    """Return a cell that no spreadsheet runs: a formula with an apostrophe before it.

    >>> inert("=1+1"), inert("-1.5"), inert(-1.5), inert("'=x"), inert("a=b")
    ("'=1+1", '-1.5', -1.5, "''=x", 'a=b')
    """
    return f"'{cell}" if is_formula(cell) else cell

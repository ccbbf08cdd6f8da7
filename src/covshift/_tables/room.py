"""Tables that never end, or that memory cannot hold, are refused in words before memory is full."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from ..exceptions import InputError

_SHARE = 1 / 3  # of memory for the cells of one table: they are copied once, and then used
_PIECE = 1 << 20
_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


class Room:
    """Counts what the cells of a table take while it is read."""

    def __init__(self, title: str) -> None:
        self._title, self._rows, self._most = title, 0, _SHARE * memory()

    def check(self, rows: int, held: int) -> None:
        """Count more rows; refuse a table of which ``held`` bytes are more than memory allows."""
        self._rows += rows
        if held > self._most:
            raise InputError(
                f"{self._title} is larger than memory, or never ends: {self._rows:,} rows take "
                f"{held / 1e9:.1f} of {memory() / 1e9:.1f} GB. Use a sample of its rows; covshift "
                "predict alone takes tables of any length."
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


def refuse_devices(title: str, file: Any) -> None:
    """Refuse devices that never end, such as /dev/zero."""
    if _is_endless(file):
        raise InputError(f"{title} is a device, which may never end. Name a file or a pipe.")


def _is_endless(file: Any) -> bool:
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

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
_FEWER = (
    "Use a sample of its rows, such as (head -1 FILE; tail -n +2 FILE | shuf -n 1000000) > "
    "sample.csv; covshift predict alone takes tables of any length."
)


def check_size(title: str, rows: int, held: int, done: float | None = None) -> None:
    """Refuse a table of which ``held`` bytes are more than memory allows.

    ``done`` is the share of the file that was read, where that is known: what the whole will take
    is then told at its beginning.
    """
    most = _SHARE * memory()
    if held > most:
        raise InputError(
            f"{title} is larger than memory, or never ends: {rows:,} rows take "
            f"{held / 1e9:.1f} of {memory() / 1e9:.1f} GB. {_FEWER}"
        )
    if done and held / done > most:
        raise InputError(
            f"{title} is larger than memory: its first {rows:,} rows are {done:.1%} of it, and all "
            f"would take {held / done / 1e9:.1f} of {memory() / 1e9:.1f} GB. {_FEWER}"
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


def is_endless(file: Any) -> bool:
    """Whether a file is a device that never ends, such as /dev/zero."""
    try:
        about, null = os.fstat(file.fileno()), os.stat(os.devnull)
    except (AttributeError, OSError, ValueError):  # no file of the system
        return False
    return stat.S_ISCHR(about.st_mode) and about.st_rdev != null.st_rdev and not file.isatty()


@cache
def memory() -> int:
    """Bytes of memory that this process may use, as far as the system says."""
    sizes = [1 << 62]
    with suppress(AttributeError, OSError, ValueError):
        sizes.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(ImportError, OSError, ValueError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        sizes += [limit] if limit != resource.RLIM_INFINITY else []
    for path in _GROUPS:  # of a container
        with suppress(OSError, ValueError):
            sizes.append(int(Path(path).read_text()))
    return min(size for size in sizes if size > 0)

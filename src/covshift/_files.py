"""Files that are either whole or not there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Write ``text`` as UTF-8: to a temporary file beside ``path``, to the disk, then renamed.

    Whatever interrupts it, a file that was there before stays whole, and no other is left.
    """
    path = Path(path)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}-", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).chmod(_permissions(path))
        os.replace(draft, path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _permissions(path: Path) -> int:
    """Those of the file that is replaced, else what any new file gets."""
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask

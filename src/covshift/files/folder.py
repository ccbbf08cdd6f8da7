"""A folder of text tables with equal headers: one table, its parts in the order of their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..exceptions import InputError
from ..show.notes import Note
from .values import Block, Source


class FolderTable(Source):
    """The common header of the parts, and their rows in blocks; one part is open at a time."""

    def __init__(self, title: str, parts: list[Path], opened: Callable[[str], Any]) -> None:
        self.title, self._parts, self._opened = title, parts, opened
        with opened(str(parts[0])) as first:
            self.names = first.names
            self.spelled = first.spelled
            self.nameless = first.nameless
        text = f"{title}: {len(parts)} files were read as one table."
        self.notes = [Note("folder", text)] if len(parts) > 1 else []

    def blocks(self, size: int, *names: Any) -> Iterator[Block]:
        """Yield blocks of at most ``size`` rows, part by part."""
        said: dict[str, None] = {}
        for part in self._parts:
            with self._opened(str(part)) as table:
                self._check_alike(table)
                yield from table.blocks(size, *names)
                for note in table.notes:
                    if note.kind not in said:
                        said[note.kind] = None
                        self.notes.append(note)

    def _check_alike(self, table: Any) -> None:
        if table.names != self.names:
            other = [*table.names, *self.names]
            odd = [name for name in other if other.count(name) == 1]
            what = f"differs in {', '.join(map(repr, odd[:5]))}" if odd else "has another order"
            raise InputError(
                f"{table.title}: its header {what} from that of {self._parts[0].name}. The files "
                "of a folder need the same columns in the same order."
            )
        if table.spelled != self.spelled:
            raise InputError(
                f"{table.title} seems to write numbers differently from {self._parts[0].name}. Say "
                "how: --decimal , or --decimal ."
            )


def files_of(folder: Path) -> list[Path]:
    """Return the files of a folder by name, without hidden ones (such as _SUCCESS)."""
    found = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    ]
    if not found:
        raise InputError(f"{folder} is a folder without files. Name a file, or a folder of parts.")
    return found

"""Notes as data, and everything that an answer holds as plain data for JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal

Severity = Literal["note", "warning"]


@dataclass(frozen=True)
class Note:
    """One thing worth knowing. Programs read ``severity`` and ``kind``, people the ``text``."""

    kind: str  # what it is about, such as "constant columns"
    text: str
    severity: Severity = "note"  # "warning": it may spoil the result
    command: str = ""  # the same with options of the command line, where they are not Python's

    def of_command(self) -> Note:
        """Return the note as the command line says it."""
        return Note(self.kind, self.command or self.text, self.severity)

    def to_dict(self) -> dict[str, str]:
        """Return it as plain data."""
        return {"kind": self.kind, "text": self.text, "severity": self.severity}

    def __str__(self) -> str:
        return self.text


def distinct(notes: Iterable[Note]) -> list[Note]:
    """Keep each note once, in the order in which they came."""
    return list(dict.fromkeys(notes))


def plain(data: Any) -> Any:
    """Turn answers, records, arrays and tuples into dicts and lists; None is what is not finite."""
    if hasattr(data, "to_dict") and not isinstance(data, type):
        return data.to_dict()
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):  # tables as well
        return [plain(value) for value in data]
    if is_dataclass(data):
        return {part.name: plain(getattr(data, part.name)) for part in fields(data)}
    if isinstance(data, dict):
        return {str(key): plain(value) for key, value in data.items()}
    if hasattr(data, "tolist"):  # arrays and numbers of NumPy
        return plain(data.tolist())
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data

"""Notes as data: how much one matters, what it is about, and the sentence for a person."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Severity = Literal["note", "warning"]


@dataclass(frozen=True)
class Note:
    """One thing worth knowing. Programs read ``severity`` and ``kind``, people the ``text``."""

    kind: str  # what it is about, such as "constant columns"
    text: str
    severity: Severity = "note"  # "warning": it may spoil the result

    def __str__(self) -> str:
        return self.text


def distinct(notes: Iterable[Note]) -> list[Note]:
    """Keep each note once, in the order in which they came."""
    return list(dict.fromkeys(notes))

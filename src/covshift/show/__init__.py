"""How results are shown: one table model, and one base of all answers."""

from .answer import Answer
from .notes import Note
from .table import Table

__all__ = ["Answer", "Note", "Table"]

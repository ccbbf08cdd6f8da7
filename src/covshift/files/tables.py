"""Tables of files, read strictly, aligned by name and encoded as numbers. For the command line."""

from __future__ import annotations

from .encoding import ColumnProblems, Encoding
from .labels import Labels
from .missing import MISSING as MISSING
from .missing import ReadOptions as ReadOptions
from .missing import missing_words
from .samples import ColumnOptions, Samples, read_samples
from .table import Table, open_stream, read_table

__all__ = [
    "MISSING",
    "ColumnOptions",
    "ColumnProblems",
    "Encoding",
    "Labels",
    "ReadOptions",
    "Samples",
    "Table",
    "missing_words",
    "open_stream",
    "read_samples",
    "read_table",
]

"""Tables of files, read strictly, aligned by name and encoded as numbers. For the command line."""

from .encoding import ColumnProblems, Encoding, Feature
from .labels import Labels
from .samples import ColumnOptions, Samples, read_samples
from .table import Table, open_stream, read_table
from .text import MISSING, ReadOptions

__all__ = [
    "MISSING",
    "ColumnOptions",
    "ColumnProblems",
    "Encoding",
    "Feature",
    "Labels",
    "ReadOptions",
    "Samples",
    "Table",
    "open_stream",
    "read_samples",
    "read_table",
]

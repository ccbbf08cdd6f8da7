"""Tables of files, read strictly, aligned by name and encoded as numbers. For the command line."""

from .encoding import Encoding, Feature, Findings
from .labels import Labels
from .samples import Declared, Samples, read_samples
from .table import Table, open_stream, read_table
from .text import MISSING, Reading

__all__ = [
    "MISSING",
    "Declared",
    "Encoding",
    "Feature",
    "Findings",
    "Labels",
    "Reading",
    "Samples",
    "Table",
    "open_stream",
    "read_samples",
    "read_table",
]

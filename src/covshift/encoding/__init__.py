"""Tables as they come (text, gaps, dates, booleans) become numbers, by rules that are kept."""

from .cells import Cells, read_cells
from .encoded import Encoded, encoded, groups_of, scaled
from .encoder import TableEncoder
from .feature import MISSING, OTHER, Feature

__all__ = [
    "MISSING",
    "OTHER",
    "Cells",
    "Encoded",
    "Feature",
    "TableEncoder",
    "encoded",
    "groups_of",
    "read_cells",
    "scaled",
]

"""Raw tables (text, gaps, dates, booleans) become numbers, by rules that are kept."""

from .cells import Cells, read_cells
from .encoder import TableEncoder
from .feature import MISSING, OTHER, Encoded, Feature, encoded, groups_of, scaled

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

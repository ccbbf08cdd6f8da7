"""Tables as they come (text, gaps, dates, booleans) become numbers, by rules that are kept."""

from .cells import Cells, read_cells
from .encoder import TableEncoder
from .feature import MISSING, OTHER, Feature

__all__ = ["MISSING", "OTHER", "Cells", "Feature", "TableEncoder", "read_cells"]

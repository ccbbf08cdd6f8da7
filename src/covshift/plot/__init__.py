"""Pictures of a shift and of its correction, with axes in and out as in scikit-learn's displays.

Each display has a classmethod ``from_...`` that computes and draws, ``plot(ax=None)`` that draws
again, and ``ax_`` and ``figure_`` afterwards. Given axes are drawn on as they are: neither pyplot's
state nor any default of matplotlib is touched. Needs matplotlib: ``pip install "covshift[plot]"``.
"""

from .batches import BatchesDisplay
from .ecdf import ECDFDisplay
from .forest import ForestPlotDisplay
from .intervals import IntervalsDisplay
from .love import LovePlotDisplay
from .margins import MarginsDisplay
from .overlap import OverlapDisplay
from .reliability import ReliabilityDisplay
from .roc import ROCDisplay
from .weights import WeightsDisplay

__all__ = [
    "BatchesDisplay",
    "ECDFDisplay",
    "ForestPlotDisplay",
    "IntervalsDisplay",
    "LovePlotDisplay",
    "MarginsDisplay",
    "OverlapDisplay",
    "ROCDisplay",
    "ReliabilityDisplay",
    "WeightsDisplay",
]

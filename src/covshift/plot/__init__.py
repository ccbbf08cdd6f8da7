"""Pictures of a shift and of its correction, with axes in and out as in scikit-learn's displays.

Each display has classmethods that compute and draw, named as in scikit-learn: ``from_estimator``
takes a fitted model or weighter, ``from_predictions`` what a model said, ``from_samples`` the rows
of both samples; others are named by the result that they draw, such as ``from_diagnosis``.
``plot(ax=None)`` draws again, and ``ax_`` and ``figure_`` are there afterwards. Given axes are
drawn on as they are: neither pyplot's state nor any default of matplotlib is touched. Needs
matplotlib (the extra ``plot``).
"""

from .answers import ForestPlotDisplay, WaterfallDisplay
from .batches import BatchesDisplay
from .curves import ReliabilityDisplay
from .distributions import ECDFDisplay
from .intervals import IntervalsDisplay
from .love import LovePlotDisplay
from .margins import MarginsDisplay
from .overlap import OverlapDisplay
from .roc import ROCDisplay
from .scores import SensitivityDisplay
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
    "SensitivityDisplay",
    "WaterfallDisplay",
    "WeightsDisplay",
]

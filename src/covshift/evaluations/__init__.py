"""How good is my model there? Metrics on a target without labels, with honest errors."""

from .core import evaluate
from .curves import ROC, Curves, Reliability
from .metrics import Cost
from .notes import Change, Check
from .predictions import Predictions
from .result import Difference, Evaluations, Performance

__all__ = [
    "ROC",
    "Change",
    "Check",
    "Cost",
    "Curves",
    "Difference",
    "Evaluations",
    "Performance",
    "Predictions",
    "Reliability",
    "evaluate",
]

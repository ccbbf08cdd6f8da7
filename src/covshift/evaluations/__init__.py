"""How good is my model there? Metrics on a target without labels, with honest errors."""

from .core import evaluate
from .curves import ROC, Curves, Reliability
from .result import Difference, Evaluations, Performance
from .target_labels import Change, Check

__all__ = [
    "ROC",
    "Change",
    "Check",
    "Curves",
    "Difference",
    "Evaluations",
    "Performance",
    "Reliability",
    "evaluate",
]

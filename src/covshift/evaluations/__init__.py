"""How good is my model there? Metrics on a target without labels, with honest errors."""

from .core import evaluate
from .curves import ROC, Curves, Reliability
from .notes import Change, Check
from .result import Difference, Evaluations, Performance

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

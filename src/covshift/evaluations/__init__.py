"""How good is my model there? Metrics on a target without labels, with honest errors."""

from .core import evaluate
from .result import Difference, Evaluations, Performance, Performances
from .target_labels import Change, Check

__all__ = [
    "Change",
    "Check",
    "Difference",
    "Evaluations",
    "Performance",
    "Performances",
    "evaluate",
]

"""How good is my model there? Metrics on a target without labels, with honest errors."""

from .core import evaluate
from .result import Difference, Evaluations, Performance, Performances

__all__ = [
    "Difference",
    "Evaluations",
    "Performance",
    "Performances",
    "evaluate",
]

"""How good is my model there? Metrics on a target without labels, with honest errors."""

from .core import evaluate
from .curves import ROC, Curves, Reliability
from .labelled import Change
from .metrics import Cost
from .plans import Plan, plan
from .predictions import Predicted, Predictions
from .result import Difference, Evaluations, Performance

__all__ = [
    "ROC",
    "Change",
    "Cost",
    "Curves",
    "Difference",
    "Evaluations",
    "Performance",
    "Plan",
    "Predicted",
    "Predictions",
    "Reliability",
    "evaluate",
    "plan",
]

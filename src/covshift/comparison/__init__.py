"""Which correction helps, if any: estimators or named methods, by their risk on the target."""

from .core import compare
from .methods import Method
from .result import Comparison
from .selection import (
    LOSSES,
    ImportanceWeightedScorer,
    TargetSafeSplit,
    log_loss,
    squared_error,
    zero_one,
)
from .target import imbalance

__all__ = [
    "LOSSES",
    "Comparison",
    "ImportanceWeightedScorer",
    "Method",
    "TargetSafeSplit",
    "compare",
    "imbalance",
    "log_loss",
    "squared_error",
    "zero_one",
]

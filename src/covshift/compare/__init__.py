"""Which correction helps, if any: estimators or named methods, by their risk on the target."""

from .comparison import compare_methods
from .methods import Method, fit_method, fit_weights, methods_for
from .result import Comparison
from .selection import (
    LOSSES,
    ImportanceWeightedScorer,
    TargetSafeSplit,
    compare,
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
    "compare_methods",
    "fit_method",
    "fit_weights",
    "imbalance",
    "log_loss",
    "methods_for",
    "squared_error",
    "zero_one",
]

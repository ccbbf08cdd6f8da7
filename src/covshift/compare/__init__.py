"""Which correction helps, if any: estimators or named methods, by their risk on the target."""

from .comparison import MAX_ROWS, MethodComparison, compare_methods, imbalance
from .methods import LEARNERS, UNWEIGHTED, Method, fit_method, fit_weights, methods_for
from .selection import (
    LOSSES,
    Comparison,
    ImportanceWeightedScorer,
    TargetSafeSplit,
    compare,
    log_loss,
    squared_error,
    zero_one,
)

__all__ = [
    "LEARNERS",
    "LOSSES",
    "MAX_ROWS",
    "UNWEIGHTED",
    "Comparison",
    "ImportanceWeightedScorer",
    "Method",
    "MethodComparison",
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

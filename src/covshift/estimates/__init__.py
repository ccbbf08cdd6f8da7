"""What is it in the population? Estimates from a biased sample, with honest errors."""

from .core import estimate
from .known import WeightedMean, estimate_mean, estimate_risk
from .result import Change, Estimate, Estimates

__all__ = [
    "Change",
    "Estimate",
    "Estimates",
    "WeightedMean",
    "estimate",
    "estimate_mean",
    "estimate_risk",
]

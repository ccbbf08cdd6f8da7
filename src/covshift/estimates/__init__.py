"""What is it in the population? Estimates from a biased sample, with honest errors."""

from .core import estimate
from .known import bootstrap_mean, estimate_mean, estimate_risk
from .result import Change, Estimate, Estimates, Table

__all__ = [
    "Change",
    "Estimate",
    "Estimates",
    "Table",
    "bootstrap_mean",
    "estimate",
    "estimate_mean",
    "estimate_risk",
]

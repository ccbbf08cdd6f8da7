"""What is it in the population? Estimates from a biased sample, with honest errors."""

from .core import estimate
from .quantities import (
    CDF,
    Coefficients,
    Difference,
    Mean,
    Median,
    Proportion,
    Quantile,
    Quantity,
    Ratio,
    Total,
)
from .result import Change, Estimate, Estimates
from .weighing import Trimmed

__all__ = [
    "CDF",
    "Change",
    "Coefficients",
    "Difference",
    "Estimate",
    "Estimates",
    "Mean",
    "Median",
    "Proportion",
    "Quantile",
    "Quantity",
    "Ratio",
    "Total",
    "Trimmed",
    "estimate",
]

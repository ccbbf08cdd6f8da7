"""What is it in the population? Estimates from a biased sample, with honest errors."""

from ..engine.explanation import Explanation, Region, Share
from ..engine.weights import Trimmed
from .core import estimate
from .quantiles import Median, Quantile
from .quantities import CDF, Difference, Mean, Proportion, Quantity, Ratio, Total
from .regressions import Coefficients
from .result import Change, Estimate, Estimates

__all__ = [
    "CDF",
    "Change",
    "Coefficients",
    "Difference",
    "Estimate",
    "Estimates",
    "Explanation",
    "Mean",
    "Median",
    "Proportion",
    "Quantile",
    "Quantity",
    "Ratio",
    "Region",
    "Share",
    "Total",
    "Trimmed",
    "estimate",
]

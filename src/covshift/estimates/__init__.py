"""What is it in the population? Estimates from a biased sample, with honest errors."""

from ..engine.explanation import Explanation, Region, Share
from ..engine.label_shift import LabelShiftTest
from ..engine.robustness import Benchmark, Robustness
from ..engine.weights import Trimmed
from .core import estimate
from .quantiles import Median, Quantile
from .quantities import CDF, Difference, Mean, Proportion, Quantity, Ratio, Total
from .regressions import Coefficients
from .result import Change, Estimate, Estimates

__all__ = [
    "CDF",
    "Benchmark",
    "Change",
    "Coefficients",
    "Difference",
    "Estimate",
    "Estimates",
    "Explanation",
    "LabelShiftTest",
    "Mean",
    "Median",
    "Proportion",
    "Quantile",
    "Quantity",
    "Ratio",
    "Region",
    "Robustness",
    "Share",
    "Total",
    "Trimmed",
    "estimate",
]

"""Prediction intervals and sets that keep their coverage on the target (conformal prediction)."""

from .classifier import ConformalClassifier
from .regressor import ConformalRegressor
from .result import ExpectedCoverage, Intervals, Sets

__all__ = ["ConformalClassifier", "ConformalRegressor", "ExpectedCoverage", "Intervals", "Sets"]

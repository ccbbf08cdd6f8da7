"""Boosted trees on the V-loss."""

from .classifier import VBoostClassifier
from .regressor import VBoostRegressor

__all__ = ["VBoostClassifier", "VBoostRegressor"]

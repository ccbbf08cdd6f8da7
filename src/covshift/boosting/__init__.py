"""Boosted trees: on the V-loss, and those of scikit-learn in a form that is saved."""

from .classifier import VBoostClassifier
from .histogram import BoostedTreesClassifier, BoostedTreesRegressor
from .regressor import VBoostRegressor

__all__ = [
    "BoostedTreesClassifier",
    "BoostedTreesRegressor",
    "VBoostClassifier",
    "VBoostRegressor",
]

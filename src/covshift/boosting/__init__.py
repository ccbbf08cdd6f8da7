"""Boosted trees: on the V-loss, and those of scikit-learn in a form that is saved."""

from .estimators import VBoostClassifier, VBoostRegressor
from .histogram import BoostedTreesClassifier, BoostedTreesRegressor

__all__ = [
    "BoostedTreesClassifier",
    "BoostedTreesRegressor",
    "VBoostClassifier",
    "VBoostRegressor",
]

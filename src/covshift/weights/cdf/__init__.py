"""Weights that match distribution functions: views, solvers, penalty, and the weighter."""

from .weighter import CDFWeights

__all__ = ["CDFWeights"]

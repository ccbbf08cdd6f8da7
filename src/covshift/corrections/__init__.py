"""How V is made from (X, X_target): by name or as objects with options."""

from .base import Correction, VMatrixCorrection
from .empirical import Additive, Empirical, EmpiricalCorrection, Pairwise, Sliced
from .given import Importance, Precomputed, Unweighted
from .known import Gaussian, Product, Uniform
from .matrix import CORRECTIONS, as_correction, v_matrix

__all__ = [
    "CORRECTIONS",
    "Additive",
    "Correction",
    "Empirical",
    "EmpiricalCorrection",
    "Gaussian",
    "Importance",
    "Pairwise",
    "Precomputed",
    "Product",
    "Sliced",
    "Uniform",
    "Unweighted",
    "VMatrixCorrection",
    "as_correction",
    "v_matrix",
]

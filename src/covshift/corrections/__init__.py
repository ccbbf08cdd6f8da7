"""How V is made from (X, X_target): by name or as objects with options."""

from .base import Correction, VMatrixCorrection
from .distributions import Gaussian, Product, Uniform
from .elementary import Importance, Precomputed, Unweighted
from .empirical import Additive, EmpiricalCorrection, Multiplicative, Pairwise, Sliced
from .matrix import CORRECTIONS, as_correction, v_matrix

__all__ = [
    "CORRECTIONS",
    "Additive",
    "Correction",
    "EmpiricalCorrection",
    "Gaussian",
    "Importance",
    "Multiplicative",
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

"""Weights that make a training sample look like the target: by name or as objects."""

from ._named import WEIGHTERS, as_weighter
from .base import Weighter, cdf_mismatch
from .cdf.weighter import CDFWeights
from .discriminative import Discriminative
from .effective import effective_sample_size
from .energy import EnergyWeights
from .entropy import EntropyBalancing
from .gaussian import GaussianRatio
from .kde import KDE
from .kliep import KLIEP
from .kmm import KMM
from .neighbors import NearestNeighbors
from .poststratification import PostStratification
from .raking import Raking
from .tilted import TiltedCDFWeights
from .ulsif import RULSIF, ULSIF

__all__ = [
    "KDE",
    "KLIEP",
    "KMM",
    "RULSIF",
    "ULSIF",
    "WEIGHTERS",
    "CDFWeights",
    "Discriminative",
    "EnergyWeights",
    "EntropyBalancing",
    "GaussianRatio",
    "NearestNeighbors",
    "PostStratification",
    "Raking",
    "TiltedCDFWeights",
    "Weighter",
    "as_weighter",
    "cdf_mismatch",
    "effective_sample_size",
]

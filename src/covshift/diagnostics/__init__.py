"""Is there a shift, where, and can it be corrected? Plain data, from unlabelled rows alone."""

from .features import FeatureShift
from .joint import TwoSampleAUC
from .marginal import standardized_mean_differences
from .measure import diagnose, diagnose_and_weigh
from .result import Diagnosis, LossGap
from .sizes import MethodSize
from .support import Support

__all__ = [
    "Diagnosis",
    "FeatureShift",
    "LossGap",
    "MethodSize",
    "Support",
    "TwoSampleAUC",
    "diagnose",
    "diagnose_and_weigh",
    "standardized_mean_differences",
]

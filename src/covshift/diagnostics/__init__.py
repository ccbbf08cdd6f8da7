"""Is there a shift, where, and can it be corrected? Plain data, from unlabelled rows alone."""

from ..numerics.support import Uncovered
from .batches import BatchesDiagnosis, diagnose_batches
from .classifier import TwoSampleAUC
from .coverage import RowFlags, Support
from .covered import Restricted, restrict
from .distances import standardized_mean_differences
from .features import FeatureShift
from .margins_result import MarginsDiagnosis, MarginShift, PublishedNumber
from .measure import diagnose
from .result import Diagnosis
from .sizes import MethodSize
from .usefulness import IntervalOutlook

__all__ = [
    "BatchesDiagnosis",
    "Diagnosis",
    "FeatureShift",
    "IntervalOutlook",
    "MarginShift",
    "MarginsDiagnosis",
    "MethodSize",
    "PublishedNumber",
    "Restricted",
    "RowFlags",
    "Support",
    "TwoSampleAUC",
    "Uncovered",
    "diagnose",
    "diagnose_batches",
    "restrict",
    "standardized_mean_differences",
]

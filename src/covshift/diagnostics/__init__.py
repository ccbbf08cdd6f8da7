"""Is there a shift, where, and can it be corrected? Plain data, from unlabelled rows alone."""

from .._distances import standardized_mean_differences
from .._support import Uncovered
from .batches import BatchesDiagnosis, diagnose_batches
from .covered import RowFlags
from .features import FeatureShift
from .intervals import IntervalOutlook
from .joint import TwoSampleAUC
from .margins_result import MarginsDiagnosis, MarginShift, PublishedNumber
from .measure import diagnose, diagnose_and_weigh
from .restrict import Restricted, restrict
from .result import Diagnosis
from .sizes import MethodSize
from .support import Support

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
    "diagnose_and_weigh",
    "diagnose_batches",
    "restrict",
    "standardized_mean_differences",
]

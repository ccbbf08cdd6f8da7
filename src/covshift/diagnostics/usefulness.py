"""Whether prediction intervals will be useful on the target, before a model is fitted.

In the split form (`covshift.conformal`) one half of the training rows calibrates. With W the sum
of their weights and v that of a target row, the row's interval of coverage 1 - alpha is infinite
where it alone weighs more than alpha of all,

(1 - alpha) v > alpha W ,

and the calibration rows count as half of Kish's effective sample size. Cost: the weights of the
target rows, by a weighter that is fitted already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data import Samples
from ..numerics.quiet import quiet
from ..numerics.support import NO_OVERLAP, Uncovered
from ..show.table import Record
from ..weights import effective_sample_size

COVERAGE = 0.9
CALIBRATES = 0.5  # share of the training rows


@dataclass(frozen=True)
class IntervalOutlook(Record):
    """What intervals and sets from one half of the training rows can be, with the CDF weights.

    ``effective_size`` is Kish's number of calibration rows, ``infinite_share`` the share of the
    target whose interval of this ``coverage`` would be infinite (whose set would hold all classes).
    """

    effective_size: float
    infinite_share: float
    coverage: float = COVERAGE


def interval_outlook(
    cdf: Any, cut: Samples, whole: Samples, gaps: Sequence[Uncovered]
) -> IntervalOutlook | None:
    """Look ahead with weights ``cdf`` that were fitted to rows ``cut`` from the whole samples.

    Nothing is known of target rows in ``gaps`` of a tenth of the target: theirs are infinite. None
    where all training rows weigh zero.
    """
    own = np.ones(len(cut.X)) if cut.sample_weight is None else cut.sample_weight
    weights = np.asarray(cdf.weights_) * own
    total = float(weights.sum())
    if not total > 0:
        return None
    with quiet():
        of_target = np.asarray(cdf.predict_weights(cut.T)) * float(weights @ own / total)
    for gap in gaps:
        if gap.excess >= NO_OVERLAP:
            of_target = np.where(gap.holds(cut.T), np.inf, of_target)
    enlarged = len(whole.X) / len(cut.X)
    calibration = CALIBRATES * enlarged * total
    infinite = COVERAGE * of_target > (1 - COVERAGE) * calibration
    size = CALIBRATES * enlarged * effective_sample_size(weights)
    return IntervalOutlook(float(size), min(1.0, float(cut.share @ infinite)))

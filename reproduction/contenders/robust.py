"""The minimax classifier: logistic, certain only where the training sample is.

It is no kernel machine, so the penalty gamma and the controls on V do not apply to it.
"""

from __future__ import annotations

import numpy as np

from covshift.numerics.array import Real
from covshift.robust import RobustBiasAware

from .base import Learner, Options, Sample


class _Robust(Learner):
    def probability(self, sample: Sample, at: Real, options: Options, seed: int) -> Real:
        model = RobustBiasAware(reg=options["reg"])
        model.fit(sample.X, sample.y, X_target=(sample.T,))
        return np.asarray(model.predict_proba(at)[:, 1])


CONTENDERS = [_Robust("robust", "RobustBiasAware (minimax)", "Liu and Ziebart 2014")]
